"""A short search in some cells: their rows lie closer together than those on which the parameters were chosen."""

from collections.abc import Iterable
from dataclasses import replace
from itertools import islice
from typing import Any

from sklearn.gaussian_process.kernels import Kernel

from foldless.core.contracts import Machine, Matrix
from foldless.grams.builders import DenseBuilder
from foldless.searches.lbfgs import LBFGS
from foldless.tuning.cellwise import columns_to_learn
from foldless.tuning.objective import Objective, with_parameters
from foldless.tuning.result import Selection
from foldless.tuning.row_blocks import BlockObjective
from foldless.tuning.search_space import SearchSpace

# Cells, drawn at random, on which the parameters are adapted to cells, and evaluations that this may take.
N_POLISH_CELLS, POLISH_MAX_EVALUATIONS = 3, 6

# Points (n, d), targets (n, k), and the machine for these rows.
CellRows = tuple[Any, Matrix, Machine]


def cell_objective(
    objective: Objective, cells: Iterable[CellRows], n_jobs: int | None = None
) -> BlockObjective | None:
    """Return the mean criterion over the first few cells in which something can be learned; None if there is no such cell.

    Parameters
    ----------
    objective : Objective
        Kernel and criterion.
    cells : iterable of points, targets and machine
        In a random order. Of the targets of a cell those columns count that have more than one class.
    n_jobs : int, optional
        Cells that are evaluated side by side.
    """
    learnable = ((X, Y[:, columns_to_learn(Y)], machine) for X, Y, machine in cells)
    objectives = [
        replace(objective, machine=machine.with_search_accuracy, builder=DenseBuilder(X), Y=Y)
        for X, Y, machine in islice((cell for cell in learnable if cell[1].shape[1]), N_POLISH_CELLS)
    ]
    return BlockObjective(objectives, n_jobs) if objectives else None


def polish(
    selection: Selection, cells: Iterable[CellRows], n_jobs: int | None = None
) -> tuple[Kernel, Machine]:
    """Return kernel and machine after a few steps from those that were selected; the same if nothing was tuned.

    Parameters
    ----------
    selection : Selection
    cells : iterable of points, targets and machine
    n_jobs : int, optional
        Cells that are evaluated side by side.
    """
    theta, of_cells = selection.outcome.best.theta, cell_objective(selection.objective, cells, n_jobs)
    if not len(theta) or of_cells is None:
        return selection.kernel, selection.machine
    first = of_cells.objectives[0]
    tuned = first.machine if first.tune_machine else None
    box = SearchSpace.around(first.kernel, tuned, first.builder.X).box
    search = LBFGS().near_optimum(selection.steps_on_last_rows).with_search_accuracy(of_cells.n_rows)
    found = search(of_cells, box, [theta], max_evaluations=POLISH_MAX_EVALUATIONS)
    return with_parameters(first.kernel, selection.machine, found.best.theta, first.tune_machine)
