"""The fit at the parameters that were chosen, checked against nearest neighbours and blocks of rows, and the record of it."""

import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.gaussian_process.kernels import Kernel

from foldless.core.contracts import Machine, Matrix, Outcome, Reading, Step, Stop
from foldless.core.errors import MissingVerb, Undefined
from foldless.criteria.base import Criterion
from foldless.criteria.left_out import left_out_outputs, row_residuals
from foldless.grams.cells import CellTree
from foldless.kernels.precomputed import is_precomputed
from foldless.tuning.forms import FittedForm
from foldless.tuning.guard import warn_if_fooled
from foldless.tuning.last_fit import LastFit
from foldless.tuning.left_over import left_over
from foldless.tuning.near_search import is_better, missed_in_block, near_fit, search_near, warn_of_neighbours
from foldless.tuning.neighbours import Neighbours
from foldless.tuning.objective import UNDEFINED_ERRORS, Objective
from foldless.tuning.pilot import PilotMachine
from foldless.tuning.polish import POLISH_MAX_EVALUATIONS
from foldless.tuning.problem import Problem
from foldless.tuning.result import Selection
from foldless.tuning.row_blocks import BlockObjective
from foldless.tuning.run_options import RunOptions
from foldless.tuning.stage import Stage, StageObjective
from foldless.tuning.staged_search import StagedSearch
from foldless.tuning.wider_search import (
    are_more,
    can_search_more,
    gains_little,
    gains_nothing,
    is_weak,
    search_cautiously,
    search_left_over,
    search_wider,
)

# A search, the fit after it, and the outcome of both.
Fit = tuple[Stage, FittedForm, Outcome]


