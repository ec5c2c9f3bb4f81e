r"""What all searches share: looking, remembering, stopping, resuming, and running parts side by side.

A search is a frozen record of options with a method ``run(walk, box, starts)``. It looks at the objective only through
``walk.evaluate``; budget, Ctrl-C, progress and the checkpoint file live here, once.
"""

import time
from functools import partial
from threading import Event, Lock

import numpy as np

from foldless.core.contracts import Outcome, Step, Stop
from foldless.core.parallel import side_by_side
from foldless.searches.checkpoint import Checkpoint

NEAR = 0.02  # optima closer than this, in widths of the box, are one


class SearchHalted(Exception):
    """Raised by :meth:`SearchRun.evaluate` when a budget is spent; carries why."""

    def __init__(self, stop: Stop):
        super().__init__(stop.value)
        self.stop = stop


class SearchRun:
    """The trace of one search.

    Parameters
    ----------
    evaluate : callable
        ``evaluate(theta, warm_start) -> Evaluation``.
    box : Box
    max_evaluations, time_budget : optional
        Numbers of looks and of seconds; at least one look is always taken.
    watch : callable, optional
        Called with every :class:`Step`.
    checkpoint : path, optional
        Steps are appended to this file as they are taken. If it holds steps already they are recalled, not
        evaluated, so a killed run continues where it was.
    section : str or int, default=0
        Which search of several that share the file.
    n_jobs : int, optional
        How many parts of the search run side by side; see :func:`foldless.core.parallel.side_by_side`.
    """

    def __init__(
        self,
        evaluate,
        box,
        *,
        max_evaluations=None,
        time_budget=None,
        watch=None,
        checkpoint=None,
        section=0,
        n_jobs=None,
    ):
        self.objective, self.box, self.watch = evaluate, box, watch
        self.max_evaluations, self.n_jobs = max_evaluations, n_jobs
        self.trace: list[Step] = []
        self.optima: list[Step] = []
        self.draws: list[Step] = []  # of a search that samples
        self._deadline = np.inf if time_budget is None else time.perf_counter() + time_budget
        self._checkpoint = None if checkpoint is None else Checkpoint(checkpoint, box, section)
        self._carry = None
        self._must_look = True  # whatever the budget: a search without a step has nothing to return
        self._abandoned, self._watching = Event(), Lock()
        self._parted = 0  # parts so far: each has a section of its own

    def evaluate(self, theta, why) -> Step:
        """Evaluate value and gradient at ``theta`` (clipped to the box) and remember them."""
        return self._look(theta, why, self._gradient)

    def evaluate_value(self, theta, why) -> Step:
        """Evaluate the value alone, which is cheaper."""
        return self._look(theta, why, lambda evaluation: None)

    @staticmethod
    def _gradient(evaluation):
        return evaluation.gradient

    def _look(self, theta, why, gradient):
        self._check_budget()
        theta = self.box.clip(np.asarray(theta, dtype=float))
        step = self._recall(theta) or self._evaluate(theta, why, gradient)
        self.trace.append(step)
        if self.watch is not None:
            with self._watching:
                self.watch(step)
        return step

    def _check_budget(self):
        if self._abandoned.is_set():
            raise SearchHalted(Stop.INTERRUPTED)
        if self._must_look and not self.trace:
            return
        if self.max_evaluations is not None and len(self.trace) >= self.max_evaluations:
            raise SearchHalted(Stop.BUDGET)
        if time.perf_counter() >= self._deadline:
            raise SearchHalted(Stop.TIME)

    def _recall(self, theta):
        return None if self._checkpoint is None else self._checkpoint.recall(theta)

    def _evaluate(self, theta, why, gradient):
        begun = time.perf_counter()
        evaluation = self.objective(theta, self._carry)
        slope = gradient(evaluation)
        error = None if slope is None else evaluation.error
        if evaluation.warm_start is not None:
            self._carry = evaluation.warm_start
        seconds = time.perf_counter() - begun
        value = np.inf if np.isnan(evaluation.value) else float(evaluation.value)
        step = Step(theta, value, seconds, why, slope, evaluation.note, error)
        if self._checkpoint is not None:
            self._checkpoint.write(step)
        return step

    def run_parts(self, tasks) -> list[Stop]:
        """Run parts of the search, each on a walk of its own, and return why each ended.

        What is left of the evaluations is dealt out evenly beforehand, and every part starts with what this walk
        carries: the outcome does not depend on ``n_jobs``. One task alone has this walk and all of its budget.

        Parameters
        ----------
        tasks : list of callables
            Each takes a :class:`SearchRun` and returns a :class:`Stop`.
        """
        if len(tasks) == 1:
            return [tasks[0](self)]
        self._check_budget()
        parts = [self._part(i, len(tasks)) for i in range(len(tasks))]
        self._parted += len(parts)
        try:
            stops = side_by_side(
                [partial(_finish, *pair) for pair in zip(parts, tasks, strict=True)], self.n_jobs
            )
        except BaseException:
            self._abandoned.set()
            raise
        finally:
            self._gather(parts)
        for stop in (Stop.INTERRUPTED, Stop.TIME, Stop.BUDGET):
            if stop in stops:
                raise SearchHalted(stop)
        return stops

    def evaluate_rows(self, rows, why) -> list[list[Step]]:
        """Glance at rows of points: rows side by side, the points of a row in turn, each warm-started by the last."""
        found = [[] for _ in rows]

        def follow(walk, row, steps):
            steps += (walk.evaluate_value(theta, why) for theta in row)
            return Stop.EXHAUSTED

        self.run_parts(
            [partial(follow, row=row, steps=steps) for row, steps in zip(rows, found, strict=True)]
        )
        return found

    def _part(self, i, n):
        part = SearchRun(self.objective, self.box, max_evaluations=self._share(i, n), watch=self.watch)
        part._deadline, part._carry = self._deadline, self._carry
        part._abandoned, part._watching = self._abandoned, self._watching
        part._must_look = self._must_look and i == 0 and not self.trace
        part._checkpoint = None if self._checkpoint is None else self._checkpoint.part(self._parted + i)
        return part

    def _share(self, i, n):
        """The part i of n of the evaluations that are left; they add up."""
        if self.max_evaluations is None:
            return None
        left = self.max_evaluations - len(self.trace)
        return left // n + (i < left % n)

    def _gather(self, parts):
        for part in parts:
            self.trace += part.trace
            self.draws += part.draws
            for optimum in part.optima:
                self._keep(optimum)

    def keep_optimum(self, theta):
        """Remember a local optimum; of neighbours the better one is kept."""
        theta = self.box.clip(np.asarray(theta, dtype=float))
        self._keep(min(self.trace, key=lambda step: np.max(np.abs(step.theta - theta), initial=0)))

    def _keep(self, step):
        width = np.maximum(self.box.high - self.box.low, 1e-12)
        near = [o for o in self.optima if np.max(np.abs(step.theta - o.theta) / width, initial=0) <= NEAR]
        if all(step.value < o.value for o in near):
            self.optima = [o for o in self.optima if not any(o is other for other in near)] + [step]

    @property
    def best(self) -> Step:
        """The best step so far; of equal ones the middle, because criteria that count have plateaus."""
        lowest = min(step.value for step in self.trace)
        equals = [step for step in self.trace if step.value == lowest]
        return equals[(len(equals) - 1) // 2]

    def outcome(self, stop) -> Outcome:
        """Return the whole walk as data; the best step is the first of the optima."""
        self._keep(self.best)
        optima = sorted(self.optima, key=lambda step: step.value)
        return Outcome(self.best, tuple(self.trace), stop, tuple(optima), tuple(self.draws))


def _finish(walk, task):
    """Run one part to its end, whatever ends it."""
    try:
        return task(walk)
    except SearchHalted as halt:
        return halt.stop
    except KeyboardInterrupt:
        walk._abandoned.set()
        return Stop.INTERRUPTED
