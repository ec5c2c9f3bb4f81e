r"""One candidate kernel: a search on blocks of rows, stage by stage, and the last fit to all rows."""

import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from joblib import hash as joblib_hash
from sklearn.gaussian_process.kernels import Kernel

from foldless.core.contracts import Machine, Matrix, Vector
from foldless.core.errors import Undefined
from foldless.core.memo import cached_property
from foldless.criteria.base import Criterion
from foldless.criteria.loo import LOO
from foldless.searches.base import Search
from foldless.searches.lbfgs import LBFGS
from foldless.searches.scan import Scan
from foldless.tuning.fit_after import FitAfterSearch, fit_as_given
from foldless.tuning.guard import warn_if_at_bound, warn_if_cut_short
from foldless.tuning.last_fit import LastFit
from foldless.tuning.objective import Objective
from foldless.tuning.pilot import (
    MIN_CLASSES,
    PilotMachine,
    is_piloted,
    log_ratios,
    pilot_of,
    searched_columns,
)
from foldless.tuning.problem import Problem
from foldless.tuning.result import Selection
from foldless.tuning.row_blocks import BlockObjective, some_rows
from foldless.tuning.run_options import RunOptions
from foldless.tuning.search_space import SearchSpace, is_length_scale
from foldless.tuning.shared_cache import SharedGrams
from foldless.tuning.stage import Stage
from foldless.tuning.staged_search import StagedSearch

