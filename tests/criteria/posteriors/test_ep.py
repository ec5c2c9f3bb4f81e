"""Expectation propagation against quadrature, the exact evidence of a Markov kernel, and the reference numbers."""

import numpy as np
import pytest
from scipy.integrate import quad

from foldless.core.errors import UnsuitableBias
from foldless.criteria import EvidenceEP
from foldless.criteria.evidence_ep import ep_posterior
from foldless.criteria.posteriors.ep import class_probability, expectation_propagation
from foldless.criteria.posteriors.sites import HingeSite, SquaredHingeSite
from foldless.kernels import gram, pullback
from foldless.machines import HingeSVM, SquaredHingeSVM
from foldless.machines.losses import Hinge, SquaredHinge
from oracles.svm import (
    CASES,
    GRAMS,
    POINTS,
    central,
    dense,
    direction,
    in_order,
    kernel,
    low_rank,
    markov_log_z,
    matrix,
    problem,
)

approx = pytest.approx
PAIRS = [(HingeSVM, HingeSite, Hinge()), (SquaredHingeSVM, SquaredHingeSite, SquaredHinge())]


def at(site, m, v, C):
    return [
        float(part[0])
        for part in site(np.array([float(C)])).tilted(np.array([float(m)]), np.array([float(v)]))
    ]


@pytest.mark.parametrize(("site", "loss"), [(HingeSite, Hinge()), (SquaredHingeSite, SquaredHinge())])
@pytest.mark.parametrize(
    ("m", "v", "C"), [(0.3, 2.0, 1.5), (-2.0, 0.4, 3.0), (2.5, 1.0, 0.7), (0.9, 4.0, 6.0)]
)
def test_tilted_moments_are_integrals(site, loss, m, v, C):
    sd = np.sqrt(v)
    low, high = m - 12 * sd, m + 12 * sd
    factor = lambda s, m: np.exp(-C * loss.value(s) - (s - m) ** 2 / (2 * v)) / np.sqrt(2 * np.pi * v)
    integral = lambda g: quad(g, low, high, points=[1.0, m], epsabs=0, epsrel=1e-11, limit=200)[0]
    Z = lambda m: integral(lambda s: factor(s, m))
    log_z, d1, bend, expected = at(site, m, v, C)
    assert log_z == approx(np.log(Z(m)), abs=1e-10)
    moment = lambda k: integral(lambda s: (s - m) ** k * factor(s, m)) / Z(m)
    assert d1 == approx(moment(1) / v, abs=1e-9)
    assert bend == approx(-(moment(2) / v**2 - 1 / v - (moment(1) / v) ** 2), abs=1e-8)
    assert expected == approx(integral(lambda s: loss.value(s) * factor(s, m)) / Z(m), abs=1e-10)


TILTED = [  # section 10 of the specification, D13
    (HingeSite, (0.3, 2, 1.5), (-0.7282574624, 0.5358074075, 0.2588456974, 0.2123849495)),
    (HingeSite, (0, 1000, 20), (-0.7174051658, 0.02583917557, 6.431158354e-4, 6.460084594e-5)),
    (HingeSite, (6, 1, 2), (-7.835595131e-8, 4.165912799e-7, 2.140256876e-6, 2.865015153e-8)),
    (SquaredHingeSite, (0.3, 2, 1.5), (-0.5396686230, 0.4438597245, 0.2558798145, 0.1428128420)),
    (SquaredHingeSite, (-4, 0.5, 3), (-15.45814526, 6.000000459, 1.199997988, 2.099999756)),
]


@pytest.mark.parametrize(("site", "arguments", "expected"), TILTED)
def test_reference_moments(site, arguments, expected):
    assert at(site, *arguments) == approx(expected, rel=1e-9)


@pytest.mark.parametrize("site", [HingeSite, SquaredHingeSite])
def test_moments_stay_finite_and_concave_far_out(site):
    m, v, C = np.meshgrid([-1e3, -30, 0, 1, 30, 1e3], [1e-6, 1, 1e6], [1e-3, 1, 1e3])
    for part in site(C.ravel()).tilted(m.ravel(), v.ravel()):
        assert np.all(np.isfinite(part))
    tilted = site(C.ravel()).tilted(m.ravel(), v.ravel())
    assert np.all(tilted.minus_d2 >= 0)
    assert np.all(tilted.minus_d2 * v.ravel() <= 1)
    assert np.all(tilted.loss >= 0)


