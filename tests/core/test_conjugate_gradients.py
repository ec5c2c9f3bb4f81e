"""Systems near a factorised one: solved to the error that is asked for, whatever the other columns need."""

from functools import partial

import numpy as np
import pytest

from foldless.core.conjugate_gradients import MAX_KEPT_FRACTION, solve_near

N, K = 40, 8


@pytest.fixture(scope="module")
def problem():
    """Columns whose diagonals have ever more entries, so that each takes more steps than the one before."""
    rng = np.random.default_rng(0)
    F = rng.normal(size=(N, N))
    V = F @ F.T / N + 0.1 * np.eye(N)
    D = np.where(np.arange(N)[:, None] < 3 * np.arange(K), 5.0, 0.0)
    return V, D, rng.normal(size=(N, K))


def solved(problem, max_steps=N, error=1e-24):
    V, D, B = problem
    widths = []

    def times(M):
        widths.append(M.shape[1])
        return V @ M

    return solve_near(times, D, B, lambda size: np.full_like(size, error), max_steps), widths


def test_every_column_is_the_solution_of_its_system(problem):
    V, D, B = problem
    found, _ = solved(problem)
    assert found.is_solved.all()
    for i in range(K):
        system = np.linalg.inv(V) + np.diag(D[:, i])
        expected = np.linalg.solve(system, B[:, i])
        # The error is a fraction 1e-12 of the right-hand side, or rounding, times the condition of the system.
        np.testing.assert_allclose(
            found.x[:, i], expected, atol=1e-12 * np.linalg.cond(system) * np.max(np.abs(expected))
        )
    np.testing.assert_allclose(found.x, V @ found.s, atol=1e-12 * np.max(np.abs(found.x)))


def test_solved_columns_are_taken_out_when_they_are_many(problem):
    found, widths = solved(problem)
    assert widths[0] == K
    assert widths[-1] <= MAX_KEPT_FRACTION * K
    assert len(widths) == found.n_steps + 1
    # The first column has no diagonal, so that the preconditioner solves it in one step.
    assert sum(widths) < K * len(widths)


def test_columns_that_need_more_steps_are_reported(problem):
    few, _ = solved(problem, max_steps=3)
    assert few.n_steps == 3
    assert few.is_solved[0]
    assert not few.is_solved[-1]


def test_nothing_is_zero():
    found = solve_near(lambda M: M, np.ones((3, 2)), np.zeros((3, 2)), np.zeros_like, 5)
    assert found.is_solved.all()
    assert found.n_steps == 0
    assert not found.x.any()


def test_what_is_not_a_number_is_not_solved_and_spoils_no_other_column():
    B = np.ones((3, 2))
    B[0, 1] = np.nan
    error = partial(np.full_like, fill_value=1e-20)
    found = solve_near(lambda M: 2 * M, np.ones((3, 2)), B, error, 5)
    assert found.is_solved.tolist() == [True, False]
    np.testing.assert_allclose(found.x[:, 0], 2 / 3)
    assert found.n_steps < 5
