"""Laws of the small linear algebra that no other file proves by using it."""

import numpy as np
import pytest
from sklearn.gaussian_process.kernels import RBF, Matern

from foldless.core.linalg import self_product, square_eigenpairs, thin_root

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
    """The first look sees rows of a block of rank one; the other rows are independent."""
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
