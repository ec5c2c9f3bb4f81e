r"""The last fit to a Dask collection by cells; see :mod:`foldless.tuning.cellwise`.

The tree is grown from some of the rows, which are at hand. Every partition sends its rows to the cells they belong to, and a
task fits some cells exactly, with the rows that all partitions sent. What comes back are the functions of the cells, which are
kept where ``fit`` was called: a fit by cells is as large as the rows.

A row that belongs to several cells has an output in each of them, in different tasks. By the convexity of the loss

.. math:: \ell\Bigl(y_i, \sum_c \omega_c(x_i) f_{c,-i}(x_i)\Bigr) \le \sum_c \omega_c(x_i)\, \ell(y_i, f_{c,-i}(x_i)),  \tag{1}

and the right side is what the left-out loss of the fit is reported as.
"""

from dataclasses import dataclass
from functools import partial
from math import ceil
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.gaussian_process.kernels import Kernel

from foldless.core.contracts import Machine, Vector
from foldless.core.optional_imports import import_extra
from foldless.core.parallel import workers
from foldless.criteria.base import Criterion
from foldless.criteria.left_out import row_losses
from foldless.estimators.dask_collections import (
    DRAWN,
    Collection,
    Reader,
    ReadRows,
    computed,
    machine_of_rows,
)
from foldless.estimators.landmarks import cell_rows
from foldless.grams.cells import CellTree, grow_cells
from foldless.grams.expansion import CellExpansion, Expansion
from foldless.tuning.cellwise import fit_cell
from foldless.tuning.last_fit import CELL_ROWS
from foldless.tuning.polish import polish

# Rows at hand for each cell, when the tree is grown.
TREE_ROWS_PER_CELL = 30
CELLS_PER_TASK = 8
# Cells that are pulled to the caller, where the first of them in which something can be learned adapt the parameters.
N_PULLED_CELLS = 8
# Pieces that all partitions together send to all tasks: a scheduler has some milliseconds for each.
MAX_PIECES = 50_000
# Copies of one point cannot be cut apart; of a cell with more than this times the usual rows some are left out.
MAX_ROWS_FACTOR = 3

# The rows of a partition that belong to one cell: its number, the rows, and its weights there.
Piece = tuple[int, ReadRows, Vector]


@dataclass(frozen=True, eq=False)
class _Job:
    """What all tasks have in common."""

    reader: Reader
    tree: CellTree
    machine: Machine
    criterion: Criterion
    max_rows: int

    def route(self, task_of: NDArray[np.intp], place: str, X: Any, y: Any, weight: Any) -> list[list[Piece]]:
        """Return the pieces of a partition, for each task those of its cells; cells of no task (-1) are left out."""
        read = self.reader(place, X, y, weight)
        pieces: list[list[Piece]] = [[] for _ in range(int(task_of.max()) + 1)]
        for cell, rows, shares in self.tree.route(read.X):
            if task_of[cell] >= 0:
                pieces[task_of[cell]].append((cell, read[rows], shares))
        return pieces

    def cells(self, pieces: list[list[Piece]]) -> dict[int, tuple[ReadRows, Vector]]:
        """Return the rows of every cell, in the order of the partitions, and its weights there."""
        parts: dict[int, list[tuple[ReadRows, Vector]]] = {}
        for cell, rows, shares in (piece for of_partition in pieces for piece in of_partition):
            parts.setdefault(cell, []).append((rows, shares))
        joined = {cell: tuple(zip(*found, strict=True)) for cell, found in parts.items()}
        return {
            cell: self._thinned(ReadRows.joined(rows), np.concatenate(shares))
            for cell, (rows, shares) in joined.items()
        }

    def _thinned(self, rows: ReadRows, shares: Vector) -> tuple[ReadRows, Vector]:
        limit, n = MAX_ROWS_FACTOR * self.max_rows, len(shares)
        if n <= limit:
            return rows, shares
        kept = np.linspace(0, n - 1, limit).astype(np.intp)
        return rows[kept], shares[kept] * n / limit

    def fit(
        self, kernel: Kernel, machine: Machine, pieces: list[list[Piece]]
    ) -> dict[int, tuple[Expansion, float]]:
        """Return function and left-out losses, summed as on the right of eq. (1), of every cell of a task."""
        with workers(1):
            return {cell: self._fit_cell(kernel, machine, *rows) for cell, rows in self.cells(pieces).items()}

    def _fit_cell(
        self, kernel: Kernel, machine: Machine, rows: ReadRows, shares: Vector
    ) -> tuple[Expansion, float]:
        machine = machine_of_rows(machine, rows)
        fit = fit_cell(kernel, machine, self.criterion, rows.X, rows.Y, np.arange(len(shares)))
        losses = row_losses(machine, rows.Y, fit.left_out)
        return Expansion(rows.X, fit.alpha, fit.b), float((shares * rows.counts) @ losses)