REFERENCES = {
    ("A", HingeSVM): (
        -0.9395337432,
        [-0.3234922557, 0.1010739286, -0.0132184059, 0.0013532770, -0.1290510933],
        -0.939027,
    ),
    ("A", SquaredHingeSVM): (
        -0.7256981774,
        [-0.0917384457, 0.0076626813, -0.0155254849, 0.0318064518, -0.0836936353],
        -0.724630,
    ),
    ("B", HingeSVM): (
        -2.0660663372,
        [-1.5278871082, -0.0067330034, 0.0015578711, 0.0539972003, -0.2325436895],
        -2.0660,
    ),
    ("B", SquaredHingeSVM): (
        -1.5288484727,
        [-0.9541925354, -0.0794719381, -0.0018818309, 0.1286999378, -0.2197503150],
        -1.5284,
    ),
}


@pytest.mark.parametrize("make", GRAMS)
@pytest.mark.parametrize(("case", "machine"), REFERENCES)
def test_reference_numbers(case, machine, make):
    y, parameters, C = CASES[case]
    k = kernel(*parameters)
    E, gradient, exact = REFERENCES[case, machine]
    reading = EvidenceEP(1e-12)(machine(C, False).solve(make(gram(k, POINTS)), y[:, None]))
    assert -reading.value == approx(E, abs=6e-11)
    assert -in_order(reading.slope, pullback(k, POINTS, matrix(reading.adjoint))) == approx(
        gradient, abs=2e-10
    )
    assert -0.002 < -reading.value - exact < 2e-4  # a little too low, as EP is


@pytest.mark.parametrize(("machine", "E"), [(HingeSVM, -1.0519417661), (SquaredHingeSVM, -0.8189125858)])
def test_reference_of_three_points(machine, E):
    y, parameters, C = CASES["A"]
    K = gram(kernel(*parameters), POINTS[:3])
    assert -EvidenceEP(1e-12)(machine(C, False).solve(dense(K), y[:3, None])).value == approx(E, abs=6e-11)


LINE = {  # loss power -> (C, koff): exact, EP
    1: {
        (1.5, 0.0): (-7.5810183319, -7.5836112931),
        (1.5, 0.5): (-7.7427646117, -7.7463640550),
        (6.0, 0.5): (-11.7307958389, -11.7378146530),
    },
    2: {
        (1.5, 0.0): (-5.8179921917, -5.8224133473),
        (1.5, 0.5): (-5.9956198286, -6.0012673351),
        (6.0, 0.5): (-8.7210838521, -8.7282759206),
    },
}


@pytest.mark.parametrize(("machine", "site", "loss"), PAIRS)
def test_references_on_a_line(machine, site, loss):
    x, y = POINTS[:, 0], CASES["A"][0]
    for (C, koff), (exact, ep) in LINE[loss.power].items():
        constant = 8 * loss.log_kappa(C)[0]
        found = markov_log_z(x, y, 2.0, 1.0, koff, lambda s, C=C: -C * loss.value(s))
        assert found + constant == approx(exact, abs=2e-9)
        K = 2 * np.exp(-np.abs(x[:, None] - x)) + koff
        posterior = expectation_propagation(dense(K), y, site(np.full(8, C)), tolerance=1e-12)
        assert posterior.log_z + constant == approx(ep, abs=1e-9)


@pytest.mark.parametrize(("machine", "site", "loss"), PAIRS)
def test_close_to_the_exact_evidence_of_many_points(machine, site, loss):
    rng = np.random.default_rng(0)
    x = np.sort(rng.uniform(0, 10, 60))
    y = np.sign(np.sin(x) + 0.3 * rng.normal(size=60))
    K = 3 * np.exp(-np.abs(x[:, None] - x) / 2)
    exact = markov_log_z(x, y, 3.0, 2.0, 0.0, lambda s: -2 * loss.value(s))
    found = expectation_propagation(dense(K), y, site(np.full(60, 2.0))).log_z
    assert -0.01 * 60 < found - exact < 0.0


