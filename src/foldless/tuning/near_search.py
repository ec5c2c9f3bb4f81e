"""A search among nearest neighbours, for a fit that loses to them: it sees what blocks of rows from everywhere hide.

Rows drawn from everywhere lie farther apart than all rows do, and structure finer than their distances is not there for them. The
nearest neighbours of a row lie as densely as all rows. Where neighbours (:mod:`foldless.tuning.neighbours`) foretell left-out rows better than
a fit does, the search goes on among the neighbours of rows that the fit misses.
"""

import warnings
from contextlib import suppress
from dataclasses import replace

import numpy as np
from sklearn.gaussian_process.kernels import Kernel

from foldless.core.contracts import Machine, Matrix
from foldless.core.errors import NeighbourWarning, Undefined
from foldless.core.targets import is_pm1
from foldless.criteria.left_out import LeftOutLosses, left_out_outputs
from foldless.kernels.by_name import typical_distance
from foldless.kernels.evaluate import with_theta
from foldless.kernels.precomputed import is_precomputed
from foldless.searches.lbfgs import LBFGS
from foldless.tuning.forms import FittedForm, loses
from foldless.tuning.last_fit import WHOLE_MAX_ROWS, LastFit
from foldless.tuning.neighbours import Neighbours, nearest, prediction_errors
from foldless.tuning.objective import UNDEFINED_ERRORS
from foldless.tuning.problem import Problem
from foldless.tuning.result import Selection
from foldless.tuning.row_blocks import Rows
from foldless.tuning.search_space import SearchSpace, is_length_scale
from foldless.tuning.stage import Stage
from foldless.tuning.staged_search import StagedSearch

# The search goes on among the neighbours of a few rows, with at most so many evaluations.
N_NEAR_BLOCKS, NEAR_BLOCK_ROWS, NEAR_MAX_EVALUATIONS = 12, 400, 25
# Errors of neighbours among all rows, as a fraction of those of a fit to some of them, from which on that fit misses something.
FAR_BETTER_FRACTION = 0.7


def search_near(
    staged: StagedSearch, kernel: Kernel, rows: Rows, stage: Stage, begun: float, section: str
) -> Stage | None:
    """Return a search among the nearest neighbours of some rows, where all rows are as dense as they are; None if it cannot be made.

    Parameters
    ----------
    staged : StagedSearch
    kernel : Kernel
    rows : array of shape (m,)
        A few of these rows are drawn.
    stage : Stage
        The last stage of the search so far.
    begun : float
        When the first stage began, by ``time.perf_counter``.
    section : str
        Name of the search in a checkpoint.
    """
    follows_starts = staged.search.name == LBFGS.name and len(kernel.theta) > 0
    if stage.outcome.stop.cut_short or not follows_starts or is_precomputed(kernel):
        return None
    blocks = _near_blocks(staged.problem, kernel, rows)
    objective = staged.problem.on_some_of(kernel, blocks)
    if objective is None:
        return None
    space, name = _near_space(staged, kernel, blocks[0], stage), f"{section}.near"
    with suppress(Undefined):
        found = staged.on(objective, space, stage, begun, name, NEAR_MAX_EVALUATIONS, from_optima=False)
        return found.within_budget(staged.options.max_evaluations)
    return None


def _near_blocks(problem: Problem, kernel: Kernel, rows: Rows) -> list[Rows]:
    """Return the nearest neighbours of a few of some rows, drawn at random."""
    centres = np.random.default_rng(problem.seed).permutation(rows)[:N_NEAR_BLOCKS]
    return list(nearest(kernel, problem.X, centres, min(NEAR_BLOCK_ROWS, len(problem.Y) - 1)))


def _near_space(staged: StagedSearch, kernel: Kernel, block: Rows, stage: Stage) -> SearchSpace:
    """Return bounds, and starts that suit the distances in a block, together with the best point so far."""
    X, space = staged.problem.X, staged.space(kernel)
    # Neighbours lie closer together than all rows, and the starts with them.
    shorter = np.log(typical_distance(X[block]) / typical_distance(X))
    near = with_theta(kernel, kernel.theta + shorter * is_length_scale(kernel))
    starts = [*staged.space(near).starts, stage.outcome.best.theta]
    return replace(space, starts=[space.box.clip(start) for start in starts])


def near_fit(last_fit: LastFit, machine: Machine) -> LastFit:
    """Return how rows are fitted after a search among neighbours: by cells if they are many, since what is missed is local."""
    free = last_fit.gram == "auto" and not last_fit.names_landmarks
    n, k = last_fit.Y.shape
    many = machine.n_joint_functions(k) * n > WHOLE_MAX_ROWS
    by_cells = free and many and last_fit.may_use_cells(machine)
    return replace(last_fit, gram="cells") if by_cells else last_fit


def is_better(again: FittedForm, form: FittedForm, machine: Machine, Y: Matrix) -> bool:
    """Return whether a second fit has a lower left-out loss or, unless that is one of probabilities, clearly fewer left-out errors."""
    if again.losses(Y).mean < form.losses(Y).mean:
        return True
    weights = machine.loss_weights
    new, old = (LeftOutLosses(prediction_errors(Y, one.left_out), weights) for one in (again, form))
    return not machine.loss_in_nats and loses(old, new)


def warn_of_neighbours(neighbours: Neighbours, form: FittedForm, Y: Matrix) -> None:
    """Warn if nearest neighbours predict left-out rows better than a fit."""
    left_out = form.left_out
    if neighbours.are_better(Y, left_out):
        ours = neighbours.mean(neighbours.errors_of_fit(Y, left_out))
        theirs = neighbours.mean(neighbours.errors)
        warnings.warn(NeighbourWarning(ours, theirs, is_pm1(Y)), stacklevel=2)


def missed_in_block(problem: Problem, kernel: Kernel, selection: Selection, rows: Rows) -> Rows:
    """Return the rows of a block whose neighbours foretell them where its fit does not; none unless neighbours do far better.

    Neighbours are those among all rows, and fewer errors are what more rows bring.

    Parameters
    ----------
    problem : Problem
    kernel : Kernel
    selection : Selection
        The fit to the block.
    rows : array of shape (m,)
        Those of the block.
    """
    Y, nothing, left_out = problem.Y, rows[:0], np.zeros(problem.Y.shape)
    try:
        left_out[rows] = left_out_outputs(selection.solution)
    except UNDEFINED_ERRORS:
        return nothing
    neighbours = Neighbours.of(kernel, problem.X, Y, problem.machine, problem.seed, rows)
    if neighbours is None or not neighbours.are_better(Y, left_out):
        return nothing
    ours = neighbours.mean(neighbours.errors_of_fit(Y, left_out))
    far_better = neighbours.mean(neighbours.errors) <= FAR_BETTER_FRACTION * ours
    return neighbours.missed(Y, left_out) if far_better else nothing
