r"""One run of a search: evaluations, budgets, interrupts, the checkpoint, and parts that run side by side.

A search is a frozen record of options with a method ``run(run, box, starts)``. It reaches the objective only through
``run.evaluate``, so that budgets, Ctrl-C, progress and the checkpoint file are handled here, once.
"""

import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from threading import Event, Lock
from typing import Any, NamedTuple

import numpy as np

from foldless.core.contracts import (
    Box,
    EvaluatesWithGradient,
    Evaluation,
    HasScale,
    ObjectiveFunction,
    Outcome,
    Step,
    Stop,
    Vector,
    Watch,
)
from foldless.core.parallel import in_background, is_cancelled
from foldless.searches.checkpoint import Checkpoint

# Optima closer than this fraction of the box in every parameter count as one.
SAME_OPTIMUM_FRACTION = 0.02
# An evaluation that is likely to end later than this fraction of the time budget beyond it is not begun.
TIME_SLACK = 0.2
# A gain of nats is compared with this many times the loss, or with one nat if that is less.
SMALL_NATS_FACTOR = 10.0


class SearchHalted(Exception):
    """Raised by :meth:`SearchRun.evaluate` when a budget is spent or the search was interrupted.

    Attributes
    ----------
    stop : Stop
    """

    def __init__(self, stop: Stop):
        super().__init__(stop.value)
        self.stop = stop


class _Start(NamedTuple):
    """A point that was evaluated without a gradient."""

    theta: Vector
    value: float
    evaluation: Evaluation | None


