"""The models without one row each, at new points, against refits."""

import numpy as np
import pytest
from sklearn.gaussian_process.kernels import RBF

from foldless.core.errors import Undefined
from foldless.criteria.left_out import left_out_outputs
from foldless.criteria.left_out_models import changes_of, coefficients_without, leverages, refitted_changes
from foldless.grams import DenseGram
from foldless.grams.builders import NystromBuilder
from foldless.kernels import gram
from foldless.machines import LSSVM, HingeSVM, Ridge, SmoothMachine, SoftmaxMachine, SquaredHingeSVM, Subset
from foldless.machines.losses import Logistic, Poisson

KERNEL = RBF(1.2)
N, P = 24, 5


@pytest.fixture
def points(rng):
    X = rng.normal(size=(N, 2))
    return X, rng.normal(size=(P, 2))


@pytest.fixture
def numbers(points, rng):
    return np.column_stack([np.sin(points[0][:, 0]), points[0][:, 1] ** 2]) + 0.2 * rng.normal(size=(N, 2))


@pytest.fixture
def labels(points, rng):
    return np.where(points[0] + 0.7 * rng.normal(size=(N, 2)) > 0, 1.0, -1.0)


@pytest.fixture
def classes(points, rng):
    index = np.argmax(np.column_stack([points[0], 0.3 * np.ones(N)]) + 0.5 * rng.normal(size=(N, 3)), axis=1)
    return np.where(index[:, None] == np.arange(3), 1.0, -1.0)


def left_out_at(solution, cross, point_map=None):
    """Outputs (p, n, k) of all left-out models for kernel values (p, n) with the rows."""
    alpha = np.reshape(solution.alpha, (solution.gram.n, -1))
    change = np.concatenate([change(cross) for change in changes_of(solution, point_map)], axis=2)
    return (cross @ alpha + solution.b)[:, None] - change


def refitted(machine, K, Y, cross):
    found = []
    for i in range(len(Y)):
        alpha, b = coefficients_without(machine, DenseGram(K), Y, i)
        found.append(cross @ alpha + b)
    return np.stack(found, axis=1)


WEIGHTS = np.random.default_rng(5).uniform(0.4, 2.0, size=N)
COUNTS = np.where(np.arange(N) % 3 == 0, 2.0, 1.0)
EXACT = {
    "ridge": Ridge(0.3),
    "ridge, intercept": Ridge(0.3, True),
    "ridge by eigenpairs": Ridge(0.3, True, route="spectrum"),
    "ridge, weights": Ridge(0.3, True, WEIGHTS),
    "ridge, weights, eigenpairs": Ridge(0.3, True, WEIGHTS, route="spectrum"),
    "ridge, counts": Ridge(0.3, True, COUNTS, row_counts=COUNTS),
    "lssvm": LSSVM(2.0, False),
    "lssvm, bias": LSSVM(2.0),
    "lssvm, weights": LSSVM(2.0, weights=WEIGHTS),
    "lssvm, counts": LSSVM(2.0, weights=COUNTS * WEIGHTS, row_counts=COUNTS),
    "lssvm by eigenpairs": LSSVM(2.0, weights=WEIGHTS, route="spectrum"),
}


@pytest.mark.parametrize("name", EXACT)
def test_least_squares_is_exact(name, points, numbers):
    X, new = points
    K, cross, machine = gram(KERNEL, X), gram(KERNEL, new, X), EXACT[name]
    found = left_out_at(machine.solve(DenseGram(K), numbers), cross)
    assert found == pytest.approx(refitted(machine, K, numbers, cross), abs=1e-9)


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("weights", [None, WEIGHTS])
def test_subsets_are_exact(bias, weights, points, numbers):
    X, new = points
    K, cross, S = gram(KERNEL, X), gram(KERNEL, new, X), np.array([0, 3, 11, 17])
    found = left_out_at(Subset(S, bias, weights).solve(DenseGram(K), numbers), cross)
    columns, at_new = (np.column_stack([M[:, S], np.ones(len(M))][: 1 + bias]) for M in (K, cross))
    root = np.sqrt(np.ones(N) if weights is None else weights)[:, None]
    for i in range(N):
        rest = np.delete(np.arange(N), i)
        coefficients = np.linalg.lstsq((root * columns)[rest], (root * numbers)[rest])[0]
        assert found[:, i] == pytest.approx(at_new @ coefficients, abs=1e-9)


@pytest.mark.parametrize("penalty", ["I", np.diag(np.linspace(0.5, 2, N))])
def test_other_penalties_keep_the_basis_function_of_the_row(penalty, points, numbers):
    X, new = points
    K, cross = gram(KERNEL, X), gram(KERNEL, new, X)
    found = left_out_at(Ridge(0.3, True, penalty=penalty).solve(DenseGram(K), numbers), cross)
    T = np.eye(N) if isinstance(penalty, str) else penalty
    for i in range(N):
        rest = np.delete(np.arange(N), i)
        # Normal equations of the coefficients and the intercept.
        Z = np.column_stack([K, np.ones(N)])[rest]
        normal = Z.T @ Z + 0.3 * np.block([[T, np.zeros((N, 1))], [np.zeros((1, N)), 0]])
        coefficients = np.linalg.solve(normal, Z.T @ numbers[rest])
        assert found[:, i] == pytest.approx(np.column_stack([cross, np.ones(P)]) @ coefficients, abs=1e-8)


