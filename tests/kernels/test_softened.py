"""Columns whose large values are drawn in: definition, limits, derivatives, gradients in the points, every form of a fit."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, DotProduct, Matern

from foldless import KernelClassifier, KernelRegressor, KernelRidgeRegressor
from foldless.grams.builders import ChunkedBuilder, DenseBuilder, NystromBuilder
from foldless.kernels import Categorical, Columns, Laplacian, Pairs, Softened, gram, pullback
from foldless.kernels.evaluate import diagonal, is_semidefinite
from foldless.kernels.input_gradients import input_gradient

RNG = np.random.default_rng(0)
X, Z = 3 * RNG.standard_t(2, size=(12, 3)), 3 * RNG.standard_t(2, size=(7, 3))
KERNELS = [
    Softened(RBF(0.7), 2.0),
    Softened(RBF([0.7, 1.9, 3.0])),
    Softened(Matern(0.7, nu=1.5), 0.3),
    Softened(Laplacian(0.7, norm=1), 4.0),
    Softened(DotProduct(1.3)) + ConstantKernel(0.4),
    Columns(Softened(RBF(0.7)), [2, 0]) * Softened(Matern(1.1, nu=2.5), 0.5),
]
ids = [str(kernel) for kernel in KERNELS]


@pytest.mark.parametrize("strength", [0.1, 1.0, 5.0])
def test_it_is_the_kernel_of_softened_points(strength):
    soft = lambda points: np.arcsinh(strength * points) / strength
    kernel = Softened(RBF(0.7), strength)
    assert gram(kernel, X, Z) == pytest.approx(RBF(0.7)(soft(X), soft(Z)), rel=1e-12)
    assert kernel(X) == pytest.approx(RBF(0.7)(soft(X)), rel=1e-12)


def test_a_weak_one_is_the_kernel_itself():
    assert gram(Softened(RBF(0.7), 1e-6), X) == pytest.approx(gram(RBF(0.7), X), abs=1e-9)


def test_a_strong_one_sees_ratios():
    """Far from zero asinh(a x) is log(2 a x): points that differ by a factor are equally far apart everywhere."""
    kernel = Softened(RBF(1.0), 1.0)
    near, far = (gram(kernel, [[scale]], [[3 * scale]])[0, 0] for scale in (1e3, 1e6))
    assert near == pytest.approx(far, rel=1e-6)
    assert near == pytest.approx(np.exp(-(np.log(3) ** 2) / 2), rel=1e-6)


@pytest.mark.parametrize("kernel", KERNELS, ids=ids)
def test_matrix_diagonal_and_derivatives_are_those_of_scikit_learn(kernel):
    K, derivative = kernel(X, eval_gradient=True)
    A = RNG.normal(size=K.shape)
    assert gram(kernel, X) == pytest.approx(K, rel=1e-10)
    assert diagonal(kernel, X) == pytest.approx(np.diag(K), rel=1e-10)
    assert pullback(kernel, X, A + A.T) == pytest.approx(np.tensordot(A + A.T, derivative, 2), rel=1e-9)
    assert is_semidefinite(kernel)
    assert np.linalg.eigvalsh(K)[0] > -1e-9


@pytest.mark.parametrize("kernel", KERNELS, ids=ids)
def test_the_pullback_is_the_directional_derivative(kernel):
    A = RNG.normal(size=(12, 12))
    value = lambda theta: np.vdot(A + A.T, gram(kernel.clone_with_theta(theta), X))
    steps = 1e-6 * np.eye(len(kernel.theta))  # rounding and curvature errors are both near 1e-9 there
    expected = [(value(kernel.theta + e) - value(kernel.theta - e)) / 2e-6 for e in steps]
    assert pullback(kernel, X, A + A.T) == pytest.approx(np.array(expected), rel=1e-5, abs=1e-7)


@pytest.mark.parametrize("kernel", KERNELS, ids=ids)
def test_the_gradient_in_the_points_is_that_of_differences(kernel):
    W = RNG.normal(size=(7, 12))
    fallback = input_gradient.dispatch(object)
    found, expected = (f(kernel, Pairs(Z, X), W) for f in (input_gradient, fallback))
    assert found == pytest.approx(expected, rel=1e-4, abs=1e-6)


@pytest.mark.parametrize("kernel", KERNELS, ids=ids)
def test_every_form_of_the_matrix_is_the_same(kernel):
    K, v = gram(kernel, X), RNG.normal(size=(12, 2))
    for builder in (DenseBuilder(X), ChunkedBuilder(X, 5), NystromBuilder(X, X)):
        assert builder.gram(kernel).matmul(v) == pytest.approx(K @ v, rel=1e-6, abs=1e-6)


def test_zeros_of_a_sparse_matrix_stay_zeros():
    kernel, sparse = Softened(RBF(0.7), 2.0), sp.csr_array(np.where(X > 1, X, 0.0))
    assert sp.issparse(kernel.changed(sparse))
    assert gram(kernel, sparse) == pytest.approx(gram(kernel, sparse.toarray()), rel=1e-9)


def test_clone_equality_and_theta_are_those_of_the_kernel():
    kernel = Softened(RBF(0.7, (0.1, 10.0)), 2.0)
    assert clone(kernel) == kernel
    assert Softened(RBF(0.7, (0.1, 10.0)), 3.0) != kernel
    assert Softened(RBF(0.8, (0.1, 10.0)), 2.0) != kernel
    assert kernel.set_params(kernel__length_scale=2.0).theta == pytest.approx([np.log(2.0)])
    assert kernel.bounds == pytest.approx(np.log([[0.1, 10.0]]))
    assert kernel.hyperparameters[0].name == "kernel__length_scale"


@pytest.mark.parametrize("strength", [0.0, -1.0, np.nan])
def test_a_strength_that_is_not_positive_is_refused(strength):
    with pytest.raises(ValueError, match="strength must be positive"):
        gram(Softened(RBF(), strength), X)


def heavy_tails(n):
    """Two columns with values far out on both sides, and a target that is smooth in their logarithms there."""
    rng = np.random.default_rng(1)
    near = rng.normal(size=(n, 2))
    return np.sinh(3 * near), np.sin(2 * near[:, 0]) + near[:, 1] + 0.1 * rng.normal(size=n)


def test_the_default_softens_columns_with_heavy_tails_and_is_better_on_new_rows():
    points, y = heavy_tails(360)
    model = KernelRegressor().fit(points[:120], y[:120])
    assert "Softened" in str(model.kernel_)
    assert "softened columns" in [trial.name for trial in model.trials_]
    scale = lambda rows: (rows - points[:120].mean(0)) / points[:120].std(0)
    plain = KernelRidgeRegressor("auto").fit(scale(points[:120]), y[:120])
    assert model.score(points[120:], y[120:]) > plain.score(scale(points[120:]), y[120:])
    assert np.sum(model.relevance_) == pytest.approx(1.0)


def test_with_many_classes_columns_are_softened_too():
    points, y = heavy_tails(150)
    classes = np.digitize(y, np.quantile(y, [0.33, 0.67]))
    names = [trial.name for trial in KernelClassifier().fit(points, classes).trials_]
    assert names[-1] == "softened columns"


def test_columns_of_two_values_and_categories_are_left_alone():
    from foldless.tuning.challengers import softened

    rng = np.random.default_rng(0)
    bits = rng.integers(0, 2, size=(60, 4))
    trials = KernelClassifier().fit(bits, bits[:, 0] ^ bits[:, 1]).trials_
    assert "softened columns" not in [trial.name for trial in trials]
    assert softened(Columns(Categorical(), [0, 1]), 2, 1.0) is None
    mixed = softened(Columns(RBF(2.0), [0]) * Columns(Categorical(), [1]), 2, 1.0)
    assert str(mixed.k1) == "Columns(Softened(RBF(length_scale=2), strength=1), [0])"