@dataclass(frozen=True, eq=False)
class FitAfterSearch:
    """Fits a kernel at the best point of a search, and searches on where the fit shows that something was missed.

    Parameters
    ----------
    staged : StagedSearch
        The search, and its problem.
    last_fit : LastFit
    kernel : Kernel
        As it was given.
    begun : float
        When the first stage began, by ``time.perf_counter``.
    section : str
        Name of the search in a checkpoint.
    """

    staged: StagedSearch
    last_fit: LastFit
    kernel: Kernel
    begun: float
    section: str

    @property
    def problem(self) -> Problem:
        """Rows, machine and criterion."""
        return self.staged.problem

    def to_all_rows(self, stage: Stage) -> Selection:
        """Fit all rows at the best point of a stage; where it misses something, search on and fit again."""
        form, outcome = self.fit(stage)
        # Without left-out outputs nothing can be compared, and a second fit that fails leaves the first one.
        for improved in (self.wider, self.closer, self.fuller):
            with suppress(*UNDEFINED_ERRORS, MissingVerb):
                stage, form, outcome = improved(stage, form, outcome)
        warn_if_fooled(self.problem, self.kernel, form, stage.outcome, stage.objective)
        problem = replace(self.problem, criterion=form.criterion)
        return selection_of(problem, self.kernel, with_penalty(problem, form), outcome, stage.steps)

    def wider(self, stage: Stage, form: FittedForm, outcome: Outcome) -> Fit:
        """Return the fit or, where it is hardly better than a constant, the better one of it and a fit after a search on more rows."""
        problem = self.problem
        if not gains_little(problem.machine, problem.Y, form.left_out):
            return stage, form, outcome
        nothing = gains_nothing(problem.machine, problem.Y, form.left_out)
        wide = search_wider(self.staged, self.kernel, stage, self.begun, self.section, nothing)
        return self._better((stage, form, outcome), wide, self.last_fit)

    def closer(self, stage: Stage, form: FittedForm, outcome: Outcome) -> Fit:
        """Return the fit or, where nearest neighbours do better, the better one of it and a fit after a search near them."""
        problem, Y = self.problem, self.problem.Y
        neighbours = Neighbours.of(self.kernel, problem.X, Y, problem.machine, problem.seed)
        if neighbours is None or not neighbours.are_better(Y, left_out := form.left_out):
            return stage, form, outcome
        missed = neighbours.missed(Y, left_out)
        near = search_near(self.staged, self.kernel, missed, stage, self.begun, self.section)
        found = self._better((stage, form, outcome), near, near_fit(self.last_fit, problem.machine))
        warn_of_neighbours(neighbours, found[1], Y)
        return found

    def fuller(self, stage: Stage, form: FittedForm, outcome: Outcome) -> Fit:
        """Return the fit or, where its residuals show that something is left over, the better one of it and a fit after a search on all rows."""
        problem, n = self.problem, len(self.problem.Y)
        may_search = can_search_more(self.staged, self.kernel, stage) and are_more(stage, n)
        if is_precomputed(self.kernel) or not (
            may_search and is_weak(problem.machine, problem.Y, form.left_out)
        ):
            return stage, form, outcome
        found = left_over(self.kernel, problem.X, residuals_of(problem, form), problem.seed)
        if found is None or not found.is_clear:
            return stage, form, outcome
        full = search_left_over(self.staged, self.kernel, found, stage, self.begun, self.section)
        return self._better((stage, form, outcome), full, self.last_fit)

    def _better(self, before: Fit, stage: Stage | None, last_fit: LastFit) -> Fit:
        """Return a fit or, if it is better, the one after another search; the trace is that of both."""
        if stage is None:
            return before
        again, outcome = replace(self, last_fit=last_fit).fit(stage)
        if is_better(again, before[1], self.problem.machine, self.problem.Y):
            return stage, again, outcome
        return before[0], before[1], replace(before[2], trace=outcome.trace)

    def fit(self, stage: Stage) -> tuple[FittedForm, Outcome]:
        """Fit all rows at the best point of a stage, in the form that suits them."""
        polished = stage
        chosen = suited = self.problem.at(self.kernel, stage.outcome.best.theta)

        def polish(tree: CellTree) -> tuple[Kernel, Machine]:
            nonlocal polished, suited
            if (found := self.polished(stage, tree)) is not None:
                polished, suited = found, self.problem.at(self.kernel, found.outcome.best.theta)
            return suited

        free = len(stage.outcome.best.theta) > 0 and not stage.outcome.stop.cut_short
        last_fit = correcting(self.last_fit, self.problem, stage)
        last_fit = replace(last_fit, seconds=self.staged.options.seconds_left(self.begun))
        form = last_fit.fit(
            *chosen,
            start=start_after(self.problem, stage),
            polish=polish if free else None,
        )
        outcome = replace(stage.outcome, trace=polished.outcome.trace)
        # The form may have kept the parameters as they were.
        if form.kernel is suited[0] and form.machine is suited[1]:
            outcome = replace(outcome, best=polished.outcome.best, optima=polished.outcome.optima)
        return form, outcome

    def polished(self, stage: Stage, tree: CellTree) -> Stage | None:
        """Return a short search in some cells after a stage; None where the criterion exists in none of them, and parameters stay."""
        objective = self.problem.on_cells(self.kernel, tree)
        if objective is None:
            return None
        space, name = self.staged.space(self.kernel), f"{self.section}.cells"
        with suppress(Undefined):
            return self.staged.on(objective, space, stage, self.begun, name, POLISH_MAX_EVALUATIONS)
        return None

    def to_block(self, stage: Stage) -> Selection:
        """Fit one block of rows at the best point of a stage; where that misses something, of a search on more rows or near neighbours.

        Where nothing is found even so, C is small. The criterion is that of the whole stage.
        """
        selection, searched = self.to_first_block(stage), stage.objective
        rows = searched.rows[0] if isinstance(searched, BlockObjective) and searched.rows else None
        if rows is None and searched.n_rows < len(self.problem.Y):
            return selection
        rows = np.arange(len(self.problem.Y)) if rows is None else rows
        if _holds_for(gains_little, selection):
            wide = search_wider(self.staged, self.kernel, stage, self.begun, self.section)
            stage, selection = (stage, selection) if wide is None else (wide, self.to_first_block(wide))
            if not _holds_for(gains_nothing, selection):
                return selection
            cautious = search_cautiously(self.staged, self.kernel, stage, self.begun, self.section)
            return selection if cautious is None else self.to_first_block(cautious)
        missed = missed_in_block(self.problem, self.kernel, selection, rows)
        if not len(missed):
            return selection
        near = search_near(self.staged, self.kernel, missed, stage, self.begun, self.section)
        return selection if near is None else self.to_first_block(near)

    def to_first_block(self, stage: Stage) -> Selection:
        """Fit one block of rows at the best point of a stage."""
        best, whole = stage.outcome.best, stage.objective
        objective = whole.objectives[0] if isinstance(whole, BlockObjective) else whole
        assert isinstance(objective, Objective)
        if isinstance(objective.machine, PilotMachine):
            objective = self.problem.on_rows(self.kernel, self.problem.stages[0][0])
        _, _, solution = objective.solve(best.theta)
        kernel, machine = self.problem.at(self.kernel, best.theta)
        form = FittedForm(
            "block",
            kernel,
            machine,
            solution,
            objective.builder,
            self.problem.criterion,
            Reading(best.value),
            None,
            0.0,
        )
        return selection_of(self.problem, self.kernel, form, stage.outcome, stage.steps)


