"""Laws of the small linear algebra that no other file proves by using it."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.gaussian_process.kernels import RBF, Matern

from foldless.core.errors import NotPositiveDefinite
from foldless.core.linalg import (
    add_thin,
    centre,
    check_eigenvalues,
    check_semidefinite,
    check_symmetric,
    inverse_lower,
    mirror,
    pivoted_cholesky,
    self_product,
    solve_cholesky,
    solve_lower,
    square_eigenpairs,
    thin_root,
    weighted_square,
)

RNG = np.random.default_rng(0)
X = RNG.normal(size=(120, 1))
SMOOTH = RBF(1.0)(X)


def test_a_thin_root_squared_is_the_matrix():
    F = thin_root(SMOOTH, 60)
    assert F.shape[0] == 120
    assert F.shape[1] < 40
    assert pytest.approx(SMOOTH, abs=100 * np.finfo(float).eps) == F @ F.T


def test_a_thin_root_has_the_rank_of_the_matrix():
    B = RNG.normal(size=(120, 7))
    assert thin_root(B @ B.T, 60).shape == (120, 7)
    assert thin_root(1e-200 * (B @ B.T), 60).shape == (120, 7)  # the unit does not matter
    assert thin_root(B @ B.T, 7).shape == (120, 7)
    assert thin_root(B @ B.T, 6) is None


def test_a_low_rank_that_few_rows_do_not_show():
    """The block that is factored first has rank one; the other rows are independent."""
    A = np.eye(120)
    A[::2, ::2] = 1
    assert thin_root(A, 59) is None
    assert thin_root(A, 61).shape == (120, 61)


def hidden():
    """Positive on a part, zero with cross terms on the rest: no pivot shows that it is indefinite."""
    A = np.zeros((120, 120))
    A[:60, :60] = SMOOTH[:60, :60]
    A[60, 61] = A[61, 60] = 1e-3
    return A


@pytest.mark.parametrize(
    "A",
    [
        Matern(1.0, nu=0.5)(X),
        RBF(1e-3)(X),
        np.eye(120),
        np.zeros((120, 120)),
        -SMOOTH,
        hidden(),
        np.full((120, 120), np.nan),
        np.where(np.eye(120) > 0, 1, np.where(np.arange(120) == 5, np.nan, SMOOTH)),
    ],
    ids=["exponential", "narrow", "identity", "zero", "negative", "indefinite", "nan", "a column of nan"],
)
def test_no_thin_root_where_there_is_none(A):
    assert thin_root(A, 60) is None


@pytest.mark.parametrize("columns", [0, 1, 7, 120, 150])
def test_eigenpairs_of_a_square(columns):
    F = RNG.normal(size=(120, columns)) * np.logspace(0, -9, columns)
    Q, mu = square_eigenpairs(F)
    assert Q.shape == (120, min(columns, 120))
    assert pytest.approx(np.eye(Q.shape[1]), abs=1e-13) == Q.T @ Q
    assert (Q * mu) @ Q.T == pytest.approx(F @ F.T, abs=1e-12)
    assert np.all(np.diff(mu) <= 0)
    assert np.all(mu >= 0)


def test_eigenvectors_of_a_singular_square_are_orthonormal():
    F = np.column_stack([np.ones(50), np.ones(50), np.zeros(50)])
    Q, mu = square_eigenpairs(F)
    assert pytest.approx(np.eye(3), abs=1e-13) == Q.T @ Q
    assert mu == pytest.approx([100, 0, 0], abs=1e-12)


def test_self_product():
    B = RNG.normal(size=(9, 4))
    for form in (B, np.asfortranarray(B), B[::-1]):
        assert self_product(form) == pytest.approx(form @ form.T)
        assert np.array_equal(self_product(form), self_product(form).T)


def test_weighted_squares_of_either_sign():
    B, e = RNG.normal(size=(70, 5)), RNG.normal(size=70)
    for weights in (e, np.abs(e), -np.abs(e), np.where(e > 0, e, 0), np.zeros(70)):
        assert weighted_square(B, weights) == pytest.approx((B.T * weights) @ B, abs=1e-12)


def test_triangles():
    B = RNG.normal(size=(130, 130))
    L = np.linalg.cholesky(B @ B.T + 130 * np.eye(130))
    M = RNG.normal(size=(130, 3))
    assert solve_lower(L, M) == pytest.approx(np.linalg.solve(L, M))
    assert solve_lower(L, M[:, 0], transposed=True) == pytest.approx(np.linalg.solve(L.T, M[:, 0]))
    assert solve_cholesky(L, M) == pytest.approx(np.linalg.solve(L @ L.T, M))
    assert inverse_lower(L) == pytest.approx(np.linalg.inv(L), abs=1e-12)
    assert np.array_equal(mirror(np.tril(B)), np.tril(B) + np.tril(B, -1).T)


def test_pivots_reproduce_what_they_kept():
    B = RNG.normal(size=(20, 4))
    A = B @ B.T
    L, kept = pivoted_cholesky(A)
    assert len(kept) == 4
    assert pytest.approx(A[np.ix_(kept, kept)]) == L @ L.T
    cross = np.linalg.solve(L, A[kept])
    assert cross.T @ cross == pytest.approx(A, abs=1e-10)


def test_thin_terms_and_centring_are_what_they_say():
    G, P, Q, J = SMOOTH.copy(), RNG.normal(size=(120, 2)), RNG.normal(size=(120, 2)), np.eye(120) - 1 / 120
    assert add_thin(G, P, Q) == pytest.approx(SMOOTH + P @ Q.T + Q @ P.T)
    assert centre(SMOOTH) == pytest.approx(J @ SMOOTH @ J, abs=1e-12)


@pytest.mark.parametrize("check", [check_symmetric, check_semidefinite])
def test_a_given_matrix_comes_back_as_an_array(check):
    for given in (SMOOTH, SMOOTH.tolist(), sp.csr_array(SMOOTH), np.asfortranarray(SMOOTH)):
        assert np.array_equal(check(given, "it"), SMOOTH)
    check(SMOOTH + 1e-9 * np.triu(SMOOTH), "it")  # rounding
    check(np.zeros((3, 3)), "it")
    check(1e-300 * SMOOTH, "it")


@pytest.mark.parametrize("check", [check_symmetric, check_semidefinite])
@pytest.mark.parametrize(
    "given, words",
    [
        (np.ones((2, 3)), r"^the thing must be square, got shape \(2, 3\)"),
        (np.ones(4), r"must be square, got shape \(4,\)"),
        ([[1.0, np.nan], [np.nan, 1.0]], "^the thing contains NaN or infinity"),
        ([[1.0, np.inf], [np.inf, 1.0]], "contains NaN or infinity"),
        ([[1.0, 2e-8], [0.0, 1.0]], "^the thing is not symmetric: it and its transpose differ by 2.0e-08"),
    ],
)
def test_what_is_no_symmetric_matrix_is_named(check, given, words):
    with pytest.raises(ValueError, match=words):
        check(given, "the thing")


@pytest.mark.parametrize("smallest", [-1e-3, -4e-7, -4e-9, 0.0])
def test_negative_eigenvalues_beyond_rounding_are_refused(smallest):
    mu = np.r_[smallest, np.linspace(0.1, 1, 9)]
    Q = np.linalg.qr(RNG.normal(size=(10, 10)))[0]
    A = (Q * mu) @ Q.T
    A = (A + A.T) / 2
    if smallest > -1e-8 * mu.sum():
        check_semidefinite(A, "it")
        check_eigenvalues(mu, "it")
        return
    for refuse in (lambda: check_semidefinite(A, "it"), lambda: check_eigenvalues(mu, "it")):
        with pytest.raises(NotPositiveDefinite, match=f"^it has smallest eigenvalue {smallest:.1e}"):
            refuse()
    check_eigenvalues(mu, "it", rounding=1e-2)
