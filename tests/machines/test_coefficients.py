"""Predictions at the training points are the outputs of the fit, however large C is and however small the rank of K."""

import warnings

import numpy as np
import pytest
from scipy.special import expit
from sklearn.gaussian_process.kernels import RBF, DotProduct

from foldless import (
    KernelLogisticRegression,
    KernelLSSVC,
    KernelPoissonRegressor,
    KernelRidgeRegressor,
    KernelSVC,
)
from foldless.core.errors import JitterWarning
from foldless.core.linalg import thin_root
from foldless.grams import DenseGram, LowRankGram
from foldless.machines import (
    LSSVM,
    HingeSVM,
    Ridge,
    SmoothMachine,
    SoftmaxMachine,
    SquaredHingeSVM,
    Subset,
)
from foldless.machines.coefficients import expansion_coefficients
from foldless.machines.losses import LogCosh, Logistic, Poisson, SmoothSquaredHinge

N = 60
V = np.linspace(0.5, 2.0, N)
MACHINES = {
    "logistic": lambda C, bias: SmoothMachine(Logistic(), C, bias),
    "weighted-logistic": lambda C, bias: SmoothMachine(Logistic(), C, bias, weights=V),
    "poisson": lambda C, bias: SmoothMachine(Poisson(), C, bias),
    "log-cosh": lambda C, bias: SmoothMachine(LogCosh(2.0), C, bias),
    "smooth-squared-hinge": lambda C, bias: SmoothMachine(SmoothSquaredHinge(), C, bias),
    "softmax": lambda C, bias: SoftmaxMachine(C, bias),
    "lssvm": lambda C, bias: LSSVM(C, bias),
    "weighted-lssvm": lambda C, bias: LSSVM(C, bias, weights=V, route="spectrum"),
    "ridge": lambda C, bias: Ridge(1 / C, bias),
    "weighted-ridge": lambda C, bias: Ridge(1 / C, bias, weights=V, route="spectrum"),
    "ridge-identity": lambda C, bias: Ridge(1 / C, bias, penalty="I"),
    "ridge-matrix": lambda C, bias: Ridge(1 / C, bias, penalty=np.diag(np.linspace(0, 2, N))),
    "subset": lambda C, bias: Subset([0, 1, 2, 3], bias),
    "hinge": lambda C, bias: HingeSVM(C, bias),
    "squared-hinge": lambda C, bias: SquaredHingeSVM(C, bias),
}


