"""A search on more rows at a time, for a fit that is hardly better than a constant, or leaves something over.

A search runs on blocks of a few hundred rows. Some structure begins to show only where rows are more: a checkerboard in two of four
columns, a class with twenty rows in all. Blocks that show nothing are fitted best by something close to a constant, and the fit to
all rows is no better. In that case one block of many rows is searched, where the least-squares machine can by that machine, and all
rows are fitted again.

Where nothing shows even then, the criterion is flat, and its minimum may lie at any regularisation. A machine that others fit at the
parameters that were found, such as scikit-learn's SVC, would take long for a large C, to predict nothing: C is then small.

Where noise is strong even that may show too little. The residuals of a fit to all rows tell whether something is left over
(:mod:`foldless.tuning.left_over`); if so, all rows are searched.
"""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from functools import partial

import numpy as np
from sklearn.gaussian_process.kernels import Kernel

from foldless.core.contracts import Machine, Matrix
from foldless.core.errors import Undefined
from foldless.core.targets import is_pm1
from foldless.criteria.calibrated_loo import CalibratedLOO
from foldless.criteria.left_out import gain_over_constant
from foldless.criteria.loo import LOO
from foldless.grams.builders import NystromBuilder
from foldless.grams.landmarks import pivoted_landmarks
from foldless.machines.lssvm import LSSVM
from foldless.searches.lbfgs import LBFGS
from foldless.tuning.left_over import LeftOver
from foldless.tuning.objective import Objective
from foldless.tuning.pilot import PilotMachine, is_piloted, pilot_of
from foldless.tuning.problem import Problem
from foldless.tuning.row_blocks import some_rows
from foldless.tuning.search_space import SearchSpace
from foldless.tuning.stage import Stage
from foldless.tuning.staged_search import StagedSearch

# Where nothing shows, the largest C in units of 1 / the mean diagonal of the kernel, and evaluations with such C.
CAUTIOUS_MAX_C, CAUTIOUS_MAX_EVALUATIONS = 1.0, 6
# Rows of the block, and evaluations on it.
WIDE_MAX_ROWS, WIDE_MAX_EVALUATIONS = 1200, 16
# Landmarks of a search on all rows: operations n m^2 of a pass, within bounds.
ALL_ROWS_MAX_OPERATIONS, ALL_ROWS_LANDMARKS = 1e9, (150, 500)
# A fit that explains more than this part of the loss of a constant is not weak: blocks of rows show what is left.
WEAK_MAX_GAIN = 0.5
# A larger block shows more if it has so many times the rows of those that were searched.
MIN_GROWTH = 1.5
# A fit gains little if its left-out losses are lower than those of a constant by less than so many standard errors: the lowest of
# some twenty criteria is one or two standard errors below the constant by chance.
MIN_STANDARD_ERRORS = 3.0


def gains_little(machine: Machine, Y: Matrix, left_out: Matrix) -> bool:
    """Return whether left-out outputs (n, k) are hardly better than the best constant, or of classes no more often right."""
    gain = gain_over_constant(machine, Y, left_out)
    return not (gain.is_right_more_often and gain.exceeds(MIN_STANDARD_ERRORS))


def gains_nothing(machine: Machine, Y: Matrix, left_out: Matrix) -> bool:
    """Return whether left-out outputs (n, k) are better than the best constant by no more than chance explains."""
    return not gain_over_constant(machine, Y, left_out).is_no_chance


def is_weak(machine: Machine, Y: Matrix, left_out: Matrix) -> bool:
    """Return whether left-out outputs (n, k) leave half of the loss of the best constant, or more."""
    gain = gain_over_constant(machine, Y, left_out)
    return gain.loss >= (1 - WEAK_MAX_GAIN) * gain.constant_loss


