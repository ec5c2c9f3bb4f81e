r"""A fit by cells: in every cell of a tree an exact machine of its own, all with the same kernel and regularisation.

The output at a point is the mean over the cells that contain it, with the weights of the tree,

.. math:: f(x) = \sum_c \omega_c(x) f_c(x), \qquad f_{-i}(x_i) = \sum_c \omega_c(x_i)\, f_{c,-i}(x_i):  \tag{1}

a row is left out of every cell it belongs to, and the cells give their left-out outputs without refitting. The cost is
that of one small fit per cell, :math:`O(n L^2)` for cells of L rows.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from foldless.core.contracts import Machine, Matrix, Vector
from foldless.core.errors import NotPositiveDefinite, Undefined
from foldless.core.parallel import side_by_side
from foldless.core.targets import is_pm1
from foldless.criteria.base import Criterion
from foldless.criteria.left_out import LeftOutLosses, left_out_outputs
from foldless.grams.builders import DenseBuilder
from foldless.grams.cells import CellTree
from foldless.grams.expansion import CellExpansion, Expansion
from foldless.machines.coefficients import expansion_coefficients

# Neighbouring cells that are fitted together to see how all cells would do, and how many such groups.
GROUP_CELLS, N_GROUPS = 4, 2

Rows = NDArray[np.intp]
# Number of a cell, rows that reach it, and their weights.
Route = tuple[int, Rows, Vector]


@dataclass(frozen=True, eq=False)
class CellFit:
    """The fit of one cell.

    Attributes
    ----------
    rows : array of shape (m,)
        Training rows of the cell.
    alpha : array of shape (m, k)
    b : array of shape (k,)
    left_out : array of shape (m, k)
        Left-out outputs of the cell's own machine.
    value : float
        The criterion of the cell; NaN where it does not exist.
    divisor : float
        The number that made the criterion of the cell a cost per row.
    """

    rows: NDArray[np.intp]
    alpha: Matrix
    b: Vector
    left_out: Matrix
    value: float
    divisor: float = 1.0


@dataclass(frozen=True, eq=False)
class CellSolution:
    """All cells of a fit.

    Attributes
    ----------
    kernel, machine
        What every cell was fitted with.
    X, Y
        All training rows and their targets.
    tree : CellTree
    fits : tuple of CellFit
    """

    kernel: Any
    machine: Machine
    X: Any
    Y: Matrix
    tree: CellTree
    fits: tuple[CellFit, ...]

    @property
    def value(self) -> float:
        """The criterion: the mean over the cells in which it exists, weighted by their rows."""
        values = np.array([fit.value for fit in self.fits])
        sizes = np.array([len(fit.rows) for fit in self.fits])
        exists = np.isfinite(values)
        if not np.any(exists):
            raise Undefined("the criterion exists in none of the cells.")
        return float(np.average(values[exists], weights=sizes[exists]))

    @property
    def alpha(self) -> Matrix:
        """Sum over the cells of each row's coefficients (n, k); a row without any is no support vector."""
        total = np.zeros(self.Y.shape)
        for fit in self.fits:
            total[fit.rows] += np.abs(fit.alpha)
        return total

    @property
    def divisor(self) -> float:
        """The number that would make the criterion of all rows a cost per row: 1 for means, else in proportion to rows."""
        largest = max(self.fits, key=lambda fit: len(fit.rows))
        return 1.0 if largest.divisor == 1 else largest.divisor / len(largest.rows) * len(self.Y)

    @property
    def left_out(self) -> Matrix:
        """Left-out outputs of all rows (n, k); eq. (1)."""
        outputs = np.zeros(self.Y.shape)
        for number, rows, weights in self.tree.route(self.X):
            outputs[rows] += weights[:, None] * self.fits[number].left_out
        return outputs

    @property
    def expansion(self) -> CellExpansion:
        """The fitted function."""
        return CellExpansion(
            self.tree, tuple(Expansion(self.X[fit.rows], fit.alpha, fit.b) for fit in self.fits)
        )


@left_out_outputs.register
def _(solution: CellSolution) -> Matrix:
    return solution.left_out


def fit_cells(
    kernel: Any,
    machine: Machine,
    criterion: Criterion,
    X: Any,
    Y: Matrix,
    tree: CellTree,
    n_jobs: int | None = None,
) -> CellSolution:
    """Fit every cell.

    Parameters
    ----------
    kernel : Kernel
    machine : Machine
        For all rows; each cell has the part of it that its rows need.
    criterion : Criterion
        Evaluated in every cell.
    X : array or sparse matrix of shape (n, d)
    Y : array of shape (n, k)
    tree : CellTree
        Grown from ``X``.
    n_jobs : int, optional
        Cells that are fitted side by side.
    """
    fits = fit_some_cells(kernel, machine, criterion, X, Y, _in_order_of_number(tree, X), n_jobs)
    return CellSolution(kernel, machine, X, Y, tree, tuple(fits.values()))


