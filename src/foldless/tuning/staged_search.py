"""A search that goes on from stage to stage: each with the budget that is left, and from where the one before ended."""

import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from sklearn.gaussian_process.kernels import Kernel

from foldless.core.contracts import Box, Outcome, Step, Stop, Vector
from foldless.core.errors import Undefined
from foldless.core.memo import Memo, cached_property
from foldless.searches.base import Search
from foldless.searches.run import TIME_SLACK
from foldless.tuning.problem import Problem
from foldless.tuning.run_options import RunOptions
from foldless.tuning.search_space import SearchSpace
from foldless.tuning.stage import Stage, StageObjective, operations

# Searches on parts of the rows are as accurate as one on so many rows, or more; a rough search on all rows too.
PARTS_ACCURACY_ROWS, ROUGH_ACCURACY_ROWS = 1000, 4000
# The first of several stages is less accurate, since its optimum is only where the next stage begins.
FIRST_STAGE_ACCURACY_ROWS = 100
# Searches that follow the first one because its criterion was wrong at the point found.
MAX_CORRECTIONS = 5
# Evaluations of such a search where there are several blocks of rows.
CORRECTED_MAX_EVALUATIONS = 10


@dataclass(frozen=True, eq=False)
class StagedSearch:
    """Searches for the parameters of a problem, on one objective after the other.

    Parameters
    ----------
    problem : Problem
    search : Search
    regularisation : pair of float, optional
        Lowest and highest value of the regularisation.
    starts : sequence of arrays, optional
        Where a search begins; by default on a coarse grid.
    roughly : bool
        Whether a search is no more accurate on all rows than on some of them.
    options : RunOptions
    """

    problem: Problem
    search: Search
    regularisation: tuple[float, float] | None = None
    starts: Sequence[Vector] | None = None
    roughly: bool = False
    options: RunOptions = field(default_factory=RunOptions)

    def space(self, kernel: Kernel) -> SearchSpace:
        """Return bounds and starts of the search."""
        return self._memo.get("space", kernel, compute=lambda: self._space(kernel))

    @cached_property
    def _memo(self) -> Memo:
        return Memo()

    def _space(self, kernel: Kernel) -> SearchSpace:
        problem = self.problem
        machine = problem.machine if problem.tune_machine else None
        space = SearchSpace.around(kernel, machine, problem.X, self.regularisation, self.search.n_starts)
        return space if self.starts is None else replace(space, starts=list(self.starts))

    def on_each(
        self,
        objectives: Iterable[StageObjective],
        space: SearchSpace,
        section: str,
        stage: Stage | None = None,
        leads: bool = False,
    ) -> Iterator[Stage]:
        """Yield the search on each objective, from the optima of the one before; the first one from those of ``stage`` if it leads."""
        for i, objective in enumerate(objectives):
            begun = time.perf_counter() - (0.0 if stage is None else stage.seconds)
            stage = self.on(objective, space, stage, begun, f"{section}.{i}", from_optima=leads or i > 0)
            yield stage
            if stage.outcome.stop.cut_short:
                return

    def on(
        self,
        objective: StageObjective,
        space: SearchSpace,
        before: Stage | None,
        begun: float,
        section: str,
        max_evaluations: int | None = None,
        from_optima: bool = True,
    ) -> Stage:
        """Search with the budget that is left; an interrupt keeps the stage before, if there is one.

        Parameters
        ----------
        objective : StageObjective
        space : SearchSpace
        before : Stage or None
            The search before this one; its trace is kept.
        begun : float
            When the first stage began, by ``time.perf_counter``.
        section : str
            Name of the search in a checkpoint.
        max_evaluations : int, optional
            Evaluations of this stage, if fewer than are left.
        from_optima : bool
            Whether it begins at the optima of the stage before, rather than at the starts of the space.
        """
        if before is not None and (spent := self._spent(objective, before, begun)) is not None:
            return before.ended_by(spent)
        leading = before if from_optima else None
        starts = space.starts if leading is None else _starts_after(leading, space)
        limit = _smaller(self._evaluations_left(before), max_evaluations)
        suited = self._suited_to(objective, leading)
        try:
            outcome = suited._run(objective, space.box, starts, begun, section, limit)
        except KeyboardInterrupt:
            if before is None or self.options.raises_interrupt:
                raise
            return before.ended_by(Stop.INTERRUPTED)
        earlier = () if before is None else before.outcome.trace
        seconds = time.perf_counter() - begun
        return Stage(objective, replace(outcome, trace=earlier + outcome.trace), outcome.trace, seconds)

    def _spent(self, objective: StageObjective, before: Stage, begun: float) -> Stop | None:
        """Return the budget that leaves no room for another stage; None if there is room."""
        left = self._evaluations_left(before)
        if left is not None and left <= 0:
            return Stop.BUDGET
        return Stop.TIME if self._comes_too_late(objective, before, begun) else None

    def _evaluations_left(self, before: Stage | None) -> int | None:
        if self.options.max_evaluations is None:
            return None
        return self.options.max_evaluations - (0 if before is None else len(before.outcome.trace))

    def _comes_too_late(self, objective: StageObjective, before: Stage, begun: float) -> bool:
        """Return whether the first evaluation of a stage, which no search goes without, is likely to exceed the time."""
        left = self.options.seconds_left(begun)
        if left is None or self.options.time_budget is None:
            return False
        expected = before.seconds_of_evaluation * operations(objective) / operations(before.objective)
        return left <= 0 or expected > left + TIME_SLACK * self.options.time_budget

    def _suited_to(self, objective: StageObjective, leading: Stage | None) -> "StagedSearch":
        """Return the search with the curvature of the stage that leads, if one does, and no more accurate than the rows allow."""
        search = self.search
        # The curvature of the pilot's criterion is not that of the machine's own.
        if leading is not None and objective.n_separate_fits == leading.objective.n_separate_fits:
            search = search.near_optimum(leading.steps)
        if self._is_first_of_several(objective) and not self.roughly:
            search = search.with_search_accuracy(FIRST_STAGE_ACCURACY_ROWS)
        elif self.roughly or objective.rows_at_once < len(self.problem.Y):
            least = ROUGH_ACCURACY_ROWS if self.roughly else PARTS_ACCURACY_ROWS
            search = search.with_search_accuracy(max(objective.n_rows, least))
        return replace(self, search=search)

    def _is_first_of_several(self, objective: StageObjective) -> bool:
        first, *others = self.problem.stages
        return bool(others) and objective.n_rows == sum(len(rows) for rows in first)

    def _run(
        self,
        objective: StageObjective,
        box: Box,
        starts: list[Vector],
        begun: float,
        section: str,
        max_evaluations: int | None,
    ) -> Outcome:
        """Return what the search finds; raise if the criterion is undefined wherever it looks."""
        options = self.options
        outcome = self.search(
            objective,
            box,
            starts,
            max_evaluations=max_evaluations,
            time_budget=options.seconds_left(begun),
            watch=options.watch,
            checkpoint=options.checkpoint,
            section=section,
            n_jobs=options.n_jobs,
            on_interrupt=options.on_interrupt,
        )
        if not np.isfinite(outcome.best.value):
            name, note = self.problem.criterion.name, outcome.best.note
            raise Undefined(f"{name} is defined at none of the points that were tried: {note}")
        return outcome

    def corrected(self, stage: Stage, space: SearchSpace, begun: float, section: str) -> Stage:
        """Search again, with the criterion corrected, as long as it misleads at the point that was found.

        A descent begins at the point. Starts at which the criterion was lower than it is now at the end of that descent may be
        better: they are tried too. With several blocks of rows, where refits cost most and matter least, a short descent must do.
        """
        for i in range(MAX_CORRECTIONS if space.box.size else 0):
            if stage.outcome.stop.cut_short:
                break
            objective = stage.objective.corrected(stage.outcome.best.theta, stage.outcome.warm_start)
            if objective is stage.objective:
                break
            name, starts = f"{section}.corrected.{i}", [step for step in stage.steps if step.why == "start"]
            stage = self._from_best(objective, space, stage, begun, name)
            if self._has_blocks:
                return stage.within_budget(self.options.max_evaluations)
            stage = self._from_lower(starts, space, stage, begun, f"{name}.wider")
        return stage

    @property
    def _has_blocks(self) -> bool:
        return len(self.problem.stages) > 1

    def _from_best(
        self, objective: StageObjective, space: SearchSpace, stage: Stage, begun: float, section: str
    ) -> Stage:
        """Search on another objective from the best point of a stage."""
        limit = CORRECTED_MAX_EVALUATIONS if self._has_blocks else None
        near = replace(self, search=self.search.near_optimum(stage.steps))
        at_best = replace(space, starts=[stage.outcome.best.theta])
        return near.on(objective, at_best, stage, begun, section, limit, from_optima=False)

    def _from_lower(
        self, starts: Sequence[Step], space: SearchSpace, stage: Stage, begun: float, section: str
    ) -> Stage:
        """Search on from those starts that are lower than the best point of a stage, and from that point; the stage itself if none is."""
        end = stage.outcome.best
        lower = [step.theta for step in starts if step.value < end.value]
        if not lower or stage.outcome.stop.cut_short:
            return stage
        wider = replace(space, starts=[*lower, end.theta])
        return self.on(stage.objective, wider, stage, begun, section, from_optima=False)


def _starts_after(before: Stage, space: SearchSpace) -> list[Vector]:
    """Return the optima of the stage before and, after the first one, the kernels of the coarse grid that may be better.

    A few rows may be too few to learn anything, and their optimum then means nothing.
    """
    optima = [step.theta for step in before.outcome.optima]
    n_earlier = sum(not step.is_scan for step in before.outcome.trace) - len(before.steps)
    if n_earlier > 0:
        return optima
    promising = [
        step.theta
        for step in before.steps
        if (step.is_scan or step.why == "start") and before.is_near_best(step)
    ]
    others = space.kernels_of(promising, before.outcome.best.theta)
    return optima + [theta for theta in others if not any(np.array_equal(theta, known) for known in optima)]


def _smaller(a: int | None, b: int | None) -> int | None:
    """Return the smaller of two numbers of which None is infinite."""
    return a if b is None else b if a is None else min(a, b)
