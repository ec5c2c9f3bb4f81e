r"""One candidate kernel: a search on each Gram approximation in turn, and the final fit."""

import time
import warnings
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from joblib import hash as joblib_hash
from sklearn.gaussian_process.kernels import Kernel

from foldless.core.contracts import Box, Machine, Matrix, Outcome, Step, Stop, Vector, Watch
from foldless.core.errors import CriterionWarning, SearchWarning, Undefined
from foldless.criteria.base import Criterion
from foldless.grams.builders import Builder
from foldless.machines import NoMachine
from foldless.searches.base import Search
from foldless.tuning.objective import Objective
from foldless.tuning.refinement import RefinementSchedule, approximation_gap
from foldless.tuning.result import Selection
from foldless.tuning.search_space import SearchSpace

# Approximation gap e / n at which more landmarks no longer matter, and at which a search on the whole matrix, whose
# evaluations take ten times longer, no longer pays.
MAX_GAP, MAX_GAP_BEFORE_DENSE = 0.03, 0.3
# Rows up to which the last fit is on the whole matrix even if the search needed less.
REFINED_FIT_MAX_ROWS = 1500
# A regularisation is at its bound if it is closer than this fraction of the range.
BOUND_FRACTION = 1e-3


@dataclass(frozen=True, eq=False)
class RunOptions:
    """How a search is run; except by ending it early, these options do not change what is chosen.

    Attributes
    ----------
    max_evaluations : int or None
    time_budget : float or None
        Seconds.
    n_jobs : int or None
    watch : callable or None
        Called with every :class:`Step`.
    checkpoint : path or None
    """

    max_evaluations: int | None = None
    time_budget: float | None = None
    n_jobs: int | None = None
    watch: Watch | None = None
    checkpoint: str | Path | None = None


@dataclass(frozen=True, eq=False)
class Stage:
    """One Gram approximation after the search on it.

    Attributes
    ----------
    objective : Objective
    outcome : Outcome
        The best step and the optima on this Gram; the trace is that of all stages so far.
    steps : tuple of Step
        The steps on this Gram.
    gap : float
        Approximation gap at the best step.
    fit_start : object
        Warm start for a fit at the best step.
    """

    objective: Objective
    outcome: Outcome
    steps: tuple[Step, ...]
    gap: float
    fit_start: Any

    @classmethod
    def after(cls, before: "Stage | None", objective: Objective, outcome: Outcome) -> "Stage":
        """Return the stage of a search that follows another; the fit behind the gap is not kept, for it is large."""
        kernel, _, solution = objective.solve(outcome.best.theta)
        gap = approximation_gap(kernel, objective.builder.X, solution)
        trace = outcome.trace if before is None else before.outcome.trace + outcome.trace
        return cls(objective, replace(outcome, trace=trace), outcome.trace, gap, solution.start)

    def ended_by(self, stop: Stop) -> "Stage":
        """Return the stage as the last one, for another reason than its own."""
        return replace(self, outcome=replace(self.outcome, stop=stop))

    @property
    def is_last(self) -> bool:
        """Whether no other Gram needs to be searched."""
        return self.gap <= MAX_GAP or self.outcome.stop.cut_short


