r"""One candidate kernel: a search on blocks of rows, stage by stage, and the last fit to all rows."""

import time
import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from joblib import hash as joblib_hash
from sklearn.gaussian_process.kernels import Kernel

from foldless.core.contracts import (
    Box,
    Machine,
    Matrix,
    Outcome,
    Reading,
    Step,
    Stop,
    Vector,
)
from foldless.core.errors import (
    CriterionWarning,
    LandmarkWarning,
    MissingVerb,
    NeighbourWarning,
    SearchWarning,
    Undefined,
)
from foldless.core.memo import Memo, cached_property
from foldless.core.targets import is_pm1
from foldless.criteria.base import Criterion
from foldless.criteria.left_out import LeftOutLosses, left_out_outputs
from foldless.criteria.loo import LOO
from foldless.criteria.span import SmoothedSpan, Span
from foldless.grams.builders import DenseBuilder
from foldless.grams.cells import CellTree
from foldless.kernels.by_name import typical_distance
from foldless.kernels.evaluate import with_theta
from foldless.kernels.precomputed import is_precomputed
from foldless.machines import NoMachine
from foldless.searches.base import Search
from foldless.searches.lbfgs import LBFGS
from foldless.searches.run import TIME_SLACK
from foldless.searches.scan import Scan
from foldless.tuning.cellwise import CellSolution
from foldless.tuning.forms import FittedForm, loses
from foldless.tuning.last_fit import WHOLE_MAX_ROWS, LastFit
from foldless.tuning.neighbours import Neighbours, nearest, prediction_errors
from foldless.tuning.objective import UNDEFINED_ERRORS, Objective, left_out_losses, with_parameters
from foldless.tuning.pilot import MIN_CLASSES, PilotMachine, log_ratios, pilot_of, searched_columns
from foldless.tuning.polish import POLISH_MAX_EVALUATIONS, cell_objective
from foldless.tuning.result import Selection
from foldless.tuning.row_blocks import BlockObjective, Rows, search_stages, some_rows
from foldless.tuning.run_options import RunOptions
from foldless.tuning.search_space import SearchSpace, is_length_scale
from foldless.tuning.shared_cache import SharedGrams
from foldless.tuning.stage import Stage, StageObjective, operations

# A regularisation is at its bound if it is closer than this fraction of the range.
BOUND_FRACTION = 1e-3
# A rough search is as accurate as one on so many rows, or more.
ROUGH_SEARCH_ROWS = 2000
# Searches that follow the first one because its criterion was wrong at the point found.
MAX_CORRECTIONS = 5
# Evaluations of such a search where there are several blocks of rows.
CORRECTED_MAX_EVALUATIONS = 10
# Rows on which the pilot evaluates the starts.
SCAN_ROWS = 125
# What the scan may leave of the variance of the labels, so that its good starts, and no others, are those of the machine.
EXPLAINED_MAX_LOSS = 0.5
# Where a fit loses to nearest neighbours, the search goes on among those of a few rows, with at most so many evaluations.
N_NEAR_BLOCKS, NEAR_BLOCK_ROWS, NEAR_MAX_EVALUATIONS = 12, 400, 25
# Errors of neighbours among all rows, as a fraction of those of a fit to some of them, from which on that fit misses something.
FAR_BETTER_FRACTION = 0.7
# Criteria, all about left-out rows, whose optimum lies near that of the least-squares machine.
PILOTED_CRITERIA = (LOO, Span, SmoothedSpan)


