"""The quasi-Newton descent: what its steps teach, and what a later search makes of it."""

import numpy as np
import pytest

from foldless.core.contracts import Box, Evaluation, Stop
from foldless.searches import LBFGS
from foldless.searches.lbfgs import ZERO_WEIGHT

P = 6
BOX = Box(np.full(P, -20.0), np.full(P, 20.0))


def bowl(seed, centre=0.0, condition=30.0):
    """A quadratic function of P parameters that are far from equal in scale."""
    Q, _ = np.linalg.qr(np.random.default_rng(seed).normal(size=(P, P)))
    H = Q * np.geomspace(1, condition, P) @ Q.T

    def evaluate(theta, warm_start=None):
        r = theta - centre
        return Evaluation(1 + float(r @ H @ r) / 2, lambda: H @ r)

    return evaluate


@pytest.mark.parametrize("seed", range(5))
def test_a_search_on_other_rows_profits_from_the_curvature_of_the_first(seed):
    search = LBFGS(tolerance=1e-8)
    first = search(bowl(seed), BOX, [np.full(P, 2.0)])
    moved = bowl(seed, centre=0.3)
    fresh = search(moved, BOX, [first.best.theta])
    continued = search.near_optimum(first.trace)(moved, BOX, [first.best.theta])
    assert continued.stop is fresh.stop is Stop.CONVERGED
    np.testing.assert_allclose(continued.best.theta, 0.3, atol=1e-3)
    assert len(continued.trace) <= len(fresh.trace) / 2


def test_values_at_the_starts_tell_the_scale_of_every_parameter():
    H = np.array([10.0, 1.0, 0.1])
    box = Box(np.full(3, -9.0), np.full(3, 9.0))
    evaluate = lambda theta, warm_start=None: Evaluation(1 + float(H @ theta**2) / 2, lambda: H * theta)
    here = np.array([0.1, -0.3, 0.4])
    around = [here + s * e for e in np.eye(3) for s in (-1, 1)]
    outcome = LBFGS(tolerance=1e-8)(evaluate, box, [here, *around])
    # The separable parabola through these values is the function itself: the first step leads to the minimum. Zeros as further
    # values, of squared weight w^2 beside two of a quarter, take a fraction of 2 w^2 off.
    assert len(outcome.trace) == 1 + len(around) + 1
    np.testing.assert_allclose(outcome.best.theta, 0, atol=3 * ZERO_WEIGHT**2)


def test_starts_that_move_by_a_rounding_error_do_not_change_the_steps():
    """Here two parameters move together, so that the values tell the sum of their curvatures only."""
    traces = []
    for rounding in (0.0, 1e-15):
        starts = [np.zeros(P), np.r_[1 + rounding, -1.0, np.zeros(P - 2)]]
        outcome = LBFGS(tolerance=1e-8)(bowl(1, centre=0.3), BOX, starts)
        traces.append(np.array([step.theta for step in outcome.trace]))
    np.testing.assert_allclose(*traces, atol=1e-9)


def test_a_parameter_at_its_bound_does_not_hold_the_others_back():
    box = Box(np.array([-1.0, -5.0]), np.array([5.0, 5.0]))
    H = np.array([[4.0, 1.5], [1.5, 1.0]])
    centre = np.array([-3.0, 2.0])

    def evaluate(theta, warm_start=None):
        r = theta - centre
        return Evaluation(float(r @ H @ r) / 2, lambda: H @ r)

    best = LBFGS(tolerance=1e-10)(evaluate, box, [np.array([3.0, -4.0])]).best.theta
    # With the first parameter at -1 the second is lowest where its own slope vanishes.
    np.testing.assert_allclose(best, [-1.0, 2.0 - 1.5 * 2.0], atol=1e-4)


def test_undefined_points_only_shorten_the_steps():
    def evaluate(theta, warm_start=None):
        a, b = theta
        if a > 0.5:
            return Evaluation(np.inf, note="undefined")
        return Evaluation((a - 0.4) ** 2 + b * b + 1, lambda: np.array([2 * (a - 0.4), 2 * b]))

    outcome = LBFGS()(evaluate, Box(np.full(2, -9.0), np.full(2, 9.0)), [np.array([-3.0, 1.0])])
    np.testing.assert_allclose(outcome.best.theta, [0.4, 0.0], atol=1e-2)


def test_the_tolerance_on_parts_of_the_rows_follows_their_number():
    search = LBFGS()
    assert search.with_search_accuracy(10**6).tolerance == search.tolerance
    assert search.with_search_accuracy(1000).tolerance == pytest.approx(1e-3)
    assert search.with_search_accuracy(10).tolerance == 1e-2


def test_a_constant_is_left_where_it_is():
    flat = lambda theta, warm_start=None: Evaluation(1.0, lambda: np.zeros(2))
    box = Box(np.full(2, -9.0), np.full(2, 9.0))
    first = LBFGS()(flat, box, [np.zeros(2), np.ones(2)])
    again = LBFGS().near_optimum(first.trace)(flat, box, [first.best.theta])
    assert first.stop is again.stop is Stop.CONVERGED
    assert np.array_equal(again.best.theta, first.best.theta)
