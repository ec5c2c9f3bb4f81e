"""Expectation propagation where plain rounds overshoot: the sites settle, at the fixed point, whatever the start."""

import numpy as np
import pytest

from foldless.criteria.posteriors import ep
from foldless.criteria.posteriors.ep import expectation_propagation
from foldless.criteria.posteriors.newton_means import CAVITY_TOLERANCE, cavity_means
from foldless.criteria.posteriors.sites import HingeSite, ProbitSite, SquaredHingeSite
from foldless.grams import LowRankGram
from oracles.svm import dense

approx = pytest.approx
TOLERANCE = 1e-8


def features(n, rank, seed=0):
    """Return smooth functions on an interval, large and few for so many rows, and noisy signs of one of them."""
    rng = np.random.default_rng(seed)
    x = np.sort(rng.uniform(-1, 1, n))
    F = np.polynomial.legendre.legvander(x, rank - 1) * 30.0 / np.arange(1, rank + 1)
    return F, np.sign(np.sin(4 * x) + 0.4 * rng.normal(size=n))


def settled_sites(posterior):
    """Return by how much the sites differ from those that match the moments, relative to the largest."""
    pairs = zip(posterior.matching_sites(), posterior.start, strict=True)
    return max(np.max(np.abs(new - old)) / np.max(np.abs(new)) for new, old in pairs)


HARD = [(site, C, n) for site in (HingeSite, SquaredHingeSite) for C in (3.0, 30.0) for n in (150, 900)]


@pytest.mark.parametrize(("site", "C", "n"), HARD)
def test_sites_settle_for_many_rows_large_c_and_large_kernels(site, C, n):
    F, y = features(n, 8)
    posterior = expectation_propagation(LowRankGram(F), y, site(np.full(n, C)), tolerance=TOLERANCE)
    assert settled_sites(posterior) <= 10 * TOLERANCE
    assert posterior.rounds < ep.EP_MAX_ROUNDS / 2


@pytest.mark.parametrize("C", [1.0, 30.0])
def test_sites_of_repeated_rows_with_both_labels_settle(C):
    F, y = features(30, 5)
    F, y = np.repeat(F, 20, axis=0), np.repeat(y, 20) * np.where(np.arange(600) % 20 < 17, 1, -1)
    posterior = expectation_propagation(dense(F @ F.T), y, HingeSite(np.full(600, C)), tolerance=TOLERANCE)
    assert posterior.tau.reshape(30, 20)[:, :17] == approx(
        np.tile(posterior.tau[::20, None], 17), rel=1e-5, abs=1e-6 * np.max(posterior.tau)
    )


def test_a_warm_start_ends_at_the_same_posterior():
    F, y = features(900, 8)
    site = HingeSite(np.full(900, 30.0))
    cold = expectation_propagation(LowRankGram(F), y, site, tolerance=TOLERANCE)
    near = expectation_propagation(LowRankGram(1.1 * F), y, site, tolerance=TOLERANCE)
    warm = expectation_propagation(LowRankGram(F), y, site, near.start, TOLERANCE)
    assert warm.log_z == approx(cold.log_z, rel=1e-9)
    assert warm.mu == approx(cold.mu, abs=1e-5 * np.max(np.abs(cold.mu)))


def test_help_from_the_first_round_on_changes_nothing(monkeypatch):
    F, y = features(100, 5)
    plain = expectation_propagation(LowRankGram(F / 10), y, HingeSite(np.ones(100)))
    monkeypatch.setattr(ep, "PLAIN_ROUNDS", 0)
    helped = expectation_propagation(LowRankGram(F / 10), y, HingeSite(np.ones(100)))
    assert helped.log_z == approx(plain.log_z, abs=1e-9)


@pytest.mark.parametrize(
    "site", [HingeSite(np.full(7, 5.0)), SquaredHingeSite(np.full(7, 5.0)), ProbitSite()]
)
@pytest.mark.parametrize("v", [1e-4, 1.0, 1e3])
def test_cavities_have_the_tilted_means_that_were_asked_for(site, v):
    m, variance = np.array([-40.0, -3.0, 0.0, 0.9, 1.0, 2.0, 30.0]) * np.sqrt(v), np.full(7, v)
    s = m + v * site.tilted(m, variance).d1
    found, tilted = cavity_means(site, s, variance, np.zeros(7))
    assert found + v * tilted.d1 == approx(s, abs=CAVITY_TOLERANCE * np.sqrt(v))
