"""The draws come from the posterior they are said to come from, whatever the reference; and an ensemble is made of them."""

import numpy as np
import pytest
from sklearn.gaussian_process.kernels import RBF, ConstantKernel

from foldless import KernelLogisticRegression, KernelSearch, KernelSVC, criteria
from foldless.core.contracts import Box, Evaluation, HasPrior, Stop
from foldless.core.targets import as_columns
from foldless.criteria import HyperPrior
from foldless.datasets import make_ripley, make_twonorm
from foldless.grams.builders import DenseBuilder
from foldless.machines import LSSVM, HingeSVM, Ridge, SquaredHingeSVM
from foldless.searches import EllipticalSlice
from foldless.tuning.objective import Objective

BOX = Box(np.array([-8.0, -8.0]), np.array([8.0, 8.0]))
H, CENTRE = np.array([[2.0, 0.6], [0.6, 1.0]]), np.array([0.7, -1.3])
MANY = EllipticalSlice(draws=3000, thin=3, burn_in=100)


class Bowl(HasPrior):
    """A quadratic cost worth ``nats_per_unit``, with any prior as the reference of the sampler."""

    nats_per_unit = 0.0

    def __init__(self, nats_per_unit, centre, deviation):
        self.nats_per_unit = nats_per_unit
        self.centre, self.deviation = np.full(2, centre), np.full(2, deviation)

    def prior(self):
        return self.centre, self.deviation

    def __call__(self, theta, warm_start=None):
        r = theta - CENTRE
        return Evaluation(float(r @ H @ r) / 2)


def drawn(evaluate, box=BOX, search=MANY):
    outcome = search(evaluate, box, [np.zeros(box.size)])
    return np.array([step.theta for step in outcome.draws]), outcome


@pytest.mark.parametrize("nats_per_unit", [1.0, 3.0])
@pytest.mark.parametrize("reference", [(0.0, np.inf), (0.0, 2.0), (1.0, 0.7)])
def test_moments_of_a_normal_posterior_whatever_the_reference(nats_per_unit, reference):
    theta, _ = drawn(Bowl(nats_per_unit, *reference))
    V = np.linalg.inv(nats_per_unit * H)
    error = np.sqrt(np.diag(V) / 500)  # 3000 draws that depend on each other are worth more than 500
    assert np.all(np.abs(theta.mean(axis=0) - CENTRE) < 4 * error)
    np.testing.assert_allclose(np.cov(theta.T), V, atol=4 * np.max(V) * np.sqrt(2 / 500))


def test_a_flat_cost_is_uniform_in_the_box():
    box = Box(np.array([-1.0, 2.0]), np.array([3.0, 2.0]))
    theta, outcome = drawn(lambda theta, warm_start=None: Evaluation(0.0), box)
    assert abs(theta[:, 0].mean() - 1) < 4 * np.sqrt(4 / 3 / 500)
    assert abs(theta[:, 0].var() - 4 / 3) < 0.25
    assert np.all(theta[:, 1] == 2)
    assert outcome.stop is Stop.SAMPLED


def test_chains_share_the_draws():
    theta, _ = drawn(Bowl(1.0, 0.0, 2.0), search=EllipticalSlice(draws=7, burn_in=2, chains=3))
    assert theta.shape == (7, 2)
    assert len(np.unique(theta, axis=0)) == 7


def test_a_spent_budget_keeps_the_draws_so_far():
    whole = EllipticalSlice(draws=20, burn_in=3, thin=1)(Bowl(1.0, 0.0, 2.0), BOX, [np.zeros(2)])
    part = EllipticalSlice(draws=20, burn_in=3, thin=1)(
        Bowl(1.0, 0.0, 2.0), BOX, [np.zeros(2)], max_evaluations=len(whole.trace) // 2
    )
    assert part.stop is Stop.BUDGET
    assert 0 < len(part.draws) < 20
    for one, other in zip(part.draws, whole.draws, strict=False):
        np.testing.assert_array_equal(one.theta, other.theta)


def test_undefined_points_are_never_drawn():
    def half(theta, warm_start=None):
        return Evaluation(np.inf if theta[0] < 0 else 0.0)

    outcome = EllipticalSlice(draws=200, thin=1)(half, BOX, [np.ones(2)])
    assert min(step.theta[0] for step in outcome.draws) >= 0


