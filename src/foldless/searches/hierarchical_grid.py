"""A coarse grid, then finer ones around the best point."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby, product
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from foldless.core.contracts import Box, Stop, Vector
from foldless.searches.base import Search
from foldless.searches.grid_points import check_grid_size, points_per_axis
from foldless.searches.run import SearchRun

# Points on either side of the best one at the next level, which reach as far as its neighbours at this level.
POINTS_PER_SIDE = 2

Index = tuple[int, ...]


@dataclass(frozen=True)
class HierarchicalGrid(Search):
    r"""A grid that zooms in.

    Level 0 is a grid over the box. Each further level halves the spacing and evaluates the points of the finer grid
    around the best so far, up to its old neighbours; no point is evaluated twice. After L levels the best point is
    known to :math:`2^{-L}` of the first spacing.

    Parameters
    ----------
    points : int or sequence of int, default=5
        Number of points along each parameter at level 0.
    levels : int, default=4
        Number of finer grids.
    checkpoint : path, default=None
        File to which every step is appended, and from which a killed search continues.
    """

    points: int | tuple[int, ...] = 5
    levels: int = 4
    name: ClassVar[str] = "hierarchical-grid"

    def run(self, run: SearchRun, box: Box, starts: Sequence[Vector]) -> Stop:
        """Evaluate the coarse grid, then the finer ones."""
        counts = points_per_axis(self.points, box)
        check_grid_size(float(2 * POINTS_PER_SIDE + 1) ** box.size, box)
        cells = np.array(counts) - 1
        known: dict[Index, float] = {}
        best = _evaluate_level(run, cells, product(*(range(n) for n in counts)), known)
        for _ in range(self.levels):
            cells = 2 * cells
            known = {tuple(2 * i for i in index): value for index, value in known.items()}
            best = _evaluate_level(run, cells, _around(best, cells), known)
        run.keep_optimum(_position(box, cells, best))
        return Stop.CONVERGED


def _around(best: Index, cells: NDArray[np.int_]) -> Iterable[Index]:
    """Return the indices around the best of the level before, whose spacing was twice as large."""
    ends = [(2 * i - POINTS_PER_SIDE, 2 * i + POINTS_PER_SIDE) for i in best]
    return product(*(range(max(0, low), min(int(n), high) + 1) for (low, high), n in zip(ends, cells)))


def _position(box: Box, cells: NDArray[np.int_], index: Index) -> Vector:
    return box.low + np.array(index) / cells * (box.high - box.low)


def _evaluate_level(
    run: SearchRun, cells: NDArray[np.int_], indices: Iterable[Index], known: dict[Index, float]
) -> Index:
    """Evaluate the points that are not yet known, row by row, add them to ``known`` and return the best index."""
    new = [index for index in indices if index not in known]
    rows = [list(row) for _, row in groupby(new, key=lambda index: index[:-1])]
    points = [[_position(run.box, cells, index) for index in row] for row in rows]
    for row, steps in zip(rows, run.evaluate_rows(points, "grid") if rows else [], strict=True):
        known.update((index, step.value) for index, step in zip(row, steps, strict=True))
    return min(known, key=lambda index: known[index])
