r"""Descent along a noisy gradient, with a rate for each parameter: for criteria whose derivatives are sampled.

References
----------
.. [1] Gold and Sollich, *Model selection for support vector machine classification*, section 4.3.
"""

from dataclasses import dataclass
from typing import ClassVar, cast

import numpy as np
from numpy.typing import NDArray

from foldless.core.contracts import Box, Step, Stop, Vector
from foldless.searches.base import LocalSearch
from foldless.searches.nelder_mead import descend_by_simplex
from foldless.searches.run import SearchRun

# A derivative stands out from noise if it exceeds this many standard errors.
NOISE_STANDARD_ERRORS = 2.0
# A rate grows by this factor where the derivative kept at least the given fraction of its size.
RATE_GROWTH_FACTOR, SLOW_DECREASE_FRACTION = 1.2, 0.9


@dataclass(frozen=True)
class HMCAscent(LocalSearch):
    r"""Ascent of the evidence (descent of its cost) that uses the gradient alone.

    Parameter a moves by :math:`-\eta_a\, \partial_a`, at most by ``longest``. Where its derivative did not fall the rate
    :math:`\eta_a` grows by a fifth; where it flipped or grew sharply the rate is halved and the step redone. The search
    ends when no derivative stands out from twice its standard error or is large enough to matter, or when every step has
    become short. (The second is needed: the derivative in a parameter that runs to zero, such as an offset the data do
    not want, becomes small, but its standard error smaller still.) Criteria that draw random numbers should use the same
    ones at every point (a fixed seed).

    Parameters
    ----------
    n_starts : int, default=1
        Number of ascents, from the best of the starts.
    stride : float, default=0.3
        First step, in log units.
    longest : float, default=0.7
        Longest step of a parameter.
    shortest : float, default=0.003
        The ascent ends when the longest step is shorter than this.
    tolerance : float, default=0.001
        Size of a derivative, relative to the scale of the criterion, that counts as zero.
    rounds : int, default=300
        Largest number of steps.
    checkpoint : path, default=None
        File to which every step is appended, and from which a killed search continues.
    """

    stride: float = 0.3
    longest: float = 0.7
    shortest: float = 3e-3
    tolerance: float = 1e-3
    rounds: int = 300
    name: ClassVar[str] = "hmc-ascent"

    def descend(self, run: SearchRun, start: Vector, number: int) -> Stop:
        """Descend from one start."""
        here = run.evaluate(start, "ascent")
        if here.gradient is None:
            return descend_by_simplex(run, here, self.tolerance)
        rates = np.full(run.box.size, self.stride / max(np.max(np.abs(here.gradient)), 1e-12))
        stop = Stop.STALLED
        for _ in range(self.rounds):
            move = self._move(run.box, here, rates)
            if self._is_done(run, here, move):
                stop = Stop.CONVERGED if here.error is None else Stop.NOISE
                break
            if np.max(np.abs(move)) < self.shortest:
                break
            there = run.evaluate(here.theta + move, "ascent")
            too_far = _overshot(here, there)
            if np.any(too_far):
                rates = np.where(too_far, rates / 2, rates)
            else:
                rates, here = _faster_where_slow(rates, here, there), there
        run.keep_optimum(run.best.theta)
        return stop

    def _move(self, box: Box, here: Step, rates: Vector) -> Vector:
        step = np.clip(-rates * _gradient(here), -self.longest, self.longest)
        return box.clip(here.theta + step) - here.theta

    def _is_done(self, run: SearchRun, here: Step, move: Vector) -> bool:
        """Return whether every derivative is small or noise, except for parameters that rest at a bound."""
        level = np.full(len(here.theta), self.tolerance * run.scale(here.value))
        if here.error is not None:
            level = np.maximum(level, NOISE_STANDARD_ERRORS * here.error)
        return bool(np.all((np.abs(_gradient(here)) <= level) | (move == 0)))


def _gradient(step: Step) -> Vector:
    """Return the gradient of a step that has one."""
    return cast(Vector, step.gradient)


def _faster_where_slow(rates: Vector, here: Step, there: Step) -> Vector:
    """Return the rates, larger where the derivative hardly fell."""
    slow = np.abs(_gradient(there)) >= SLOW_DECREASE_FRACTION * np.abs(_gradient(here))
    return np.where(slow, RATE_GROWTH_FACTOR * rates, rates)


def _overshot(here: Step, there: Step) -> NDArray[np.bool_]:
    """Return for every parameter whether the step from ``here`` to ``there`` was too long in it."""
    if not np.isfinite(there.value) or there.gradient is None:
        return np.ones(len(here.theta), dtype=bool)
    noise = 0.0 if there.error is None else NOISE_STANDARD_ERRORS * there.error
    before, after = _gradient(here), there.gradient
    # A derivative that is small beside the others is changed by their parameters, not by its own.
    old, new = np.maximum(np.abs(before), np.max(np.abs(before)) / 4), np.abs(after)
    flipped = (before * after < 0) & (new > 0.5 * old + noise)
    return flipped | (new > 2 * old + noise + 1e-12)
