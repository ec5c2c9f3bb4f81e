"""Factors and inverses in parts: those of LAPACK up to rounding, and the same digits for every number of threads."""

import numpy as np
import pytest
from scipy.linalg import lapack

from foldless.core import tiles
from foldless.core.linalg import (
    TILED_MIN_ROWS,
    cholesky,
    each_strip,
    inverse_lower,
    inverse_of_square,
    single_cholesky,
    solve_lower,
)
from foldless.core.parallel import workers


@pytest.fixture(scope="module")
def definite():
    n = TILED_MIN_ROWS + 37
    F = np.random.default_rng(0).normal(size=(n, n))
    return F @ F.T / n + np.eye(n)


def test_the_factor_is_that_of_lapack(definite):
    L = cholesky(definite)
    # Backward error of a Cholesky factorisation: n eps times the matrix.
    bound = len(L) * np.finfo(float).eps * np.max(np.diag(definite))
    assert np.max(np.abs(L @ L.T - definite)) < bound
    assert not np.any(np.triu(L, 1))


def test_a_factor_in_single_precision(definite):
    L = single_cholesky(np.asfortranarray(definite, np.float32))
    assert L.dtype == np.float32
    bound = len(L) * np.finfo(np.float32).eps * np.max(np.diag(definite))
    assert np.max(np.abs(np.tril(L) @ np.tril(L).T - definite)) < bound
    m = np.random.default_rng(0).normal(size=(len(L), 300)).astype(np.float32)
    assert solve_lower(L, m).dtype == np.float32
    # The condition of the triangle is below 3.
    assert np.max(np.abs(np.tril(L) @ solve_lower(L, m) - m)) < 3 * bound * np.max(np.abs(m))
    np.testing.assert_allclose(solve_lower(L, m[:, :1]), solve_lower(L, m)[:, :1], atol=1e-5)


def test_threads_change_no_digit_of_a_factor_in_single_precision(definite):
    factors = []
    for n_jobs in (1, 2):
        with workers(n_jobs):
            factors.append(single_cholesky(np.asfortranarray(definite, np.float32)))
    assert np.array_equal(*factors)


def test_an_indefinite_matrix_has_no_factor_in_single_precision(definite):
    A = np.asfortranarray(definite, np.float32)
    A[1200, 1200] = -1
    assert single_cholesky(A) is None


def test_the_inverse_is_one(definite):
    L = cholesky(definite)
    # Forward error of a triangular solve: n eps times the condition, which is below 3 here.
    bound = 3 * len(L) * np.finfo(float).eps
    assert np.max(np.abs(inverse_lower(L) @ L - np.eye(len(L)))) < bound


@pytest.mark.parametrize("n", [1, 2, 99, 101, 400, 513, 1100])
def test_the_inverse_of_a_triangle_and_its_square_are_those_of_lapack(n):
    F = np.random.default_rng(0).normal(size=(n, 2 * n))
    L = np.linalg.cholesky(F @ F.T / (2 * n))
    # The condition of L is below 10; every entry of an inverse errs by n eps times that, and its size is at most 1 / 0.25.
    bound = 40 * n * np.finfo(float).eps
    assert np.max(np.abs(inverse_lower(L) - np.tril(lapack.dtrtri(L, lower=1)[0]))) < bound
    expected = lapack.dpotri(L, lower=1)[0]
    found = inverse_of_square(L)
    assert np.max(np.abs(np.tril(found) - np.tril(expected))) < 40 * bound
    assert np.array_equal(found, found.T)


def test_squares_of_an_inverse_that_is_not_kept(definite):
    L = cholesky(definite)
    # A sum of up to n squares, each with twice the error of its entry.
    np.testing.assert_allclose(
        tiles.inverse_squares_by_columns(L),
        np.sum(np.tril(inverse_lower(L), -1) ** 2, axis=0),
        rtol=3 * len(L) * np.finfo(float).eps,
    )


@pytest.mark.parametrize("transposed", [False, True])
def test_solutions_of_many_columns_are_those_of_each(definite, transposed):
    L = cholesky(definite)
    M = np.random.default_rng(1).normal(size=(len(L), 300))
    triangle = L.T if transposed else L
    solved = solve_lower(L, M, transposed)
    # Backward stability: the residual is rounding of the products |L| |X|.
    assert np.all(
        np.abs(triangle @ solved - M) <= len(L) * np.finfo(float).eps * (np.abs(triangle) @ np.abs(solved))
    )


def test_every_row_belongs_to_one_strip():
    for n in (10, TILED_MIN_ROWS + 7):
        seen = np.zeros(n, dtype=int)

        def count(rows, seen=seen):
            seen[rows] += 1

        with workers(2):
            each_strip(n, count)
        assert np.all(seen == 1)


def test_digits_do_not_depend_on_the_number_of_threads(definite):
    found = []
    for n_jobs in (1, 2, 3):
        with workers(n_jobs):
            L = cholesky(definite)
            squares = tiles.inverse_squares_by_columns(L)
            found.append((L, inverse_lower(L), squares, inverse_of_square(L)))
    for others in found[1:]:
        for other, first in zip(others, found[0], strict=True):
            assert np.array_equal(other, first)


@pytest.mark.parametrize("row", [3, 700, 1500])
def test_the_first_row_without_a_factor_is_reported(definite, row):
    A = np.array(definite, order="F")
    A[row, row] = -1.0
    assert tiles.factor_in_place(A) == row + 1
