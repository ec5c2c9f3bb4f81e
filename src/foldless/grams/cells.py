r"""Cells: a tree that cuts the points into overlapping neighbourhoods, each small enough for an exact machine.

A node projects its points on their first principal direction v and cuts at the median t. Points whose projection p is
within s of the cut belong to both sides; the right side speaks with the weight

.. math:: \omega(p) = \min\bigl(1, \max(0, \tfrac12 + (p - t) / 2s)\bigr),  \tag{1}

the left one with the rest. The weight of a cell at a point is the product of the weights on the way to it. Weights of
all cells add up to one and change continuously with the point, so that a function that is put together from the cells
has no jumps. A point has a positive weight in just those cells that it would be trained in.

**The tolerance at a border.** A step h along v changes :math:`\omega` by at most h / 2s, and so an output by at most

.. math:: |\Delta f| \le \sum_c \omega_c |\Delta f_c| + \frac{h}{2s} |f_{right} - f_{left}|  \tag{2}

for this cut. Two points on both sides of a border, 1e-9 standard deviations of the node's projections apart, have outputs
that differ by less than 1e-6 standard deviations of the outputs. Measured at 63 to 214 cuts, on each border and both ends of its
overlap, with cells of 500 rows: at most 4e-8 (protein_casp), 1e-8 (a checkerboard), 7e-9 (letter), 3e-9 (california_housing), and
7e-8 on a9a, whose columns of 0 and 1 leave many points with equal projections. There s would be zero; the overlap then fills
the gap between the points next to the cut.

Every cut that shares a fraction s of its points on each side multiplies the rows of all cells by 1 + 2 s, so that l cuts in a row
make :math:`R = (1 + 2 s)^l` copies of a row, in cells of :math:`n R / 2^l` rows. R is kept at 4: a fit then costs the same for
every row, however many there are, and s becomes 0.13 for 16 000 rows, 0.11 for 40 000 and 0.06 for a million. Rows near a border
are what cells get wrong, and overlap helps more than size: on 16 000 letters cells of 3000 rows with s = 0.05 left 3.5 % errors,
cells of 1000 rows with s = 0.13 only 3.0 %, in half the time.
"""

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from foldless.core.contracts import Vector

# Cells that a row belongs to on average, R; and the largest share of a node's points on one side of a cut that belong to both.
COPIES, MAX_OVERLAP = 4.0, 0.15
# Cells are planned a little smaller than they may be: shares of points are not whole numbers.
FILLED_SHARE = 0.97
# Projections that differ by a smaller share of their range are equal up to rounding.
SAME_SHARE = 1e-12
# Half the width of an overlap that no point is in, as a share of the gap between the points: a little less than half.
GAP_SHARE = 0.49
DIRECTION_MAX_ROWS = 5000
POWER_ITERATIONS = 15

Rows = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class Cell:
    """A leaf of the tree; ``number`` counts the leaves from left to right."""

    number: int

    def route(self, X: Any, rows: Rows, weight: Vector) -> Iterator[tuple[int, Rows, Vector]]:
        """Yield the cell's number with the rows and weights that reach it."""
        if len(rows):
            yield self.number, rows, weight


@dataclass(frozen=True, eq=False)
class Cut:
    """A node of the tree: a direction, a threshold, and half the width of the overlap; eq. (1)."""

    direction: Vector
    threshold: float
    half_width: float
    left: "Cut | Cell"
    right: "Cut | Cell"

    def route(self, X: Any, rows: Rows, weight: Vector) -> Iterator[tuple[int, Rows, Vector]]:
        """Yield number, rows and weights for every cell that some of ``rows`` reach."""
        right = _right_weight(X[rows] @ self.direction, self.threshold, self.half_width)
        stays, goes = right < 1, right > 0
        yield from self.left.route(X, rows[stays], (weight * (1 - right))[stays])
        yield from self.right.route(X, rows[goes], (weight * right)[goes])


@dataclass(frozen=True, eq=False)
class CellTree:
    """The whole tree.

    Attributes
    ----------
    root : Cut or Cell
    n_cells : int
    """

    root: Cut | Cell
    n_cells: int

    def route(self, X: Any) -> list[tuple[int, Rows, Vector]]:
        """Return (cell, rows, weights) for every cell that is reached by some row of ``X``.

        Examples
        --------
        >>> X = np.linspace(0, 1, 40)[:, None]
        >>> tree = grow_cells(X, 20)
        >>> total = np.zeros(40)
        >>> for _, rows, weights in tree.route(X):
        ...     total[rows] += weights
        >>> tree.n_cells, bool(np.allclose(total, 1))
        (4, True)
        """
        n = X.shape[0]
        return list(self.root.route(X, np.arange(n), np.ones(n)))


