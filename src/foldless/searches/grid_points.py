"""Numbers and neighbours of the points of a grid."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from foldless.core.contracts import Box

MAX_GRID_POINTS = 1_000_000
# Aim of a grid's size by default, and limits along each axis.
DEFAULT_GRID_POINTS = 400
MIN_AXIS_POINTS, MAX_AXIS_POINTS = 5, 50


def default_points(box: Box) -> int:
    """Return a number of points along each axis that keeps the grid at a few hundred: 50, 20, 7, 5, ..."""
    return int(np.clip(DEFAULT_GRID_POINTS ** (1 / box.size), MIN_AXIS_POINTS, MAX_AXIS_POINTS))


def points_per_axis(points: int | Sequence[int], box: Box) -> list[int]:
    """Return the number of points along each axis of ``box``, given one number for all or one for each."""
    counts = list(points) if isinstance(points, Sequence) else [points] * box.size
    if len(counts) != box.size or any(int(count) != count or count < 2 for count in counts):
        raise ValueError(
            f"points must be a whole number of at least 2, or {box.size} of them (one per parameter); got {points!r}."
        )
    check_grid_size(float(np.prod(np.array(counts, dtype=float))), box)
    return [int(count) for count in counts]


def check_grid_size(total: float, box: Box) -> None:
    """Raise if a grid has so many points that it would never end."""
    if total > MAX_GRID_POINTS:
        raise ValueError(
            f"a grid over {box.size} parameters would take {total:.0e} evaluations. "
            "Fix some of the parameters, or use search='lbfgs'."
        )


def grid_optima(values: NDArray[np.float64]) -> list[tuple[int, ...]]:
    """Return the indices of the finite entries of an array that are no higher than their neighbours along any axis.

    Examples
    --------
    >>> grid_optima(np.array([3.0, 1.0, 2.0, 0.0]))
    [(1,), (3,)]
    """
    low = np.isfinite(values)
    for axis in range(values.ndim):
        pad = [(1, 1) if i == axis else (0, 0) for i in range(values.ndim)]
        padded = np.pad(values, pad, constant_values=np.inf)
        n = values.shape[axis]
        for offset in (0, 2):
            low &= values <= np.take(padded, np.arange(n) + offset, axis=axis)
    return [tuple(int(i) for i in index) for index in np.argwhere(low)]
