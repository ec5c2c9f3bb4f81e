r"""Outputs of all left-out models at new points, a block of points at a time.

A fit by cells leaves row i out of every cell it belongs to: :math:`f_{-i}(x) = \sum_c \omega_c(x) f_{c,-i}(x)`, so that a
row changes the function only where its cells reach. Each cell is solved once more when points reach it, since the changes
of all cells together would be too large to keep.
"""

from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.gaussian_process.kernels import Kernel

from foldless.core.contracts import Matrix, Vector
from foldless.core.errors import NotPositiveDefinite, Undefined
from foldless.core.linalg import solve_lower
from foldless.core.memo import cached_property
from foldless.criteria.left_out_models import Change, changes_of
from foldless.estimators.uncertainty.training_rows import TrainingRows
from foldless.grams.builders import DenseBuilder
from foldless.grams.expansion import Expansion
from foldless.kernels import gram
from foldless.machines.coefficients import expand
from foldless.tuning.cellwise import CellSolution, columns_to_learn

BLOCK_MAX_ENTRIES = 4_000_000
# Points in an overlap belong to two cells, or to four where overlaps cross.
KEPT_CELLS = 4

Rows = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class Block:
    """Some of the new points.

    Attributes
    ----------
    rows : array of shape (p,)
        Their numbers.
    points : array or sparse matrix of shape (p, d)
    outputs : array of shape (p, k)
        Outputs of the fit to all rows.
    left_out : array of shape (p, n, k)
        Outputs of the models without one of the n training rows each.
    """

    rows: Rows
    points: Any
    outputs: Matrix
    left_out: Matrix


class LeftOutModels(ABC):
    """All models without one training row each."""

    @abstractmethod
    def blocks(self, points: Any) -> Iterator[Block]:
        """Yield the outputs at new points; every point is part of one block."""

    @abstractmethod
    def influence(self, points: Any) -> Matrix:
        """Return the weights (p, n) of the targets in the outputs at p points, for machines that are linear in them."""


@dataclass(frozen=True, eq=False)
class JointLeftOutModels(LeftOutModels):
    """The left-out models of one solution for all rows.

    Attributes
    ----------
    cross : callable
        Turns points into their kernel values (p, q) with the points that carry the fit.
    expansion : Expansion
        The fit to all rows.
    changes : tuple of Change
    """

    cross: Callable[[Any], Matrix]
    expansion: Expansion
    changes: tuple[Change, ...]

    def blocks(self, points: Any) -> Iterator[Block]:
        """Yield the outputs at new points, in order."""
        n, k = len(self.changes[0].constants), len(self.expansion.intercept)
        for rows in _strips(np.arange(points.shape[0]), n * k):
            cross = self.cross(points[rows])
            outputs = cross @ self.expansion.coefficients + self.expansion.intercept
            taken = np.concatenate([change(cross) for change in self.changes], axis=2)
            yield Block(rows, points[rows], outputs, outputs[:, None] - taken)

    def influence(self, points: Any) -> Matrix:
        """Return the weights of the targets in the outputs."""
        return self.changes[0].influence(self.cross(points))


@dataclass(frozen=True, eq=False)
class CellLeftOutModels(LeftOutModels):
    """The left-out models of a fit by cells."""

    solution: CellSolution

    @cached_property
    def _solved(self) -> Callable[[int], tuple[Rows, tuple[Change, ...]]]:
        """Changes of a cell; those of the latest few are kept."""
        return lru_cache(maxsize=KEPT_CELLS)(partial(_solve_cell, self.solution))

    def blocks(self, points: Any) -> Iterator[Block]:
        """Yield the outputs at new points; those with the same cells are neighbours, so that few cells are solved twice."""
        n, k = self.solution.Y.shape
        for numbers, members, weights in _by_cells(self.solution, points):
            for place in _strips(np.arange(len(members)), n * k):
                rows = members[place]
                outputs, taken = np.zeros((len(rows), k)), np.zeros((len(rows), n, k))
                for number, weight in zip(numbers, weights[place].T, strict=True):
                    f, change = self._cell(number, points[rows])
                    outputs += weight[:, None] * f
                    taken[:, self.solution.fits[number].rows] += weight[:, None, None] * change
                yield Block(rows, points[rows], outputs, outputs[:, None] - taken)

    def _cell(self, number: int, points: Any) -> tuple[Matrix, Matrix]:
        """Return the outputs (p, k) of a cell and what leaving out each of its rows takes from them (p, m, k)."""
        solution, fit = self.solution, self.solution.fits[number]
        cross = gram(solution.kernel, points, solution.X[fit.rows])
        taken = np.zeros((len(cross), len(fit.rows), solution.Y.shape[1]))
        columns, changes = self._solved(number)
        if len(columns):
            taken[:, :, columns] = np.concatenate([change(cross) for change in changes], axis=2)
        return cross @ fit.alpha + fit.b, taken

    def influence(self, points: Any) -> Matrix:
        """Raise: the cells have no common smoother."""
        raise Undefined(
            "method='studentized' needs one posterior for all rows, which a fit by cells lacks. Use gram='lowrank'."
        )