@pytest.mark.parametrize("machine", [Ridge(0.3, True), LSSVM(2.0), Ridge(0.3, True, WEIGHTS)])
def test_landmarks_are_exact(machine, points, numbers):
    X, new = points
    builder = NystromBuilder(X, np.arange(0, N, 3))
    K = builder.gram(KERNEL)
    at, T = builder.expansion(K, np.eye(N))
    cross = gram(KERNEL, new, at)
    solution = machine.solve(K, numbers)
    change = np.concatenate([one(cross) for one in changes_of(solution, T.T)], axis=2)
    found = (cross @ T @ solution.alpha + solution.b)[:, None] - change
    expected = refitted(machine, K.F @ K.F.T, numbers, cross @ T)
    assert found == pytest.approx(expected, abs=1e-9)


def newton_step(gradient_and_hessian, start):
    g, H = gradient_and_hessian(start)
    return start - np.linalg.solve(H, g)


def smooth_problem(machine, K, y, i, fraction):
    """Gradient and Hessian in (alpha, b) of the problem that lost a fraction of row i."""
    n = len(y)
    v = np.ones(n) if machine.weights is None else machine.weights.copy()
    v[i] *= 1 - fraction
    Z = np.column_stack([K, np.ones(n)]) if machine.bias else K
    penalty = np.zeros((Z.shape[1],) * 2)
    penalty[:n, :n] = K

    def at(x):
        d1, d2, _ = machine.loss.derivatives(y, Z @ x)
        return penalty @ x + machine.C * Z.T @ (v * d1), penalty + machine.C * (Z.T * (v * d2)) @ Z

    return at


SMOOTH = {
    "logistic": SmoothMachine(Logistic(), 2.0, bias=False),
    "logistic, bias": SmoothMachine(Logistic(), 2.0),
    "logistic, weights": SmoothMachine(Logistic(), 2.0, weights=WEIGHTS),
    "logistic, counts": SmoothMachine(Logistic(), 2.0, weights=COUNTS, row_counts=COUNTS),
    "poisson": SmoothMachine(Poisson(), 0.3),
}


@pytest.mark.parametrize("name", SMOOTH)
def test_smooth_losses_take_one_newton_step(name, points, labels, rng):
    X, new = points
    machine = SMOOTH[name]
    y = rng.poisson(np.exp(X[:, 0])).astype(float) if name == "poisson" else labels[:, 0]
    K, cross = gram(KERNEL, X) + 1e-6 * np.eye(N), gram(KERNEL, new, X)
    solution = machine.solve(DenseGram(K), y[:, None])
    found = left_out_at(solution, cross)[:, :, 0]
    start = np.r_[solution.alpha[:, 0], solution.b] if machine.bias else solution.alpha[:, 0]
    for i in (0, 1, 7):
        fraction = 1.0 if machine.row_counts is None else 1 / machine.row_counts[i]
        x = newton_step(smooth_problem(machine, K, y, i, fraction), start)
        expected = cross @ x[:N] + (x[N] if machine.bias else 0)
        assert found[:, i] == pytest.approx(expected, abs=1e-6)


APPROXIMATE = {
    **SMOOTH,
    "squared hinge": SquaredHingeSVM(0.5),
    "squared hinge, weights": SquaredHingeSVM(0.5, True, WEIGHTS),
}
del APPROXIMATE["poisson"]


@pytest.mark.parametrize("name", APPROXIMATE)
def test_approximations_are_close_to_refits(name, points, labels):
    X, new = points
    K, cross, machine = gram(KERNEL, X), gram(KERNEL, new, X), APPROXIMATE[name]
    solution = machine.solve(DenseGram(K), labels)
    found, expected = left_out_at(solution, cross), refitted(machine, K, labels, cross)
    spread = np.max(np.abs(expected - (cross @ solution.alpha + solution.b)[:, None]))
    assert np.max(np.abs(found - expected)) < 0.2 * spread
    assert np.sqrt(np.mean((found - expected) ** 2)) < 0.02 * spread


@pytest.mark.parametrize("bias", [False, True])
def test_softmax_takes_one_newton_step(bias, points, classes):
    X, new = points
    machine = SoftmaxMachine(2.0, bias, COUNTS, COUNTS)
    K, cross = gram(KERNEL, X), gram(KERNEL, new, X)
    solution = machine.solve(DenseGram(K), classes)
    found, expected = left_out_at(solution, cross), refitted(machine, K, classes, cross)
    own = left_out_at(solution, K)[np.arange(N), np.arange(N)]
    assert own == pytest.approx(left_out_outputs(solution), abs=1e-7)
    spread = np.max(np.abs(expected - (cross @ solution.alpha + solution.b)[:, None]))
    assert np.sqrt(np.mean((found - expected) ** 2)) < 0.05 * spread


