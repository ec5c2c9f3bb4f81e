"""SIC is unbiased: 20 000 noise draws on a singular kernel."""

import numpy as np
import pytest

from foldless.criteria import SIC, Mallows
from foldless.grams import DenseGram
from foldless.machines import Ridge, Subset

U = np.linspace(0, 2 * np.pi, 14, endpoint=False) + 0.1 * np.sin(np.arange(14))
D = U[:, None] - U
K = 0.5 + sum(np.cos(k * D) for k in (1, 2, 3))  # Dirichlet kernel, N = 3: rank 7
Z = K @ np.random.default_rng(2).normal(size=14) / 5
S2, DRAWS = 0.3, 20_000
Y = Z[:, None] + np.sqrt(S2) * np.random.default_rng(7).normal(size=(14, DRAWS))
MACHINES = {
    "K": Ridge(0.5),
    "I": Ridge(2.0, penalty="I"),
    "subset": Subset([0, 3, 6, 9]),
    "K bias": Ridge(0.5, bias=True),
    "K weights": Ridge(0.5, weights=np.linspace(0.5, 2, 14)),
}


def hat(machine):
    return machine.solve(DenseGram(K), np.eye(14)).alpha


@pytest.mark.parametrize("name", ["K", "I", "subset"])
def test_sic_estimates_the_error_in_the_function_space(name):
    machine = MACHINES[name]
    X, Kp = hat(machine), np.linalg.pinv(K, hermitian=True)
    X = Kp @ K @ X  # the part that acts
    e = X @ Z - Kp @ Z
    truth = e @ K @ e + S2 * np.trace(K @ X @ X.T)
    assert np.linalg.matrix_rank(K) == 7
    mean, error = batched(SIC("paper", S2), machine)
    assert abs(mean - truth) < 4 * error
    assert error < 0.05 * truth


@pytest.mark.parametrize("name", MACHINES)
@pytest.mark.parametrize(
    "criterion", [SIC("gamma", S2, gamma=0.4), SIC("fixed", S2, reference=K @ K + np.eye(14))]
)
def test_sic_estimates_the_error_in_its_norm(name, criterion):
    machine = MACHINES[name]
    v = np.ones(14) if machine.weights is None else machine.weights
    noisy = Z[:, None] + np.sqrt(S2 / v)[:, None] * np.random.default_rng(7).normal(size=(14, DRAWS))
    s = machine.solve(DenseGram(K), noisy)
    fitted = K @ s.alpha + s.b
    W = np.linalg.inv(K + np.diag(0.4 / v)) if criterion.norm == "gamma" else criterion.reference
    if machine.bias and criterion.norm == "gamma":  # constants cost nothing
        W = W - np.outer(W.sum(0), W.sum(0)) / W.sum()
    e = fitted - Z[:, None]
    difference = per_draw(criterion, machine, noisy) - (e * (W @ e)).sum(0)
    assert abs(difference.mean()) < 4 * difference.std() / np.sqrt(DRAWS)


def test_mallows_estimates_the_error_and_the_noise():
    s = MACHINES["I"].solve(DenseGram(K), Y)
    e = K @ s.alpha - Z[:, None]
    difference = per_draw(Mallows(S2), MACHINES["I"], Y) - (e**2).mean(0) - S2
    assert abs(difference.mean()) < 4 * difference.std() / np.sqrt(DRAWS)


@pytest.mark.parametrize("norm", ["gamma", "paper", "e"])
@pytest.mark.parametrize("name", ["K", "I", "subset"])
def test_the_error_bar_is_that_of_the_draws(norm, name):
    criterion = SIC(norm, S2)
    values, estimates = (
        per_draw(criterion, MACHINES[name], Y),
        per_draw(criterion, MACHINES[name], Y, "variance"),
    )
    assert estimates.mean() == pytest.approx(values.var(), rel=0.05)


def per_draw(criterion, machine, Y, part=None):
    """The criterion, or the variance it reports, on each draw: one solve, the terms per output."""
    s = machine.solve(DenseGram(K), Y)
    if isinstance(criterion, Mallows):
        return (s.rss + 2 * S2 * s.df) / 14
    if hasattr(s.smoother, "R"):
        s = s.at(machine.alpha) if isinstance(machine, Ridge) else s
    terms = criterion._terms(s, np.full(Y.shape[1], S2))
    return terms.error_bar.variance if part else terms.value


def batched(criterion, machine):
    values = per_draw(criterion, machine, Y)
    return values.mean(), values.std() / np.sqrt(DRAWS)
