"""Any search, from many places."""

from dataclasses import dataclass, replace
from functools import partial
from typing import ClassVar

from foldless.core.contracts import Stop
from foldless.searches.base import Search
from foldless.searches.starts import best_starts, sobol_starts


@dataclass(frozen=True)
class MultiStart(Search):
    """Run another search from several starts, side by side with ``n_jobs``; all local optima are kept.

    The first starts are the best of those given, the others a Sobol sequence over the box. Runs that end in the same
    place count as one optimum; ``outcome.optima`` lists them, best first.

    Parameters
    ----------
    search : Search
        What to run, such as ``LBFGS()``.
    n_starts : int, default=8
        How often.
    given : int, default=2
        How many of the runs begin at given starts.
    checkpoint : path, default=None
        File for the steps as they are taken; a killed run continues from it.

    Examples
    --------
    >>> from foldless.searches import LBFGS, MultiStart
    >>> MultiStart(LBFGS(), n_starts=16)
    MultiStart(search=LBFGS(n_starts=1, tolerance=1e-05, stride=1.0), n_starts=16, given=2)
    """

    search: Search
    n_starts: int = 8
    given: int = 2
    name: ClassVar[str] = "multi-start"

    def run(self, walk, box, starts):
        """Run the search from each start."""
        begin = best_starts(walk, starts, min(self.given, self.n_starts))
        begin = [*begin, *sobol_starts(box, self.n_starts - len(begin))]
        stops = walk.run_parts([partial(self.search.run, box=box, starts=[start]) for start in begin])
        return next((stop for stop in stops if stop != Stop.STALLED), Stop.STALLED)

    @property
    def with_search_accuracy(self):
        """The same with a rough search."""
        return replace(self, search=self.search.with_search_accuracy)

    @property
    def near_optimum(self):
        """Go on from the optima alone: the box was looked at."""
        search = self.search.near_optimum
        return replace(search, n_starts=self.n_starts) if hasattr(search, "n_starts") else search
