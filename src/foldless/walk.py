r"""What all searches share: looking, remembering, stopping, resuming.

A search is a frozen record of options with a method ``run(walk, box, starts)``. It looks at the objective only through
``walk.look``; budget, Ctrl-C, progress and the checkpoint file live here, once.
"""

import json
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np

from foldless.contracts import Box, Objective, Outcome, Step, Stop, Vector, Watch


class Halt(Exception):
    """Raised by :meth:`Walk.look` when a budget is spent; carries why."""

    def __init__(self, stop: Stop):
        super().__init__(stop.value)
        self.stop = stop


class Walk:
    """The trace of one search.

    Parameters
    ----------
    evaluate : callable
        ``evaluate(theta, carry) -> Evaluation``.
    box : Box
    max_evaluations, time_budget : optional
        Numbers of looks and of seconds; at least one look is always taken.
    watch : callable, optional
        Called with every :class:`Step`.
    checkpoint : path, optional
        Steps are appended to this file as they are taken. If it holds steps already they are replayed, not
        evaluated, so a killed run continues where it was.
    chapter : int
        Which search of several that share the file.
    """

    def __init__(
        self, evaluate, box, *, max_evaluations=None, time_budget=None, watch=None, checkpoint=None, chapter=0
    ):
        self.evaluate, self.box, self.watch = evaluate, box, watch
        self.max_evaluations, self.time_budget = max_evaluations, time_budget
        self.trace: list[Step] = []
        self.optima: list[Step] = []
        self._carry = None
        self._began = time.perf_counter()
        self._file = None if checkpoint is None else Path(checkpoint)
        self._past = [] if self._file is None else _replay(self._file, box, chapter)

    def look(self, theta, why) -> Step:
        """Evaluate value and gradient at ``theta`` (clipped to the box) and remember them."""
        return self._look(theta, why, self._gradient)

    def glance(self, theta, why) -> Step:
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
            self.watch(step)
        return step

    def _check_budget(self):
        if not self.trace:
            return
        if self.max_evaluations is not None and len(self.trace) >= self.max_evaluations:
            raise Halt(Stop.BUDGET)
        if self.time_budget is not None and time.perf_counter() - self._began >= self.time_budget:
            raise Halt(Stop.TIME)

    def _evaluate(self, theta, why, gradient):
        begun = time.perf_counter()
        evaluation = self.evaluate(theta, self._carry)
        slope = gradient(evaluation)
        if evaluation.carry is not None:
            self._carry = evaluation.carry
        seconds = time.perf_counter() - begun
        step = Step(theta, float(evaluation.value), seconds, why, slope, evaluation.note)
        if self._file is not None:
            with self._file.open("a", encoding="utf-8") as file:
                file.write(json.dumps(_row(step)) + "\n")
        return step

    def _recall(self, theta):
        """Replay the next step of the checkpoint, which must be this one."""
        if not self._past:
            return None
        step = self._past.pop(0)
        if np.array_equal(step.theta, theta):
            return step
        raise ValueError(
            f"checkpoint {self._file} holds another search: its step {len(self.trace) + 1} is at {step.theta}, "
            f"this one at {theta}. Name another file, or delete that one."
        )

    def settle(self, theta):
        """Remember a local optimum, unless a neighbour is known already."""
        theta = self.box.clip(np.asarray(theta, dtype=float))
        width = np.maximum(self.box.high - self.box.low, 1e-12)
        if all(np.max(np.abs(theta - o.theta) / width) > 0.02 for o in self.optima):
            nearest = min(self.trace, key=lambda s: np.max(np.abs(s.theta - theta)))
            self.optima.append(nearest)

    @property
    def best(self) -> Step:
        """The best step so far."""
        return min(self.trace, key=lambda step: step.value)

    def outcome(self, stop) -> Outcome:
        """Return the whole walk as data."""
        optima = sorted(self.optima, key=lambda step: step.value) or [self.best]
        return Outcome(self.best, tuple(self.trace), stop, tuple(optima))


@dataclass(frozen=True)
class Search:
    """Base of all searches: called with a function and a box, it returns an :class:`Outcome`."""

    name: ClassVar[str] = ""

    def run(self, walk: Walk, box: Box, starts: Sequence[Vector]) -> Stop:
        """Walk, and say why it ended."""
        raise NotImplementedError

    def __call__(
        self,
        evaluate: Objective,
        box: Box,
        starts: Sequence[Vector],
        *,
        max_evaluations: int | None = None,
        time_budget: float | None = None,
        watch: Watch | None = None,
        checkpoint: str | Path | None = None,
        chapter: int = 0,
    ) -> Outcome:
        """Search ``box`` from ``starts``; an interrupt or a spent budget returns the best so far."""
        walk = Walk(
            evaluate,
            box,
            max_evaluations=max_evaluations,
            time_budget=time_budget,
            watch=watch,
            checkpoint=checkpoint,
            chapter=chapter,
        )
        try:
            stop = self.run(walk, box, [box.clip(np.asarray(s, dtype=float)) for s in starts])
        except Halt as halt:
            stop = halt.stop
        except KeyboardInterrupt:
            if not walk.trace:
                raise
            stop = Stop.INTERRUPTED
        return walk.outcome(stop)


def _row(step):
    gradient = None if step.gradient is None else list(step.gradient)
    return {
        "theta": list(step.theta),
        "value": step.value,
        "seconds": step.seconds,
        "why": step.why,
        "gradient": gradient,
        "note": step.note,
    }


def _step(row):
    gradient = None if row["gradient"] is None else np.array(row["gradient"], dtype=float)
    theta = np.array(row["theta"], dtype=float)
    return Step(theta, float(row["value"]), float(row["seconds"]), row["why"], gradient, row["note"])


def _replay(file, box, chapter):
    """Return the steps that the checkpoint holds of this chapter; begin it if there are none."""
    header = {"chapter": chapter, "low": list(box.low), "high": list(box.high)}
    chapters = _chapters(_rows(file))
    if chapter not in chapters:
        with file.open("a", encoding="utf-8") as end:
            end.write(json.dumps(header) + "\n")
        return []
    first, *rows = chapters[chapter]
    if first != header:
        raise ValueError(
            f"checkpoint {file} was written for another box. Name another file, or delete that one."
        )
    return [_step(row) for row in rows]


def _chapters(rows):
    chapters, current = {}, None
    for row in rows:
        if "chapter" in row:
            current = chapters.setdefault(row["chapter"], [])
        current.append(row)
    return chapters


def _rows(file):
    """Read a checkpoint; a line cut short by a kill is dropped from the file."""
    if not file.exists():
        return []
    lines = file.read_text(encoding="utf-8").splitlines(keepends=True)
    whole = [line for line in lines if line.endswith("\n")]
    if len(whole) < len(lines):
        file.write_text("".join(whole), encoding="utf-8")
    try:
        rows = [json.loads(line) for line in whole]
        if rows and "chapter" not in rows[0]:
            raise ValueError
    except (ValueError, TypeError):
        raise ValueError(f"{file} is no checkpoint of a foldless search. Name another file.") from None
    return rows
