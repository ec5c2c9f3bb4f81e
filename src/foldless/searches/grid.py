"""Every point of a grid."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import ClassVar

import numpy as np

from foldless.core.contracts import Box, Stop, Vector
from foldless.searches.base import Search
from foldless.searches.grid_points import default_points, grid_optima, points_per_axis
from foldless.searches.run import SearchRun


@dataclass(frozen=True)
class Grid(Search):
    """A grid over the whole box, equally spaced in theta; it needs no start.

    The last parameter (the regularisation) moves fastest, so that its row of fits is one chain of warm starts. Rows
    run side by side with ``n_jobs``. The points that are no higher than their neighbours are kept as local optima.

    Parameters
    ----------
    points : int or sequence of int, optional
        Number of points along each parameter; by default 50 for one parameter, 20 for two, fewer for more.
    axes : tuple of tuples, optional
        The positions along each parameter, in theta, increasing. They replace ``points``.
    checkpoint : path, default=None
        File to which every step is appended, and from which a killed search continues.
    """

    points: int | tuple[int, ...] | None = None
    axes: tuple[tuple[float, ...], ...] | None = None
    name: ClassVar[str] = "grid"

    def run(self, run: SearchRun, box: Box, starts: Sequence[Vector]) -> Stop:
        """Evaluate every point."""
        axes: Sequence[Sequence[float] | Vector] = self.axes or self._even_axes(box)
        rows = [[np.array([*head, last]) for last in axes[-1]] for head in product(*axes[:-1])]
        steps = run.evaluate_rows(rows, "grid")
        values = np.array([[step.value for step in row] for row in steps])
        for index in grid_optima(values.reshape([len(axis) for axis in axes])):
            run.keep_optimum([axis[i] for axis, i in zip(axes, index, strict=True)])
        return Stop.EXHAUSTED

    def _even_axes(self, box: Box) -> list[Vector]:
        counts = points_per_axis(self.points or default_points(box), box)
        return [np.linspace(low, high, n) for low, high, n in zip(box.low, box.high, counts, strict=True)]