@pytest.mark.parametrize(("machine", "site", "loss"), PAIRS)
def test_one_point_is_exact(machine, site, loss):
    posterior = expectation_propagation(dense(np.array([[1.7]])), np.array([-1.0]), site(np.array([2.0])))
    assert posterior.log_z == approx(at(site, 0.0, 1.7, 2.0)[0], abs=1e-12)


@pytest.mark.parametrize(("machine", "site", "loss"), PAIRS)
def test_adjoint_and_slope_are_the_derivatives(machine, site, loss):
    K, y = problem(20, seed=1)
    K, H = 2 * K + 0.3 + 0.1 * np.eye(20), direction(20)
    m = machine(1.5, False, np.random.default_rng(0).uniform(0.5, 2, 20))
    cost = lambda K, m: EvidenceEP(1e-12)(m.solve(dense(K), y[:, None]))
    reading = cost(K, m)
    assert np.sum(reading.adjoint * H) == approx(central(lambda t: cost(K + t * H, m).value, 1e-4), abs=1e-8)
    assert reading.slope == approx(
        [central(lambda t: cost(K, m.with_theta(m.theta + t)).value, 1e-4)], abs=1e-9
    )


@pytest.mark.parametrize(("machine", "site", "loss"), PAIRS)
def test_low_rank_equals_dense(machine, site, loss):
    K, y = problem(25, seed=1, length=0.5)
    a, b = (EvidenceEP(1e-12)(machine(2.0, False).solve(make(K), y[:, None])) for make in (dense, low_rank))
    assert b.value == approx(a.value, abs=1e-8)
    assert matrix(b.adjoint) == approx(a.adjoint, abs=1e-8)
    assert b.slope == approx(a.slope, abs=1e-8)


def test_a_warm_start_ends_at_the_same_fixed_point():
    K, y = problem(40, seed=1)
    site = HingeSite(np.full(40, 2.0))
    cold = expectation_propagation(dense(3 * K), y, site)
    near = expectation_propagation(dense(3.1 * K), y, site)
    warm = expectation_propagation(dense(3 * K), y, site, near.start)
    assert warm.log_z == approx(cold.log_z, abs=1e-9)
    assert warm.rounds < cold.rounds


def test_prediction_is_that_of_the_enlarged_problem():
    """A point without a factor (C = 0) changes nothing; its marginal is the prediction."""
    K, y = problem(15, seed=2)
    K = 2 * K + 0.5
    full = expectation_propagation(dense(K), y, HingeSite(np.r_[np.full(14, 3.0), 0.0]), tolerance=1e-12)
    part = expectation_propagation(dense(K[:14, :14]), y[:14], HingeSite(np.full(14, 3.0)), tolerance=1e-12)
    mean, variance = part.predict(K[14:, :14], K[[14], [14]])
    assert mean == approx(full.mu[14:], abs=1e-9)
    assert variance == approx(full.factor.covariance_diag()[14:], abs=1e-9)


def test_probabilities_are_symmetric_and_follow_the_mean():
    site, m = HingeSite(np.full(5, 2.0)), np.array([-2.0, -0.5, 0.0, 0.5, 2.0])
    p = class_probability(site, m, np.full(5, 0.7))
    assert p + p[::-1] == approx(np.ones(5))
    assert np.all(np.diff(p) > 0)
    assert class_probability(site, m, np.full(5, 1e5)) == approx(np.full(5, 0.5), abs=0.02)  # ignorance


def test_a_free_bias_is_refused():
    K, y = problem(10)
    with pytest.raises(UnsuitableBias, match="evidence-ep needs bias='kernel'"):
        EvidenceEP()(HingeSVM(1.0, True).solve(dense(K), y[:, None]))
    assert ep_posterior(HingeSVM(1.0, False).solve(dense(K), y[:, None]).columns[0]).mu.shape == (10,)