class SearchRun:
    """Evaluates the objective for a search and records every step.

    Parameters
    ----------
    objective : callable
        ``objective(theta, warm_start)`` returns an :class:`Evaluation`.
    box : Box
    max_evaluations : int, optional
        Budget of evaluations; the first evaluation is always made.
    time_budget : float, optional
        Budget in seconds.
    watch : callable, optional
        Called with every :class:`Step`.
    checkpoint : path, optional
        File to which every step is appended. Steps that it holds already are read instead of evaluated, so that a
        killed search continues.
    section : str or int, default=0
        Name of this search in a file that several searches share.
    n_jobs : int, optional
        Number of parts that run side by side; see :func:`foldless.core.parallel.in_background`.

    Attributes
    ----------
    trace : list of Step
        Every step, in order.
    optima : list of Step
        Local optima, at most one in every neighbourhood.
    draws : list of Step
        Draws of a search that samples.
    """

    def __init__(
        self,
        objective: ObjectiveFunction,
        box: Box,
        *,
        max_evaluations: int | None = None,
        time_budget: float | None = None,
        watch: Watch | None = None,
        checkpoint: str | Path | None = None,
        section: str | int = 0,
        n_jobs: int | None = None,
    ) -> None:
        self.objective, self.box, self.watch = objective, box, watch
        self.max_evaluations, self.n_jobs = max_evaluations, n_jobs
        self.trace: list[Step] = []
        self.optima: list[Step] = []
        self.draws: list[Step] = []
        self._value_scale = objective.value_scale if isinstance(objective, HasScale) else None
        self._in_nats = isinstance(objective, HasScale) and objective.in_nats
        self._smallest_scale = objective.smallest_scale if isinstance(objective, HasScale) else 0.0
        self._deadline = np.inf if time_budget is None else time.perf_counter() + time_budget
        self._latest_end = self._deadline + (
            0.0 if time_budget is None else TIME_SLACK * max(time_budget, 0.0)
        )
        self._checkpoint = None if checkpoint is None else Checkpoint(checkpoint, box, section)
        self._warm_start: Any = None
        # The lowest value of an evaluation with a warm start, and that start.
        self._best_start: tuple[float, Any] = (np.inf, None)
        # The best start without a gradient: a descent that begins there needs only the gradient.
        self._kept: _Start | None = None
        # A search without a step has nothing to return: its first evaluation ignores the budget.
        self._first_is_free = True
        self._interrupted, self._watch_lock = Event(), Lock()
        # Number of parts so far; each has a section of the checkpoint.
        self._n_parts = 0

    def evaluate(self, theta: Sequence[float] | Vector, why: str, gradient: bool = True) -> Step:
        """Evaluate the objective at ``theta``, clipped to the box, and record the step.

        Parameters
        ----------
        theta : array of shape (p,)
        why : str
            What the evaluation is for, in a word.
        gradient : bool, default=True
            Whether the gradient is computed too; the value alone is cheaper.
        """
        theta = self.box.clip(np.asarray(theta, dtype=float))
        if gradient and self._kept is not None and np.array_equal(self._kept.theta, theta):
            return self._complete(self._kept, why)
        self._check_budget()
        step, evaluation = None if self._checkpoint is None else self._checkpoint.recall(theta), None
        if step is None:
            begun = time.perf_counter()
            evaluation = self._evaluation(theta, gradient)
            step = self._new_step(theta, evaluation, why, gradient, begun)
            if self._checkpoint is not None:
                self._checkpoint.write(step)
        self.trace.append(step)
        if gradient:
            self._kept = None
        elif not isinstance(self.objective, EvaluatesWithGradient) and (
            self._kept is None or step.value < self._kept.value
        ):
            self._kept = _Start(theta, step.value, evaluation)
        if self.watch is not None:
            with self._watch_lock:
                self.watch(step)
        return step

    def _complete(self, start: "_Start", why: str) -> Step:
        """Return the step of a start with its gradient; it is no further evaluation and not in the trace."""
        self._kept, begun = None, time.perf_counter()
        evaluation = start.evaluation or self._evaluation(start.theta, gradient=True)
        return self._new_step(start.theta, evaluation, why, True, begun)

    def _evaluation(self, theta: Vector, gradient: bool) -> Evaluation:
        """Evaluate the objective, from a warm start unless there is a checkpoint.

        A search that continues from a checkpoint then has the same digits as one that was never killed.
        """
        start = self._warm_start if self._checkpoint is None else None
        if gradient and isinstance(self.objective, EvaluatesWithGradient):
            return self.objective.with_gradient(theta, start)
        return self.objective(theta, start)

    def _new_step(
        self, theta: Vector, evaluation: Evaluation, why: str, gradient: bool, begun: float
    ) -> Step:
        slope = evaluation.gradient if gradient else None
        error = None if slope is None else evaluation.error
        if evaluation.warm_start is not None:
            self._warm_start = evaluation.warm_start
        value = np.inf if np.isnan(evaluation.value) else float(evaluation.value)
        if value < self._best_start[0]:
            self._best_start = (value, evaluation.warm_start)
        return Step(
            theta, value, time.perf_counter() - begun, why, slope, evaluation.note, error, evaluation.n_rows
        )

    def _check_budget(self) -> None:
        if self._interrupted.is_set() or is_cancelled():
            raise SearchHalted(Stop.INTERRUPTED)
        if self._first_is_free and not self.trace:
            return
        if self.max_evaluations is not None and len(self.trace) >= self.max_evaluations:
            raise SearchHalted(Stop.BUDGET)
        if self._is_late():
            raise SearchHalted(Stop.TIME)

    def _is_late(self) -> bool:
        """Return whether the time is over, or will be long before an evaluation like the latest one ends."""
        now, seconds = time.perf_counter(), self.trace[-1].seconds if self.trace else 0.0
        return now >= self._deadline or now + seconds > self._latest_end

    def run_parts(self, tasks: Sequence[Callable[["SearchRun"], Stop]]) -> list[Stop]:
        """Run parts of the search, each on a run of its own, and return why each ended.

        The evaluations that are left are divided evenly beforehand, and every part begins with the warm start of this
        run, so that the outcome does not depend on ``n_jobs``. A single task gets this run and its whole budget.

        Parameters
        ----------
        tasks : list of callables
            Each takes a :class:`SearchRun` and returns a :class:`Stop`.
        """
        if len(tasks) == 1:
            return [tasks[0](self)]
        self._check_budget()
        parts = [self._part(i, len(tasks)) for i in range(len(tasks))]
        self._n_parts += len(parts)
        calls = [partial(_run_to_its_end, part, task) for part, task in zip(parts, tasks, strict=True)]
        try:
            stops = in_background(calls, self.n_jobs)
        except BaseException:
            self._interrupted.set()
            raise
        finally:
            self._gather(parts)
        for stop in (Stop.INTERRUPTED, Stop.TIME, Stop.BUDGET):
            if stop in stops:
                raise SearchHalted(stop)
        return stops

    def evaluate_rows(self, rows: Sequence[Sequence[Vector]], why: str) -> list[list[Step]]:
        """Evaluate rows of points without gradients and return their steps.

        Rows run side by side; within a row every point is warm-started by the one before.
        """
        found: list[list[Step]] = [[] for _ in rows]

        def evaluate_row(run: SearchRun, row: Sequence[Vector], steps: list[Step]) -> Stop:
            steps += (run.evaluate(theta, why, gradient=False) for theta in row)
            return Stop.EXHAUSTED

        pairs = zip(rows, found, strict=True)
        self.run_parts([partial(evaluate_row, row=row, steps=steps) for row, steps in pairs])
        return found

    def _part(self, i: int, n: int) -> "SearchRun":
        """Return the run of part i of n."""
        part = SearchRun(
            self.objective, self.box, max_evaluations=self._budget_of_part(i, n), watch=self.watch
        )
        part._deadline, part._latest_end = self._deadline, self._latest_end
        part._warm_start = self._warm_start
        part._interrupted, part._watch_lock = self._interrupted, self._watch_lock
        part._first_is_free = self._first_is_free and i == 0 and not self.trace
        part._checkpoint = None if self._checkpoint is None else self._checkpoint.part(self._n_parts + i)
        return part

    def _budget_of_part(self, i: int, n: int) -> int | None:
        """Return the evaluations of part i of n; together the parts get all that are left."""
        if self.max_evaluations is None:
            return None
        left = self.max_evaluations - len(self.trace)
        return left // n + (i < left % n)

    def _gather(self, parts: Sequence["SearchRun"]) -> None:
        """Append what the parts recorded."""
        for part in parts:
            self.trace += part.trace
            self.draws += part.draws
            self._best_start = min(self._best_start, part._best_start, key=lambda start: start[0])
            for optimum in part.optima:
                self._keep(optimum)

    def keep_optimum(self, theta: Sequence[float] | Vector) -> None:
        """Record the step nearest to ``theta`` as a local optimum; of neighbours the better one is kept."""
        theta = self.box.clip(np.asarray(theta, dtype=float))
        self._keep(min(self.trace, key=lambda step: np.max(np.abs(step.theta - theta), initial=0)))

    def _keep(self, step: Step) -> None:
        width = np.maximum(self.box.high - self.box.low, 1e-12)
        distances = [np.max(np.abs(step.theta - other.theta) / width, initial=0) for other in self.optima]
        near = [distance <= SAME_OPTIMUM_FRACTION for distance in distances]
        if all(step.value < other.value for other, is_near in zip(self.optima, near) if is_near):
            self.optima = [other for other, is_near in zip(self.optima, near) if not is_near] + [step]

    def scale(self, value: float) -> float:
        """Return the size with which a change of the objective is compared: declared by it, or that of ``value``.

        Small losses in nats are compared with ten times their size: their ratios are known no better.
        """
        if self._value_scale is not None:
            return self._value_scale
        scale = min(1.0, SMALL_NATS_FACTOR * abs(value)) if self._in_nats else abs(value)
        return max(scale, self._smallest_scale)

    @property
    def best(self) -> Step:
        """The best step so far; of equal ones the middle, because criteria that count errors have plateaus."""
        lowest = min(step.value for step in self.trace)
        equals = [step for step in self.trace if step.value == lowest]
        return equals[(len(equals) - 1) // 2]

    def outcome(self, stop: Stop) -> Outcome:
        """Return the record of the whole run; the best step is the first of the optima."""
        self._keep(self.best)
        optima = sorted(self.optima, key=lambda step: step.value)
        value, start = self._best_start
        is_best = self._checkpoint is None and value == self.best.value
        return Outcome(
            self.best, tuple(self.trace), stop, tuple(optima), tuple(self.draws), start if is_best else None
        )


def _run_to_its_end(run: SearchRun, task: Callable[[SearchRun], Stop]) -> Stop:
    """Run one part and return why it ended, be it by a budget or an interrupt."""
    try:
        return task(run)
    except SearchHalted as halted:
        return halted.stop
    except KeyboardInterrupt:
        run._interrupted.set()
        return Stop.INTERRUPTED
