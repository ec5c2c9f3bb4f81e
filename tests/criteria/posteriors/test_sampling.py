"""Samplers against quadrature and the exact numbers of three points; every seed is fixed, every bound is 4 s.e."""

from types import SimpleNamespace

import numpy as np
import pytest

from foldless.core.errors import UnsuitableBias
from foldless.criteria import EvidenceHMC
from foldless.criteria.posteriors.diagnostics import effective_draws, rhat
from foldless.criteria.posteriors.ep import expectation_propagation
from foldless.criteria.posteriors.sampling import Reference, Target, draws, gold_sollich_draws, slice_round
from foldless.criteria.posteriors.sites import HingeSite, SquaredHingeSite
from foldless.kernels import gram, pullback
from foldless.machines import HingeSVM, SquaredHingeSVM
from foldless.machines.losses import Hinge, SquaredHinge
from oracles.svm import CASES, GRAMS, POINTS, dense, in_order, kernel, low_rank, markov_log_z, matrix, problem

approx = pytest.approx
LOSSES = [Hinge(), SquaredHinge()]
SITES = {1: HingeSite, 2: SquaredHingeSite}
MACHINES = {1: HingeSVM, 2: SquaredHingeSVM}


def plane(K, y, C, loss):
    """Nodes (2, N) and posterior weights (N,) for two points, by quadrature between the kinks."""
    g, w = np.polynomial.legendre.leggauss(20)
    axes = []
    for i in range(2):
        edges = np.unique(np.r_[np.linspace(-9, 9, 19) * np.sqrt(K[i, i]), y[i]])
        half = np.diff(edges) / 2
        nodes = (edges[:-1] + half)[:, None] + half[:, None] * g
        axes.append((nodes.ravel(), (half[:, None] * w).ravel()))
    theta = np.array(np.meshgrid(axes[0][0], axes[1][0], indexing="ij")).reshape(2, -1)
    weight = np.multiply.outer(axes[0][1], axes[1][1]).ravel()
    energy = np.einsum("ij,ij->j", theta, np.linalg.solve(K, theta)) / 2 + C @ loss.value(y[:, None] * theta)
    weight = weight * np.exp(-energy)
    Z = weight.sum() / (2 * np.pi * np.sqrt(np.linalg.det(K)))
    return theta, weight / weight.sum(), Z


TWO = (np.array([[2.0, 0.9], [0.9, 1.5]]), np.array([1.0, -1.0]), np.array([1.5, 0.8]))


@pytest.mark.parametrize("loss", LOSSES)
def test_identities_of_posterior_averages(loss):
    K, y, C = TWO
    theta, w, _ = plane(K, y, C, loss)
    g = (C * y)[:, None] * loss.pull(y[:, None] * theta)
    u = np.linalg.solve(K, theta)
    assert u @ w == approx(g @ w, abs=1e-9)
    assert (theta * w) @ u.T == approx(np.eye(2) + (theta * w) @ g.T, abs=1e-9)
    G = ((g * w) @ u.T + (u * w) @ g.T) / 2  # 2 n G
    h = np.sum(w * g * (theta - K @ g), axis=1) / np.diag(K)
    assert np.max(np.abs(G - (g * w) @ g.T - np.diag(h))) < 1e-9
    if loss.power == 2:
        assert h == approx(-C * ((y[:, None] * theta < 1) @ w), abs=1e-9)
    assert np.sum(K * G) == approx(np.sum(w * g * theta), abs=1e-9)
    step = 1e-5  # and G is the derivative of the evidence
    for D in (np.diag([1.0, 0]), np.array([[0.0, 0.5], [0.5, 0]])):
        up, down = (np.log(plane(K + t * D, y, C, loss)[2]) for t in (step, -step))
        assert np.sum(G * D) / 2 == approx((up - down) / (2 * step), abs=1e-7)


