"""Points at equal distances in a box, for the searches that look at all of them."""

from collections.abc import Sequence

import numpy as np

MOST = 1_000_000  # points: beyond this a grid is a mistake
USUAL, FEWEST, LONGEST = 400, 5, 50  # points of a grid if nobody says; along an axis at least and at most


def usual_points(box):
    """Return a number of points along each axis that keeps the grid at a few hundred: 50, 20, 7, 5, ..."""
    return int(np.clip(USUAL ** (1 / box.size), FEWEST, LONGEST))


def axis_points(points, box):
    """Return the number of points along each axis of ``box``, given one number for all or one for each."""
    counts = list(points) if isinstance(points, Sequence) else [points] * box.size
    if len(counts) != box.size or any(int(count) != count or count < 2 for count in counts):
        raise ValueError(
            f"points must be a whole number of at least 2, or {box.size} of them (one per parameter); got {points!r}."
        )
    check_size(np.prod(np.array(counts, dtype=float)), box)
    return [int(count) for count in counts]


def check_size(total, box):
    """Refuse a grid that nobody would wait for."""
    if total > MOST:
        raise ValueError(
            f"a grid over {box.size} parameters would take {total:.0e} evaluations. "
            "Fix some of the parameters, or use search='lbfgs'."
        )


def lattice_optima(values):
    """Return the index tuples of an array whose finite entries no neighbour along an axis undercuts.

    Examples
    --------
    >>> lattice_optima(np.array([3.0, 1.0, 2.0, 0.0]))
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