# Rows on which the pilot evaluates the starts.
SCAN_ROWS = 125
# What the scan may leave of the variance of the labels, so that its good starts, and no others, are those of the machine.
EXPLAINED_MAX_LOSS = 0.5


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

    @cached_property
    def problem(self) -> Problem:
        """What is minimised."""
        cache = self.gram.cache if isinstance(self.gram, SharedGrams) else None
        return Problem(
            self.X,
            self.Y,
            self.machine,
            self.criterion,
            tune_machine=self.tune_machine,
            seed=self.seed,
            n_jobs=self.options.n_jobs,
            cache=cache,
        )

    @cached_property
    def staged(self) -> StagedSearch:
        """The search, stage by stage."""
        return StagedSearch(
            self.problem,
            self.search,
            regularisation=self.regularisation,
            starts=self.starts,
            roughly=self.roughly,
            options=self.options,
        )

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

    def tune(self, kernel: Kernel, number: int = 0) -> Selection:
        """Search on blocks of rows, stage by stage, then fit all rows at the best point; only fit if nothing is free.

        Parameters
        ----------
        kernel : Kernel
        number : int
            Position among the candidates; it is part of the name of the search in a checkpoint.
        """
        if self.fit_all_rows and not len(kernel.theta) and not self.tune_machine:
            return fit_as_given(self.problem, kernel, self.last_fit, self.options)
        *_, stage = self.search_in_stages(kernel, number)
        return self.fit_after(self.finish(stage, kernel, number), kernel, number)

    def search_in_stages(self, kernel: Kernel, number: int = 0) -> Iterator[Stage]:
        """Yield every stage of the search when it is over; a stage that was cut short is the last."""
        self.last_fit.check(kernel)
        space, section = self.staged.space(kernel), self.section(kernel, number)
        if not self.keeps_kernel_of_pilot:
            scan = self.scan(kernel, space, section)
            if scan is not None and scan.outcome.stop.cut_short:
                yield scan
                return
            leads = scan is not None and self.explains_most(scan)
            yield from self.staged.on_each(self.objectives(kernel), space, section, scan, leads)
            return
        assert self.pilot is not None
        for stage in self.staged.on_each(self.pilot.objectives(kernel), space, section):
            yield stage
        if not stage.outcome.stop.cut_short:
            yield self.search_C(stage, kernel, section)

    def search_C(self, stage: Stage, kernel: Kernel, section: str) -> Stage:
        """Search for C alone, on some of the classes, after a stage of the pilot that chose the kernel."""
        ratios = log_ratios(self.machine, self.Y.shape[1])
        assert ratios is not None
        step = ratios.length_scale * is_length_scale(kernel)
        space = self.staged.space(kernel).with_kernel(stage.outcome.best.theta, step)
        few_classes = replace(self.problem, Y=self.Y[:, searched_columns(self.Y)])
        objective = few_classes.on_blocks(kernel, self.problem.stages[-1])
        begun = time.perf_counter() - stage.seconds
        return self.staged.on(objective, space, stage, begun, f"{section}.C", from_optima=False)

    def finish(self, stage: Stage, kernel: Kernel, number: int = 0) -> Stage:
        """Search on to full accuracy after the last stage, and again with the criterion corrected where it misleads."""
        space, section = self.staged.space(kernel), self.section(kernel, number)
        if self.keeps_kernel_of_pilot:
            space = space.with_kernel(stage.outcome.best.theta)
        begun = time.perf_counter() - stage.seconds
        if self.roughly and stage.objective.rows_at_once == len(self.Y) and not stage.outcome.stop.cut_short:
            fine = replace(self.staged, roughly=False, search=self.search.near_optimum(stage.steps))
            best = replace(space, starts=[stage.outcome.best.theta])
            stage = fine.on(stage.objective, best, stage, begun, f"{section}.fine", from_optima=False)
        return self.staged.corrected(stage, space, begun, section)

    def scan(self, kernel: Kernel, space: SearchSpace, section: str) -> Stage | None:
        """Return the starts, evaluated by the pilot on a few rows; None if the kernel has no parameters, or there is no such pilot."""
        machine = self._pilot_machine
        if machine is None or self._has_many_classes or not len(kernel.theta):
            return None
        moved = space.with_shifted_C(machine.ratios.C)
        rows = some_rows(self.Y, np.random.default_rng(self.seed), SCAN_ROWS)
        problem = replace(self.problem, machine=machine, criterion=LOO())
        pilot = replace(self.staged, problem=problem, search=Scan())
        begun, name = time.perf_counter(), f"{section}.scan"
        # Where the pilot knows nothing the machine itself evaluates all starts.
        with suppress(Undefined):
            return pilot.on(problem.on_rows(kernel, rows), moved, None, begun, name)
        return None

    def explains_most(self, scan: Stage) -> bool:
        """Return whether the best point of a scan explains most of the labels.

        Where it does not, a finer structure may be hidden from so few rows, and which starts are good is not known.
        """
        variance = float(np.mean(np.var(self.Y, axis=0)))
        return scan.outcome.best.value <= EXPLAINED_MAX_LOSS * variance

    def fit_after(self, stage: Stage, kernel: Kernel, number: int = 0) -> Selection:
        """Fit all rows, or a block where that is enough, at the best point of the last stage."""
        begun, section = time.perf_counter() - stage.seconds, self.section(kernel, number)
        warn_if_cut_short(self.search.name, stage.outcome)
        warn_if_at_bound(self.problem, stage.outcome.best.theta, self.staged.space(kernel).box)
        fit = FitAfterSearch(self.staged, self.last_fit, kernel, begun, section)
        return fit.to_all_rows(stage) if self.fit_all_rows else fit.to_block(stage)

    def objectives(self, kernel: Kernel) -> Iterator[Objective | BlockObjective]:
        """Yield what is minimised, stage by stage: the mean over blocks of rows; all rows if landmarks were asked for."""
        problem = self.problem
        stages = problem.stages
        if self.pilot is not None:
            yield from self.pilot.objectives(kernel)
            stages = stages[-1:]
        for blocks in stages:
            yield problem.on_blocks(kernel, blocks)
        if self.last_fit.names_landmarks:
            builder = self.last_fit.landmark_builder(self.last_fit.n_landmarks(self.machine), kernel)
            yield problem.through(builder, kernel)

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
        piloted = is_piloted(self.criterion) and self.machine.fits_on_blocks
        return pilot_of(self.machine, self.Y.shape[1]) if piloted else None

    @property
    def keeps_kernel_of_pilot(self) -> bool:
        """Whether the machine itself searches only for C after its pilot."""
        return self.pilot is not None and len(self.problem.stages) > 1 and not self.last_fit.names_landmarks

    def section(self, kernel: Kernel, number: int) -> str:
        """Return the name of this search in a checkpoint: a fingerprint of everything it depends on."""
        if self.options.checkpoint is None:
            return str(number)
        search, form = replace(self.search, checkpoint=None), self.last_fit.gram
        parts = replace(self, gram=form, search=search, options=RunOptions())
        return f"{joblib_hash((kernel, parts))}.{number}"
