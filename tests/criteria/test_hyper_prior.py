"""The priors on the parameters: value, gradient, and what it does to a search."""

import numpy as np
import pytest
from scipy.stats import norm
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, Matern

from foldless.core.errors import UnknownName
from foldless.criteria import LOO, EvidenceEP, HyperPrior
from foldless.grams.builders import DenseBuilder
from foldless.machines import HingeSVM, SmoothMachine
from foldless.machines.losses import Logistic
from foldless.tuning.objective import Objective
from foldless.tuning.select import select


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
    problem = Objective(
        kernel, SmoothMachine(Logistic()), HyperPrior("loo", 3.0), DenseBuilder(X), y[:, None]
    )
    plain = Objective(kernel, SmoothMachine(Logistic()), LOO(), DenseBuilder(X), y[:, None])
    theta = problem.theta
    penalty = HyperPrior("loo", 3.0).penalty(kernel)[0] / len(y)  # leave-one-out is a sum over the rows
    assert problem(theta).value == pytest.approx(plain(theta).value + penalty)
    steps = 1e-5 * np.eye(len(theta))  # rounding and curvature errors are both near 1e-8 there
    expected = [(problem(theta + e).value - problem(theta - e).value) / 2e-5 for e in steps]
    assert problem(theta).gradient == pytest.approx(np.array(expected), rel=1e-5, abs=1e-6)


FULL = {"length_scale": (2.0, 0.5), "amplitude": (7.0, 1.5), "C": (3.0, 0.8)}


def test_the_prior_is_a_normal_density_of_the_logarithms():
    kernel = ConstantKernel(3.0) * RBF([1.0, 2.5]) + ConstantKernel(0.4)
    value, _ = HyperPrior("loo", 0.7, **FULL).penalty(kernel, HingeSVM(C=5.0))
    log_density = norm(np.log(2), 0.5).logpdf(np.log([1.0, 2.5])).sum()
    log_density += norm(np.log(7), 1.5).logpdf(np.log(3.0)) + norm(np.log(3), 0.8).logpdf(np.log(5.0))
    highest = 2 * norm(0, 0.5).logpdf(0) + norm(0, 1.5).logpdf(0) + norm(0, 0.8).logpdf(0)
    assert value == pytest.approx(0.7 * (highest - log_density), rel=1e-12)


def test_offsets_and_fixed_parameters_have_no_prior():
    kernel = ConstantKernel(3.0, "fixed") * RBF([1.0, 2.5], "fixed") + ConstantKernel(0.4)
    value, gradient = HyperPrior("loo", **FULL).penalty(kernel)
    assert value == 0
    np.testing.assert_array_equal(gradient, [0.0])


def test_an_amplitude_is_found_wherever_it_multiplies():
    kernel = (ConstantKernel(3.0) * RBF(1.0) + ConstantKernel(0.4)) * ConstantKernel(5.0)
    _, gradient = HyperPrior("loo", amplitude=(1.0, 1.0), length_scale=None).penalty(kernel)
    np.testing.assert_allclose(gradient, [np.log(3), 0, 0, np.log(5)])


@pytest.mark.parametrize("tune_machine", [True, False])
def test_the_gradient_in_all_parameters_is_that_of_the_sum(two_classes, tune_machine):
    X, y = two_classes
    kernel = ConstantKernel(2.0) * RBF([1.0, 2.0, 0.6]) + ConstantKernel(0.3)
    prior = HyperPrior(EvidenceEP(tolerance=1e-12), 1 / len(y), **FULL)
    problem = Objective(kernel, HingeSVM(bias=False), prior, DenseBuilder(X), y[:, None], tune_machine)
    theta = problem.theta
    steps = 1e-4 * np.eye(len(theta))  # curvature errors near 1e-9, the fixed point is as good as 1e-12
    expected = [(problem(theta + e).value - problem(theta - e).value) / 2e-4 for e in steps]
    assert problem(theta).gradient == pytest.approx(np.array(expected), rel=1e-6, abs=1e-8)


def test_a_strong_prior_places_every_parameter(two_classes):
    X, y = two_classes
    kernel = ConstantKernel(1.0, (1e-3, 1e3)) * RBF([1.0, 2.0, 0.6], (1e-2, 1e2)) + ConstantKernel(
        0.3, "fixed"
    )
    prior = HyperPrior("evidence-ep", 1e4, **FULL)
    found = select(X, y[:, None], kernel=kernel, machine=HingeSVM(bias=False), criterion=prior)
    np.testing.assert_allclose(np.exp(found.kernel.theta), [7, 2, 2, 2], rtol=1e-3)
    assert pytest.approx(3, rel=1e-3) == found.machine.C


def chosen(data, strength):
    X, y = data
    options = {"kernel": "rbf-ard", "machine": SmoothMachine(Logistic())}
    return select(X, y[:, None], criterion=HyperPrior("loo", strength), **options)


def test_a_stronger_prior_brings_the_length_scales_together(two_classes):
    spreads = [np.ptp(chosen(two_classes, s).kernel.theta) for s in (0.0, 0.3, 1e4)]
    assert spreads[0] > spreads[1] > spreads[2]
    assert spreads[2] < 0.01


def test_the_value_of_a_selection_is_that_of_its_trace(two_classes):
    found = chosen(two_classes, 0.3)
    alone, (penalty, _) = LOO()(found.solution), HyperPrior("loo", 0.3).penalty(found.kernel)
    assert found.outcome.best.value == pytest.approx(found.reading.value, rel=1e-6)
    assert found.reading.parts["criterion"] == alone.value
    assert penalty > 0
    assert found.reading.parts["penalty"] == pytest.approx(penalty / len(found.solution.Y), rel=1e-12)
    assert found.reading.value == pytest.approx(alone.value + found.reading.parts["penalty"], rel=1e-12)
    assert found.reading.parts["total"] == pytest.approx(alone.parts["total"] + penalty, rel=1e-12)


def test_an_unknown_criterion_or_strength_is_refused():
    with pytest.raises(UnknownName, match="got 'lo'"):
        HyperPrior("lo")
    with pytest.raises(ValueError, match="strength must not be negative, got -1"):
        HyperPrior("loo", -1)


@pytest.mark.parametrize(
    "prior", [{"C": (0.0, 1.0)}, {"amplitude": (1.0, 0.0)}, {"C": (None, 1.0)}, {"length_scale": (-1.0, 1.0)}]
)
def test_a_prior_that_is_none_is_refused(prior):
    with pytest.raises(
        ValueError, match="must be a pair of a positive natural value and a positive deviation"
    ):
        HyperPrior("loo", **prior)
