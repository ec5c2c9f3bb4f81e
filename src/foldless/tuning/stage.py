"""One stage of a search, on some of the rows: what it minimises, and where it ended."""

from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np

from foldless.core.contracts import ObjectiveFunction, Outcome, Step, Stop, Vector

# A criterion on some hundred rows may be off by this fraction of its scale.
SAMPLING_ERROR_FRACTION = 0.1


class StageObjective(ObjectiveFunction, Protocol):
    """What a stage minimises."""

    @property
    def value_scale(self) -> float | None:
        """Size of a large change of the criterion; ``None`` if that is the size of the value itself."""

    @property
    def n_rows(self) -> int:
        """Rows of all its fits."""

    @property
    def rows_at_once(self) -> int:
        """Rows of its largest fit."""

    @property
    def n_separate_fits(self) -> int:
        """Fits of the same rows that an evaluation takes, one for every class."""

    def corrected(self, theta: Vector, start: Any = None) -> "StageObjective":
        """Return the objective with its criterion corrected if that misleads at ``theta``; itself if it holds."""


@dataclass(frozen=True, eq=False)
class Stage:
    """The search on some rows, when it is over.

    Attributes
    ----------
    objective : StageObjective
    outcome : Outcome
        The best step and the optima on these rows; the trace is that of all stages so far.
    steps : tuple of Step
        The steps on these rows.
    seconds : float
        Time of all stages so far.
    """

    objective: StageObjective
    outcome: Outcome
    steps: tuple[Step, ...]
    seconds: float = 0.0

    @property
    def n_rows(self) -> int | None:
        """Rows of the objective."""
        return self.steps[-1].n_rows if self.steps else None

    @property
    def seconds_of_evaluation(self) -> float:
        """Median time of an evaluation on these rows; 0 if there was none."""
        return float(np.median([step.seconds for step in self.steps])) if self.steps else 0.0

    def is_near_best(self, step: Step) -> bool:
        """Return whether a step on these rows is worse than the best one by no more than sampling may explain."""
        best = self.outcome.best.value
        scale = abs(best) if self.objective.value_scale is None else self.objective.value_scale
        return step.value <= best + SAMPLING_ERROR_FRACTION * scale

    def at(self, theta: Vector) -> Step | None:
        """Return the first step at a point, if there is one."""
        return next((step for step in self.steps if np.array_equal(step.theta, theta)), None)

    def after(self, stage: "Stage") -> "Stage":
        """Return the stage together with an earlier one on the same rows: the better of their points is the best."""
        lower = min(self.outcome, stage.outcome, key=lambda outcome: outcome.best.value)
        outcome = replace(self.outcome, best=lower.best, optima=lower.optima)
        return replace(self, outcome=outcome, steps=stage.steps + self.steps)

    def within_budget(self, max_evaluations: int | None) -> "Stage":
        """Return the stage as one that took all steps it was allowed, unless the budget of all stages ended it."""
        spent = max_evaluations is not None and len(self.outcome.trace) >= max_evaluations
        return self if self.outcome.stop != Stop.BUDGET or spent else self.ended_by(Stop.STEPS)

    def ended_by(self, stop: Stop) -> "Stage":
        """Return the stage as the last one, for another reason than its own."""
        return replace(self, outcome=replace(self.outcome, stop=stop))


def operations(objective: StageObjective) -> float:
    """Return what an evaluation costs, up to a factor: the cubes of the rows of its fits."""
    return float(objective.n_rows) * objective.rows_at_once**2 * objective.n_separate_fits
