"""Points and kernel to Gram and back: dense, and through landmarks."""

from functools import partial

import numpy as np
import pytest
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, DotProduct, Matern, WhiteKernel

from foldless.criteria import LOO
from foldless.grams.builders import DenseBuilder, NystromBuilder
from foldless.grams.landmarks import pivoted_landmarks, spread_landmarks, uniform_landmarks
from foldless.kernels.algebra import has_noise
from foldless.machines import SmoothMachine
from foldless.machines.losses import Logistic

KERNELS = [RBF([0.9, 1.4]), ConstantKernel(2.0) * Matern(1.1, nu=1.5) + DotProduct(0.5)]


@pytest.fixture
def problem():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20, 2))
    return X, np.where(X[:, :1] + 0.7 * rng.normal(size=(20, 1)) > 0, 1.0, -1.0)


def read(representation, kernel, Y):
    gram = representation.gram(kernel)
    return gram, LOO()(SmoothMachine(Logistic(), C=3.0).solve(gram, Y))


@pytest.mark.parametrize("kernel", KERNELS, ids=str)
def test_all_points_as_landmarks_give_the_dense_answer(kernel, problem):
    X, Y = problem
    dense, exact = read(DenseBuilder(X), kernel, Y)
    thin, reading = read(NystromBuilder(X, np.arange(20)), kernel, Y)
    np.testing.assert_allclose(thin.F @ thin.F.T, dense.K, atol=1e-8)
    assert reading.value == pytest.approx(exact.value, rel=1e-8)
    np.testing.assert_allclose(reading.slope, exact.slope, rtol=1e-8)
    ours = NystromBuilder(X, np.arange(20)).pullback(kernel, thin, reading.adjoint)
    np.testing.assert_allclose(
        ours, DenseBuilder(X).pullback(kernel, dense, exact.adjoint), rtol=1e-7, atol=1e-14
    )


@pytest.mark.parametrize("kernel", KERNELS, ids=str)
@pytest.mark.parametrize(
    "make",
    [DenseBuilder, lambda X: NystromBuilder(X, np.array([1, 4, 7, 12, 13, 19]))],
    ids=["dense", "thin"],
)
def test_the_pullback_is_the_central_difference_of_the_refitted_criterion(kernel, make, problem):
    X, Y = problem
    representation = make(X)
    gram, reading = read(representation, kernel, Y)
    gradient = representation.pullback(kernel, gram, reading.adjoint)
    for k in range(len(kernel.theta)):
        step = np.zeros(len(kernel.theta))
        step[k] = 1e-4  # error of the second-order difference 1e-8, of the refits 1e-10
        up, down = (
            read(representation, kernel.clone_with_theta(kernel.theta + s), Y)[1].value for s in (step, -step)
        )
        assert gradient[k] == pytest.approx((up - down) / 2e-4, rel=1e-5, abs=1e-7)


def test_equal_landmarks_are_dropped_and_change_nothing(problem):
    X, Y = problem
    once, twice = np.array([2, 5, 9]), np.array([2, 5, 9, 5, 2])
    plain, reading = read(NystromBuilder(X, once), KERNELS[0], Y)
    double, again = read(NystromBuilder(X, twice), KERNELS[0], Y)
    assert double.F.shape == plain.F.shape == (20, 3)
    assert again.value == pytest.approx(reading.value, rel=1e-10)
    np.testing.assert_allclose(
        NystromBuilder(X, twice).pullback(KERNELS[0], double, again.adjoint),
        NystromBuilder(X, once).pullback(KERNELS[0], plain, reading.adjoint),
        rtol=1e-9,
    )


@pytest.mark.parametrize(
    "make", [DenseBuilder, lambda X: NystromBuilder(X, np.array([0, 3, 8, 11]))], ids=["dense", "thin"]
)
def test_the_expansion_predicts_the_fitted_outputs(make, problem):
    X, Y = problem
    representation, kernel = make(X), KERNELS[1]
    gram = representation.gram(kernel)
    solution = SmoothMachine(Logistic(), C=3.0).solve(gram, Y)
    points, beta = representation.expansion(gram, solution.alpha)
    np.testing.assert_allclose(
        kernel(X, points) @ beta + solution.b, solution.columns[0].z[:, None], atol=1e-9
    )


def test_landmarks_are_distinct_rows_and_repeat_with_the_seed(problem):
    X, _ = problem
    for choose in (uniform_landmarks, spread_landmarks, partial(pivoted_landmarks, KERNELS[1])):
        rows = choose(X, 7, np.random.default_rng(3))
        assert len(np.unique(rows)) == len(rows) == 7
        assert rows.min() >= 0
        assert rows.max() < 20
        np.testing.assert_array_equal(rows, choose(X, 7, np.random.default_rng(3)))


def test_noise_is_found_wherever_it_hides():
    assert has_noise(RBF(1.0) * (DotProduct() + WhiteKernel()))
    assert not has_noise(RBF(1.0) * (DotProduct() + ConstantKernel()))
