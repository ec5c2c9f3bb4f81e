"""A search on more rows at a time, for a fit that is hardly better than a constant.

A search runs on blocks of a few hundred rows. Some structure begins to show only where rows are more: a checkerboard in two of four
columns, a class with twenty rows in all. Blocks that show nothing are fitted best by something close to a constant, and the fit to
all rows is no better. In that case one block of many rows is searched, where the least-squares machine can by that machine, and all
rows are fitted again.
"""

from contextlib import suppress
from dataclasses import replace

import numpy as np
from sklearn.gaussian_process.kernels import Kernel

from foldless.core.contracts import Machine, Matrix
from foldless.core.errors import Undefined
from foldless.criteria.left_out import gain_over_constant
from foldless.criteria.loo import LOO
from foldless.searches.lbfgs import LBFGS
from foldless.tuning.pilot import is_piloted, pilot_of
from foldless.tuning.problem import Problem
from foldless.tuning.row_blocks import some_rows
from foldless.tuning.search_space import SearchSpace
from foldless.tuning.stage import Stage
from foldless.tuning.staged_search import StagedSearch

# Rows of the block, and evaluations on it.
WIDE_MAX_ROWS, WIDE_MAX_EVALUATIONS = 1200, 16
# A larger block shows more if it has so many times the rows of those that were searched.
MIN_GROWTH = 1.5
# A fit gains little if its left-out losses are lower than those of a constant by less than so many standard errors: the lowest of
# some twenty criteria is one or two standard errors below the constant by chance.
MIN_STANDARD_ERRORS = 3.0


def gains_little(machine: Machine, Y: Matrix, left_out: Matrix) -> bool:
    """Return whether left-out outputs (n, k) are hardly better than the best constant, or of classes no more often right."""
    gain = gain_over_constant(machine, Y, left_out)
    return not (gain.is_right_more_often and gain.exceeds(MIN_STANDARD_ERRORS))


def search_wider(
    staged: StagedSearch, kernel: Kernel, stage: Stage, begun: float, section: str
) -> Stage | None:
    """Return a search on one block of many rows; None if there are not many more than were searched, or nothing to search.

    Parameters
    ----------
    staged : StagedSearch
    kernel : Kernel
    stage : Stage
        The last stage of the search so far.
    begun : float
        When the first stage began, by ``time.perf_counter``.
    section : str
        Name of the search in a checkpoint.
    """
    Y, machine = staged.problem.Y, staged.problem.machine
    n_rows = min(len(Y), WIDE_MAX_ROWS // machine.n_joint_functions(Y.shape[1]))
    follows_starts = staged.search.name == LBFGS.name and len(kernel.theta) > 0
    is_more = n_rows >= MIN_GROWTH * stage.objective.rows_at_once
    if stage.outcome.stop.cut_short or not (follows_starts and is_more and machine.fits_on_blocks):
        return None
    problem, space = _cheapest(staged.problem, staged.space(kernel))
    rows = some_rows(Y, np.random.default_rng(staged.problem.seed), n_rows)
    wide, name = replace(staged, problem=problem, roughly=True), f"{section}.wide"
    with suppress(Undefined):
        objective = problem.on_rows(kernel, rows)
        found = wide.on(objective, space, stage, begun, name, WIDE_MAX_EVALUATIONS, from_optima=False)
        found = replace(found, outcome=replace(found.outcome, warm_start=None))
        return found.within_budget(staged.options.max_evaluations)
    return None


def _cheapest(problem: Problem, space: SearchSpace) -> tuple[Problem, SearchSpace]:
    """Return the problem of the least-squares machine, with starts that suit it, if it stands for the machine; else both as they are."""
    machine = pilot_of(problem.machine, problem.Y.shape[1])
    if machine is None or not (problem.tune_machine and is_piloted(problem.criterion)):
        return problem, space
    return replace(problem, machine=machine, criterion=LOO()), space.with_shifted_C(machine.ratios.C)
