"""Class weights count in the criterion as they count in the fit: like repeated rows that are left out together."""

import numpy as np
import pytest
from sklearn.gaussian_process.kernels import RBF
from sklearn.utils import compute_class_weight

from foldless.criteria import CV, LOO, SmoothedSpan, Span, XiAlpha
from foldless.criteria.derivatives.svm import span_margins
from foldless.datasets import make_ripley
from foldless.estimators.registry import MACHINES
from foldless.grams import DenseGram
from foldless.machines import LSSVM, HingeSVM, SquaredHingeSVM

CLASSIFIERS = [name for name, entry in MACHINES.items() if entry.task == "classification"]


@pytest.fixture(scope="module")
def problem():
    X, labels = make_ripley(24, random_state=0)
    y = np.where(labels == 1, 1.0, -1.0)
    return RBF(0.6)(X), y, np.where(y > 0, 3, 1)


def refits(machine, K, y, counts):
    """Outputs at every row of machines fitted to repeated rows, all copies of that row left out."""
    outputs = []
    for i in range(len(y)):
        rows = np.repeat(np.delete(np.arange(len(y)), i), np.delete(counts, i))
        solution = machine.solve(DenseGram(K[np.ix_(rows, rows)]), y[rows, None])
        outputs.append((K[i, rows] @ solution.alpha + solution.b)[0])
    return np.array(outputs)


@pytest.mark.filterwarnings("ignore::foldless.core.errors.JitterWarning")  # repeated rows
@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("C", [0.3, 10.0])
def test_leave_one_out_of_a_weighted_machine_is_that_of_repeated_rows(problem, C, bias):
    K, y, counts = problem
    left_out = refits(HingeSVM(C, bias), K, y, counts)
    value = LOO()(HingeSVM(C, bias, counts.astype(float)).solve(DenseGram(K), y[:, None])).value
    assert value == pytest.approx(np.average(y * left_out <= 0, weights=counts), abs=1e-12)


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("C", [0.3, 10.0])
def test_squared_errors_of_a_weighted_machine_are_those_of_repeated_rows(problem, C, bias):
    K, y, counts = problem
    left_out = refits(LSSVM(C, bias), K, y, counts)
    v = counts.astype(float)
    value = LOO()(LSSVM(C, bias, weights=v, costs=v).solve(DenseGram(K), y[:, None])).value
    assert value == pytest.approx(np.average((y - left_out) ** 2, weights=counts), rel=1e-9)


@pytest.mark.parametrize("machine", [HingeSVM, SquaredHingeSVM])
def test_counts_of_left_out_errors_are_weighted(problem, machine):
    K, y, counts = problem
    solution = machine(5.0, weights=counts.astype(float)).solve(DenseGram(K), y[:, None])
    wrong = span_margins(solution.columns[0]) <= 0
    assert 0 < wrong.mean() < 1
    assert Span()(solution).value == pytest.approx(np.average(wrong, weights=counts))
    assert SmoothedSpan(eta=1e-9, c1=1e6)(solution).value == pytest.approx(
        np.average(wrong, weights=counts), abs=1e-6
    )


@pytest.mark.parametrize("criterion", [LOO(), Span(), SmoothedSpan(), XiAlpha(), CV(4)], ids=lambda c: c.name)
@pytest.mark.parametrize("machine", [HingeSVM, SquaredHingeSVM])
def test_a_class_without_weight_in_the_limit_does_not_count(problem, machine, criterion):
    """With almost all weight on one class all its points are right, and only they count."""
    K, y, _ = problem
    weights = np.where(y > 0, 1.0, 1e-7)
    solution = machine(1e3, True, weights).solve(DenseGram(K), y[:, None])
    plain = machine(1e3, True).solve(DenseGram(K), y[:, None])
    assert criterion(solution).value < 0.05 < criterion(plain).value


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_balanced_weights_are_a_dictionary_of_weights(name):
    X, y = make_ripley(80, random_state=1)
    kept = np.r_[np.flatnonzero(y == 0), np.flatnonzero(y == 1)[:12]]
    X, y = X[kept], y[kept]
    weights = dict(enumerate(compute_class_weight("balanced", classes=np.array([0, 1]), y=y)))
    balanced, given = (
        MACHINES[name].estimator(RBF(0.5, "fixed"), C=3.0, class_weight=w).fit(X, y)
        for w in ("balanced", weights)
    )
    assert balanced.criterion_value_ == pytest.approx(given.criterion_value_, rel=1e-12)
    assert balanced.decision_function(X) == pytest.approx(given.decision_function(X), rel=1e-9)