def _holds_for(judgement: Callable[[Machine, Matrix, Matrix], bool], selection: Selection) -> bool:
    """Return what a judgement says of the left-out outputs of a fit; False if they are not known."""
    solution = selection.solution
    with suppress(*UNDEFINED_ERRORS, MissingVerb):
        return judgement(solution.machine, solution.Y, left_out_outputs(solution))
    return False


def residuals_of(problem: Problem, form: FittedForm) -> Matrix:
    """Return the residuals of left-out rows (n, k), times their weights."""
    machine = problem.machine
    residuals = row_residuals(machine, problem.Y, form.left_out)
    return (
        residuals if machine.loss_weights is None else np.asarray(machine.loss_weights)[:, None] * residuals
    )


def start_after(problem: Problem, stage: Stage) -> Any:
    """Return the start of a fit to all rows at the best point of a stage; None if it is not known."""
    n, k = problem.Y.shape
    starts, searched = stage.outcome.warm_start, stage.objective
    of_all_classes = searched.n_separate_fits == problem.machine.n_separate_fits(k)
    if starts is None or searched.n_rows < n or not of_all_classes:
        return None
    if isinstance(searched, BlockObjective) and searched.rows is not None:
        return problem.machine.joined_start(starts, searched.rows, n)
    return starts if isinstance(searched, Objective) else None


def correcting(last_fit: LastFit, problem: Problem, stage: Stage) -> LastFit:
    """Return the last fit after a stage, with the criterion corrected at it if it had to be while searching.

    A criterion that chose nothing is reported as it is, and after a budget was spent no time is taken for it.
    """
    outcome = stage.outcome
    chose = len(outcome.best.theta) > 0 and not outcome.stop.cut_short
    if not (chose and problem.criterion.approximates(problem.machine)):
        return last_fit
    found = _criteria_of(stage.objective)
    # Where the criterion held on the rows of the search, it holds for the fit to all of them.
    if found and all(criterion == problem.criterion for criterion in found):
        return last_fit
    criterion = found[0] if len(problem.stages) == 1 and len(found) == 1 else problem.criterion
    return replace(last_fit, correction=criterion)


def _criteria_of(searched: StageObjective) -> list[Criterion]:
    """Return the criterion of every block of what was searched."""
    parts = searched.objectives if isinstance(searched, BlockObjective) else [searched]
    return [part.criterion for part in parts if isinstance(part, Objective)]


def fit_as_given(problem: Problem, kernel: Kernel, last_fit: LastFit, options: RunOptions) -> Selection:
    """Fit all rows with parameters that are all fixed; this fit is the only step of the trace."""
    begun, theta, name = time.perf_counter(), np.zeros(0), problem.criterion.name
    last_fit.check(kernel)
    try:
        fitted = replace(last_fit, seconds=options.time_budget).fit(*problem.at(kernel, theta))
    except UNDEFINED_ERRORS as error:
        raise Undefined(f"{name} is undefined for these parameters: {error}") from error
    form = with_penalty(problem, fitted)
    seconds = time.perf_counter() - begun
    step = Step(theta, float(form.reading.value), seconds, "nothing to tune", n_rows=len(problem.Y))
    if not np.isfinite(step.value):
        raise Undefined(f"{name} is {step.value} for these parameters.")
    if options.watch is not None:
        options.watch(step)
    outcome = Outcome(step, (step,), Stop.NOTHING, (step,))
    warn_if_fooled(problem, kernel, form, outcome)
    return selection_of(problem, kernel, form, outcome, (step,))


def with_penalty(problem: Problem, form: FittedForm) -> FittedForm:
    """Return a fit whose reading includes the cost of the parameters, as the values of the search do."""
    tuned = form.machine if problem.tune_machine else None
    return replace(form, reading=problem.criterion.with_penalty(form.reading, form.kernel, tuned)[0])


def selection_of(
    problem: Problem, kernel: Kernel, form: FittedForm, outcome: Outcome, steps: tuple[Step, ...]
) -> Selection:
    """Return the record of a fit.

    Parameters
    ----------
    problem : Problem
    kernel : Kernel
        As it was given.
    form : FittedForm
    outcome : Outcome
    steps : tuple of Step
        Those on the last rows.
    """
    objective = Objective(
        kernel, problem.machine, problem.criterion, form.builder, problem.Y, problem.tune_machine
    )
    return Selection(
        kernel=form.kernel,
        machine=form.machine,
        criterion=problem.criterion,
        form=form.name,
        builder=form.builder,
        solution=form.solution,
        expansion=form.expansion,
        reading=form.reading,
        # Its warm start has served.
        outcome=replace(outcome, warm_start=None),
        approximation_gap=form.gap,
        objective=objective,
        forms=form.tried,
        steps_on_last_rows=steps,
    )
