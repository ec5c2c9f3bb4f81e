r"""Greedy random walk with adapted steps, the search of Gold and Sollich.

References
----------
.. [1] Gold and Sollich, *Model selection for support vector machine classification*, section 4.1.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from foldless.core.contracts import Step, Stop, Vector
from foldless.searches.base import LocalSearch
from foldless.searches.run import SearchRun


@dataclass(frozen=True)
class RandomWalk(LocalSearch):
    """One parameter at a time takes a Gaussian step in its logarithm and keeps it if the criterion falls.

    A step that was not kept makes the next one of that parameter shorter by ``factor``, one that was makes it longer
    by ``factor`` to the power 1.5. (The paper's power is 1; but short steps are kept half of the time wherever there is
    a slope, so their length would drift, and often down to nothing far from the optimum. The paper also steps linearly
    in C; here all parameters are logarithms.) It needs no gradient, crosses jumps and plateaus, and takes hundreds of
    evaluations.

    Parameters
    ----------
    n_starts : int, default=1
        Number of random walks, from the best of the starts.
    stride : float, default=0.5
        Standard deviation of the first steps.
    factor : float, default=1.3
        Factor by which a step grows or shrinks.
    shortest : float, default=0.01
        A walk ends when all steps are shorter.
    patience : int, default=15
        A walk also ends when this many sweeps over the parameters gained less than ``gain``, relative to
        the scale of the criterion.
    gain : float, default=0.0001
    seed : int, default=0
    checkpoint : path, default=None
        File to which every step is appended, and from which a killed search continues.
    """

    stride: float = 0.5
    factor: float = 1.3
    shortest: float = 0.01
    patience: int = 15
    gain: float = 1e-4
    seed: int = 0
    name: ClassVar[str] = "random-walk"

    def __post_init__(self) -> None:
        if not self.factor > 1:
            raise ValueError(f"factor must be greater than 1, got {self.factor!r}.")

    def descend(self, run: SearchRun, start: Vector, number: int) -> Stop:
        """Walk from one start; every start has random numbers of its own."""
        rng, here = np.random.default_rng([self.seed, number]), run.evaluate(start, "walk", gradient=False)
        width = run.box.high - run.box.low
        strides, free, values = np.minimum(self.stride, width), np.flatnonzero(width > 0), [here.value]
        while np.max(strides[free], initial=0) >= self.shortest:
            for i in free:
                there = _moved(run, here, i, strides[i] * rng.normal())
                improved = there.value < here.value
                here = there if improved else here
                strides[i] = min(strides[i] * (self.factor**1.5 if improved else 1 / self.factor), width[i])
            values.append(here.value)
            if len(values) > self.patience and not self._gained(run, values):
                break
        run.keep_optimum(here.theta)
        return Stop.CONVERGED if np.isfinite(here.value) else Stop.STALLED

    def _gained(self, run: SearchRun, values: list[float]) -> bool:
        """Return whether the last sweeps improved the criterion noticeably."""
        old, new = values[-1 - self.patience], values[-1]
        return bool(not np.isfinite(old) or old - new >= self.gain * run.scale(new))


def _moved(run: SearchRun, here: Step, i: np.intp, move: float) -> Step:
    """Evaluate the point that differs from ``here`` by ``move`` in parameter i."""
    theta = here.theta.copy()
    theta[i] += move
    return run.evaluate(theta, "walk", gradient=False)