def _solve_cell(solution: CellSolution, number: int) -> tuple[Rows, tuple[Change, ...]]:
    """Return the columns that a cell learned, and their changes."""
    rows = solution.fits[number].rows
    Y = solution.Y[rows]
    columns = columns_to_learn(Y)
    nothing = (np.zeros(0, dtype=np.intp), ())
    # Such a cell has a constant, which no single row changes.
    if not len(columns) or not np.any(solution.fits[number].alpha):
        return nothing
    K = DenseBuilder(solution.X[rows]).gram(solution.kernel)
    try:
        return columns, changes_of(solution.machine.on_rows(rows).solve(K, Y[:, columns]))
    except (Undefined, NotPositiveDefinite, np.linalg.LinAlgError):
        return nothing


def _by_cells(solution: CellSolution, points: Any) -> Iterator[tuple[tuple[int, ...], Rows, Matrix]]:
    """Yield sets of cells, the points that they reach, and the weights (p, number of cells)."""
    reached: dict[int, dict[int, float]] = defaultdict(dict)
    for number, rows, weights in solution.tree.route(points):
        for row, weight in zip(rows.tolist(), weights.tolist(), strict=True):
            reached[row][number] = weight
    groups: dict[tuple[int, ...], list[int]] = defaultdict(list)
    for row in range(points.shape[0]):
        groups[tuple(sorted(reached[row]))].append(row)
    for numbers in sorted(groups):
        members = groups[numbers]
        weights = np.array([[reached[row][number] for number in numbers] for row in members])
        yield numbers, np.array(members), weights


def _strips(rows: Rows, entries_per_row: int) -> Iterator[Rows]:
    step = max(1, BLOCK_MAX_ENTRIES // max(1, entries_per_row))
    for first in range(0, len(rows), step):
        yield rows[first : first + step]


def joint_models(
    training: TrainingRows, kernel: Kernel, solution: Any, cross: Callable[[Any, Any], Matrix]
) -> JointLeftOutModels:
    """Return the left-out models of a solution for all rows.

    Parameters
    ----------
    training : TrainingRows
    kernel : Kernel
    solution : Solution
    cross : callable
        Kernel values of new points (first argument) with the points that carry the fit (second).
    """
    builder = training.builder()
    expansion = expand(builder, solution)
    changes = changes_of(solution, point_map(training, solution))
    return JointLeftOutModels(lambda points: cross(points, expansion.points), expansion, changes)


def point_map(training: TrainingRows, solution: Any) -> Matrix | None:
    """Return the map (n, m) from coefficients of the rows to those of the landmarks; None for the whole matrix."""
    if training.landmarks is None:
        return None
    L, _ = solution.gram.landmark_root
    return solve_lower(L, solution.gram.F.T, transposed=True).T


def order_statistic(values: Matrix, rank: float, counts: Vector) -> Matrix:
    """Return the smallest of the values (p, n, k) along n that, counts included, is at least the ``rank``-th; inf if none is.

    Examples
    --------
    >>> values = np.array([[[3.0], [1.0], [2.0]]])
    >>> (
    ...     float(order_statistic(values, 2, np.ones(3))[0, 0]),
    ...     float(order_statistic(values, 4, np.ones(3))[0, 0]),
    ... )
    (2.0, inf)
    >>> float(order_statistic(values, 4, np.array([1.0, 3.0, 1.0]))[0, 0])
    2.0
    """
    # Products such as 0.9 * 20 may lie above the whole number that they stand for.
    rank = rank - 1e-9 * max(1.0, rank)
    if rank > counts.sum():
        return np.full((values.shape[0], values.shape[2]), np.inf)
    if np.all(counts == 1):
        place = max(0, int(np.ceil(rank)) - 1)
        return np.partition(values, place, axis=1)[:, place]
    order = np.argsort(values, axis=1)
    place = np.argmax(np.cumsum(counts[order], axis=1) >= rank, axis=1)
    return np.take_along_axis(np.take_along_axis(values, order, axis=1), place[:, None], axis=1)[:, 0]
