"""What every machine owes: defaults for its optional members, and a machine for some of the rows."""

import numpy as np
import pytest
from sklearn.gaussian_process.kernels import RBF

from foldless import KernelLogisticRegression, KernelLSSVC, KernelSVC
from foldless.core.contracts import Machine
from foldless.criteria.cv import held_out
from foldless.grams import DenseGram
from foldless.machines import (
    LSSVM,
    HingeSVM,
    NoMachine,
    Ridge,
    SmoothMachine,
    SoftmaxMachine,
    SquaredHingeSVM,
    Subset,
)
from foldless.machines.losses import Logistic
from foldless.searches import LBFGS, EarlyStopping

N = 24
WEIGHTS = np.linspace(0.5, 2.0, N)
COUNTS = np.arange(N) % 3 + 1.0
ROOT = np.random.default_rng(3).normal(size=(N, N))
MACHINES = [
    SmoothMachine(Logistic(), 2.0, weights=WEIGHTS, row_counts=COUNTS),
    SoftmaxMachine(2.0, weights=WEIGHTS, row_counts=COUNTS),
    LSSVM(2.0, weights=WEIGHTS, row_counts=COUNTS, costs=COUNTS[::-1].copy()),
    LSSVM(2.0, weights="balanced"),
    Ridge(0.1, bias=True, weights=WEIGHTS, row_counts=COUNTS),
    Ridge(0.1, bias=True, weights=WEIGHTS, penalty=ROOT @ ROOT.T),
    Subset([1, 5, 7], weights=WEIGHTS, row_counts=COUNTS),
    HingeSVM(2.0, weights=WEIGHTS),
    SquaredHingeSVM(2.0, weights=WEIGHTS),
]
ONE_OUTPUT_PER_TARGET = [m for m in MACHINES if not isinstance(m, (SoftmaxMachine, Subset))]
each_machine = pytest.mark.parametrize("machine", MACHINES, ids=lambda machine: type(machine).__name__)


@pytest.fixture
def problem(rng):
    X = rng.normal(size=(N, 2))
    y = np.where(X[:, 0] + 0.5 * rng.normal(size=N) > 0, 1.0, -1.0)
    return DenseGram(RBF(1.0)(X)), y[:, None]


def outputs(machine, gram, Y):
    solution = machine.solve(gram, Y)
    return gram.matmul(np.reshape(solution.alpha, (gram.n, -1))) + solution.b


@each_machine
def test_a_machine_on_permuted_rows_gives_permuted_outputs(machine, problem, rng):
    gram, Y = problem
    order = rng.permutation(N)
    found = outputs(machine.on_rows(order), gram.subset(order), Y[order])
    assert found == pytest.approx(outputs(machine, gram, Y)[order], abs=1e-8)


@each_machine
def test_everything_that_belongs_to_a_row_stays_with_it(machine, problem):
    rows = np.r_[1:9, 12:20]
    part = machine.on_rows(rows)
    for name in ("weights", "row_counts", "costs"):
        whole = vars(machine).get(name)
        if isinstance(whole, np.ndarray):
            assert np.array_equal(vars(part)[name], whole[rows])
    part.solve(problem[0].subset(rows), problem[1][rows])


def test_a_subset_keeps_the_kernel_functions_of_the_rows_that_stay():
    assert Subset([1, 5, 7]).on_rows(np.array([7, 2, 1])).indices.tolist() == [2, 0]


@pytest.mark.parametrize("machine", ONE_OUTPUT_PER_TARGET, ids=lambda machine: type(machine).__name__)
def test_cross_validation_by_refits_takes_weights_along(machine, problem):
    gram, Y = problem
    test = np.arange(0, N, 4)
    train = np.setdiff1d(np.arange(N), test)
    alpha, part = np.zeros((N, 1)), machine.on_rows(train).solve(gram.subset(train), Y[train])
    alpha[train] = np.reshape(part.alpha, (-1, 1))
    expected = gram.matmul(alpha)[test] + part.b
    assert held_out(machine, gram, Y, [test])[test] == pytest.approx(expected)


class MeanMachine(Machine):
    """The least a machine can be: it defines nothing but ``solve``."""

    def solve(self, gram, Y, start=None):
        return NoMachine().solve(gram, Y)


def test_a_machine_of_ones_own_needs_only_solve(problem):
    machine = MeanMachine()
    assert machine.theta.size == 0
    assert machine.with_theta(np.zeros(0)) is machine
    assert machine.with_search_accuracy is machine
    assert machine.for_regularisation_path is machine
    assert machine.on_rows(np.array([0, 1])) is machine
    assert machine.n_joint_functions(5) == 1
    assert machine.sign == 1.0
    assert machine.default_loo_criterion == "loo"
    assert machine.weights is None
    assert machine.row_counts is None
    assert not machine.bias


@pytest.mark.parametrize("estimator", [KernelLogisticRegression, KernelLSSVC, KernelSVC])
@pytest.mark.parametrize("class_weight", ["balanced", {-1.0: 1.0, 1.0: 3.0}], ids=["balanced", "dict"])
def test_class_weights_and_early_stopping_go_together(estimator, class_weight, two_classes):
    X, y = two_classes
    rows = np.r_[:20, 20:32]
    model = estimator(class_weight=class_weight, search=EarlyStopping(LBFGS(), 0.3, seed=1))
    plain = estimator(search=EarlyStopping(LBFGS(), 0.3, seed=1))
    assert len(model.fit(X[rows], y[rows]).loo_decision_) == len(rows)
    assert np.mean(model.decision_function(X)) > np.mean(plain.fit(X[rows], y[rows]).decision_function(X))


@pytest.mark.parametrize("estimator", [KernelLogisticRegression, KernelLSSVC, KernelSVC])
def test_class_weights_and_cross_validation_go_together(estimator, two_classes):
    X, y = two_classes
    rows = np.r_[:20, 20:32]
    model = estimator(RBF(2.0, "fixed"), C=1.0, class_weight={-1.0: 1.0, 1.0: 3.0}, criterion="cv")
    assert 0 <= model.fit(X[rows], y[rows]).criterion_value_ < 0.5