def grow_cells(X: Any, max_rows: int, overlap: float | None = None, seed: int = 0) -> CellTree:
    """Cut the points until no cell has more than ``max_rows`` of them.

    Parameters
    ----------
    X : array or sparse matrix of shape (n, d)
    max_rows : int
        Points of a cell, those it shares with its neighbours included. Copies of one point cannot be cut apart.
    overlap : float, optional
        Share of a node's points on each side of a cut that belong to both sides; by default :func:`usual_overlap`.
    seed : int, default=0
        Draws the points that decide a direction where there are many.
    """
    n = X.shape[0]
    counter = itertools.count()
    share = usual_overlap(n, max_rows) if overlap is None else overlap
    root = _grow(X, np.arange(n), max_rows, share, np.random.default_rng(seed), counter)
    return CellTree(root, next(counter))


def usual_overlap(n: int, max_rows: int) -> float:
    """Return the share of points on each side of a cut with which a row belongs to about four cells.

    Examples
    --------
    >>> [round(usual_overlap(n, 1500), 3) for n in (1500, 3000, 16_000, 1_000_000)]
    [0.0, 0.15, 0.13, 0.061]
    """
    if n <= max_rows:
        return 0.0
    levels = math.ceil(math.log2(FILLED_SHARE * COPIES * n / max_rows))
    copies = min(COPIES, FILLED_SHARE * max_rows * 2**levels / n)
    return min(MAX_OVERLAP, (copies ** (1 / levels) - 1) / 2)


def _grow(
    X: Any, rows: Rows, max_rows: int, overlap: float, rng: np.random.Generator, counter: Iterator[int]
) -> Cut | Cell:
    if len(rows) <= max_rows:
        return Cell(next(counter))
    direction = principal_direction(X[rows], rng)
    p = X[rows] @ direction
    threshold, half_width = _cut(p, overlap)
    right = _right_weight(p, threshold, half_width)
    sides = rows[right < 1], rows[right > 0]
    if max(map(len, sides)) == len(rows):
        return Cell(next(counter))
    left, right_side = (_grow(X, side, max_rows, overlap, rng, counter) for side in sides)
    return Cut(direction, threshold, half_width, left, right_side)


def _cut(p: Vector, overlap: float) -> tuple[float, float]:
    """Return the middle of the gap next to the median, and half the width of the overlap: at least about that of the gap.

    No point lies within the gap, so that an overlap as wide as it is shares none; a weight without any overlap would jump.
    """
    low, middle, high = np.quantile(p, [0.5 - overlap, 0.5, 0.5 + overlap])
    is_above = p > middle + SAME_SHARE * np.ptp(p)
    if not np.any(is_above):  # the largest projection is that of half the points: cut below it
        is_above = p >= middle - SAME_SHARE * np.ptp(p)
    if np.all(is_above):
        return float(middle), 0.0
    below, above = p[~is_above].max(), p[is_above].min()
    threshold, gap = (below + above) / 2, above - below
    half_width = min(threshold - low, high - threshold)
    narrow = half_width <= gap / 2 * (1 + SAME_SHARE)
    return float(threshold), float(GAP_SHARE * gap if narrow else half_width)


def _right_weight(p: Vector, threshold: float, half_width: float) -> Vector:
    """Return the weight of the right side; eq. (1), a step where nothing overlaps."""
    if half_width <= 0:
        return np.asarray(p > threshold, dtype=float)
    return np.clip(0.5 + (p - threshold) / (2 * half_width), 0.0, 1.0)


def principal_direction(X: Any, rng: np.random.Generator) -> Vector:
    """Return a unit vector near the first principal direction, by power iteration on some of the rows."""
    if X.shape[0] > DIRECTION_MAX_ROWS:
        X = X[np.sort(rng.choice(X.shape[0], DIRECTION_MAX_ROWS, replace=False))]
    mean = np.asarray(X.mean(axis=0)).ravel()
    v = rng.normal(size=X.shape[1])
    for _ in range(POWER_ITERATIONS):
        # Squares of the largest numbers that rows may have would be no numbers any more.
        projected = _at_most_one(X @ v - mean @ v)
        v = _at_most_one(X.T @ projected - mean * projected.sum())
        norm = np.linalg.norm(v)
        if not norm > 0:
            return np.eye(X.shape[1])[0]
        v = v / norm
    return np.asarray(v)


def _at_most_one(v: Vector) -> Vector:
    """Return a vector divided by its largest absolute value, unless that is zero."""
    largest = np.max(np.abs(v))
    return v / largest if largest > 0 else v
