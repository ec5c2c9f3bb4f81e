"""Every point of a grid."""

from dataclasses import dataclass
from itertools import product
from typing import ClassVar

import numpy as np

from foldless.core.contracts import Stop
from foldless.searches.base import Search
from foldless.searches.grid_points import axis_points, lattice_optima, usual_points


@dataclass(frozen=True)
class Grid(Search):
    """A grid over the whole box, equally spaced in theta; it needs no start.

    The last parameter (the regularisation) moves fastest, so that its row of fits is one chain of warm starts. Rows
    run side by side with ``n_jobs``. The points that no neighbour undercuts are kept as local optima.

    Parameters
    ----------
    points : int or sequence of int, optional
        How many along each parameter; by default 50 for one, 20 for two, fewer for more.
    axes : tuple of tuples, optional
        The positions along each parameter themselves, in theta, increasing; ``points`` then says nothing.
    checkpoint : path, default=None
        File for the steps as they are taken; a killed run continues from it.
    """

    points: int | tuple[int, ...] | None = None
    axes: tuple[tuple[float, ...], ...] | None = None
    name: ClassVar[str] = "grid"

    def run(self, walk, box, starts):
        """Glance at every point."""
        axes = self.axes or self._even(box)
        rows = [[np.array([*head, last]) for last in axes[-1]] for head in product(*axes[:-1])]
        steps = walk.evaluate_rows(rows, "grid")
        values = np.array([[step.value for step in row] for row in steps]).reshape(
            [len(axis) for axis in axes]
        )
        for index in lattice_optima(values):
            walk.keep_optimum([axis[i] for axis, i in zip(axes, index, strict=True)])
        return Stop.EXHAUSTED

    def _even(self, box):
        counts = axis_points(self.points or usual_points(box), box)
        return [np.linspace(a, b, n) for a, b, n in zip(box.low, box.high, counts, strict=True)]
