r"""Descent along a noisy gradient, a rate for each parameter: for criteria whose derivatives are sampled.

References
----------
.. [1] Gold and Sollich, *Model selection for support vector machine classification*, section 4.3.
"""

from dataclasses import dataclass
from functools import partial
from typing import ClassVar

import numpy as np

from foldless.core.contracts import Stop
from foldless.searches.base import Search
from foldless.searches.nelder_mead import descend_by_simplex
from foldless.searches.starts import best_starts


@dataclass(frozen=True)
class HMCAscent(Search):
    r"""Ascent of the evidence (descent of its cost) that looks at the gradient alone.

    Parameter a moves by :math:`-\eta_a\, \partial_a`, at most by ``longest``. Where its derivative did not fall the rate
    :math:`\eta_a` grows by a fifth; where it flipped or grew sharply the rate is halved and the step redone. The walk
    ends when no derivative stands out from twice its standard error or is large enough to matter, or when every step has
    become short. (The second is needed: the derivative in a parameter that runs to zero, such as an offset the data do
    not want, becomes small, but its standard error smaller still.) Criteria that draw random numbers should use the same
    ones at every point (a fixed seed).

    Parameters
    ----------
    n_starts : int, default=1
        How many walks, from the best of the starts.
    stride : float, default=0.3
        First step, in log units.
    longest : float, default=0.7
    shortest : float, default=0.003
    tolerance : float, default=0.001
        Size of a derivative, relative to the value, that counts as zero.
    rounds : int, default=300
        Steps after which a walk is given up.
    checkpoint : path, default=None
        File for the steps as they are taken; a killed run continues from it.
    """

    n_starts: int = 1
    stride: float = 0.3
    longest: float = 0.7
    shortest: float = 3e-3
    tolerance: float = 1e-3
    rounds: int = 300
    name: ClassVar[str] = "hmc-ascent"

    def run(self, walk, box, starts):
        """Glance at the starts, then climb from the best."""
        tasks = [partial(self._climb, start=start) for start in best_starts(walk, starts, self.n_starts)]
        stops = set(walk.run_parts(tasks))
        return stops.pop() if len(stops) == 1 else Stop.STALLED

    def _climb(self, walk, start):
        here = walk.evaluate(start, "ascent")
        if here.gradient is None:
            return descend_by_simplex(walk, here, self.tolerance)
        rates = np.full(walk.box.size, self.stride / max(np.max(np.abs(here.gradient)), 1e-12))
        stop = Stop.STALLED
        for _ in range(self.rounds):
            move = self._move(walk.box, here, rates)
            if self._done(here, move):
                stop = Stop.CONVERGED if here.error is None else Stop.NOISE
                break
            if np.max(np.abs(move)) < self.shortest:
                break
            there = walk.evaluate(here.theta + move, "ascent")
            bad = self._overshot(here, there)
            if np.any(bad):
                rates = np.where(bad, rates / 2, rates)
            else:
                slow = np.abs(there.gradient) >= 0.9 * np.abs(here.gradient)
                rates, here = np.where(slow, 1.2 * rates, rates), there
        walk.keep_optimum(walk.best.theta)
        return stop

    def _move(self, box, here, rates):
        step = np.clip(-rates * here.gradient, -self.longest, self.longest)
        return box.clip(here.theta + step) - here.theta

    def _done(self, here, move):
        """Whether no derivative of a parameter that can still move stands out."""
        level = self.tolerance * max(abs(here.value), 1e-12)
        if here.error is not None:
            level = np.maximum(level, 2 * here.error)
        return bool(np.all((np.abs(here.gradient) <= level) | (move == 0)))

    def _overshot(self, here, there):
        if not np.isfinite(there.value) or there.gradient is None:
            return np.ones(len(here.theta), dtype=bool)
        noise = 0.0 if there.error is None else 2 * there.error
        old, new = np.abs(here.gradient), np.abs(there.gradient)
        old = np.maximum(
            old, np.max(old) / 4
        )  # a small derivative is moved by the other parameters, not by its own
        flipped = (here.gradient * there.gradient < 0) & (new > 0.5 * old + noise)
        return flipped | (new > 2 * old + noise + 1e-12)
