"""The power exponential kernel: definition, special cases, derivatives, scikit-learn's conventions."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel

from foldless import KernelLogisticRegression, KernelRidgeRegressor
from foldless.criteria import LOO
from foldless.datasets import make_ripley
from foldless.grams.builders import DenseBuilder, NystromBuilder
from foldless.kernels import Laplacian, Pairs, PowerExponential, gram, pullback
from foldless.kernels.by_name import named_kernel
from foldless.kernels.evaluate import is_semidefinite
from foldless.machines import Ridge

RNG = np.random.default_rng(0)
X, Z = RNG.normal(size=(12, 2)), RNG.normal(size=(7, 2))
X[3] = X[5]  # a distance of 0 off the diagonal
KERNELS = [
    PowerExponential(0.7, 0.5),
    PowerExponential(0.7, 1.3),
    PowerExponential(0.7, 2.0),
    PowerExponential(0.7, 0.6, p=1),
    PowerExponential(0.7, 1.0, p=1),
    PowerExponential([0.7, 1.9], 1.3),
    PowerExponential([0.7, 1.9], 0.6, p=1),
    PowerExponential(0.7, 1.3, power_bounds="fixed"),
    PowerExponential([0.7, 1.9], 1.3, power_bounds="fixed"),
    PowerExponential([0.7, 1.9], 1.3, length_scale_bounds="fixed"),
    PowerExponential(0.7, 0.6, 1, "fixed", "fixed"),
    ConstantKernel(2.0) * PowerExponential(0.7, 1.3) + RBF(1.0),
]
SINGLE = [kernel for kernel in KERNELS if isinstance(kernel, PowerExponential)]


@pytest.mark.parametrize("kernel", SINGLE, ids=repr)
def test_the_definition(kernel):
    expected = [
        [np.exp(-(np.linalg.norm((x - z) / kernel.length_scale, kernel.p) ** kernel.power)) for z in Z]
        for x in X
    ]
    assert kernel(X, Z) == pytest.approx(np.array(expected), rel=1e-12)
    assert gram(kernel, X, Z) == pytest.approx(np.array(expected), rel=1e-12)


def test_special_cases():
    assert PowerExponential(0.7, 2.0)(X) == pytest.approx(RBF(0.7 / np.sqrt(2))(X), rel=1e-12)
    assert PowerExponential(0.7, 1.0)(X) == pytest.approx(Laplacian(0.7)(X), rel=1e-12)
    assert PowerExponential(0.7, 1.0, p=1)(X) == pytest.approx(Laplacian(0.7, norm=1)(X), rel=1e-12)


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
@pytest.mark.parametrize("other", [None, Z], ids=["square", "rectangular"])
def test_pullback_is_the_derivative(kernel, other):
    A = RNG.normal(size=(12, 12 if other is None else 7))
    if other is None:
        tensor = kernel(X, eval_gradient=True)[1]
        assert pullback(kernel, X, A) == pytest.approx(np.tensordot(A, tensor, axes=2), rel=1e-9, abs=1e-12)
    for j, got in enumerate(pullback(kernel, X, A, other)):
        # Beyond q = p there is nothing: differences are taken downwards, of second order.
        f = [
            np.vdot(
                A, gram(kernel.clone_with_theta(kernel.theta - s * np.eye(len(kernel.theta))[j]), X, other)
            )
            for s in (0, 1e-5, 2e-5)
        ]
        assert got == pytest.approx((3 * f[0] - 4 * f[1] + f[2]) / 2e-5, rel=1e-5, abs=1e-7)


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_scikit_learn_conventions(kernel):
    same = clone(kernel)
    assert same == kernel
    assert same.clone_with_theta(same.theta) == kernel
    assert len(kernel.bounds) == len(kernel.theta)
    assert kernel.is_stationary()
    assert is_semidefinite(kernel)
    assert np.linalg.eigvalsh(kernel(X))[0] > -1e-12
    assert kernel.diag(X) == pytest.approx(np.diag(kernel(X)))
    with pytest.raises(ValueError, match="Gradient can only"):
        kernel(X, Z, eval_gradient=True)


def test_the_power_never_leaves_its_range():
    for p in (1, 2):
        bounds = PowerExponential(p=p).bounds
        assert np.exp(bounds[-1]) == pytest.approx([0.1, p])
        top = PowerExponential(p=p).clone_with_theta(bounds[:, 1])
        assert np.all(np.isfinite(gram(top, X)))


@pytest.mark.parametrize(
    ("kernel", "words"),
    [
        (PowerExponential(power=2.1), "at most p=2, got 2.1"),
        (PowerExponential(power=1.2, p=1), "at most p=1, got 1.2"),
        (PowerExponential(power=0.0), "above 0"),
        (PowerExponential(power=-1.0), "above 0"),
        (PowerExponential(power=np.nan), "above 0"),
        (PowerExponential(p=3), "p must be 1 or 2, got 3"),
    ],
    ids=repr,
)
def test_a_power_out_of_range_is_refused(kernel, words):
    y = np.arange(12) % 2
    for use in (
        lambda: kernel(X),
        lambda: gram(kernel, X),
        lambda: KernelLogisticRegression(kernel).fit(X, y),
    ):
        with pytest.raises(ValueError, match=words):
            use()


def test_a_power_that_is_no_number_is_refused():
    with pytest.raises(ValueError, match=r"above 0 .* got 'smooth'"):
        KernelLogisticRegression(PowerExponential(power="smooth")).fit(X, np.arange(12) % 2)


def test_sparse_points_give_the_same_matrix():
    for kernel in SINGLE:
        assert gram(kernel, sp.csr_array(X)) == pytest.approx(gram(kernel, X), abs=1e-9)


def test_a_search_shares_the_distances():
    pairs = Pairs(X)
    one, two = (gram(PowerExponential(1.0, q), pairs) for q in (1.0, 2.0))
    assert np.log(two) == pytest.approx(-(np.log(one) ** 2))


@pytest.mark.parametrize("kernel", SINGLE[5:7], ids=repr)
def test_gradients_through_landmarks(kernel):
    Y = np.sin(X[:, :1])
    for builder in (DenseBuilder(X), NystromBuilder(X, np.arange(0, 12, 2))):

        def value(theta, builder=builder):
            return LOO()(Ridge(0.2).solve(builder.gram(kernel.clone_with_theta(theta)), Y)).value

        K = builder.gram(kernel)
        got = builder.pullback(kernel, K, LOO()(Ridge(0.2).solve(K, Y)).adjoint)
        steps = 1e-6 * np.eye(len(kernel.theta))
        expected = [(value(kernel.theta + s) - value(kernel.theta - s)) / 2e-6 for s in steps]
        assert got == pytest.approx(expected, rel=1e-5, abs=1e-8)


def test_the_power_follows_the_data():
    x = np.linspace(0, 6, 80)[:, None]
    noise = 0.05 * np.random.default_rng(0).normal(size=80)
    smooth = KernelRidgeRegressor("power-exponential").fit(x, np.sin(x[:, 0]) + noise)
    steps = KernelRidgeRegressor("power-exponential").fit(x, np.sign(np.sin(3 * x[:, 0])) + noise)
    assert smooth.kernel_.power > 1.9
    assert steps.kernel_.power < 1.5


def test_a_gaussian_process_of_scikit_learn_takes_it():
    x = np.linspace(0, 6, 80)[:, None]
    kernel = PowerExponential(1.0, 1.5, 2, (0.1, 10.0))
    gp = GaussianProcessRegressor(kernel, alpha=0.01).fit(x, np.sign(np.sin(3 * x[:, 0])))
    assert 0.2 < gp.kernel_.power < 1.8


@pytest.mark.parametrize(
    "name", ["matern32", "matern52", "laplacian", "product-laplacian", "affine", "power-exponential"]
)
def test_the_names(name):
    points, y = make_ripley(120, random_state=0)
    assert np.mean(np.diag(gram(named_kernel(name, points), points))) == pytest.approx(1 + (name == "affine"))
    model = KernelLogisticRegression(name).fit(points, y)
    assert model.score(points, y) > 0.83