@pytest.mark.parametrize("average", ["inverse", "none"])
@pytest.mark.parametrize("loss", LOSSES)
def test_the_corrected_gradient_is_exact_for_any_reference(loss, average):
    K, y, C = TWO
    theta, w, _ = plane(K, y, C, loss)
    g = (C * y)[:, None] * loss.pull(y[:, None] * theta)
    exact = ((g * w) @ np.linalg.solve(K, theta).T) / 2
    tau, nu = np.array([0.7, 0.2]), np.array([-0.4, 1.1])
    factor = dense(K).factor(tau)
    mu = factor.covariance(nu)
    rho = g - nu[:, None] + tau[:, None] * theta
    means = {
        "cross": (rho * w) @ (theta + mu[:, None]).T,
        "force": rho @ w,
        "square": (rho * w) @ rho.T,
        "h": np.sum(w * g * (theta - K @ g), axis=1) / np.diag(K),
        "loss": loss.value(y[:, None] * theta) @ w,
    }
    means = SimpleNamespace(mean=means.__getitem__)
    solution = SimpleNamespace(n=2, gram=(dense if average == "inverse" else low_rank)(K), C=C)
    posterior = SimpleNamespace(factor=factor, b=nu - tau * mu, tau=tau)
    G, _ = EvidenceHMC()._derivatives(solution, posterior, means, np.zeros(2))
    assert -2 * matrix(G) == approx((exact + exact.T) / 2, abs=1e-8)


def chain_error(x):
    """Mean over (draws, chains) and its standard error from the chains."""
    means = np.mean(x, axis=0)
    return means.mean(), means.std(ddof=1) / np.sqrt(len(means))


@pytest.mark.parametrize("reference", ["ep", "prior"])
@pytest.mark.parametrize("loss", LOSSES)
def test_hmc_and_slices_agree_with_quadrature(loss, reference):
    K, y, C = TWO
    theta, w, _ = plane(K, y, C, loss)
    expected = np.r_[theta @ w, theta**2 @ w, np.sum(w * loss.value(y[:, None] * theta))]
    if reference == "ep":
        posterior = expectation_propagation(dense(K), y, SITES[loss.power](C))
        target = Target(Reference(posterior.factor, posterior.nu), y, C, loss)
    else:
        target = Target(Reference(dense(K).factor(np.zeros(2)), np.zeros(2)), y, C, loss)
    states = list(draws(target, 3, chains=100, number=300))
    state, slices = states[0], []
    for i in range(300):
        state = slice_round(target, state, np.random.default_rng([5, i]))
        slices.append(state)
    for kind in (states, slices):
        seen = np.array([np.r_[s, s**2, target.losses(s)[None]] for s in kind])  # (draws, 5, chains)
        for j in range(5):
            mean, error = chain_error(seen[:, j])
            assert abs(mean - expected[j]) < 4 * error
            assert error < 0.03


@pytest.mark.parametrize("refresh", ["one", "all"])
@pytest.mark.parametrize("loss", LOSSES)
def test_gold_and_sollichs_sampler_agrees_with_quadrature(loss, refresh):
    K, y, C = TWO
    theta, w, _ = plane(K, y, C, loss)
    expected = np.r_[theta @ w, np.sum(w * loss.value(y[:, None] * theta))]
    runs = []
    for seed in range(8):
        chain = gold_sollich_draws(K, y, C, loss, np.full(2, 0.5), 3000, 0.9, seed, steps=2, refresh=refresh)
        states = np.array([t for t, _ in chain])[1000:].T
        runs.append(np.r_[states.mean(axis=1), np.mean(np.sum(loss.value(y[:, None] * states), axis=0))])
    error = np.std(runs, axis=0, ddof=1) / np.sqrt(8)
    assert np.all(np.abs(np.mean(runs, axis=0) - expected) < 4 * error)
    assert np.all(error < 0.06)


def test_gold_and_sollichs_second_state_is_the_inverse_times_the_first():
    K, y, C = TWO
    for theta, tilde in gold_sollich_draws(K, y, C, Hinge(), np.full(2, 0.5), 20, 0.5, 0):
        assert K @ tilde == approx(theta, abs=1e-10)


