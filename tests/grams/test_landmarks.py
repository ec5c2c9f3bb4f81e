"""Landmarks by randomly pivoted Cholesky: a residual near the best one, whatever the kernel and the form of the points."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.gaussian_process.kernels import RBF, DotProduct, Matern

from foldless.core.parallel import workers
from foldless.grams.builders import NystromBuilder
from foldless.grams.landmarks import pivot_rows, pivoted_landmarks, uniform_landmarks
from foldless.kernels import Laplacian, gram
from foldless.kernels.evaluate import diagonal

N, M = 600, 40
KERNELS = [RBF(1.5), RBF([0.5, 3.0, 20.0]), Laplacian(6.0), Matern(2.0, nu=1.5) + DotProduct(1.0) ** 2]


@pytest.fixture(scope="module")
def points():
    return np.random.default_rng(0).normal(size=(N, 3))


def lost(kernel, X, rows):
    """Diagonal of the residual, by the definition."""
    K = gram(kernel, X)
    return np.diag(K - K[:, rows] @ np.linalg.pinv(K[np.ix_(rows, rows)], hermitian=True) @ K[rows])


@pytest.mark.parametrize("kernel", KERNELS, ids=str)
def test_the_residual_is_the_diagonal_that_the_landmarks_do_not_explain(kernel, points):
    pivots = pivot_rows(kernel, points, M, np.random.default_rng(1))
    assert len(np.unique(pivots.rows)) == len(pivots.rows) == M
    np.testing.assert_allclose(pivots.residual, lost(kernel, points, pivots.rows), atol=1e-7)
    K = NystromBuilder(points, pivots.rows).gram(kernel)
    np.testing.assert_allclose(pivots.residual, diagonal(kernel, points) - K.diag(), atol=1e-7)


@pytest.mark.parametrize("kernel", KERNELS, ids=str)
def test_the_trace_is_near_the_best_of_that_rank_and_no_worse_than_of_uniform_rows(kernel, points):
    best = np.linalg.eigvalsh(gram(kernel, points))[: N - M].sum()
    seeds = [np.random.default_rng(seed) for seed in range(8)]
    pivoted = [pivot_rows(kernel, points, M, rng).residual.sum() for rng in seeds]
    uniform = [lost(kernel, points, uniform_landmarks(points, M, rng)).sum() for rng in seeds]
    assert np.mean(pivoted) < 4 * best
    assert np.mean(pivoted) < np.mean(uniform) + 2 * np.std(uniform) / np.sqrt(8)


def test_single_proposals_and_blocks_of_them_obey_the_same_law(points, monkeypatch):
    def traces():
        return [pivot_rows(RBF(1.5), points, M, np.random.default_rng(s)).residual.sum() for s in range(40)]

    blocks = traces()
    monkeypatch.setattr("foldless.grams.landmarks.PROPOSALS_MAX_ROWS", 1)
    single = traces()
    deviation = np.sqrt((np.var(blocks) + np.var(single)) / 40)
    assert abs(np.mean(blocks) - np.mean(single)) < 3 * deviation


def test_a_matrix_of_low_rank_is_explained_by_as_many_landmarks(points):
    X = np.repeat(points[:25], 8, axis=0)
    pivots = pivot_rows(RBF(0.8), X, M, np.random.default_rng(0))
    assert len(pivots.rows) == 25
    assert len(np.unique(X[pivots.rows], axis=0)) == 25
    assert len(pivot_rows(DotProduct(0.0), points, M, np.random.default_rng(0)).rows) == 3
    assert len(pivot_rows(DotProduct(0.0), 0 * points, M, np.random.default_rng(0)).rows) == 0


def test_no_more_rows_are_chosen_than_leave_a_negligible_part(points):
    kernel, weights = RBF(1.5), np.linspace(0, 2, N)
    most = pivot_rows(kernel, points, M, np.random.default_rng(2))
    negligible = 4 * np.mean(weights * most.residual)
    few = pivot_rows(kernel, points, M, np.random.default_rng(2), weights, negligible)
    left = np.mean(weights * lost(kernel, points, few.rows))
    assert left == pytest.approx(np.mean(weights * few.residual), abs=1e-7)
    assert left <= negligible < np.mean(weights * lost(kernel, points, few.rows[: len(few.rows) // 2]))
    np.testing.assert_array_equal(few.rows, most.rows[: len(few.rows)])
    rows = pivoted_landmarks(kernel, points, M, np.random.default_rng(2), weights, negligible)
    np.testing.assert_array_equal(rows, np.sort(few.rows))


def test_sparse_points_threads_and_the_seed_change_nothing(points):
    X = np.where(np.abs(points) > 0.8, points, 0.0)
    rows = pivoted_landmarks(RBF(1.5), X, M, np.random.default_rng(3))
    np.testing.assert_array_equal(
        rows, pivoted_landmarks(RBF(1.5), sp.csr_array(X), M, np.random.default_rng(3))
    )
    with workers(3):
        np.testing.assert_array_equal(rows, pivoted_landmarks(RBF(1.5), X, M, np.random.default_rng(3)))
    assert len(rows) == M
    np.testing.assert_array_equal(pivoted_landmarks(RBF(1.5), X, N, np.random.default_rng(0)), np.arange(N))
