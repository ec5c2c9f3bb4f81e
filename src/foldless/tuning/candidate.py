r"""Search, stage by stage, and fit: what is done for one candidate kernel."""

import time
import warnings
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from joblib import hash as joblib_hash

from foldless.core.contracts import Box, Stop
from foldless.core.errors import CriterionWarning, SearchWarning, Undefined
from foldless.criteria.base import Criterion
from foldless.grams.builders import DenseBuilder, NystromBuilder
from foldless.kernels.evaluate import diagonal
from foldless.kernels.precomputed import is_precomputed
from foldless.machines import NoMachine
from foldless.searches.base import Search
from foldless.searches.starts import sobol_starts
from foldless.tuning.objective import Objective
from foldless.tuning.refinement import RefinementSchedule, approximation_gap
from foldless.tuning.result import Selection
from foldless.tuning.shared_cache import shared_builder
from foldless.tuning.validation_split import held_out_cost, improvements, set_aside

FINISH = 1500  # rows up to which the last fit is on the whole matrix even where the search needed less
NEGLIGIBLE = 0.03  # e / n of stages (1) below which more landmarks change nothing that matters
ENOUGH = 0.3  # the same before the whole matrix, whose looks cost ten times more
REGULARISATION = (1e-5, 1e7)  # of C times the mean diagonal of K
CUT_SHORT = (Stop.BUDGET, Stop.TIME, Stop.INTERRUPTED)
WIDTHS = (-2.0, -1.0, 0.0, 1.0, 2.0)  # coarse look: log width about the start
STRENGTHS = (0.0, 3.0)  # and log C