THREE = {  # section 10: exact E, its gradient, <s> and the mean loss
    1: (
        -1.0517216455,
        [-0.3544880042, 0.1325815346, -0.0303679297, -0.2108298677, 0.0215224966],
        [0.7179938106, 1.0089110836, 1.5592801093],
        0.3311770825,
    ),
    2: (
        -0.8187148391,
        [-0.1134090169, 0.0243335790, -0.0342885902, -0.1197788483, 0.0201262635],
        [0.6557075295, 0.8250006101, 1.3132493480],
        0.2070436864,
    ),
}


@pytest.mark.parametrize("make", GRAMS)
@pytest.mark.parametrize("loss", LOSSES)
def test_three_points_exactly(loss, make):
    y, parameters, C = CASES["A"]
    k = kernel(*parameters)
    solution = MACHINES[loss.power](C, False).solve(make(gram(k, POINTS[:3])), y[:3, None])
    reading = EvidenceHMC(number=150, seed=2)(solution)
    E, gradient, _, mean_loss = THREE[loss.power]
    assert abs(-reading.value - E) < 4 * reading.parts["log_evidence_error"]
    assert reading.parts["log_evidence_error"] < 2e-3
    found = [-in_order(slope, pullback(k, POINTS[:3], matrix(G))) for G, slope in reading.batches]
    error = np.std(found, axis=0, ddof=1) / np.sqrt(len(found))
    assert np.all(np.abs(np.mean(found, axis=0) - gradient) < 4 * error)
    assert np.all(error < 0.02)
    assert -in_order(reading.slope, pullback(k, POINTS[:3], matrix(reading.adjoint))) == approx(
        np.mean(found, axis=0)
    )
    assert reading.parts["loss"] / 3 == approx(mean_loss, abs=0.02)
    assert reading.parts["rhat_loss"] < 1.02
    assert reading.parts["ess_loss"] > 400


@pytest.mark.parametrize("loss", LOSSES)
def test_margins_of_three_points(loss):
    y, parameters, C = CASES["A"]
    K, y = gram(kernel(*parameters), POINTS[:3]), y[:3]
    posterior = expectation_propagation(dense(K), y, SITES[loss.power](np.full(3, C)))
    target = Target(Reference(posterior.factor, posterior.nu), y, np.full(3, C), loss)
    s = y[:, None] * np.array(list(draws(target, 1, chains=64, number=150)))  # (draws, 3, chains)
    for i, expected in enumerate(THREE[loss.power][2]):
        mean, error = chain_error(s[:, i])
        assert abs(mean - expected) < 4 * error
        assert error < 0.02


@pytest.mark.parametrize("loss", LOSSES)
def test_the_integrated_value_meets_the_markov_recursion(loss):
    rng = np.random.default_rng(0)
    x = np.sort(rng.uniform(0, 5, 25))
    y = np.sign(np.sin(2 * x) + 0.3 * rng.normal(size=25))
    K = 3 * np.exp(-np.abs(x[:, None] - x))
    exact = markov_log_z(x, y, 3.0, 1.0, 0.0, lambda s: -2 * loss.value(s)) + 25 * loss.log_kappa(2.0)[0]
    reading = EvidenceHMC(number=60, seed=4)(MACHINES[loss.power](2.0, False).solve(dense(K), y[:, None]))
    error = 25 * reading.parts["log_evidence_error"]
    assert abs(-25 * reading.value - exact) < 4 * error
    assert error < 0.03


def test_one_seed_gives_one_reading_and_common_numbers_cancel():
    K, y = problem(15, seed=1)
    criterion = EvidenceHMC(number=20, nodes=0)
    cost = lambda C: criterion(HingeSVM(C, False).solve(dense(2 * K + 0.5), y[:, None]))
    assert cost(1.0).slope == cost(1.0).slope
    near = abs(cost(1.001).slope[0] - cost(1.0).slope[0])
    other = EvidenceHMC(number=20, nodes=0, seed=9)(
        HingeSVM(1.0, False).solve(dense(2 * K + 0.5), y[:, None])
    )
    assert near < abs(other.slope[0] - cost(1.0).slope[0])