def search_wider(
    staged: StagedSearch,
    kernel: Kernel,
    stage: Stage,
    begun: float,
    section: str,
    nothing_found: bool = False,
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
    nothing_found : bool
        Whether the fit was no better than a constant: the least-squares machine is then asked even if there are not many more rows.
    """
    n_rows = min(len(staged.problem.Y), _most_rows(staged.problem))
    problem, space = _cheapest(staged.problem, staged.space(kernel))
    calibrated = _calibrated(problem)
    asks_another = nothing_found and calibrated is not None
    if not (can_search_more(staged, kernel, stage) and (asks_another or are_more(stage, n_rows))):
        return None
    rows, name = some_rows(problem.Y, np.random.default_rng(problem.seed), n_rows), f"{section}.wide"
    if calibrated is not None:
        objective = partial(calibrated.on_rows, kernel, rows)
        found = _search(
            replace(staged, problem=calibrated), objective, space, stage, begun, f"{name}.calibrated"
        )
        if found is not None:
            if found.outcome.stop.cut_short:
                return found
            stage, space = found, replace(space, starts=[found.outcome.best.theta])
    objective = partial(problem.on_rows, kernel, rows)
    return _search(replace(staged, problem=problem), objective, space, stage, begun, name)


def _calibrated(problem: Problem) -> Problem | None:
    """Return the problem of a least-squares machine for classes with calibrated outputs; None for other problems.

    Its criterion sees outputs that are right a little more often than wrong, where squared errors see that they are far from the labels.
    """
    is_other = isinstance(problem.machine, LSSVM) and isinstance(problem.criterion, LOO)
    return replace(problem, criterion=CalibratedLOO()) if is_other and is_pm1(problem.Y) else None


def search_cautiously(
    staged: StagedSearch, kernel: Kernel, stage: Stage, begun: float, section: str
) -> Stage | None:
    """Return a short search with small C on the rows of a stage, from its best point; None if C is not tuned, or is given."""
    problem = staged.problem
    if not problem.tune_machine or staged.regularisation is not None or stage.outcome.stop.cut_short:
        return None
    space = staged.space(kernel).with_largest_C(kernel, problem.machine, np.log(CAUTIOUS_MAX_C), problem.X)
    at_best = replace(space, starts=[space.box.clip(stage.outcome.best.theta)])
    near, name = replace(staged, search=staged.search.near_optimum(stage.steps)), f"{section}.cautious"
    with suppress(Undefined):
        found = near.on(
            stage.objective, at_best, stage, begun, name, CAUTIOUS_MAX_EVALUATIONS, from_optima=False
        )
        return found.within_budget(staged.options.max_evaluations)
    return None


def search_left_over(
    staged: StagedSearch, kernel: Kernel, found: LeftOver, stage: Stage, begun: float, section: str
) -> Stage | None:
    """Return a search on all rows for what the fit after a stage leaves over; through landmarks if they are many.

    It begins at the length scale that shows most of it, and at the best point so far. What is weak beside the noise needs few
    landmarks. The other parameters are those of :func:`search_wider`.
    """
    problem, space = _cheapest(staged.problem, staged.space(kernel))
    C_ratio = problem.machine.ratios.C if isinstance(problem.machine, PilotMachine) else 0.0
    tuned = problem.machine if problem.tune_machine else None
    space = replace(space, starts=[stage.outcome.best.theta])
    space = space.with_start(found.kernel, tuned, found.log_C + C_ratio, problem.X)

    def objective() -> Objective:
        n = len(problem.Y)
        if n <= _most_rows(problem):
            return problem.on_rows(kernel, np.arange(n))
        m = int(np.clip(np.sqrt(ALL_ROWS_MAX_OPERATIONS / n), *ALL_ROWS_LANDMARKS))
        landmarks = pivoted_landmarks(found.kernel, problem.X, m, np.random.default_rng(problem.seed))
        return problem.through(NystromBuilder(problem.X, landmarks), kernel)

    return _search(replace(staged, problem=problem), objective, space, stage, begun, f"{section}.left")


def can_search_more(staged: StagedSearch, kernel: Kernel, stage: Stage) -> bool:
    """Return whether a search may go on after a stage."""
    follows_starts = staged.search.name == LBFGS.name and len(kernel.theta) > 0
    return follows_starts and not stage.outcome.stop.cut_short and staged.problem.machine.fits_on_blocks


def are_more(stage: Stage, n_rows: int) -> bool:
    """Return whether so many rows at a time are many more than those of a stage."""
    return n_rows >= MIN_GROWTH * stage.objective.rows_at_once


def _most_rows(problem: Problem) -> int:
    """Return the most rows of one dense block."""
    return WIDE_MAX_ROWS // problem.machine.n_joint_functions(problem.Y.shape[1])


def _search(
    staged: StagedSearch,
    objective: Callable[[], Objective],
    space: SearchSpace,
    stage: Stage,
    begun: float,
    section: str,
) -> Stage | None:
    """Return a rough search from the starts of a space; None if the criterion exists at none of them."""
    rough = replace(staged, roughly=True)
    with suppress(Undefined):
        found = rough.on(objective(), space, stage, begun, section, WIDE_MAX_EVALUATIONS, from_optima=False)
        found = replace(found, outcome=replace(found.outcome, warm_start=None))
        return found.within_budget(staged.options.max_evaluations)
    return None


def _cheapest(problem: Problem, space: SearchSpace) -> tuple[Problem, SearchSpace]:
    """Return the problem of the least-squares machine, with starts that suit it, if it stands for the machine; else both as they are."""
    machine = pilot_of(problem.machine, problem.Y.shape[1])
    if machine is None or not (problem.tune_machine and is_piloted(problem.criterion)):
        return problem, space
    return replace(problem, machine=machine, criterion=LOO()), space.with_shifted_C(machine.ratios.C)
