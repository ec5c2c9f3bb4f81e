"""Warnings about a search or a fit that cannot be trusted as it is."""

import warnings
from dataclasses import replace

import numpy as np
from sklearn.gaussian_process.kernels import Kernel

from foldless.core.contracts import Box, Outcome, Stop, Vector
from foldless.core.errors import CriterionWarning, LandmarkWarning, SearchWarning
from foldless.criteria.left_out import LeftOutLosses
from foldless.criteria.loo import LOO
from foldless.tuning.cellwise import CellSolution
from foldless.tuning.forms import FittedForm, loses
from foldless.tuning.objective import UNDEFINED_ERRORS, left_out_losses
from foldless.tuning.problem import Problem
from foldless.tuning.row_blocks import BlockObjective, Rows
from foldless.tuning.stage import StageObjective

# A regularisation is at its bound if it is closer than this fraction of the range.
BOUND_FRACTION = 1e-3
# What to do about a fit by cells, or through landmarks, that loses to small blocks of rows.
CELL_ADVICE = "the cells are too small for this kernel. Raise cell_size, or use gram='lowrank'."
LANDMARK_ADVICE = "the landmarks are too few for this kernel. Use gram='cells', or raise n_components."


def warn_if_cut_short(name: str, outcome: Outcome) -> None:
    """Warn about a search, of that name, that a budget or an interrupt ended."""
    if outcome.stop.cut_short:
        message = f"{name} ended after {len(outcome.trace)} evaluations. {outcome.stop.value}"
        warnings.warn(SearchWarning(message), stacklevel=2)


def warn_if_at_bound(problem: Problem, theta: Vector, box: Box) -> None:
    """Warn if a criterion whose minimum may mean nothing ends at a bound of the regularisation."""
    criterion = problem.criterion
    if criterion.tunes_kernel or not (criterion.may_diverge_in_C and problem.tune_machine):
        return
    last, low, high = theta[-1], box.low[-1], box.high[-1]
    if min(last - low, high - last) < BOUND_FRACTION * (high - low):
        message = f"{criterion.name} is lowest at the edge of the range of the regularisation: "
        warnings.warn(CriterionWarning(message + f"{criterion.reason_against}."), stacklevel=2)


def warn_if_fooled(
    problem: Problem,
    kernel: Kernel,
    form: FittedForm,
    outcome: Outcome,
    searched: StageObjective | None = None,
) -> None:
    """Warn if a fit to all rows, unless it is exact, does worse on left-out rows than exact fits to small blocks of them.

    Parameters
    ----------
    problem : Problem
    kernel : Kernel
    form : FittedForm
    outcome : Outcome
        Its best point is where the blocks are fitted.
    searched : StageObjective, optional
        What was minimised.
    """
    by_cells = isinstance(form.solution, CellSolution)
    if (form.gap == 0 and not by_cells) or len(problem.stages) == 1 or outcome.stop is Stop.TIME:
        return
    try:
        whole, (rows, reference) = form.losses(problem.Y), block_losses(problem, kernel, outcome, searched)
    except UNDEFINED_ERRORS:
        return
    if loses(whole[rows], reference):
        message = (
            f"a fit through {form.name} does worse on left-out rows (mean loss {whole[rows].mean:.4g}) than fits to "
            f"{len(problem.stages[-1][0])} of the rows ({reference.mean:.4g}): {CELL_ADVICE if by_cells else LANDMARK_ADVICE}"
        )
        warnings.warn(LandmarkWarning(message), stacklevel=2)


def block_losses(
    problem: Problem, kernel: Kernel, outcome: Outcome, searched: StageObjective | None = None
) -> tuple[Rows, LeftOutLosses]:
    """Return the rows of the last blocks, and their losses when they are left out of the fit to their block.

    A criterion that ignores the machine was searched without one; the blocks are then fitted with the machine of the problem.

    Parameters
    ----------
    problem : Problem
    kernel : Kernel
    outcome : Outcome
        Its best point is where the blocks are fitted.
    searched : StageObjective, optional
        What was minimised; if these were the blocks, their Grams and fits serve again.
    """
    blocks, theta = problem.stages[-1], outcome.best.theta
    rows = np.concatenate(list(blocks))
    if problem.criterion.ignores_machine:
        problem = replace(problem, criterion=LOO())
    elif (
        isinstance(searched, BlockObjective)
        and searched.rows is blocks
        and searched.objectives[0].Y.shape[1] == problem.Y.shape[1]
    ):
        return rows, left_out_losses(searched.objectives, theta, outcome.warm_start)
    # A few are made at a time: each keeps the distances and the kernel matrix of its rows.
    return rows, left_out_losses((problem.on_rows(kernel, one) for one in blocks), theta)
