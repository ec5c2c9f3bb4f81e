"""Fixed points of maps that contract, overshoot, answer with noise, or leave their domain."""

import numpy as np
import pytest

from foldless.criteria.posteriors.anderson import FixedPoint
from foldless.criteria.posteriors.ep import expectation_propagation
from foldless.criteria.posteriors.sites import HingeSite
from foldless.grams import DenseGram


def iterate(g, x, tolerance=1e-12, rounds=300, valid=np.isfinite):
    point, seen = FixedPoint(x), []
    for done in range(rounds):
        f = g(point.x) - point.x
        seen.append(point.x)
        change = float(np.max(np.abs(f)))
        if point.settled(change, tolerance):
            return point.x, done, seen
        point.advance(f, change, np.ones(len(x)), valid)
    raise AssertionError("did not settle")


def linear(slopes, seed=0):
    rng = np.random.default_rng(seed)
    Q = np.linalg.qr(rng.normal(size=(len(slopes), len(slopes))))[0]
    A, b = Q * slopes @ Q.T, rng.normal(size=len(slopes))
    return (lambda x: A @ x + b), np.linalg.solve(np.eye(len(slopes)) - A, b)


def test_a_slow_contraction_is_sped_up():
    g, truth = linear(np.array([0.95, 0.9, 0.5, 0.1]))
    x, rounds, _ = iterate(g, np.zeros(4))
    np.testing.assert_allclose(x, truth, atol=1e-10)
    assert rounds < 60  # plain steps of 0.8 need about 700


@pytest.mark.parametrize("slope", [-1.5, -5.0, -30.0])
def test_a_map_that_overshoots_settles(slope):
    g, truth = linear(np.array([slope, 0.5, 0.0]))
    np.testing.assert_allclose(iterate(g, np.ones(3))[0], truth, atol=1e-9)


def test_rounding_ends_it():
    """Noise of 1e-8 in the map: 1e-12 is out of reach, and nobody waits for it."""
    rng = np.random.default_rng(0)
    g = lambda x: np.cos(x) + 1e-8 * rng.normal(size=2)
    x, rounds, _ = iterate(g, np.zeros(2))
    np.testing.assert_allclose(x, 0.7390851332, atol=1e-6)
    assert rounds < 100


def test_noise_that_is_no_rounding_does_not():
    rng = np.random.default_rng(0)
    with pytest.raises(AssertionError, match="settle"):
        iterate(lambda x: np.cos(x) + 1e-3 * rng.normal(size=2), np.zeros(2))


def test_mixed_steps_stay_where_they_may():
    g, _ = linear(np.array([0.97, -0.9, 0.3]))
    bounded = lambda x: np.maximum(g(x), 0)
    x, _, seen = iterate(bounded, np.ones(3), valid=lambda x: x >= 0)
    assert np.min(seen) >= 0
    np.testing.assert_allclose(bounded(x), x, atol=1e-11)


@pytest.mark.parametrize("C", [1.0, 50.0])
def test_equal_rows_settle_whatever_c(C):
    """Forty times the same point: with C = 50 the sites are known to some 1e-8, which has to be enough."""
    gram = DenseGram(np.full((40, 40), 4.0) + 1e-9 * np.eye(40))
    y = np.r_[np.ones(30), -np.ones(10)]
    posterior = expectation_propagation(gram, y, HingeSite(np.full(40, C)), tolerance=1e-9)
    assert posterior.rounds < 150
    other = expectation_propagation(gram, y, HingeSite(np.full(40, C)), posterior.start, 1e-6)
    assert other.log_z == pytest.approx(posterior.log_z, abs=1e-5)