def test_bad_options_are_refused():
    K, y = problem(10)
    with pytest.raises(ValueError, match="chains must be at least 2"):
        EvidenceHMC(chains=1)
    with pytest.raises(ValueError, match="batches"):
        EvidenceHMC(chains=4, batches=8)
    with pytest.raises(UnsuitableBias, match="evidence-hmc"):
        EvidenceHMC()(HingeSVM(1.0, True).solve(dense(K), y[:, None]))
    target = Target(Reference(low_rank(K).factor(np.zeros(10)), np.zeros(10)), y, np.ones(10), Hinge())
    with pytest.raises(ValueError, match="chains"):
        next(draws(target, 0, chains=1))


# Diagnostics, against their definitions written out.


def plain_rhat(x):
    halves = [c[: len(c) // 2] for c in x.T] + [c[len(c) - len(c) // 2 :] for c in x.T]
    n = len(halves[0])
    W = np.mean([np.sum((h - h.mean()) ** 2) / (n - 1) for h in halves])
    means = np.array([h.mean() for h in halves])
    B = n * np.sum((means - means.mean()) ** 2) / (len(halves) - 1)
    return np.sqrt(((n - 1) / n * W + B / n) / W)


def plain_effective_draws(x):
    """Vehtari et al. (2021), (10)-(13), one lag after the other."""
    halves = [c[: len(c) // 2] for c in x.T] + [c[len(c) - len(c) // 2 :] for c in x.T]
    n, m = len(halves[0]), len(halves)
    W = np.mean([np.var(h, ddof=1) for h in halves])
    plus = (n - 1) / n * W + np.var([h.mean() for h in halves], ddof=1)

    def rho(t):
        gamma = [np.sum((h[: n - t] - h.mean()) * (h[t:] - h.mean())) / n for h in halves]
        return 1 - (W - np.mean(gamma) * n / (n - 1)) / plus if t else 1.0

    total, last, t = 0.0, np.inf, 0
    while 2 * t + 1 < n:
        pair = rho(2 * t) + rho(2 * t + 1)
        if pair <= 0:
            break
        last = min(last, pair)
        total += last
        t += 1
    return n * m / max(-1 + 2 * total, 1 / np.log10(n * m))


@pytest.mark.parametrize("memory", [0.0, 0.5, 0.95, -0.4])
def test_diagnostics_are_their_definitions(memory):
    rng = np.random.default_rng(0)
    x = np.zeros((201, 6))
    for t in range(1, 201):
        x[t] = memory * x[t - 1] + rng.normal(size=6)
    x[:, 0] += 0.3
    assert rhat(x) == approx(plain_rhat(x), rel=1e-12)
    assert effective_draws(x) == approx(plain_effective_draws(x), rel=1e-9)


def test_effective_draws_of_a_known_process():
    rng = np.random.default_rng(1)
    x = np.zeros((20000, 8))
    for t in range(1, 20000):
        x[t] = 0.8 * x[t - 1] + rng.normal(size=8)
    assert effective_draws(x) == approx(160000 * 0.2 / 1.8, rel=0.1)
    assert effective_draws(rng.normal(size=(2000, 8))) == approx(16000, rel=0.1)
    assert rhat(rng.normal(size=(2000, 8))) == approx(1.0, abs=2e-3)
    assert rhat(rng.normal(size=(2000, 8)) + np.arange(8)) > 2
    with pytest.raises(ValueError, match="R-hat"):
        rhat(np.zeros((3, 1)))


def test_the_momentum_must_turn_round_after_a_rejection():
    """Half of the trajectories are rejected here; without the reversal the means are off by more than 10 s.e."""
    K, y, C, loss = np.array([[9.0, 4.0], [4.0, 5.0]]), np.array([1.0, -1.0]), np.ones(2), SquaredHinge()
    theta, w, _ = plane(K, y, C, loss)
    runs = []
    for seed in range(8):
        chain = gold_sollich_draws(K, y, C, loss, np.full(2, 0.3), 3000, 0.8, seed)
        runs.append(np.mean([t for t, _ in chain][500:], axis=0))
    error = np.std(runs, axis=0, ddof=1) / np.sqrt(8)
    assert np.all(np.abs(np.mean(runs, axis=0) - theta @ w) < 4 * error)
    assert np.all(error < 0.05)