def points(kind):
    X = np.random.default_rng(5).normal(size=(N, 2))
    if kind == "every row twice":
        X[N // 2 :] = X[: N // 2]
    if kind == "some rows twice":
        X[-5:] = X[:5]
    return X


def matrix(kind):
    X = points(kind)
    if kind == "polynomial":
        return (X @ X.T + 1) ** 3
    return RBF(0.4)(X) if "twice" in kind else X @ X.T


KERNELS = ("linear", "polynomial", "every row twice", "some rows twice")
GRAMS = {"dense": DenseGram, "low rank": lambda K: LowRankGram(thin_root(K, len(K)))}


def targets(name, X):
    y = np.where(X[:, 0] + 0.5 * X[:, 1] + np.sin(7 * np.arange(N)) > 0.2, 1.0, -1.0)
    return (y + 2 if name == "poisson" else y)[:, None]


def relative_gap(gram, solution):
    alpha, b = expansion_coefficients(solution)
    Z = np.reshape(solution.outputs, (N, -1))
    return np.max(np.abs(gram.matmul(alpha) + b - Z)) / np.max(np.abs(Z))


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("form", GRAMS)
@pytest.mark.parametrize("kind", KERNELS)
@pytest.mark.parametrize("name", MACHINES)
def test_the_expansion_gives_the_outputs(name, kind, form, bias):
    K, Y = matrix(kind), targets(name, points(kind))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", JitterWarning)  # of equal points that are both free
        for C in (1.0, 1e3, 1e6, 1e9, 1e12):
            gram = GRAMS[form](K)
            assert relative_gap(gram, MACHINES[name](C, bias).solve(gram, Y)) < 1e-6, C


@pytest.mark.parametrize("C", [1e6, 1e9, 1e12])
def test_logistic_outputs_are_those_of_a_fit_of_the_weights_themselves(C):
    X = points("linear")
    y = targets("logistic", X)[:, 0]
    F, x = np.column_stack([X, np.ones(N)]), np.zeros(3)
    D = np.diag([1 / C, 1 / C, 0])
    for _ in range(30):
        p = expit(F @ x)
        x -= np.linalg.solve((F.T * p * (1 - p)) @ F + D, F.T @ (p - (y > 0)) + D @ x)
    solution = SmoothMachine(Logistic(), C).solve(DenseGram(X @ X.T), y[:, None])
    assert solution.outputs[:, 0] == pytest.approx(F @ x, abs=1e-7 * np.max(np.abs(F @ x)))


@pytest.mark.parametrize("C", [1e6, 1e9, 1e12])
@pytest.mark.parametrize("machine", [lambda C: LSSVM(C), lambda C: Ridge(1 / C, bias=True)])
def test_least_squares_outputs_are_those_of_a_fit_of_the_weights_themselves(machine, C):
    X = points("linear")
    Y = targets("lssvm", X)
    F = np.column_stack([X, np.ones(N)])
    fitted = F @ np.linalg.solve(F.T @ F + np.diag([1 / C, 1 / C, 0]), F.T @ Y)
    outputs = machine(C).solve(DenseGram(X @ X.T), Y).outputs
    assert outputs == pytest.approx(fitted, abs=1e-7 * np.max(np.abs(fitted)))


@pytest.mark.parametrize("name", ["logistic", "squared-hinge", "lssvm", "ridge"])
def test_the_coefficients_of_the_solution_are_kept_where_they_do_not_cancel(name):
    K = RBF(1.0)(points("linear"))
    solution = MACHINES[name](10.0, True).solve(DenseGram(K), targets(name, points("linear")))
    alpha, b = expansion_coefficients(solution)
    assert np.array_equal(alpha, np.reshape(solution.alpha, (N, -1)))
    assert np.array_equal(b, solution.b)


def test_equal_points_of_one_class_count_as_one_with_the_sum_of_their_weights():
    X = points("every row twice")
    K, y = RBF(0.4)(X), targets("hinge", X)[:, 0]
    y[N // 2 :] = y[: N // 2]
    half = slice(0, N // 2)
    for C in (1.0, 1e3, 1e6):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", JitterWarning)
            both = HingeSVM(C).solve(DenseGram(K), y[:, None]).columns[0]
        one = HingeSVM(2 * C).solve(DenseGram(K[half, half]), y[half, None]).columns[0]
        assert both.outputs[half] == pytest.approx(one.outputs, abs=1e-8)
        assert both.alpha[half] + both.alpha[N // 2 :] == pytest.approx(one.alpha, abs=1e-6 * C)


LINEAR = DotProduct(1.0, "fixed")
ESTIMATORS = [
    lambda C: KernelLogisticRegression(LINEAR, C=C),
    lambda C: KernelLogisticRegression(LINEAR, C=C, gram="nystrom", n_components=20),
    lambda C: KernelLSSVC(LINEAR, C=C),
    lambda C: KernelSVC(LINEAR, C=C),
    lambda C: KernelSVC(LINEAR, C=C, loss="squared_hinge"),
    lambda C: KernelRidgeRegressor(LINEAR, alpha=1 / C),
    lambda C: KernelRidgeRegressor(LINEAR, alpha=1 / C, penalty="I"),
    lambda C: KernelPoissonRegressor(LINEAR, alpha=1 / C),
]


@pytest.mark.parametrize("C", [1e6, 1e9, 1e12])
@pytest.mark.parametrize("number", range(len(ESTIMATORS)))
def test_estimators_predict_the_outputs_of_their_fit(number, C):
    X = points("linear")
    y = targets("poisson", X)[:, 0]
    model = ESTIMATORS[number](C).fit(X, y)
    outputs = np.reshape(model.selection_.solution.outputs, (N, -1))
    found = model._outputs(X)
    assert found == pytest.approx(outputs, abs=1e-6 * np.max(np.abs(outputs)))
