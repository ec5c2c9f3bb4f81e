"""Kernels with a learned metric, and gradients of kernels in their points."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.gaussian_process.kernels import (
    RBF,
    ConstantKernel,
    DotProduct,
    Matern,
    RationalQuadratic,
    WhiteKernel,
)

from foldless.criteria import LOO
from foldless.grams.builders import DenseBuilder, NystromBuilder
from foldless.kernels import (
    Additive,
    Categorical,
    Columns,
    Laplacian,
    Metric,
    Pairs,
    PowerExponential,
    gram,
    pullback,
)
from foldless.kernels.evaluate import is_semidefinite
from foldless.kernels.input_gradients import input_gradient
from foldless.kernels.metric import learned_metric, with_metric
from foldless.machines import Ridge

RNG = np.random.default_rng(0)
X, Z = RNG.normal(size=(12, 3)), RNG.normal(size=(7, 3))
A = RNG.normal(size=(3, 3))
G = A @ A.T
EIGENVALUES, DIRECTIONS = np.linalg.eigh(G * 3 / np.trace(G))
KERNELS = [
    Metric(0.7),
    Metric(0.7, 0.6, EIGENVALUES, DIRECTIONS),
    Metric(0.7, 1.0, EIGENVALUES, DIRECTIONS, nu=0.5),
    Metric(0.7, 0.3, EIGENVALUES, DIRECTIONS, nu=2.5, power_bounds="fixed"),
    Metric(0.7, 0.3, EIGENVALUES, DIRECTIONS, length_scale_bounds="fixed"),
    Metric(0.7, 0.3, EIGENVALUES, DIRECTIONS, np.inf, 0, "fixed", "fixed"),
    ConstantKernel(2.0) * Metric(0.7, 0.6, EIGENVALUES, DIRECTIONS) + DotProduct(),
]


def test_the_definition():
    """M to the power s is a matrix power, and the scale of G does not matter."""
    s = 0.6
    M = DIRECTIONS @ np.diag(EIGENVALUES**s) @ DIRECTIONS.T
    difference = X[:, None] - Z
    squares = np.einsum("ija,ab,ijb->ij", difference, M, difference)
    learned = with_metric(Metric(0.7, s, rounds=1), 5 * G)
    assert learned(X, Z) == pytest.approx(np.exp(-squares / 0.7**2 / 2), rel=1e-9)
    assert Metric(0.7)(X, Z) == pytest.approx(RBF(0.7)(X, Z), rel=1e-12)
    assert Metric(0.7, nu=0.5)(X) == pytest.approx(Laplacian(0.7)(X), rel=1e-12)


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
@pytest.mark.parametrize("other", [None, Z], ids=["square", "rectangular"])
def test_pullback_is_the_derivative(kernel, other):
    adjoint = RNG.normal(size=(12, 12 if other is None else 7))
    got = pullback(kernel, X, adjoint, other)
    assert len(got) == len(kernel.theta)
    if other is None:
        tensor = kernel(X, eval_gradient=True)[1]
        assert got == pytest.approx(np.tensordot(adjoint, tensor, axes=2), rel=1e-9, abs=1e-12)
    for j, value in enumerate(got):
        # Beyond a power of 1 there is nothing: differences are taken downwards, of second order.
        f = [
            np.vdot(adjoint, gram(kernel.clone_with_theta(kernel.theta - h * np.eye(len(got))[j]), X, other))
            for h in (0, 1e-5, 2e-5)
        ]
        assert value == pytest.approx((3 * f[0] - 4 * f[1] + f[2]) / 2e-5, rel=1e-5, abs=1e-7)


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_scikit_learn_conventions(kernel):
    same = clone(kernel)
    assert same.clone_with_theta(same.theta).theta == pytest.approx(kernel.theta, rel=1e-14)
    assert len(kernel.bounds) == len(kernel.theta)
    assert is_semidefinite(kernel)
    assert gram(kernel, X) == pytest.approx(kernel(X))
    assert gram(kernel, sp.csr_array(X), sp.csr_array(Z)) == pytest.approx(kernel(X, Z))
    assert np.linalg.eigvalsh(kernel(X))[0] > -1e-12
    pairs = Pairs(X, Z)
    strips = [gram(kernel, pairs.strip(slice(i, i + 5))) for i in (0, 5, 10)]
    assert np.vstack(strips) == pytest.approx(kernel(X, Z))


def test_gradients_through_landmarks():
    kernel, Y = KERNELS[1], np.sin(X[:, :1])
    for builder in (DenseBuilder(X), NystromBuilder(X, np.arange(0, 12, 2))):

        def value(theta, builder=builder):
            return LOO()(Ridge(0.2).solve(builder.gram(kernel.clone_with_theta(theta)), Y)).value

        K = builder.gram(kernel)
        got = builder.pullback(kernel, K, LOO()(Ridge(0.2).solve(K, Y)).adjoint)
        steps = 1e-6 * np.eye(2)
        expected = [(value(kernel.theta + s) - value(kernel.theta - s)) / 2e-6 for s in steps]
        assert got == pytest.approx(expected, rel=1e-5, abs=1e-8)


@pytest.mark.parametrize("power", [0.0, 1.5, -1.0])
def test_a_power_out_of_range_is_refused(power):
    with pytest.raises(ValueError, match="above 0 and at most 1"):
        Metric(power=power, eigenvalues=EIGENVALUES, directions=DIRECTIONS).theta


def test_the_metric_is_found_inside_other_kernels():
    inside = ConstantKernel(2.0) * Metric(0.7, rounds=2) + WhiteKernel()
    assert learned_metric(Metric(rounds=1)) == ""
    assert learned_metric(inside) == "k1__k2"
    assert learned_metric(RBF() + Metric()) is None
    assert with_metric(inside, G).k1.k2.eigenvalues == pytest.approx(EIGENVALUES)


def test_a_function_that_never_changes_leaves_the_distances_finite():
    flat = with_metric(Metric(0.7, rounds=1), np.zeros((3, 3)))
    assert np.all(np.isfinite(flat(X)))


@pytest.mark.parametrize(
    "kernel",
    [
        RBF(0.7),
        RBF([0.7, 1.9, 3.0]),
        Matern(0.7, nu=0.5),
        Matern(0.7, nu=1.5),
        Matern([0.7, 1.9, 3.0], nu=2.5),
        Matern(0.7, nu=1.1),
        RationalQuadratic(0.7, 1.2),
        Laplacian(0.7),
        Laplacian(0.7, norm=1),
        PowerExponential(0.7, 1.3),
        Additive([0.5, 1.5, 0.2], 0.7, 0.4, order=2),
        DotProduct(0.5) ** 3,
        2.0 * RBF(0.7) * DotProduct(0.5) + ConstantKernel(0.5) + WhiteKernel(0.5),
        Columns(RBF(0.7), [2, 0]) * Columns(Matern(0.9, nu=1.5), [1]),
        *KERNELS,
    ],
    ids=repr,
)
def test_input_gradients_are_derivatives_in_the_points(kernel):
    W = RNG.normal(size=(12, 7))
    expected = np.zeros((12, 3))
    for a, step in enumerate(1e-6 * np.eye(3)):
        expected[:, a] = np.sum(W * (kernel(X + step, Z) - kernel(X - step, Z)), axis=1) / 2e-6
    assert input_gradient(kernel, Pairs(X, Z), W) == pytest.approx(expected, rel=1e-5, abs=1e-7)


def test_categories_have_no_gradient():
    codes, W = RNG.integers(0, 3, size=(12, 2)), RNG.normal(size=(12, 12))
    assert np.all(input_gradient(Categorical(), Pairs(codes, codes), W) == 0)