@dataclass(frozen=True, eq=False)
class CandidateTuner:
    """What stays the same for every candidate kernel."""

    X: Any
    Y: Any
    machine: Any
    criterion: Criterion
    search: Search
    tune_machine: bool = True
    regularisation: tuple[float, float] | None = None
    gram: str = "auto"
    n_components: int | None = None
    refine_last_fit: bool = True
    seed: Any = 0
    max_evaluations: int | None = None
    time_budget: float | None = None
    n_jobs: int | None = None
    watch: Any = None
    checkpoint: Any = None

    @cached_property
    def stages(self):
        """The representations to search on."""
        n_functions = self.machine.n_joint_functions(self.Y.shape[1])
        return RefinementSchedule(self.X, self.gram, self.n_components, n_functions)

    def run(self, kernel, number=0):
        """Search and fit; on a part of the rows first where the search is to be stopped by the others."""
        if self.search.validation is None:
            return self.descend(kernel, number)
        return self.stopped_early(kernel, number)

    def stopped_early(self, kernel, number):
        """Search on a part of the rows, fit all of them at the step that is best on the other part."""
        if is_precomputed(kernel):
            raise ValueError("early stopping needs points, not a precomputed Gram matrix.")
        train, test = set_aside(self.Y, self.search.validation, self.search.seed)
        machine = self.machine.on_rows(train)
        part = replace(
            self, X=self.X[train], Y=self.Y[train], machine=machine, search=self.search.without_early_stopping
        )
        rehearsal = part.descend(kernel, number)
        best = min(
            improvements(rehearsal.steps_on_last_gram),
            key=lambda step: held_out_cost(rehearsal.objective, step.theta, self.X[test], self.Y[test]),
        )
        outcome = replace(rehearsal.outcome, best=best, optima=(best,))
        *_, whole = self.stages.of(kernel, np.random.default_rng(self.seed))
        problem = Objective(kernel, self.machine, self.criterion, whole, self.Y, self.tune_machine)
        return replace(self.finish(problem, outcome), steps_on_last_gram=rehearsal.steps_on_last_gram)

    def descend(self, kernel, number):
        """Search on each representation in turn until the approximation no longer matters, then fit."""
        rng = np.random.default_rng(self.seed)
        problem, outcome, fine, (gap, start) = self.search_stages(kernel, number, rng)
        self.warn_if_cut_short(outcome.stop, len(outcome.trace))
        self.warn_if_at_bound(outcome, self.box(kernel, self.scale(kernel)))
        if self.ends_finer(gap):
            problem = replace(problem, builder=self.stages.last(rng))
        chosen = self.finish(problem.with_machine(self.machine), outcome, start)
        return replace(chosen, steps_on_last_gram=fine)

    def search_stages(self, kernel, number, rng):
        """Return the last problem searched, the outcome, its steps there, and the gap and the warm start at the best."""
        deadline = self.deadline()
        scale, section = self.scale(kernel), self.section(kernel, number)
        outcome, fine, starts, last = None, (), self.starts(kernel, scale), (np.inf, None)
        for stage, builder in enumerate(self.stages.of(kernel, rng)):
            if last[0] <= ENOUGH and isinstance(builder, DenseBuilder):
                break
            builder = shared_builder(builder)
            problem = Objective(
                kernel, self.with_search_accuracy, self.criterion, builder, self.Y, self.tune_machine
            )
            after = self.walk_on(problem, scale, starts, outcome, deadline, f"{section}.{stage}")
            fine = after.trace or fine
            outcome = self.join(outcome, after)
            last = self.approximation_gap_at(problem, outcome.best.theta)
            if last[0] <= NEGLIGIBLE or outcome.stop in CUT_SHORT:
                break
            starts = [step.theta for step in outcome.optima]
        return problem, outcome, fine, last

    def approximation_gap_at(self, problem, theta):
        """Return what the representation hides at ``theta``, and a warm start; the fit itself is let go."""
        kernel, _, solution = problem.solve(theta)
        return approximation_gap(kernel, self.X, solution), solution.start

    def deadline(self):
        """When to end, by the clock of ``time.perf_counter``; ``None`` is never."""
        return None if self.time_budget is None else time.perf_counter() + self.time_budget

    def ends_finer(self, gap):
        """Whether the last fit is on a finer representation than the search needed."""
        free = self.refine_last_fit and self.stages.free
        return free and gap > 0 and (self.X.shape[0] <= FINISH or gap > NEGLIGIBLE)

    def finish(self, problem, outcome, start=None):
        """Fit at the best point with all digits."""
        kernel, machine, solution = problem.solve(outcome.best.theta, start)
        return Selection(
            kernel=kernel,
            machine=machine,
            criterion=self.criterion,
            builder=problem.builder,
            solution=solution,
            reading=self.criterion(solution),
            outcome=outcome,
            approximation_gap=approximation_gap(kernel, self.X, solution),
            objective=problem,
        )

    def section(self, kernel, number):
        """Name of this search in a checkpoint file: what it depends on, in short."""
        if self.checkpoint is None:
            return str(number)
        search = replace(self.search, checkpoint=None)
        ends = dict.fromkeys(("max_evaluations", "time_budget", "n_jobs", "watch", "checkpoint"))
        parts = replace(self, search=search, **ends)
        return f"{joblib_hash((kernel, parts))}.{number}"

    @property
    def with_search_accuracy(self):
        """The machine at the accuracy a search needs: none at all for a criterion that does not look at it."""
        return NoMachine() if self.criterion.ignores_machine else self.machine.with_search_accuracy

    def scale(self, kernel):
        """Mean diagonal of the kernel matrix: the regularisation is searched in its units."""
        mean = float(np.mean(diagonal(kernel, self.X)))
        return mean if np.isfinite(mean) and mean > 0 else 1.0

    def box(self, kernel, scale):
        """Bounds: the kernel's own, and those given for the regularisation, or a wide range."""
        bounds = kernel.bounds.reshape(-1, 2)
        if self.tune_machine:
            usual = np.sort(self.theta_of_log_C(scale, np.log(REGULARISATION)))
            bounds = np.vstack(
                [bounds, usual if self.regularisation is None else np.log(self.regularisation)]
            )
        return Box(bounds[:, 0], bounds[:, 1])

    def theta_of_log_C(self, scale, strength):
        """The machine's theta for a given strength of fit (log C, or minus log alpha, in units of ``scale``)."""
        return self.machine.sign * (np.asarray(strength) - np.log(scale))

    def starts(self, kernel, scale):
        """A coarse look at widths and regularisation around the kernel as given; more if more descents are asked."""
        starts = self.coarse_grid(kernel, scale)
        wanted = self.search.n_starts - len(starts)
        box = self.box(kernel, scale)
        return starts + sobol_starts(box, wanted) if box.size else starts

    def coarse_grid(self, kernel, scale):
        """Widths and regularisation around the kernel as given."""
        wide = _length_scales(kernel)
        widths = [kernel.theta + width * wide for width in (WIDTHS if len(kernel.theta) else (0.0,))]
        strengths = (
            self.theta_of_log_C(scale, STRENGTHS).reshape(-1, 1) if self.tune_machine else [np.zeros(0)]
        )
        return [np.r_[width, strength] for width in widths for strength in strengths]

    def walk_on(self, problem, scale, starts, before, *rest):
        """Walk; an interrupt before the first look on a finer representation keeps what the coarser one gave."""
        try:
            return self.walk(problem, scale, starts, before, *rest)
        except KeyboardInterrupt:
            if before is None:
                raise
            return replace(before, trace=(), stop=Stop.INTERRUPTED)

    def walk(self, problem, scale, starts, before, deadline, section):
        """Run the search with what is left of the budget."""
        used = 0 if before is None else len(before.trace)
        if self.max_evaluations is not None and used >= self.max_evaluations:
            return replace(before, trace=(), stop=Stop.BUDGET)
        outcome = self.search_for_stage(problem, before)(
            problem,
            self.box(problem.kernel, scale),
            starts,
            max_evaluations=None if self.max_evaluations is None else self.max_evaluations - used,
            time_budget=None if deadline is None else deadline - time.perf_counter(),
            watch=self.watch,
            checkpoint=self.checkpoint,
            section=section,
            n_jobs=self.n_jobs,
        )
        if not np.isfinite(outcome.best.value):
            note = outcome.best.note
            raise Undefined(f"{self.criterion.name} is defined nowhere it was looked for: {note}")
        return outcome

    def search_for_stage(self, problem, before):
        """The search as it is, rough on the first landmarks, polishing after them."""
        if before is not None:
            return self.search.near_optimum
        return (
            self.search.with_search_accuracy if isinstance(problem.builder, NystromBuilder) else self.search
        )

    def join(self, before, after):
        """Return the outcome of both; the best and the optima are those of the finer representation."""
        return after if before is None else replace(after, trace=before.trace + after.trace)

    def warn_if_cut_short(self, stop, count=0):
        """Warn about a search that was cut short."""
        if stop in CUT_SHORT:
            after = f" after {count} evaluations" if count else ""
            warnings.warn(SearchWarning(f"{self.search.name} ended{after}. {stop.value}"), stacklevel=2)

    def warn_if_at_bound(self, outcome, box):
        """Warn where a criterion that must not be minimised over everything ends at a bound of the regularisation."""
        if self.criterion.tunes_kernel or not (self.criterion.may_diverge_in_C and self.tune_machine):
            return
        last, low, high = outcome.best.theta[-1], box.low[-1], box.high[-1]
        if min(last - low, high - last) < 1e-3 * (high - low):
            message = f"{self.criterion.name} is lowest at the edge of the range of the regularisation: "
            warnings.warn(CriterionWarning(message + f"{self.criterion.reason_against}."), stacklevel=2)


def _length_scales(kernel):
    """Return 1 where theta is a length scale and 0 elsewhere; without any, 1 everywhere."""
    free = [h for h in kernel.hyperparameters if not h.fixed]
    wide = np.array([float("length_scale" in h.name) for h in free for _ in range(h.n_elements)])
    return wide if np.any(wide) else np.ones(len(kernel.theta))