EVERY = EXACT | SMOOTH | APPROXIMATE | {"hinge": HingeSVM(1.0), "hinge, no bias": HingeSVM(1.0, False)}
del EVERY["poisson"]


@pytest.mark.parametrize("name", EVERY)
def test_at_its_own_row_a_left_out_model_has_the_left_out_output(name, points, labels):
    X, _ = points
    K, machine = gram(KERNEL, X), EVERY[name]
    solution = machine.solve(DenseGram(K), labels)
    own = left_out_at(solution, K)[np.arange(N), np.arange(N)]
    assert own == pytest.approx(left_out_outputs(solution), abs=1e-7)


@pytest.mark.parametrize("bias", [False, True])
def test_the_span_is_exact_where_the_sets_stay(bias, points, labels):
    X, new = points
    K, cross, machine = gram(KERNEL, X), gram(KERNEL, new, X), HingeSVM(0.4, bias)
    y = labels[:, :1]
    solution = machine.solve(DenseGram(K), y)
    found, checked = left_out_at(solution, cross), {"free": 0, "upper": 0}
    for i in range(N):
        rest = np.delete(np.arange(N), i)
        column = machine.on_rows(rest).solve(DenseGram(K[np.ix_(rest, rest)]), y[rest]).columns[0]
        whole = solution.columns[0]
        if np.array_equal(column.sets, whole.sets[rest]):
            expected = cross[:, rest] @ column.beta + column.b
            assert found[:, i, 0] == pytest.approx(expected, abs=1e-8)
            checked["free"] += i in whole.free
            checked["upper"] += i in whole.upper
    assert checked["upper"] > 0


def test_refits_replace_the_approximation(points, labels):
    X, new = points
    K, cross, machine = gram(KERNEL, X), gram(KERNEL, new, X), SmoothMachine(Logistic(), 5.0)
    solution = machine.solve(DenseGram(K), labels)
    rows = np.array([2, 9])
    changes = refitted_changes(changes_of(solution), solution, rows)
    taken = np.concatenate([change(cross) for change in changes], axis=2)
    found = (cross @ solution.alpha + solution.b)[:, None] - taken
    expected = refitted(machine, K, labels, cross)
    assert found[:, rows] == pytest.approx(expected[:, rows], abs=1e-8)
    others = np.setdiff1d(np.arange(N), rows)
    assert found[:, others] == pytest.approx(left_out_at(solution, cross)[:, others])


def test_without_a_margin_the_support_vectors_are_refitted():
    # Two rows: both at their bound, none on the margin.
    K = np.eye(4)
    y = np.array([[1.0], [1.0], [-1.0], [-1.0]])
    machine = HingeSVM(0.1)
    solution = machine.solve(DenseGram(K), y)
    assert solution.columns[0].free.size == 0
    assert left_out_at(solution, K) == pytest.approx(refitted(machine, K, y, K), abs=1e-9)


def test_leverages_are_one_minus_the_share_of_the_left_out_residual(points, numbers, labels, classes):
    X, _ = points
    K = DenseGram(gram(KERNEL, X))
    ridge = Ridge(0.3, True).solve(K, numbers)
    expected = 1 - (numbers - ridge.outputs) / (numbers - left_out_outputs(ridge))
    assert leverages(ridge) == pytest.approx(expected[:, 0])
    for machine in (LSSVM(2.0), SmoothMachine(Logistic(), 2.0), SquaredHingeSVM(0.5)):
        found = leverages(machine.solve(K, labels))
        assert np.all((found >= 0) & (found < 1))
        assert found.max() > 0.1
    assert np.all(leverages(SoftmaxMachine(2.0).solve(K, classes)) < 1)
    with pytest.raises(Undefined, match="no curvature"):
        leverages(HingeSVM(1.0).solve(K, labels))


def test_two_softmax_classes_leave_out_as_logistic_regression_does(points, labels):
    X, new = points
    K, cross, y = gram(KERNEL, X), gram(KERNEL, new, X), labels[:, :1]
    logistic = left_out_at(SmoothMachine(Logistic(), 2.0).solve(DenseGram(K), y), cross)[:, :, 0]
    both = left_out_at(SoftmaxMachine(1.0).solve(DenseGram(K), np.hstack([-y, y])), cross)
    assert both[:, :, 1] - both[:, :, 0] == pytest.approx(logistic, abs=1e-6)


def test_a_machine_that_cannot_lose_a_row_keeps_its_step(points):
    X, _ = points
    K, y = gram(KERNEL, X), np.where(np.arange(N) == 0, 1.0, -1.0)[:, None]
    solution = HingeSVM(1.0, False).solve(DenseGram(K), y)
    changes = changes_of(solution)
    again = refitted_changes(changes, solution, np.array([0]))
    assert again[0].steps == pytest.approx(changes[0].steps)
