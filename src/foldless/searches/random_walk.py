r"""Greedy random walk with adapted steps: what Gold and Sollich searched with.

References
----------
.. [1] Gold and Sollich, *Model selection for support vector machine classification*, section 4.1.
"""

from dataclasses import dataclass
from functools import partial
from typing import ClassVar

import numpy as np

from foldless.core.contracts import Stop
from foldless.searches.base import Search
from foldless.searches.starts import best_starts


@dataclass(frozen=True)
class RandomWalk(Search):
    """One parameter at a time takes a Gaussian step in its logarithm and keeps it if the criterion falls.

    A step that was not kept makes the next one of that parameter shorter by ``factor``, one that was makes it longer
    by ``factor`` to the power 1.5. (The paper's power is 1; but short steps are kept half of the time wherever there is
    a slope, so their length would drift, and often down to nothing far from the optimum. The paper also steps linearly
    in C; here all parameters are logarithms.) It needs no gradient, crosses jumps and plateaus, and takes hundreds of
    evaluations.

    Parameters
    ----------
    n_starts : int, default=1
        How many walks, from the best of the starts.
    stride : float, default=0.5
        Standard deviation of the first steps.
    factor : float, default=1.3
        By which a step grows or shrinks.
    shortest : float, default=0.01
        The walk ends when all steps are shorter.
    patience : int, default=15
        It also ends when this many sweeps over the parameters gained less than ``gain``, relatively.
    gain : float, default=0.0001
    seed : int, default=0
    checkpoint : path, default=None
        File for the steps as they are taken; a killed run continues from it.
    """

    n_starts: int = 1
    stride: float = 0.5
    factor: float = 1.3
    shortest: float = 0.01
    patience: int = 15
    gain: float = 1e-4
    seed: int = 0
    name: ClassVar[str] = "random-walk"

    def __post_init__(self):
        if not self.factor > 1:
            raise ValueError(f"factor must be greater than 1, got {self.factor!r}.")

    def run(self, walk, box, starts):
        """Glance at the starts, then wander from the best."""
        begin = best_starts(walk, starts, self.n_starts)
        tasks = [partial(self._wander, start=start, number=i) for i, start in enumerate(begin)]
        return Stop.CONVERGED if set(walk.run_parts(tasks)) == {Stop.CONVERGED} else Stop.STALLED

    def _wander(self, walk, start, number):
        rng, here = np.random.default_rng([self.seed, number]), walk.evaluate_value(start, "walk")
        width = walk.box.high - walk.box.low
        strides, free, values = np.minimum(self.stride, width), np.flatnonzero(width > 0), [here.value]
        while np.max(strides[free], initial=0) >= self.shortest:
            for i in free:
                here, kept = self._try(walk, here, i, strides[i] * rng.normal())
                strides[i] = min(strides[i] * (self.factor**1.5 if kept else 1 / self.factor), width[i])
            values.append(here.value)
            if len(values) > self.patience and not self._gained(values):
                break
        walk.keep_optimum(here.theta)
        return Stop.CONVERGED if np.isfinite(here.value) else Stop.STALLED

    def _try(self, walk, here, i, move):
        theta = here.theta.copy()
        theta[i] += move
        there = walk.evaluate_value(theta, "walk")
        return (there, True) if there.value < here.value else (here, False)

    def _gained(self, values):
        old, new = values[-1 - self.patience], values[-1]
        return not np.isfinite(old) or old - new >= self.gain * max(abs(new), 1e-12)
