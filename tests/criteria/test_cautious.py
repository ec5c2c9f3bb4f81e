"""The price of confidence: value, gradient, sums of prices, and what it does to rows that are easy to separate."""

import numpy as np
import pytest
from sklearn.gaussian_process.kernels import RBF

from foldless import KernelLogisticRegression
from foldless.criteria import LOO, Cautious, HyperPrior, Tied
from foldless.grams.builders import DenseBuilder
from foldless.machines import SmoothMachine
from foldless.machines.losses import Logistic
from foldless.tuning.objective import Objective

LOGISTIC = SmoothMachine(Logistic(), C=3.0)


def objective(two_classes, criterion, kernel=None):
    X, y = two_classes
    counted = criterion.with_data_estimates(LOGISTIC, [], y[:, None])
    return Objective(kernel or RBF([1.0, 2.0, 0.6]), LOGISTIC, counted, DenseBuilder(X), y[:, None])


def test_the_price_of_all_rows_is_the_strength_times_log_C(two_classes):
    plain, priced = objective(two_classes, LOO()), objective(two_classes, Cautious("loo", 0.7))
    theta = plain.theta
    n = len(two_classes[1])
    assert priced(theta).value == pytest.approx(plain(theta).value + 0.7 * np.log(3.0) / n, rel=1e-12)
    assert priced(theta).parts["penalty"] == pytest.approx(0.7 * np.log(3.0) / n, rel=1e-12)


def test_half_a_nat_is_the_tail_of_a_half_cauchy_prior_of_the_deviation():
    """In logarithms the density of a deviation a is a / (1 + a^2): far out its logarithm falls by half a nat per log C."""
    log_density = lambda log_C: log_C / 2 - np.log1p(np.exp(log_C))
    prices = [Cautious().penalty(RBF(), SmoothMachine(Logistic(), C=np.exp(t)))[0] for t in (20.0, 21.0)]
    assert prices[1] - prices[0] == pytest.approx(log_density(20.0) - log_density(21.0), rel=1e-8)


@pytest.mark.parametrize(
    "criterion", [Cautious("loo"), Tied(Cautious("loo")), HyperPrior(Cautious("loo", 2.0), 1.5)]
)
def test_the_objective_has_the_gradient_of_the_sum_of_all_costs(two_classes, criterion):
    problem = objective(two_classes, criterion)
    theta = problem.theta
    steps = 1e-5 * np.eye(len(theta))  # rounding and curvature errors are both near 1e-8 there
    expected = [(problem(theta + e).value - problem(theta - e).value) / 2e-5 for e in steps]
    assert problem(theta).gradient == pytest.approx(np.array(expected), rel=1e-5, abs=1e-6)


def test_costs_add_up(two_classes):
    kernel, n = RBF([1.0, 2.0, 0.6]), len(two_classes[1])
    theta = objective(two_classes, LOO()).theta
    value = {c: objective(two_classes, c)(theta).value for c in (LOO(), Cautious("loo"), Tied("loo"))}
    both = objective(two_classes, Tied(Cautious("loo")))(theta).value
    tie = Tied(rows=n).penalty(kernel)[0] / n
    assert both - value[Cautious("loo")] == pytest.approx(tie, rel=1e-10)
    assert both - value[Tied("loo")] == pytest.approx(value[Cautious("loo")] - value[LOO()], rel=1e-9)


def test_a_row_of_weight_two_is_the_row_twice(two_classes):
    X, y = two_classes
    weights = 1.0 + (np.arange(len(y)) % 3 == 0)
    fit = lambda *rows: KernelLogisticRegression(RBF(2.0, "fixed"), criterion=Cautious("loo")).fit(*rows)
    rows = np.repeat(np.arange(len(y)), weights.astype(int))
    weighted, repeated = fit(X, y, weights), fit(X[rows], y[rows])
    assert np.log(weighted.C_ / repeated.C_) == pytest.approx(0.0, abs=1e-4)
    assert weighted.criterion_value_ == pytest.approx(repeated.criterion_value_, rel=1e-6)


def test_separable_classes_stop_C_from_growing():
    """Without the price the loss of left-out rows falls until C meets its bound."""
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 20)
    X = rng.normal(size=(40, 2)) + 8 * y[:, None]
    C = [
        KernelLogisticRegression(RBF(4.0, "fixed"), criterion=c).fit(X, y).C_
        for c in ("loo", Cautious("loo"))
    ]
    assert C[1] < C[0] / 100


def test_a_negative_strength_is_refused():
    with pytest.raises(ValueError, match="strength must not be negative"):
        Cautious("loo", -1.0)
