"""Sinc, trigonometric polynomial, Dirichlet and Laplacian kernels."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, Matern
from sklearn.metrics.pairwise import laplacian_kernel

from foldless.criteria import LOO
from foldless.grams.builders import DenseBuilder, NystromBuilder
from foldless.kernels import Dirichlet, Laplacian, Pairs, Sinc, TrigonometricPolynomial, gram, pullback
from foldless.kernels.by_name import named_kernel
from foldless.machines import Ridge

RNG = np.random.default_rng(0)
X, Z = RNG.uniform(-1.5, 1.5, size=(12, 2)), RNG.uniform(-1.5, 1.5, size=(7, 2))
TUNED = [
    Sinc(2.3),
    TrigonometricPolynomial(0.6),
    TrigonometricPolynomial(0.3, period=5.0),
    Laplacian(0.7, norm=1),
    Laplacian(0.7, norm=2),
    Laplacian([0.7, 1.9], norm=1),
    Laplacian([0.7, 1.9], norm=2),
    Sinc(2.3) * Laplacian(0.7, norm=1) + RBF(1.0),
]
FIXED = [
    Sinc(2.3, "fixed"),
    TrigonometricPolynomial(0.6, "fixed"),
    Dirichlet(3),
    Dirichlet(2, period=4.0),
    Laplacian(0.7, "fixed", norm=1),
    Laplacian(0.7, "fixed", norm=2),
]
ALL = TUNED + FIXED


def direct(kernel, x, y):
    """The definition, one pair at a time."""
    if isinstance(kernel, Laplacian):
        return np.exp(-np.linalg.norm((x - y) / kernel.length_scale, kernel.norm))
    total = 1.0
    for u in x - y:
        if isinstance(kernel, Sinc):
            total *= kernel.bandwidth / np.pi if u == 0 else np.sin(kernel.bandwidth * u) / (np.pi * u)
        else:
            t = 2 * np.pi * u / kernel.period
            terms = (
                range(1, 400) if isinstance(kernel, TrigonometricPolynomial) else range(1, kernel.degree + 1)
            )
            q = kernel.q if isinstance(kernel, TrigonometricPolynomial) else 1.0
            total *= 0.5 + sum(q**k * np.cos(k * t) for k in terms)
    return total


@pytest.mark.parametrize("kernel", [k for k in ALL if not hasattr(k, "k1")], ids=repr)
def test_the_definition(kernel):
    expected = np.array([[direct(kernel, x, z) for z in Z] for x in X])
    assert kernel(X, Z) == pytest.approx(expected, rel=1e-10, abs=1e-12)
    assert gram(kernel, X, Z) == pytest.approx(expected, rel=1e-10, abs=1e-12)
    assert np.diag(gram(kernel, X)) == pytest.approx(kernel.diag(X), rel=1e-12)


@pytest.mark.parametrize("kernel", ALL, ids=repr)
def test_gram_and_pullback_agree_with_the_kernel(kernel):
    K, gradient = kernel(X, eval_gradient=True)
    A = RNG.normal(size=K.shape)
    assert gram(kernel, X) == pytest.approx(K, rel=1e-9, abs=1e-12)
    assert gradient.shape == (12, 12, len(kernel.theta))
    assert pullback(kernel, X, A) == pytest.approx(np.tensordot(A, gradient, axes=2), rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("kernel", TUNED, ids=repr)
@pytest.mark.parametrize("other", [None, Z], ids=["square", "rectangular"])
def test_pullback_is_the_derivative(kernel, other):
    A = RNG.normal(size=(12, 12 if other is None else 7))
    for j, got in enumerate(pullback(kernel, X, A, other)):
        step = 1e-6 * np.eye(len(kernel.theta))[j]
        up, down = (gram(kernel.clone_with_theta(kernel.theta + s), X, other) for s in (step, -step))
        assert got == pytest.approx(np.vdot(A, up - down) / 2e-6, rel=1e-6, abs=1e-8)


@pytest.mark.parametrize("kernel", ALL, ids=repr)
def test_scikit_learn_conventions(kernel):
    same = clone(kernel)
    assert same == kernel
    assert same.clone_with_theta(same.theta) == kernel
    assert kernel.is_stationary()
    assert len(kernel.bounds) == len(kernel.theta)
    if len(kernel.theta):
        moved = kernel.clone_with_theta(kernel.theta - 0.1)
        assert moved.theta == pytest.approx(kernel.theta - 0.1)
    with pytest.raises(ValueError, match="Gradient can only"):
        kernel(X, Z, eval_gradient=True)
    assert np.linalg.eigvalsh(kernel(X))[0] > -1e-10 * np.linalg.eigvalsh(kernel(X))[-1]


def test_laplacian_equals_others():
    assert Laplacian(0.7, norm=1)(X) == pytest.approx(laplacian_kernel(X, gamma=1 / 0.7))
    assert Laplacian(0.7, norm=2)(X) == pytest.approx(Matern(0.7, nu=0.5)(X))


def test_negative_entries_and_a_singular_matrix():
    x = np.linspace(0, 6, 20)[:, None]
    assert Sinc(2.0)(x).min() < -0.05
    K = Dirichlet(3)(x)
    assert K.min() < -0.5
    assert np.linalg.matrix_rank(K) == 7
    assert TrigonometricPolynomial(0.5)(x).min() > 0
    s = Ridge(1e-3).solve(DenseBuilder(x).gram(Dirichlet(3)), np.cos(2 * x))
    assert s.df < 7.001
    assert np.isfinite(LOO()(s).value)


def test_sinc_near_coincident_points_is_smooth():
    x = np.array([[0.0], [1e-9], [1e-4]])
    assert Sinc(3.0)(x)[0] == pytest.approx(3 / np.pi * np.ones(3), rel=1e-7)


def test_sinc_reproduces_the_plain_inner_product():
    """<k(., s), k(., t)> in L2 is k(s, t)."""
    grid = np.linspace(-2000, 2000, 2_000_001)[:, None]
    values = Sinc(2.0)(grid, np.array([[0.3], [1.1]]))
    inner = values[:, 0] @ values[:, 1] * (grid[1, 0] - grid[0, 0])
    assert inner == pytest.approx(Sinc(2.0)([[0.3]], [[1.1]])[0, 0], rel=1e-3)


def test_wrong_parameters():
    for kernel, words in (
        (TrigonometricPolynomial(1.2), "between 0 and 1"),
        (Dirichlet(-1), "degree"),
        (Laplacian(norm=3), "norm must be 1 or 2"),
    ):
        with pytest.raises(ValueError, match=words):
            gram(kernel, X)


def test_a_search_shares_the_city_block_distances():
    pairs = Pairs(X)
    one, two = gram(Laplacian(0.5, norm=1), pairs), gram(Laplacian(2.0, norm=1), pairs)
    assert np.log(one) == pytest.approx(4 * np.log(two))


@pytest.mark.parametrize("kernel", [Sinc(2.3), Laplacian([0.7, 1.9], norm=1)], ids=repr)
def test_gradients_through_landmarks(kernel):
    Y = np.sin(X[:, :1])
    for representation in (DenseBuilder(X), NystromBuilder(X, np.arange(0, 12, 2))):

        def value(theta, r=representation):
            return LOO()(Ridge(0.2).solve(r.gram(kernel.clone_with_theta(theta)), Y)).value

        K = representation.gram(kernel)
        got = representation.pullback(kernel, K, LOO()(Ridge(0.2).solve(K, Y)).adjoint)
        steps = 1e-6 * np.eye(len(kernel.theta))
        expected = [(value(kernel.theta + s) - value(kernel.theta - s)) / 2e-6 for s in steps]
        assert got == pytest.approx(expected, rel=1e-5, abs=1e-8)


def test_a_gaussian_process_of_scikit_learn_takes_them():
    gp = GaussianProcessRegressor(Laplacian(1.0, (0.1, 10.0), norm=1), alpha=0.1).fit(X, np.sin(X[:, 0]))
    assert gp.kernel_.length_scale > 0.1


def test_by_name():
    assert named_kernel("laplacian", X)(X).shape == (12, 12)
    assert np.diag(named_kernel("sinc", X)(X)) == pytest.approx(np.ones(12))
