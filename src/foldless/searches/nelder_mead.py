"""Nelder and Mead's simplex, which needs no gradient."""

from dataclasses import dataclass
from functools import partial
from typing import ClassVar

from foldless.core.contracts import Stop
from foldless.searches.simplex import descend_by_simplex
from foldless.searches.walk import Search, best_starts


@dataclass(frozen=True)
class NelderMead(Search):
    """Descent by a simplex that crawls over the values alone.

    What Cawley and Talbot searched with. It takes several times as many evaluations as :class:`LBFGS`, and more with
    every parameter; with more than ten parameters it is seldom the right choice.

    Parameters
    ----------
    n_starts : int, default=1
        How many descents, from the best of the starts.
    tolerance : float, default=1e-06
        Relative spread of the criterion over the simplex at which a descent is over.
    checkpoint : path, default=None
        File for the steps as they are taken; a killed run continues from it.
    """

    n_starts: int = 1
    tolerance: float = 1e-6
    name: ClassVar[str] = "nelder-mead"

    def run(self, walk, box, starts):
        """Glance at the starts, then descend from the best."""
        tasks = [partial(self._descend, start=start) for start in best_starts(walk, starts, self.n_starts)]
        return Stop.CONVERGED if set(walk.spread(tasks)) == {Stop.CONVERGED} else Stop.STALLED

    def _descend(self, walk, start):
        return descend_by_simplex(walk, walk.glance(start, "simplex"), self.tolerance)