@pytest.mark.parametrize("option", ["draws", "thin", "chains"])
def test_bad_options_are_refused(option):
    with pytest.raises(ValueError, match=option):
        EllipticalSlice(**{option: 0})


def problem(machine, criterion, k=1):
    X, y = make_ripley(40, random_state=0)
    Y = np.repeat(as_columns(y), k, axis=1)
    kernel = ConstantKernel(2.0) * RBF(0.7) + ConstantKernel(0.5)
    return Objective(kernel, machine, criterion, DenseBuilder(X), Y)


@pytest.mark.parametrize("k", [1, 2])
@pytest.mark.parametrize("machine", [HingeSVM(bias=False), SquaredHingeSVM(bias=False), Ridge(0.3)])
def test_a_unit_of_every_evidence_is_worth_the_same_nats(machine, k):
    """Twice minus the log likelihood is what the Bayesian information criterion says it is."""
    evidence, abic = (problem(machine, getattr(criteria, name)(), k) for name in ("Evidence", "ABIC"))
    theta, other = evidence.theta, evidence.theta + 0.1
    change = lambda p: p.nats_per_unit * (p(other).value - p(theta).value)
    assert change(evidence) == pytest.approx(change(abic), rel=1e-9)


def test_least_squares_by_the_density_itself():
    """Restricted likelihood of the LS-SVM without a bias, its noise profiled: a normal density of the targets."""
    p = problem(LSSVM(0.4, bias=False), criteria.Evidence())

    def log_likelihood(theta):
        kernel, machine = p.at(theta)
        K = kernel(p.builder.X) + machine.C**-1 * np.eye(40)
        y = p.Y[:, 0]
        s = y @ np.linalg.solve(K, y) / 40
        return -0.5 * (np.linalg.slogdet(2 * np.pi * s * K)[1] + 40)

    other = p.theta + 0.1
    assert -p.nats_per_unit * (p(other).value - p(p.theta).value) == pytest.approx(
        log_likelihood(other) - log_likelihood(p.theta), rel=1e-8
    )


def test_the_prior_of_a_problem_is_that_of_its_penalty():
    prior = HyperPrior(
        "evidence-ep", 1 / 40, length_scale=(2.0, 0.5), amplitude=(np.exp(4), 1.5), C=(np.e, 1.0)
    )
    p = problem(HingeSVM(bias=False), prior)
    centre, deviation = p.prior()
    np.testing.assert_allclose(centre, [4, np.log(2), 0, 1])
    np.testing.assert_allclose(deviation, [1.5, 0.5, np.inf, 1])
    assert p.nats_per_unit == 40
    penalty = prior.penalty(p.kernel, p.machine)[0]
    away = (p.theta - centre)[[0, 1, 3]] / deviation[[0, 1, 3]]
    assert p.nats_per_unit * penalty == pytest.approx(away @ away / 2)


def test_a_criterion_that_is_no_likelihood_is_refused():
    X, y = make_ripley(40, random_state=0)
    with pytest.raises(ValueError, match=r"loo is no likelihood.*evidence-ep"):
        KernelLogisticRegression(search=EllipticalSlice()).fit(X, y)


def test_an_ensemble_is_the_mean_over_the_draws():
    X, y = make_twonorm(60, random_state=0)
    prior = HyperPrior("evidence-ep", 1 / 60, length_scale=(np.sqrt(20), 0.5))
    search = EllipticalSlice(draws=3, burn_in=4, thin=1)
    model = KernelSearch(
        KernelSVC("rbf-ard", loss="hinge", criterion=prior), search=search, ensemble=True
    ).fit(X, y)
    members = model.ensemble_.members
    assert len(members) == 3
    assert len({m.C_ for m in members}) == 3
    np.testing.assert_array_equal(
        [m.C_ for m in members], [np.exp(s.theta[-1]) for s in model.selection_.outcome.draws]
    )
    np.testing.assert_allclose(
        model.predict_proba(X), np.mean([m.predict_proba(X) for m in members], axis=0), rtol=1e-12
    )
