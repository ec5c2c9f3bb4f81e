"""Large fits through a factor in single precision: those of the plain way, and found by it where single precision fails."""

import numpy as np
import pytest
from sklearn.gaussian_process.kernels import RBF

from foldless.core.linalg import TILED_MIN_ROWS
from foldless.core.parallel import workers
from foldless.criteria import LOO
from foldless.grams import DenseGram, single_factor
from foldless.machines import nearby_fits, smooth
from foldless.machines.losses.logistic import Logistic
from foldless.machines.smooth import SmoothMachine, WarmStart

N = 120
KERNELS = {
    "narrow": RBF(0.1),
    "fitting": RBF(1.0),
    "wide": RBF(30.0),
    "constant": lambda X: np.ones((len(X), len(X))),
    "linear": lambda X: X @ X.T,
    "tiny": lambda X: 1e-12 * RBF(1.0)(X),
}


def problem(kernel, n=N):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 3))
    X[:10] = X[10:20]
    y = np.where(np.sin(2 * X[:, 0]) + X[:, 1] + 0.5 * rng.normal(size=n) > 0, 1.0, -1.0)
    v = rng.uniform(0.5, 2.0, size=n)
    v[:4] = 0.0
    return DenseGram(KERNELS[kernel](X)), y[:, None], v


def only(machine, gram, y, start=None):
    return machine.solve(gram, y, start).columns[0]


def counted(monkeypatch, name):
    """A list that grows with every call of a verb of dense Grams."""
    calls, verb = [], getattr(DenseGram, name)
    monkeypatch.setattr(DenseGram, name, lambda *args: calls.append(1) or verb(*args))
    return calls


@pytest.fixture
def large(monkeypatch):
    """Small fits are large ones once this is called."""
    return lambda: monkeypatch.setattr(smooth, "LARGE_MIN_ROWS", N // 2)


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("C", [1e-8, 1e-2, 1.0, 1e2, 1e4, 1e6])
@pytest.mark.parametrize("is_warm", [True, False])
def test_large_fits_are_those_of_the_plain_way(large, kernel, bias, C, is_warm):
    gram, y, v = problem(kernel)
    machine = SmoothMachine(Logistic(), C=C, bias=bias, weights=v)
    start = None
    if is_warm:
        near = only(SmoothMachine(Logistic(), C=C / 3, bias=bias, weights=v), gram, y)
        start = [WarmStart(near.z)]
    plain = only(machine, gram, y, start)
    large()
    found = only(machine, gram, y, start)
    # The decrement, the square of the error in deviations of the outputs, is 1e-20 per row at most. Outputs are sums of n terms of
    # the size of C, and rounding of those is not smaller either way.
    rounding = N * np.finfo(float).eps * np.max(np.abs(gram.K) @ np.abs(plain.alpha))
    error = np.sqrt(np.sum(v) * 1e-20 * np.max(plain.V)) + rounding + 1e-12 * np.max(np.abs(plain.z))
    assert np.max(np.abs(found.z - plain.z)) < 10 * error


@pytest.mark.parametrize("is_warm", [True, False])
def test_a_large_fit_needs_no_factor_in_double_precision(monkeypatch, large, is_warm):
    gram, y, v = problem("fitting")
    machine = SmoothMachine(Logistic(), C=10.0, weights=v)
    start = [WarmStart(only(SmoothMachine(Logistic(), C=5.0, weights=v), gram, y).z)] if is_warm else None
    double, single = counted(monkeypatch, "factor"), counted(monkeypatch, "single_factor")
    large()
    assert only(machine, gram, y, start).n_iterations == 0
    assert len(double) == 0
    assert len(single) == 1


def test_outputs_that_are_worse_than_a_constant_are_no_start(large):
    gram, y, v = problem("fitting")
    machine = SmoothMachine(Logistic(), C=10.0, weights=v)
    expected = only(machine, gram, y)
    large()
    found = only(machine, gram, y, [WarmStart(-8.0 * y[:, 0])])
    np.testing.assert_allclose(found.z, expected.z, atol=1e-8)


def not_definite(*args):
    return None


@pytest.mark.parametrize(
    "what, value",
    [
        ((single_factor, "single_cholesky"), not_definite),
        ((single_factor, "MAX_ROUNDING"), 0.0),
        ((nearby_fits, "MAX_NEWTON_STEPS"), 1),
        ((nearby_fits, "MAX_CONJUGATE_STEPS"), 0),
    ],
)
def test_where_single_precision_fails_the_plain_way_finds_the_fit(monkeypatch, large, what, value):
    gram, y, v = problem("fitting")
    machine = SmoothMachine(Logistic(), C=10.0, weights=v)
    expected = only(machine, gram, y)
    large()
    monkeypatch.setattr(*what, value)
    found = only(machine, gram, y)
    assert np.array_equal(found.z, expected.z)
    assert found.n_iterations == expected.n_iterations > 0


def test_curvatures_that_do_not_matter_are_left_to_the_plain_way(monkeypatch, large):
    gram, y, v = problem("fitting")
    single = counted(monkeypatch, "single_factor")
    large()
    only(SmoothMachine(Logistic(), C=1e-5, weights=v), gram, y)
    assert not single


def test_searches_go_the_plain_way(monkeypatch, large):
    gram, y, v = problem("fitting")
    single = counted(monkeypatch, "single_factor")
    large()
    only(SmoothMachine(Logistic(), C=10.0, weights=v).with_search_accuracy, gram, y)
    assert not single


@pytest.mark.parametrize("bias", [True, False])
def test_threads_change_no_digit(bias):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(TILED_MIN_ROWS + 30, 4))
    Y = np.where(X[:, :2] + 0.5 * rng.normal(size=(len(X), 2)) > 0, 1.0, -1.0)
    gram, outputs, values = DenseGram(RBF(2.0)(X)), [], []
    for n_jobs in (1, 2):
        with workers(n_jobs):
            solution = SmoothMachine(Logistic(), C=30.0, bias=bias).solve(gram, Y)
            outputs.append(solution.outputs)
            values.append(LOO()(solution).value)
    assert np.array_equal(*outputs)
    assert values[0] == values[1]
    assert all(column.n_iterations == 0 for column in solution.columns)
