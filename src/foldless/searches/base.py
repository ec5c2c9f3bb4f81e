"""Search: what every search shares."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar

import numpy as np

from foldless.core.contracts import Box, ObjectiveFunction, Outcome, Stop, Vector, Watch
from foldless.searches.run import SearchHalted, SearchRun


@dataclass(frozen=True)
class Search:
    """Base of all searches: called with a function and a box, it returns an :class:`Outcome`.

    Parameters
    ----------
    checkpoint : path, optional
        File for the steps as they are taken; a killed run continues from it. Every search takes it, by name.
    """

    checkpoint: str | Path | None = field(default=None, kw_only=True, repr=False)
    name: ClassVar[str] = ""

    def run(self, walk: SearchRun, box: Box, starts: Sequence[Vector]) -> Stop:
        """Walk, and say why it ended; there is a start and something to tune."""
        raise NotImplementedError

    @property
    def with_search_accuracy(self):
        """The search at the accuracy that another search on a finer representation needs from it."""
        return self

    @property
    def near_optimum(self):
        """The search that goes on from the optima of this one, on a finer representation of the same problem."""
        return self

    def __call__(
        self,
        evaluate: ObjectiveFunction,
        box: Box,
        starts: Sequence[Vector],
        *,
        max_evaluations: int | None = None,
        time_budget: float | None = None,
        watch: Watch | None = None,
        checkpoint: str | Path | None = None,
        section: str | int = 0,
        n_jobs: int | None = None,
    ) -> Outcome:
        """Search ``box`` from ``starts`` (none: its centre); an interrupt or a spent budget returns the best so far."""
        walk = SearchRun(
            evaluate,
            box,
            max_evaluations=max_evaluations,
            time_budget=time_budget,
            watch=watch,
            checkpoint=self.checkpoint if checkpoint is None else checkpoint,
            section=section,
            n_jobs=n_jobs,
        )
        try:
            stop = self._begin(walk, box, starts)
        except SearchHalted as halt:
            stop = halt.stop
        except KeyboardInterrupt:
            stop = Stop.INTERRUPTED
        if not walk.trace:
            raise KeyboardInterrupt
        return walk.outcome(stop)

    def _begin(self, walk, box, starts):
        if box.size == 0:
            walk.evaluate_value(np.zeros(0), "nothing to tune")
            return Stop.NOTHING
        starts = [box.clip(np.asarray(start, dtype=float)) for start in starts]
        return self.run(walk, box, starts or [(box.low + box.high) / 2])
