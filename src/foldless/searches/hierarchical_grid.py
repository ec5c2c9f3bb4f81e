"""A coarse grid, then finer ones around the best point."""

from dataclasses import dataclass
from itertools import groupby, product
from typing import ClassVar

import numpy as np

from foldless.core.contracts import Stop
from foldless.searches.base import Search
from foldless.searches.grid_points import axis_points, check_size

REACH = 2  # points to either side of the best at the next level: as far as its neighbours at this one


@dataclass(frozen=True)
class HierarchicalGrid(Search):
    r"""A grid that zooms in.

    Level 0 is a grid over the box. Each further level halves the spacing and looks at the points of the finer grid
    around the best so far, up to its old neighbours; points seen before are not evaluated again. After L levels the
    best point is known to :math:`2^{-L}` of the first spacing.

    Parameters
    ----------
    points : int or sequence of int, default=5
        How many along each parameter at level 0.
    levels : int, default=4
        How often to zoom in.
    checkpoint : path, default=None
        File for the steps as they are taken; a killed run continues from it.
    """

    points: int | tuple[int, ...] = 5
    levels: int = 4
    name: ClassVar[str] = "hierarchical-grid"

    def run(self, walk, box, starts):
        """Glance at the coarse grid, then at finer ones."""
        counts = axis_points(self.points, box)
        check_size(float(2 * REACH + 1) ** box.size, box)
        cells = np.array(counts) - 1
        known = {}
        best = self._level(walk, box, cells, product(*(range(n) for n in counts)), known)
        for _ in range(self.levels):
            cells = 2 * cells
            known = {tuple(2 * i for i in index): value for index, value in known.items()}
            around = [range(max(0, 2 * i - REACH), min(n, 2 * i + REACH) + 1) for i, n in zip(best, cells)]
            best = self._level(walk, box, cells, product(*around), known)
        walk.keep_optimum(box.low + np.array(best) / cells * (box.high - box.low))
        return Stop.CONVERGED

    @staticmethod
    def _level(walk, box, cells, indices, known):
        """Look at the points of one level, row by row; return the best index known."""
        new = [index for index in indices if index not in known]
        rows = [list(row) for _, row in groupby(new, key=lambda index: index[:-1])]
        points = [[box.low + np.array(i) / cells * (box.high - box.low) for i in row] for row in rows]
        for row, steps in zip(rows, walk.evaluate_rows(points, "grid") if rows else [], strict=True):
            known.update((index, step.value) for index, step in zip(row, steps, strict=True))
        return min(known, key=known.get)