@dataclass(frozen=True, eq=False)
class CandidateTuner:
    """Tunes a kernel; everything else is the same for every candidate.

    Parameters
    ----------
    schedule : RefinementSchedule
        The points, and how their Grams are approximated.
    Y : array of shape (n, k)
    machine, criterion, search
    tune_machine : bool
        Whether the regularisation is tuned with the kernel.
    regularisation : pair of float, optional
        Lowest and highest value of it.
    refine_last_fit : bool
        Whether the last fit may use a more accurate Gram than the search.
    seed : int or Generator
        Draws the landmarks.
    options : RunOptions
    """

    schedule: RefinementSchedule
    Y: Matrix
    machine: Machine
    criterion: Criterion
    search: Search
    tune_machine: bool = True
    regularisation: tuple[float, float] | None = None
    refine_last_fit: bool = True
    seed: Any = 0
    options: RunOptions = field(default_factory=RunOptions)

    def tune(self, kernel: Kernel, number: int = 0) -> Selection:
        """Search on each Gram approximation in turn until it is accurate enough, then fit at the best point.

        Parameters
        ----------
        kernel : Kernel
        number : int
            Position among the candidates; it is part of the name of the search in a checkpoint.
        """
        rng, begun = np.random.default_rng(self.seed), time.perf_counter()
        space, section = self.space(kernel), self.section(kernel, number)
        stage: Stage | None = None
        for i, builder in enumerate(self.schedule.builders(kernel, rng)):
            if stage is not None and stage.gap <= MAX_GAP_BEFORE_DENSE and builder.exact:
                break
            objective = self.objective(kernel, builder)
            stage = self.search_on(objective, space, stage, begun, f"{section}.{i}")
            if stage.is_last:
                break
        assert stage is not None
        self.warn_if_cut_short(stage.outcome)
        self.warn_if_at_bound(stage.outcome.best.theta, space.box)
        return self.final_fit(stage, rng)

    def search_on(
        self, objective: Objective, space: SearchSpace, before: Stage | None, begun: float, section: str
    ) -> Stage:
        """Search on one Gram with the budget that is left; an interrupt keeps the stage before, if there is one.

        Parameters
        ----------
        objective : Objective
        space : SearchSpace
        before : Stage or None
            The search continues from its optima.
        begun : float
            When the first stage began, by ``time.perf_counter``.
        section : str
            Name of the search in a checkpoint.
        """
        options, left = self.options, self._evaluations_left(before)
        if before is not None and left is not None and left <= 0:
            return before.ended_by(Stop.BUDGET)
        starts = space.starts if before is None else [step.theta for step in before.outcome.optima]
        try:
            outcome = self._search_for(objective, before)(
                objective,
                space.box,
                starts,
                max_evaluations=left,
                time_budget=_seconds_left(options.time_budget, begun),
                watch=options.watch,
                checkpoint=options.checkpoint,
                section=section,
                n_jobs=options.n_jobs,
            )
        except KeyboardInterrupt:
            if before is None:
                raise
            return before.ended_by(Stop.INTERRUPTED)
        if not np.isfinite(outcome.best.value):
            note = outcome.best.note
            raise Undefined(f"{self.criterion.name} is defined at none of the points that were tried: {note}")
        return Stage.after(before, objective, outcome)

    def _evaluations_left(self, before: Stage | None) -> int | None:
        if self.options.max_evaluations is None:
            return None
        return self.options.max_evaluations - (0 if before is None else len(before.outcome.trace))

    def _search_for(self, objective: Objective, before: Stage | None) -> Search:
        """Return the search as it was given, less accurate on the first landmarks, with shorter steps after them."""
        if before is not None:
            return self.search.near_optimum
        return self.search if objective.builder.exact else self.search.with_search_accuracy

    def objective(self, kernel: Kernel, builder: Builder) -> Objective:
        """Return the objective of a search, with the machine at the accuracy that a search needs."""
        machine = NoMachine() if self.criterion.ignores_machine else self.machine.with_search_accuracy
        return Objective(kernel, machine, self.criterion, builder, self.Y, self.tune_machine)

    def space(self, kernel: Kernel) -> SearchSpace:
        """Return bounds and starts of the search."""
        machine = self.machine if self.tune_machine else None
        return SearchSpace.around(kernel, machine, self.schedule.X, self.regularisation, self.search.n_starts)

    def section(self, kernel: Kernel, number: int) -> str:
        """Return the name of this search in a checkpoint: a fingerprint of everything it depends on."""
        if self.options.checkpoint is None:
            return str(number)
        schedule = replace(self.schedule, gram=self.schedule.form)
        search = replace(self.search, checkpoint=None)
        parts = replace(self, schedule=schedule, search=search, options=RunOptions())
        return f"{joblib_hash((kernel, parts))}.{number}"

    def final_fit(self, stage: Stage, rng: np.random.Generator) -> Selection:
        """Fit at the best point of a stage, on a more accurate Gram if that is worthwhile."""
        objective = stage.objective
        if self._refines(stage.gap):
            objective = replace(objective, builder=self.schedule.last_builder(rng))
        fitted = self.fit_at(objective.with_machine(self.machine), stage.outcome, stage.fit_start)
        return replace(fitted, steps_on_last_gram=stage.steps)

    def _refines(self, gap: float) -> bool:
        """Return whether the last fit uses a more accurate Gram than the search."""
        may_refine = self.refine_last_fit and self.schedule.is_automatic and gap > 0
        return may_refine and (self.schedule.n <= REFINED_FIT_MAX_ROWS or gap > MAX_GAP)

    def fit_at(self, objective: Objective, outcome: Outcome, start: Any = None) -> Selection:
        """Fit at the best point of an outcome to all digits."""
        kernel, machine, solution = objective.solve(outcome.best.theta, start)
        return Selection(
            kernel=kernel,
            machine=machine,
            criterion=self.criterion,
            builder=objective.builder,
            solution=solution,
            reading=self.criterion(solution),
            outcome=outcome,
            approximation_gap=approximation_gap(kernel, self.schedule.X, solution),
            objective=objective,
        )

    def warn_if_cut_short(self, outcome: Outcome) -> None:
        """Warn about a search that a budget or an interrupt ended."""
        if outcome.stop.cut_short:
            message = f"{self.search.name} ended after {len(outcome.trace)} evaluations. {outcome.stop.value}"
            warnings.warn(SearchWarning(message), stacklevel=2)

    def warn_if_at_bound(self, theta: Vector, box: Box) -> None:
        """Warn if a criterion whose minimum may mean nothing ends at a bound of the regularisation."""
        criterion = self.criterion
        if criterion.tunes_kernel or not (criterion.may_diverge_in_C and self.tune_machine):
            return
        last, low, high = theta[-1], box.low[-1], box.high[-1]
        if min(last - low, high - last) < BOUND_FRACTION * (high - low):
            message = f"{criterion.name} is lowest at the edge of the range of the regularisation: "
            warnings.warn(CriterionWarning(message + f"{criterion.reason_against}."), stacklevel=2)


def _seconds_left(time_budget: float | None, begun: float) -> float | None:
    return None if time_budget is None else begun + time_budget - time.perf_counter()
