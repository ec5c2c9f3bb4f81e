"""Newton's iteration: the optimum, and fewer factorisations by chords."""

from dataclasses import dataclass, field

import numpy as np
import pytest
from scipy.special import expit

from foldless.machines.newton import _after_chords, minimise


@dataclass
class State:
    """Half a squared norm and logistic losses of ``B x``; ``counts`` has the factorisations."""

    B: np.ndarray
    point: np.ndarray
    has_chords: bool
    counts: list = field(default_factory=list)

    is_curved = True

    @property
    def value(self):
        return self.point @ self.point / 2 + np.logaddexp(0, -self.B @ self.point).sum()

    @property
    def gradient(self):
        return self.point - self.B.T @ expit(-self.B @ self.point)

    @property
    def hessian(self):
        z = self.B @ self.point
        return np.eye(len(self.point)) + self.B.T * (expit(z) * expit(-z)) @ self.B

    def at(self, point):
        return State(self.B, point, self.has_chords, self.counts)

    def newton_point(self):
        self.counts.append(1)
        return self.chord(self)

    def chord(self, other):
        return other.point - np.linalg.solve(self.hessian, other.gradient)

    def chord_point(self, other):
        return self.chord(other) if self.has_chords else None

    def conjugate_point(self, other):
        return None

    def plane_point(self, target):
        return None

    def decrement(self, target):
        return float(-self.gradient @ (target - self.point))


def first_state(has_chords, scale=3.0):
    B = scale * np.random.default_rng(0).normal(size=(40, 6)) + scale / 3
    return State(B, np.zeros(6), has_chords)


@pytest.mark.parametrize("scale", [0.1, 3.0, 30.0])
def test_chords_find_the_same_optimum_to_the_last_digits(scale):
    states = [first_state(has_chords, scale) for has_chords in (True, False)]
    with_chords, without = (minimise(state, 1e-18, "here")[0] for state in states)
    np.testing.assert_allclose(with_chords, without, rtol=0, atol=1e-14)


def test_chords_save_factorisations():
    counts = []
    for has_chords in (True, False):
        state = first_state(has_chords)
        minimise(state, 1e-18, "here")
        counts.append(len(state.counts))
    assert counts[0] <= 0.6 * counts[1], counts


def test_the_factors_of_a_warm_start_suffice_close_to_the_optimum():
    start = first_state(True)
    optimum = minimise(start, 1e-18, "here")[0]
    warm = State(start.B, optimum + 1e-3, True)
    found, n_iterations = minimise(start, 1e-18, "here", warm)
    assert (n_iterations, len(warm.counts)) == (0, 1)
    np.testing.assert_allclose(found, optimum, rtol=0, atol=1e-14)


def test_chords_end_where_they_are_told_to():
    start = first_state(True)
    optimum = minimise(start, 1e-18, "here")[0]
    errors = []
    for tolerance in (1e-6, 1e-12):
        found, _ = minimise(start, 1e-18, "here", start.at(optimum + 1e-2), chord_tolerance=tolerance)
        # The Hessian is at least the identity, so that the decrement bounds the squared distance; the chord itself shortens it.
        errors.append(np.sum((found - optimum) ** 2))
        assert errors[-1] <= tolerance
    assert errors[1] < errors[0]


@pytest.mark.parametrize("scale", [1.0, 10.0, 100.0])
@pytest.mark.parametrize("reach", [0.3, 3.0])
@pytest.mark.parametrize("seed", range(10))
def test_chords_from_a_start_far_away_do_not_raise_the_objective(scale, reach, seed):
    """Far out the losses have little curvature, so that the steps of such a start are far too long."""
    state = first_state(True, scale)
    warm = state.at(reach * np.random.default_rng(seed).normal(size=6))
    first = state.at(warm.newton_point())
    reached, _ = _after_chords(warm, first, np.inf, 1e-12)
    assert reached.value <= first.value * (1 + 1e-12)
