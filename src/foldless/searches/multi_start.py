"""Any search, from many starts."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import ClassVar, Self

from foldless.core.contracts import Box, Step, Stop, Vector
from foldless.searches.base import Search
from foldless.searches.run import SearchRun
from foldless.searches.starts import best_starts, sobol_starts


@dataclass(frozen=True)
class MultiStart(Search):
    """Run another search from several starts, side by side with ``n_jobs``; all local optima are kept.

    The first starts are the best of those given, the others a Sobol sequence over the box. Runs that end in the same
    place count as one optimum; ``outcome.optima`` lists them, best first.

    Parameters
    ----------
    search : Search
        The search to run, such as ``LBFGS()``.
    n_starts : int, default=8
        Number of runs.
    given : int, default=2
        How many of the runs begin at given starts.
    checkpoint : path, default=None
        File to which every step is appended, and from which a killed search continues.

    Examples
    --------
    >>> from foldless.searches import LBFGS, MultiStart
    >>> MultiStart(LBFGS(), n_starts=16)
    MultiStart(search=LBFGS(n_starts=1, tolerance=5e-05, stride=1.0), n_starts=16, given=2)
    """

    search: Search
    n_starts: int = 8
    given: int = 2
    name: ClassVar[str] = "multi-start"

    def run(self, run: SearchRun, box: Box, starts: Sequence[Vector]) -> Stop:
        """Run the inner search from each start."""
        begin = best_starts(run, starts, min(self.given, self.n_starts))
        begin = [*begin, *sobol_starts(box, self.n_starts - len(begin))]
        stops = run.run_parts([partial(self.search.run, box=box, starts=[start]) for start in begin])
        return next((stop for stop in stops if stop != Stop.STALLED), Stop.STALLED)

    def with_n_starts(self, n_starts: int) -> Self:
        """Return the search with another number of runs."""
        return replace(self, n_starts=n_starts)

    def with_search_accuracy(self, n_rows: int) -> Search:
        """Return many starts of the inner search at a lower accuracy."""
        return replace(self, search=self.search.with_search_accuracy(n_rows))

    def near_optimum(self, steps: Sequence[Step]) -> Search:
        """Return the inner search from all optima that were found; the rest of the box was searched before."""
        return self.search.near_optimum(steps).with_n_starts(self.n_starts)