def fit_some_cells(
    kernel: Any,
    machine: Machine,
    criterion: Criterion,
    X: Any,
    Y: Matrix,
    routes: Sequence[Route],
    n_jobs: int | None = None,
) -> dict[int, CellFit]:
    """Return the fits of some cells by their numbers; ``routes`` has number, rows and weights of each."""
    tasks = [partial(fit_cell, kernel, machine, criterion, X, Y, rows) for _, rows, _ in routes]
    fits = side_by_side(tasks, n_jobs)
    return {number: fit for (number, _, _), fit in zip(routes, fits, strict=True)}


def _in_order_of_number(tree: CellTree, X: Any) -> list[Route]:
    return sorted(tree.route(X), key=lambda route: route[0])


def fit_cell(
    kernel: Any, machine: Machine, criterion: Criterion, X: Any, Y: Matrix, rows: NDArray[np.intp]
) -> CellFit:
    """Fit the rows of one cell; where that is impossible, by their mean or their only class."""
    targets = Y[rows]
    columns = columns_to_learn(targets)
    constant = _constant_fit(machine, rows, targets)
    if not len(columns):
        return constant
    try:
        solution = machine.on_rows(rows).solve(DenseBuilder(X[rows]).gram(kernel), targets[:, columns])
        left_out, reading = left_out_outputs(solution), criterion(solution)
    except (Undefined, NotPositiveDefinite, np.linalg.LinAlgError):
        return constant
    alpha, b = expansion_coefficients(solution)
    return CellFit(
        rows,
        _in_columns(constant.alpha, columns, alpha),
        _in_columns(constant.b, columns, b),
        _in_columns(constant.left_out, columns, left_out),
        float(reading.value),
        reading.divisor,
    )


def order_of_cells(Y: Matrix, cells: Sequence[Rows], rng: np.random.Generator) -> Rows:
    """Return the numbers of some cells in a random order.

    Of numbers the first is the cell where they vary most: where a function is flat but for one place, that place decides.
    """
    order = rng.permutation(len(cells))
    if is_pm1(Y):
        return order
    most = int(np.argmax([np.sum(np.var(Y[cells[i]], axis=0)) for i in order]))
    return np.r_[order[most], np.delete(order, most)]


def groups_of_cells(tree: CellTree, X: Any, Y: Matrix, seed: int) -> list[list[Route]]:
    """Return number, rows and weights of the cells of some groups, each of a few neighbours."""
    routes = _in_order_of_number(tree, X)
    order = order_of_cells(Y, [rows for _, rows, _ in routes], np.random.default_rng((seed, 1)))
    chosen = list(dict.fromkeys(order // GROUP_CELLS))[:N_GROUPS]
    return [routes[GROUP_CELLS * g : GROUP_CELLS * (g + 1)] for g in chosen]


def losses_in_groups(
    groups: Sequence[Sequence[Route]],
    fits: Mapping[int, CellFit] | Sequence[CellFit],
    machine: Machine,
    Y: Matrix,
) -> tuple[Rows, LeftOutLosses]:
    """Return the rows of groups of cells, and their losses when they are left out of the fits to these cells.

    The mean over the cells of a row is better than each of them, and another regularisation may suit it; cells that stand alone would
    not show that. Rows count that have more than half of their weight in a group.

    Parameters
    ----------
    groups : list of lists of routes
    fits : mapping or sequence of CellFit
        By the number of the cell.
    machine : Machine
        For all rows.
    Y : array of shape (n, k)
    """
    outputs, total = np.zeros((len(groups), *Y.shape)), np.zeros((len(groups), len(Y)))
    for g, group in enumerate(groups):
        for number, rows, weights in group:
            outputs[g, rows] += weights[:, None] * fits[number].left_out
            total[g, rows] += weights
    which, rows = np.nonzero(total > 0.5)
    left_out = outputs[which, rows] / total[which, rows, None]
    return rows, LeftOutLosses.of(machine.on_rows(rows), Y[rows], left_out)


def columns_to_learn(Y: Matrix) -> NDArray[np.intp]:
    """Return the columns that can be fitted: all numbers, and labels of which both occur."""
    return np.flatnonzero(np.ptp(Y, axis=0) > 0) if is_pm1(Y) else np.arange(Y.shape[1])


def _in_columns(array: Matrix, columns: NDArray[np.intp], values: Matrix) -> Matrix:
    """Return a copy of ``array`` with some of its columns replaced."""
    filled = array.copy()
    filled[..., columns] = values
    return filled


def _constant_fit(machine: Machine, rows: NDArray[np.intp], Y: Matrix) -> CellFit:
    """Return the fit that knows only the mean target, or the only class."""
    b = Y.mean(axis=0) * (machine.one_class_output(len(rows)) if is_pm1(Y) else 1.0)
    return CellFit(rows, np.zeros(Y.shape), b, np.tile(b, (len(rows), 1)), np.nan)