@dataclass(frozen=True, eq=False)
class CandidateTuner:
    """Tunes a kernel; everything else is the same for every candidate.

    Parameters
    ----------
    X : array or sparse matrix of shape (n, d)
    Y : array of shape (n, k)
    machine, criterion, search
    gram : str or SharedGrams
        The form of the last fit.
    n_components : int, optional
        Number of landmarks, if the user fixed it.
    landmarks : array or sparse matrix of shape (m, d), optional
        The landmarks, if the user gave them.
    cell_size : int, optional
        Largest number of rows of a cell, if the user fixed it.
    tune_machine : bool
        Whether the regularisation is tuned with the kernel.
    regularisation : pair of float, optional
        Lowest and highest value of it.
    fit_all_rows : bool
        Whether the last fit is to all rows; a block of them is enough where only the parameters are wanted.
    starts : sequence of arrays, optional
        Where a search begins; by default on a coarse grid.
    roughly : bool
        Whether a search is no more accurate on all rows than on some of them; :meth:`finish` does the rest.
    seed : int
        Draws blocks of rows and landmarks.
    options : RunOptions
    """

    X: Any
    Y: Matrix
    machine: Machine
    criterion: Criterion
    search: Search
    gram: str | SharedGrams = "auto"
    n_components: int | None = None
    landmarks: Any = None
    cell_size: int | None = None
    tune_machine: bool = True
    regularisation: tuple[float, float] | None = None
    fit_all_rows: bool = True
    starts: Sequence[Vector] | None = None
    roughly: bool = False
    seed: Any = 0
    options: RunOptions = field(default_factory=RunOptions)

    def tune(self, kernel: Kernel, number: int = 0) -> Selection:
        """Search on blocks of rows, stage by stage, then fit all rows at the best point; only fit if nothing is free.

        Parameters
        ----------
        kernel : Kernel
        number : int
            Position among the candidates; it is part of the name of the search in a checkpoint.
        """
        if self.fit_all_rows and not len(kernel.theta) and not self.tune_machine:
            return self.fit_as_given(kernel)
        *_, stage = self.search_in_stages(kernel, number)
        return self.fit_after(self.finish(stage, kernel, number), kernel, number)

    def fit_as_given(self, kernel: Kernel) -> Selection:
        """Fit all rows with parameters that are all fixed; this fit is the only step of the trace."""
        begun, theta = time.perf_counter(), np.zeros(0)
        self.last_fit.check(kernel)
        try:
            fitted = replace(self.last_fit, seconds=self.options.time_budget).fit(*self.at(kernel, theta))
        except UNDEFINED_ERRORS as error:
            raise Undefined(f"{self.criterion.name} is undefined for these parameters: {error}") from error
        form = self.with_penalty(fitted)
        seconds = time.perf_counter() - begun
        step = Step(theta, float(form.reading.value), seconds, "nothing to tune", n_rows=len(self.Y))
        if not np.isfinite(step.value):
            raise Undefined(f"{self.criterion.name} is {step.value} for these parameters.")
        if self.options.watch is not None:
            self.options.watch(step)
        outcome = Outcome(step, (step,), Stop.NOTHING, (step,))
        self.warn_if_fooled(kernel, form, outcome)
        return self.selection(kernel, form, outcome, (step,))

    def search_in_stages(self, kernel: Kernel, number: int = 0) -> Iterator[Stage]:
        """Yield every stage of the search when it is over; a stage that was cut short is the last."""
        self.last_fit.check(kernel)
        space, section = self.space(kernel), self.section(kernel, number)
        if not self.keeps_kernel_of_pilot:
            scan = self.scan(kernel, space, section)
            if scan is not None and scan.outcome.stop.cut_short:
                yield scan
                return
            leads = scan is not None and self.explains_most(scan)
            yield from self.search_each(self.objectives(kernel), space, section, scan, leads)
            return
        assert self.pilot is not None
        for stage in self.search_each(self.pilot.objectives(kernel), space, section):
            yield stage
        if not stage.outcome.stop.cut_short:
            yield self.search_C(stage, kernel, section)

    def search_C(self, stage: Stage, kernel: Kernel, section: str) -> Stage:
        """Search for C alone, on some of the classes, after a stage of the pilot that chose the kernel."""
        ratios = log_ratios(self.machine, self.Y.shape[1])
        assert ratios is not None
        step = ratios.length_scale * is_length_scale(kernel)
        space = self.space(kernel).with_kernel(stage.outcome.best.theta, step)
        few_classes = replace(self, Y=self.Y[:, searched_columns(self.Y)])
        objective, begun = few_classes.on_blocks(kernel, self.stages[-1]), time.perf_counter() - stage.seconds
        return self.search_on(objective, space, stage, begun, f"{section}.C", from_optima=False)

    def finish(self, stage: Stage, kernel: Kernel, number: int = 0) -> Stage:
        """Search on to full accuracy after the last stage, and again with the criterion corrected where it misleads."""
        space, section = self.space(kernel), self.section(kernel, number)
        if self.keeps_kernel_of_pilot:
            space = space.with_kernel(stage.outcome.best.theta)
        begun = time.perf_counter() - stage.seconds
        if self.roughly and stage.objective.rows_at_once == len(self.Y) and not stage.outcome.stop.cut_short:
            fine = replace(self, roughly=False, search=self.search.near_optimum(stage.steps))
            best = replace(space, starts=[stage.outcome.best.theta])
            stage = fine.search_on(stage.objective, best, stage, begun, f"{section}.fine", from_optima=False)
        return self.search_corrected(stage, space, begun, section)

    def scan(self, kernel: Kernel, space: SearchSpace, section: str) -> Stage | None:
        """Return the starts, evaluated by the pilot on a few rows; None if the kernel has no parameters, or there is no such pilot."""
        machine = self._pilot_machine
        if machine is None or self._has_many_classes or not len(kernel.theta):
            return None
        shift = np.r_[np.zeros(len(kernel.theta)), machine.ratios.C]
        moved = replace(space, starts=[start + shift for start in space.starts])
        rows = some_rows(self.Y, np.random.default_rng(self.seed), SCAN_ROWS)
        pilot = replace(self, machine=machine, criterion=LOO(), search=Scan())
        begun, name = time.perf_counter(), f"{section}.scan"
        # Where the pilot knows nothing the machine itself evaluates all starts.
        with suppress(Undefined):
            return pilot.search_on(pilot.on_rows(kernel, rows), moved, None, begun, name)
        return None

    def explains_most(self, scan: Stage) -> bool:
        """Return whether the best point of a scan explains most of the labels.

        Where it does not, a finer structure may be hidden from so few rows, and which starts are good is not known.
        """
        variance = float(np.mean(np.var(self.Y, axis=0)))
        return scan.outcome.best.value <= EXPLAINED_MAX_LOSS * variance

    def search_each(
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
            name = f"{section}.{i}"
            stage = self.search_on(objective, space, stage, begun, name, from_optima=leads or i > 0)
            yield stage
            if stage.outcome.stop.cut_short:
                return

    def fit_after(self, stage: Stage, kernel: Kernel, number: int = 0) -> Selection:
        """Fit all rows at the best point of the last stage."""
        space, begun = self.space(kernel), time.perf_counter() - stage.seconds
        self.warn_if_cut_short(stage.outcome)
        self.warn_if_at_bound(stage.outcome.best.theta, space.box)
        section = self.section(kernel, number)
        if not self.fit_all_rows:
            return self.fit_block(kernel, stage, begun, section)
        return self.fit_rows(kernel, stage, space, begun, section)

    def objectives(self, kernel: Kernel) -> Iterator[Objective | BlockObjective]:
        """Yield what is minimised, stage by stage: the mean over blocks of rows; all rows if landmarks were asked for."""
        stages = self.stages
        if self.pilot is not None:
            yield from self.pilot.objectives(kernel)
            stages = stages[-1:]
        for blocks in stages:
            yield self.on_blocks(kernel, blocks)
        if self.last_fit.names_landmarks:
            builder = self.last_fit.landmark_builder(self.last_fit.n_landmarks(self.machine), kernel)
            yield self.objective(kernel, self.search_machine, builder, self.Y)

    @cached_property
    def pilot(self) -> "CandidateTuner | None":
        """The tuner of a cheaper machine that searches first; None if there is none, or the search has other starts."""
        machine = self._pilot_machine
        if machine is None or not (self._has_many_classes and self.fit_all_rows):
            return None
        return replace(self, machine=machine, criterion=LOO())

    @property
    def _has_many_classes(self) -> bool:
        return self.machine.n_separate_fits(self.Y.shape[1]) >= MIN_CLASSES

    @cached_property
    def _pilot_machine(self) -> PilotMachine | None:
        by_default = self.search.name == LBFGS.name and self.search.n_starts == 1 and self.starts is None
        if not (by_default and self.tune_machine) or self.roughly:
            return None
        piloted = isinstance(self.criterion, PILOTED_CRITERIA) and self.machine.fits_on_blocks
        return pilot_of(self.machine, self.Y.shape[1]) if piloted else None

    @property
    def keeps_kernel_of_pilot(self) -> bool:
        """Whether the machine itself searches only for C after its pilot."""
        return self.pilot is not None and len(self.stages) > 1 and not self.last_fit.names_landmarks

    @cached_property
    def stages(self) -> list[list[Rows]]:
        """Blocks of rows, stage by stage."""
        if not self.machine.fits_on_blocks:
            return [[np.arange(len(self.Y))]]
        k = self.Y.shape[1]
        rng, machine = np.random.default_rng(self.seed), self.machine
        return search_stages(self.Y, rng, machine.n_joint_functions(k), machine.n_separate_fits(k))

    def on_blocks(self, kernel: Kernel, blocks: Sequence[Rows]) -> Objective | BlockObjective:
        """Return the objective of one block, or the mean over several."""
        objectives = [self.on_rows(kernel, rows) for rows in blocks]
        return objectives[0] if len(blocks) == 1 else BlockObjective(objectives, self.options.n_jobs, blocks)

    def on_rows(self, kernel: Kernel, rows: Rows) -> Objective:
        """Return the objective of some rows."""
        if len(rows) == len(self.Y):
            return self.objective(kernel, self.search_machine, DenseBuilder(self.X), self.Y)
        points = self.X[rows][:, rows] if is_precomputed(kernel) else self.X[rows]
        return self.objective(kernel, self.search_machine.on_rows(rows), DenseBuilder(points), self.Y[rows])

    def on_cells(self, kernel: Kernel, tree: CellTree) -> BlockObjective | None:
        """Return the mean objective of some cells, drawn at random; None if nothing can be learned in any.

        Of numbers one is the cell where they vary most: where a function is flat but for one place, that place decides.
        """
        cells = [rows for _, rows, _ in tree.route(self.X)]
        order = np.random.default_rng(self.seed).permutation(len(cells))
        if not is_pm1(self.Y):
            most = int(np.argmax([np.sum(np.var(self.Y[cells[i]], axis=0)) for i in order]))
            order = np.r_[order[most], np.delete(order, most)]
        drawn = (cells[i] for i in order)
        parts = ((self.X[rows], self.Y[rows], self.search_machine.on_rows(rows)) for rows in drawn)
        return cell_objective(self.on_rows(kernel, cells[0]), parts, self.options.n_jobs)

    def objective(self, kernel: Kernel, machine: Machine, builder: Any, Y: Matrix) -> Objective:
        """Return the objective for a builder, which is shared with other searches where that was asked for."""
        shared = self.gram.cache.builder(builder) if isinstance(self.gram, SharedGrams) else builder
        return Objective(kernel, machine, self.criterion, shared, Y, self.tune_machine)

    @property
    def search_machine(self) -> Machine:
        """The machine at the accuracy that a search needs."""
        return NoMachine() if self.criterion.ignores_machine else self.machine.with_search_accuracy

    @property
    def last_fit(self) -> LastFit:
        """The fit to all rows."""
        form = self.gram.name if isinstance(self.gram, SharedGrams) else self.gram
        return LastFit(
            self.X,
            self.Y,
            self.criterion,
            gram=form,
            n_components=self.n_components,
            given_landmarks=self.landmarks,
            cell_size=self.cell_size,
            seed=self.seed,
            n_jobs=self.options.n_jobs,
        )

    def search_on(
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
        options, left = self.options, self._evaluations_left(before)
        if before is not None and left is not None and left <= 0:
            return before.ended_by(Stop.BUDGET)
        if before is not None and self._comes_too_late(objective, before, begun):
            return before.ended_by(Stop.TIME)
        starts, search = space.starts, self.search
        if before is not None and from_optima:
            starts = self._starts_after(before, space)
            # The curvature of the pilot's criterion is not that of the machine's own.
            if objective.n_separate_fits == before.objective.n_separate_fits:
                search = search.near_optimum(before.steps)
        if self.roughly or objective.rows_at_once < len(self.Y):
            search = search.with_search_accuracy(max(objective.n_rows, ROUGH_SEARCH_ROWS * self.roughly))
        try:
            outcome = search(
                objective,
                space.box,
                starts,
                max_evaluations=_smaller(left, max_evaluations),
                time_budget=_seconds_left(options.time_budget, begun),
                watch=options.watch,
                checkpoint=options.checkpoint,
                section=section,
                n_jobs=options.n_jobs,
                on_interrupt=options.on_interrupt,
            )
        except KeyboardInterrupt:
            if before is None or options.raises_interrupt:
                raise
            return before.ended_by(Stop.INTERRUPTED)
        if not np.isfinite(outcome.best.value):
            note = outcome.best.note
            raise Undefined(f"{self.criterion.name} is defined at none of the points that were tried: {note}")
        earlier = () if before is None else before.outcome.trace
        seconds = time.perf_counter() - begun
        return Stage(objective, replace(outcome, trace=earlier + outcome.trace), outcome.trace, seconds)

    def search_corrected(self, stage: Stage, space: SearchSpace, begun: float, section: str) -> Stage:
        """Search again, with the criterion corrected, as long as it misleads at the point that was found.

        A descent begins at the point. Starts at which the criterion was lower than it is now at the end of that descent may be
        better: they are tried too. With several blocks of rows, where refits cost most and matter least, a short descent must do.
        """
        blocks = len(self.stages) > 1
        limit = CORRECTED_MAX_EVALUATIONS if blocks else None
        for i in range(MAX_CORRECTIONS if space.box.size else 0):
            best = stage.outcome.best.theta
            if stage.outcome.stop.cut_short:
                break
            objective = stage.objective.corrected(best, stage.outcome.warm_start)
            if objective is stage.objective:
                break
            starts = [step for step in stage.steps if step.why == "start"]
            name, at_best = f"{section}.corrected.{i}", replace(space, starts=[best])
            near = replace(self, search=self.search.near_optimum(stage.steps))
            stage = near.search_on(objective, at_best, stage, begun, name, limit, from_optima=False)
            if blocks:
                return stage.within_budget(self.options.max_evaluations)
            end = stage.outcome.best
            lower = [step.theta for step in starts if step.value < end.value]
            if lower and not stage.outcome.stop.cut_short:
                wider = replace(space, starts=[*lower, end.theta])
                stage = self.search_on(objective, wider, stage, begun, f"{name}.wider", from_optima=False)
        return stage

    def _starts_after(self, before: Stage, space: SearchSpace) -> list[Vector]:
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
        return optima + [
            theta for theta in others if not any(np.array_equal(theta, known) for known in optima)
        ]

    def _comes_too_late(self, objective: StageObjective, before: Stage, begun: float) -> bool:
        """Return whether the first evaluation of a stage, which no search goes without, is likely to exceed the time."""
        left = _seconds_left(self.options.time_budget, begun)
        if left is None or self.options.time_budget is None:
            return False
        expected = before.seconds_of_evaluation * operations(objective) / operations(before.objective)
        return left <= 0 or expected > left + TIME_SLACK * self.options.time_budget

    def _evaluations_left(self, before: Stage | None) -> int | None:
        if self.options.max_evaluations is None:
            return None
        return self.options.max_evaluations - (0 if before is None else len(before.outcome.trace))

    def space(self, kernel: Kernel) -> SearchSpace:
        """Return bounds and starts of the search."""
        return self._memo.get("space", kernel, compute=lambda: self._space(kernel))

    @cached_property
    def _memo(self) -> Memo:
        return Memo()

    def _space(self, kernel: Kernel) -> SearchSpace:
        machine = self.machine if self.tune_machine else None
        space = SearchSpace.around(kernel, machine, self.X, self.regularisation, self.search.n_starts)
        return space if self.starts is None else replace(space, starts=list(self.starts))

    def section(self, kernel: Kernel, number: int) -> str:
        """Return the name of this search in a checkpoint: a fingerprint of everything it depends on."""
        if self.options.checkpoint is None:
            return str(number)
        search, form = replace(self.search, checkpoint=None), self.last_fit.gram
        parts = replace(self, gram=form, search=search, options=RunOptions())
        return f"{joblib_hash((kernel, parts))}.{number}"

    def at(self, kernel: Kernel, theta: Vector) -> tuple[Kernel, Machine]:
        """Return kernel and machine, for all rows and to all digits, with the parameters ``theta``."""
        return with_parameters(kernel, self.machine, theta, self.tune_machine)

    def fit_rows(
        self, kernel: Kernel, stage: Stage, space: SearchSpace, begun: float, section: str
    ) -> Selection:
        """Fit all rows at the best point of a stage; where nearest neighbours do better, search near them and fit again."""
        form, outcome = self.fit_form(kernel, stage, space, begun, section)
        # Without left-out outputs nothing can be compared, and a second fit that fails leaves the first one.
        with suppress(*UNDEFINED_ERRORS, MissingVerb):
            stage, form, outcome = self.closer_fit(kernel, stage, form, outcome, space, begun, section)
        self.warn_if_fooled(kernel, form, stage.outcome, stage.objective)
        corrected, form = self.corrected(stage, form)
        return corrected.selection(kernel, corrected.with_penalty(form), outcome, stage.steps)

    def closer_fit(
        self,
        kernel: Kernel,
        stage: Stage,
        form: FittedForm,
        outcome: Outcome,
        space: SearchSpace,
        begun: float,
        section: str,
    ) -> tuple[Stage, FittedForm, Outcome]:
        """Return the fit or, where nearest neighbours do better, the better one of it and a fit after a search near them."""
        neighbours = Neighbours.of(kernel, self.X, self.Y, self.machine, self.seed)
        if neighbours is not None and neighbours.are_better(self.Y, left_out := form.left_out):
            closer = self.search_near(kernel, neighbours.missed(self.Y, left_out), stage, begun, section)
            if closer is not None:
                again, outcome_again = self.near_tuner.fit_form(kernel, closer, space, begun, section)
                outcome = replace(outcome, trace=outcome_again.trace)
                if self.is_better(again, form):
                    stage, form, outcome = closer, again, outcome_again
            self.warn_of_neighbours(neighbours, form)
        return stage, form, outcome

    def fit_form(
        self, kernel: Kernel, stage: Stage, space: SearchSpace, begun: float, section: str
    ) -> tuple[FittedForm, Outcome]:
        """Fit all rows at the best point of a stage, in the form that suits them."""
        polished = stage

        def polish(tree: CellTree) -> tuple[Kernel, Machine]:
            nonlocal polished
            objective = self.on_cells(kernel, tree)
            if objective is not None:
                name = f"{section}.cells"
                # Where the criterion exists in none of these cells the parameters stay as they are.
                with suppress(Undefined):
                    polished = self.search_on(objective, space, stage, begun, name, POLISH_MAX_EVALUATIONS)
            return self.at(kernel, polished.outcome.best.theta)

        free = len(stage.outcome.best.theta) > 0 and not stage.outcome.stop.cut_short
        last_fit = replace(self.last_fit, seconds=_seconds_left(self.options.time_budget, begun))
        form = last_fit.fit(
            *self.at(kernel, stage.outcome.best.theta),
            start=self.start_after(stage),
            polish=polish if free else None,
        )
        outcome = replace(stage.outcome, trace=polished.outcome.trace)
        if np.array_equal(form.kernel.theta, polished.outcome.best.theta[: len(kernel.theta)]):
            outcome = replace(outcome, best=polished.outcome.best, optima=polished.outcome.optima)
        return form, outcome

    def search_near(
        self, kernel: Kernel, rows: Rows, stage: Stage, begun: float, section: str
    ) -> Stage | None:
        """Return a search among the nearest neighbours of some rows, where all rows are as dense as they are; None if it cannot be made."""
        follows_starts = self.search.name == LBFGS.name and len(kernel.theta) > 0
        if stage.outcome.stop.cut_short or not follows_starts or is_precomputed(kernel):
            return None
        centres = np.random.default_rng(self.seed).permutation(rows)[:N_NEAR_BLOCKS]
        blocks = nearest(kernel, self.X, centres, min(NEAR_BLOCK_ROWS, len(self.Y) - 1))
        parts = ((self.X[block], self.Y[block], self.search_machine.on_rows(block)) for block in blocks)
        objective = cell_objective(self.on_rows(kernel, blocks[0]), parts, self.options.n_jobs)
        if objective is None:
            return None
        # Neighbours lie closer together than all rows, and the starts with them.
        shorter = np.log(typical_distance(self.X[blocks[0]]) / typical_distance(self.X))
        near = with_theta(kernel, kernel.theta + shorter * is_length_scale(kernel))
        space = self.space(kernel)
        starts = [space.box.clip(start) for start in (*self._space(near).starts, stage.outcome.best.theta)]
        begins = replace(space, starts=starts)
        with suppress(Undefined):
            return self.search_on(
                objective, begins, stage, begun, f"{section}.near", NEAR_MAX_EVALUATIONS, from_optima=False
            ).within_budget(self.options.max_evaluations)
        return None

    @property
    def near_tuner(self) -> "CandidateTuner":
        """The tuner of a fit after a search among neighbours: by cells if rows are many, since what is missed is local."""
        free = self.last_fit.gram == "auto" and not self.last_fit.names_landmarks
        many = self.machine.n_joint_functions(self.Y.shape[1]) * len(self.Y) > WHOLE_MAX_ROWS
        by_cells = free and many and self.last_fit.may_use_cells(self.machine)
        return replace(self, gram="cells") if by_cells else self

    def is_better(self, again: FittedForm, form: FittedForm) -> bool:
        """Return whether a second fit has a lower left-out loss or, unless that is one of probabilities, clearly fewer left-out errors."""
        if again.losses(self.Y).mean < form.losses(self.Y).mean:
            return True
        weights = self.machine.loss_weights
        new, old = (LeftOutLosses(prediction_errors(self.Y, one.left_out), weights) for one in (again, form))
        return not self.machine.loss_in_nats and loses(old, new)

    def warn_of_neighbours(self, neighbours: Neighbours, form: FittedForm) -> None:
        """Warn if nearest neighbours predict left-out rows better than a fit."""
        left_out = form.left_out
        if neighbours.are_better(self.Y, left_out):
            ours = neighbours.mean(neighbours.errors_of_fit(self.Y, left_out))
            theirs = neighbours.mean(neighbours.errors)
            warnings.warn(NeighbourWarning(ours, theirs, is_pm1(self.Y)), stacklevel=2)

    def start_after(self, stage: Stage) -> Any:
        """Return the start of a fit to all rows at the best point of a stage; None if it is not known."""
        starts, searched = stage.outcome.warm_start, stage.objective
        of_all_classes = searched.n_separate_fits == self.machine.n_separate_fits(self.Y.shape[1])
        if starts is None or searched.n_rows < len(self.Y) or not of_all_classes:
            return None
        if isinstance(searched, BlockObjective) and searched.rows is not None:
            return self.machine.joined_start(starts, searched.rows, len(self.Y))
        return starts if isinstance(searched, Objective) else None

    def corrected(self, stage: Stage, form: FittedForm) -> tuple["CandidateTuner", FittedForm]:
        """Return the tuner and the fit with the criterion corrected where it misleads at the fit.

        A criterion that chose nothing is reported as it is, and after a budget was spent no time is taken for it.
        """
        outcome = stage.outcome
        chose = len(outcome.best.theta) > 0 and not outcome.stop.cut_short
        if not (chose and self.criterion.approximates(form.machine)):
            return self, form
        searched = stage.objective
        parts = searched.objectives if isinstance(searched, BlockObjective) else [searched]
        found = [part.criterion for part in parts if isinstance(part, Objective)]
        # Where the criterion held on the rows of the search, it holds for the fit to all of them.
        if found and all(criterion == self.criterion for criterion in found):
            return self, form
        criterion = found[0] if len(self.stages) == 1 and len(found) == 1 else self.criterion
        criterion = criterion.corrected(form.solution)
        if criterion == self.criterion:
            return self, form
        return replace(self, criterion=criterion), replace(form, reading=criterion(form.solution))

    def with_penalty(self, form: FittedForm) -> FittedForm:
        """Return a fit whose reading includes the cost of the parameters, as the values of the search do."""
        tuned = form.machine if self.tune_machine else None
        return replace(form, reading=self.criterion.with_penalty(form.reading, form.kernel, tuned)[0])

    def selection(
        self, kernel: Kernel, form: FittedForm, outcome: Outcome, steps: tuple[Step, ...]
    ) -> Selection:
        """Return the record of a fit to all rows."""
        objective = Objective(kernel, self.machine, self.criterion, form.builder, self.Y, self.tune_machine)
        # Its warm start has served.
        outcome = replace(outcome, warm_start=None)
        return Selection(
            kernel=form.kernel,
            machine=form.machine,
            criterion=self.criterion,
            form=form.name,
            builder=form.builder,
            solution=form.solution,
            expansion=form.expansion,
            reading=form.reading,
            outcome=outcome,
            approximation_gap=form.gap,
            objective=objective,
            forms=form.tried,
            steps_on_last_rows=steps,
        )

    def fit_block(self, kernel: Kernel, stage: Stage, begun: float, section: str) -> Selection:
        """Fit one block of rows at the best point of a stage; where nearest neighbours do far better, of a search near them.

        The criterion is that of the whole stage.
        """
        selection = self.fit_first_block(kernel, stage)
        searched = stage.objective
        rows = searched.rows[0] if isinstance(searched, BlockObjective) and searched.rows else None
        if rows is None and searched.n_rows < len(self.Y):
            return selection
        missed = self.missed_in_block(kernel, selection, np.arange(len(self.Y)) if rows is None else rows)
        closer = self.search_near(kernel, missed, stage, begun, section) if len(missed) else None
        return selection if closer is None else self.fit_first_block(kernel, closer)

    def missed_in_block(self, kernel: Kernel, selection: Selection, rows: Rows) -> Rows:
        """Return the rows of a block whose neighbours foretell them where its fit does not; none unless neighbours do far better.

        Neighbours are those among all rows, and fewer errors are what more rows bring.
        """
        nothing, left_out = rows[:0], np.zeros(self.Y.shape)
        try:
            left_out[rows] = left_out_outputs(selection.solution)
        except UNDEFINED_ERRORS:
            return nothing
        neighbours = Neighbours.of(kernel, self.X, self.Y, self.machine, self.seed, rows)
        if neighbours is None or not neighbours.are_better(self.Y, left_out):
            return nothing
        ours = neighbours.mean(neighbours.errors_of_fit(self.Y, left_out))
        far_better = neighbours.mean(neighbours.errors) <= FAR_BETTER_FRACTION * ours
        return neighbours.missed(self.Y, left_out) if far_better else nothing

    def fit_first_block(self, kernel: Kernel, stage: Stage) -> Selection:
        """Fit one block of rows at the best point of a stage."""
        best, whole = stage.outcome.best, stage.objective
        objective = whole.objectives[0] if isinstance(whole, BlockObjective) else whole
        assert isinstance(objective, Objective)
        if isinstance(objective.machine, PilotMachine):
            objective = self.on_rows(kernel, self.stages[0][0])
        _, _, solution = objective.solve(best.theta)
        kernel_, machine = self.at(kernel, best.theta)
        form = FittedForm(
            "block", kernel_, machine, solution, objective.builder, Reading(best.value), None, 0.0
        )
        return self.selection(kernel, form, stage.outcome, stage.steps)

    def warn_if_fooled(
        self, kernel: Kernel, form: FittedForm, outcome: Outcome, searched: StageObjective | None = None
    ) -> None:
        """Warn if a fit to all rows, unless it is exact, does worse on left-out rows than exact fits to small blocks of them."""
        by_cells = isinstance(form.solution, CellSolution)
        if (form.gap == 0 and not by_cells) or len(self.stages) == 1 or outcome.stop is Stop.TIME:
            return
        try:
            whole, blocks = form.losses(self.Y), self.block_losses(kernel, outcome, searched)
        except UNDEFINED_ERRORS:
            return
        rows, reference = blocks
        if loses(whole[rows], reference):
            advice = (
                "the cells are too small for this kernel. Raise cell_size, or use gram='lowrank'."
                if by_cells
                else "the landmarks are too few for this kernel. Use gram='cells', or raise n_components."
            )
            message = (
                f"a fit through {form.name} does worse on left-out rows (mean loss {whole[rows].mean:.4g}) than fits to "
                f"{len(self.stages[-1][0])} of the rows ({reference.mean:.4g}): {advice}"
            )
            warnings.warn(LandmarkWarning(message), stacklevel=2)

    def block_losses(
        self, kernel: Kernel, outcome: Outcome, searched: StageObjective | None = None
    ) -> tuple[Rows, LeftOutLosses]:
        """Return the rows of the last blocks, and their losses when they are left out of the fit to their block.

        Parameters
        ----------
        kernel : Kernel
        outcome : Outcome
            Its best point is where the blocks are fitted.
        searched : StageObjective, optional
            What was minimised; if these were the blocks, their Grams and fits serve again.
        """
        blocks, theta = self.stages[-1], outcome.best.theta
        rows = np.concatenate(list(blocks))
        if (
            isinstance(searched, BlockObjective)
            and searched.rows is blocks
            and searched.objectives[0].Y.shape[1] == self.Y.shape[1]
        ):
            return rows, left_out_losses(searched.objectives, theta, outcome.warm_start)
        # A few are made at a time: each keeps the distances and the kernel matrix of its rows.
        return rows, left_out_losses((self.on_rows(kernel, one) for one in blocks), theta)

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


def _smaller(a: int | None, b: int | None) -> int | None:
    """Return the smaller of two numbers of which None is infinite."""
    return a if b is None else b if a is None else min(a, b)
