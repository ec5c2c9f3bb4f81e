"""What every search shares: how it is called, and what it declares about itself."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import ClassVar, Self

import numpy as np

from foldless.core.contracts import Box, ObjectiveFunction, Outcome, Step, Stop, Vector, Watch
from foldless.searches.run import SearchHalted, SearchRun
from foldless.searches.starts import best_starts


@dataclass(frozen=True)
class Search:
    """Base of all searches: called with an objective and a box, a search returns an :class:`Outcome`.

    A subclass is a frozen dataclass of options with a ``name`` and a method :meth:`run`. The other members declare what
    it can do besides; their defaults suit a search without these abilities.

    Parameters
    ----------
    checkpoint : path, optional
        File to which every step is appended, and from which a killed search continues. Every search has this option;
        it is given by name.
    """

    checkpoint: str | Path | None = field(default=None, kw_only=True, repr=False)
    name: ClassVar[str] = ""

    def run(self, run: SearchRun, box: Box, starts: Sequence[Vector]) -> Stop:
        """Search and return why the search ended.

        Parameters
        ----------
        run : SearchRun
            Evaluates the objective and records the steps.
        box : Box
            At least one parameter.
        starts : sequence of arrays
            At least one, inside the box.
        """
        raise NotImplementedError

    @property
    def n_starts(self) -> int:
        """Number of local searches; 1 if the search has no such option."""
        return 1

    def with_n_starts(self, n_starts: int) -> Self:
        """Return the search with another number of local searches; itself if it has no such option."""
        return self

    def with_search_accuracy(self, n_rows: int) -> "Search":
        """Return the search at the lower accuracy that suffices on some of the rows."""
        return self

    def near_optimum(self, steps: Sequence[Step]) -> "Search":
        """Return the search that continues from the optima of an earlier one, on other rows.

        Parameters
        ----------
        steps : sequence of Step
            The steps of the earlier search.
        """
        return self

    @property
    def validation(self) -> float | None:
        """Fraction of the rows that early stopping holds out; ``None`` without early stopping."""
        return None

    @property
    def samples(self) -> bool:
        """Whether the search draws points from a density, rather than looking for the best one."""
        return False

    @property
    def seed(self) -> int:
        """Seed of everything that the search draws."""
        return 0

    @property
    def without_early_stopping(self) -> "Search":
        """The search that runs on the rows which early stopping does not hold out."""
        return self

    def __call__(
        self,
        objective: ObjectiveFunction,
        box: Box,
        starts: Sequence[Vector],
        *,
        max_evaluations: int | None = None,
        time_budget: float | None = None,
        watch: Watch | None = None,
        checkpoint: str | Path | None = None,
        section: str | int = 0,
        n_jobs: int | None = None,
        on_interrupt: str = "keep",
    ) -> Outcome:
        """Search ``box`` from ``starts``, or from its centre if there are none.

        A spent budget ends the search with the best step so far, and so does an interrupt, unless ``on_interrupt`` is
        ``"raise"``. The other options are those of :class:`foldless.searches.run.SearchRun`.
        """
        run = SearchRun(
            objective,
            box,
            max_evaluations=max_evaluations,
            time_budget=time_budget,
            watch=watch,
            checkpoint=self.checkpoint if checkpoint is None else checkpoint,
            section=section,
            n_jobs=n_jobs,
        )
        if box.size == 0:
            run.evaluate(np.zeros(0), "nothing to tune", gradient=False)
            return run.outcome(Stop.NOTHING)
        inside = [box.clip(np.asarray(start, dtype=float)) for start in starts]
        try:
            stop = self.run(run, box, inside or [(box.low + box.high) / 2])
        except SearchHalted as halted:
            stop = halted.stop
        except KeyboardInterrupt:
            stop = Stop.INTERRUPTED
        if not run.trace or (stop is Stop.INTERRUPTED and on_interrupt == "raise"):
            raise KeyboardInterrupt
        return run.outcome(stop)


@dataclass(frozen=True)
class LocalSearch(Search):
    """Base of the searches that descend from the best ``n_starts`` of their starts; a subclass defines :meth:`descend`."""

    n_starts: int = 1

    def run(self, run: SearchRun, box: Box, starts: Sequence[Vector]) -> Stop:
        """Evaluate the starts and descend from the best of them."""
        chosen = best_starts(run, starts, self.n_starts)
        tasks = [partial(self.descend, start=start, number=i) for i, start in enumerate(chosen)]
        stops = set(run.run_parts(tasks))
        return stops.pop() if len(stops) == 1 else Stop.STALLED

    def descend(self, run: SearchRun, start: Vector, number: int) -> Stop:
        """Descend from one start, the ``number``-th, and return why the descent ended."""
        raise NotImplementedError

    def with_n_starts(self, n_starts: int) -> Self:
        """Return the search with another number of descents."""
        return replace(self, n_starts=n_starts)