def fit_cells_of(
    model: Any, tuned: Any, collection: Collection, reader: Reader, points: Any, rng: np.random.Generator
) -> tuple[Kernel, Machine, CellExpansion, float]:
    """Return kernel and machine that suit the cells, the function that was fitted to all rows, and their left-out loss.

    Parameters
    ----------
    model : estimator
        Has the user's parameters.
    tuned : estimator
        Fitted to some of the rows: has the selection from which the search in the cells begins.
    collection : Collection
    reader : Reader
    points : array or sparse matrix
        Rows that are at hand.
    rng : Generator
    """
    given, selection = cell_rows(model.cell_size), tuned.selection_
    max_rows = CELL_ROWS if given is None else given
    tree = _grown(collection, reader, points, max_rows, rng)
    job = _Job(reader, tree, selection.machine, selection.criterion, max_rows)
    kernel, machine = _polished(job, selection, collection, rng, model.n_jobs)
    found = _fitted(job, kernel, machine, collection)
    loss = sum(loss for _, loss in found.values()) / collection.weight
    return kernel, machine, CellExpansion(tree, tuple(found[cell][0] for cell in range(tree.n_cells))), loss


def _grown(
    collection: Collection, reader: Reader, points: Any, max_rows: int, rng: np.random.Generator
) -> CellTree:
    """Return a tree whose cells have about ``max_rows`` rows of the collection at most."""
    wanted = min(collection.n, ceil(collection.n / max_rows * TREE_ROWS_PER_CELL))
    if wanted > points.shape[0]:
        points = reader(DRAWN, *collection.draw(wanted, rng)).X
    share = points.shape[0] / collection.n
    return grow_cells(points, max(2, round(max_rows * share)))


def _polished(
    job: _Job, selection: Any, collection: Collection, rng: np.random.Generator, n_jobs: int | None
) -> tuple[Kernel, Machine]:
    """Return kernel and machine after a short search in a few cells, which are pulled to the caller."""
    task_of = np.full(job.tree.n_cells, -1, dtype=np.intp)
    task_of[rng.permutation(job.tree.n_cells)[:N_PULLED_CELLS]] = 0
    pieces = computed(*collection.tasks(_Job.route, job, task_of))
    pulled = job.cells([of_task[0] for of_task in pieces]).values()
    machine = selection.machine
    return polish(selection, ((rows.X, rows.Y, machine_of_rows(machine, rows)) for rows, _ in pulled), n_jobs)


def _fitted(
    job: _Job, kernel: Kernel, machine: Machine, collection: Collection
) -> dict[int, tuple[Expansion, float]]:
    """Return function and left-out losses of every cell."""
    dask = import_extra("dask", "dask")
    n_tasks = max(1, min(ceil(job.tree.n_cells / CELLS_PER_TASK), MAX_PIECES // len(collection.parts)))
    # Neighbouring cells are fitted by one task: their rows come from the same places of sorted collections.
    task_of = np.arange(job.tree.n_cells) * n_tasks // job.tree.n_cells
    routed = collection.tasks(_Job.route, job, task_of)
    shared = dask.delayed(partial(_Job.fit, job, kernel, machine), pure=False, traverse=False)
    fits = [shared([pieces[task] for pieces in routed]) for task in range(n_tasks)]
    return {cell: fit for of_task in computed(*fits) for cell, fit in of_task.items()}
