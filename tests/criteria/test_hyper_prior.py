"""The prior on length scales: value, gradient, and what it does to a search."""

import numpy as np
import pytest
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, Matern

from foldless.criteria import LOO, HyperPrior
from foldless.errors import UnknownName
from foldless.losses import Logistic
from foldless.machines import SmoothMachine
from foldless.objective import Problem
from foldless.representation import Dense
from foldless.selection import select


def test_the_penalty_is_the_spread_of_the_log_length_scales():
    kernel = ConstantKernel(3.0) * RBF([1.0, 2.0, 5.0]) + Matern([0.5, 0.7]) * RBF(9.0)
    theta = np.log
    spread = lambda v: np.sum((theta(v) - np.mean(theta(v))) ** 2)
    expected = 0.7 / 2 * (spread([1.0, 2.0, 5.0]) + spread([0.5, 0.7]))
    assert HyperPrior("loo", 0.7).penalty(kernel)[0] == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize(
    "kernel", [RBF(2.0), RBF([1.0, 2.0], "fixed"), ConstantKernel(2.0) * RBF([3.0, 3.0])]
)
def test_length_scales_that_are_one_or_fixed_or_equal_cost_nothing(kernel):
    value, gradient = HyperPrior("loo", 5.0).penalty(kernel)
    assert value == 0
    assert np.all(gradient == 0)


def test_the_objective_has_the_gradient_of_its_sum(two_classes):
    X, y = two_classes
    kernel = ConstantKernel(2.0) * RBF([1.0, 2.0, 0.6])
    problem = Problem(kernel, SmoothMachine(Logistic()), HyperPrior("loo", 3.0), Dense(X), y[:, None])
    plain = Problem(kernel, SmoothMachine(Logistic()), LOO(), Dense(X), y[:, None])
    theta = problem.theta
    assert problem(theta).value == pytest.approx(
        plain(theta).value + HyperPrior("loo", 3.0).penalty(kernel)[0]
    )
    steps = 1e-5 * np.eye(len(theta))  # rounding and curvature errors are both near 1e-8 there
    expected = [(problem(theta + e).value - problem(theta - e).value) / 2e-5 for e in steps]
    assert problem(theta).gradient == pytest.approx(np.array(expected), rel=1e-5, abs=1e-6)


def chosen(data, strength):
    X, y = data
    options = {"kernel": "rbf-ard", "machine": SmoothMachine(Logistic())}
    return select(X, y[:, None], criterion=HyperPrior("loo", strength), **options)


def test_a_stronger_prior_brings_the_length_scales_together(two_classes):
    spreads = [np.ptp(chosen(two_classes, s).kernel.theta) for s in (0.0, 0.3, 1e4)]
    assert spreads[0] > spreads[1] > spreads[2]
    assert spreads[2] < 0.01


def test_the_value_of_a_selection_is_the_criterion_alone(two_classes):
    found = chosen(two_classes, 0.3)
    assert found.reading.value == LOO()(found.solution).value
    assert found.outcome.best.value > found.reading.value + 1e-3


def test_an_unknown_criterion_or_strength_is_refused():
    with pytest.raises(UnknownName, match="got 'lo'"):
        HyperPrior("lo")
    with pytest.raises(ValueError, match="strength must not be negative, got -1"):
        HyperPrior("loo", -1)
