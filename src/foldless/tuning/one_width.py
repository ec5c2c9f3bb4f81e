r"""Length scales per feature, without regret: from one width, by a few free steps, judged by a tie.

A criterion of many length scales can be over-fitted, more the longer it is minimised. So the search has three parts:

1. One width for all features is searched.
2. From there the criterion alone descends with a width per feature, for few steps: five, or one for every two rows per
   parameter if that is more.
3. Of all points on the way the one with the lowest *tied* criterion (:class:`foldless.criteria.Tied`) is chosen. One width
   is among them and costs nothing there; it is kept unless another point is better by ``MIN_GAIN_NATS``.

On kernel ridge regression of ten features, of which two matter, all matter alike, or the influence falls off (50 and 150
rows), the mean squared error over the variance of the truth was 0.43 with one width, 0.58 with free length scales and 0.35 in
this way, on 16 draws each that chose nothing. The number of steps was chosen on other draws, on which five free steps
without a judge gave 0.36, and the tied criterion, minimised, 0.40.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from sklearn.gaussian_process.kernels import Kernel

from foldless.core.contracts import Box, EvaluatesWithGradient, Evaluation, HasScale, Reading, Step, Vector
from foldless.criteria.tied import Tied
from foldless.tuning.candidate import CandidateTuner
from foldless.tuning.objective import Objective
from foldless.tuning.result import Selection
from foldless.tuning.row_blocks import BlockObjective
from foldless.tuning.search_space import SearchSpace
from foldless.tuning.stage import Stage
from foldless.tuning.staged_search import CORRECTED_MAX_EVALUATIONS, MAX_CORRECTIONS

# One width is kept unless widths that differ are better by so many nats, summed over the rows.
MIN_GAIN_NATS = 1.0
# Free steps that are always taken, and rows per parameter for each step if those allow more.
LEAST_STEPS, ROWS_PER_STEP = 5, 2

AnyObjective: TypeAlias = Objective | BlockObjective


@dataclass(frozen=True, eq=False)
class EqualWidths:
    """Parameters of which some groups are equal.

    Attributes
    ----------
    index : array of shape (p,)
        For every parameter the number of the one that stands for it.
    """

    index: NDArray[np.intp]

    @classmethod
    def of(cls, size: int, groups: Sequence[slice]) -> "EqualWidths":
        """Return ``size`` parameters of which those of each group are equal.

        Examples
        --------
        >>> EqualWidths.of(5, [slice(1, 4)]).index.tolist()
        [0, 1, 1, 1, 2]
        """
        first = np.arange(size)
        for group in groups:
            first[group] = group.start
        return cls(np.unique(first, return_inverse=True)[1])

    def spread(self, theta: Vector) -> Vector:
        """Return all parameters for those that stand for them."""
        return theta[self.index]

    def gathered(self, gradient: Vector | None) -> Vector | None:
        """Return the gradient in the parameters that stand for groups."""
        return None if gradient is None else np.asarray(np.bincount(self.index, weights=gradient), float)

    def means(self, theta: Vector) -> Vector:
        """Return the mean of each group."""
        return np.bincount(self.index, weights=theta) / np.bincount(self.index)

    def space(self, space: SearchSpace) -> SearchSpace:
        """Return the bounds and starts of the parameters that stand for groups."""
        numbers = range(int(np.max(self.index)) + 1)
        low = np.array([np.max(space.box.low[self.index == i]) for i in numbers])
        high = np.array([np.min(space.box.high[self.index == i]) for i in numbers])
        n_kernel = len(np.unique(self.index[: space.n_kernel_parameters]))
        return SearchSpace(Box(low, high), [self.means(start) for start in space.starts], n_kernel)

    def spread_step(self, step: Step) -> Step:
        """Return a step with all parameters, without a gradient."""
        return replace(step, theta=self.spread(step.theta), gradient=None)


@dataclass(frozen=True, eq=False)
class OneWidth(HasScale, EvaluatesWithGradient):
    """An objective with one width for all features.

    Parameters
    ----------
    objective : Objective or BlockObjective
        With a width per feature.
    widths : EqualWidths
    """

    objective: Objective | BlockObjective
    widths: EqualWidths

    @property
    def value_scale(self) -> float | None:
        """Size of a large change of the criterion; ``None`` if that is the size of the value itself."""
        return self.objective.value_scale

    @property
    def in_nats(self) -> bool:
        """Whether the criterion is in nats per row."""
        return self.objective.in_nats

    @property
    def smallest_scale(self) -> float:
        """The size below which values differ by rounding alone."""
        return self.objective.smallest_scale

    @property
    def n_rows(self) -> int:
        """Rows of the objective."""
        return self.objective.n_rows

    @property
    def rows_at_once(self) -> int:
        """Rows of its largest fit."""
        return self.objective.rows_at_once

    @property
    def n_separate_fits(self) -> int:
        """Fits of the same rows that an evaluation takes."""
        return self.objective.n_separate_fits

    def __call__(self, theta: Vector, warm_start: Any = None, /) -> Evaluation:
        """Evaluate with equal widths."""
        return self._gathered(self.objective(self.widths.spread(theta), warm_start))

    def with_gradient(self, theta: Vector, warm_start: Any = None) -> Evaluation:
        """Evaluate with equal widths and the gradient in them."""
        if not isinstance(self.objective, EvaluatesWithGradient):
            return self(theta, warm_start)
        return self._gathered(self.objective.with_gradient(self.widths.spread(theta), warm_start))

    def _gathered(self, found: Evaluation) -> Evaluation:
        return replace(found, derive=partial(self._gradient, found), gradient_error=None)

    def _gradient(self, found: Evaluation) -> Vector | None:
        return self.widths.gathered(found.gradient)

    def corrected(self, theta: Vector, start: Any = None) -> "OneWidth":
        """Return the objective with its criterion corrected if that misleads at ``theta``; itself if it holds."""
        objective = self.objective.corrected(self.widths.spread(theta), start)
        return self if objective is self.objective else replace(self, objective=objective)


def tune_tied(tuner: CandidateTuner, kernel: Kernel, number: int = 0) -> Selection:
    """Search with one width, take a few steps with a width per feature, and fit at the best point by the tied criterion.

    Parameters
    ----------
    tuner : CandidateTuner
        Its criterion is :class:`foldless.criteria.Tied`.
    kernel : Kernel
        With several length scales.
    number : int
        Position among the candidates.
    """
    criterion = tuner.criterion
    assert isinstance(criterion, Tied)
    tuner.last_fit.check(kernel)
    space, section = tuner.staged.space(kernel), tuner.section(kernel, number)
    widths = EqualWidths.of(space.box.size, criterion.tied_groups(kernel))
    objectives = [OneWidth(objective, widths) for objective in tuner.objectives(kernel)]
    *_, found = tuner.staged.on_each(objectives, widths.space(space), f"{section}.one")
    begun = time.perf_counter() - found.seconds
    found = tuner.staged.corrected(found, widths.space(space), begun, f"{section}.one")
    one = _spread(found, widths)
    if one.outcome.stop.cut_short:
        return tuner.fit_after(one, kernel, number)
    descends = any(step.gradient is not None for step in found.steps)
    limit = n_steps(criterion.rows or 0.0, space.box.size) if descends else None
    path = _Path(tuner, criterion, space, section, limit)
    stage, explanation = path.better_than(one, objectives[0].objective)
    return replace(tuner.fit_after(stage, kernel, number), explanation=explanation)


def tied_after(tuner: CandidateTuner, kernel: Kernel, found: Stage, number: int = 0) -> tuple[Stage, str]:
    """Return the stage of a few steps with a width per feature after a search with one width, and the explanation.

    Parameters
    ----------
    tuner : CandidateTuner
        Its criterion is :class:`foldless.criteria.Tied`.
    kernel : Kernel
        With several length scales.
    found : Stage
        The last stage of the same kernel with one width; its steps are not counted again.
    number : int
        Position among the candidates.
    """
    criterion = tuner.criterion
    assert isinstance(criterion, Tied)
    space = tuner.staged.space(kernel)
    widths = EqualWidths.of(space.box.size, criterion.tied_groups(kernel))
    objectives = list(tuner.objectives(kernel))
    outcome = replace(found.outcome, trace=(), optima=(found.outcome.best,))
    one = _spread(Stage(OneWidth(objectives[-1], widths), outcome, ()), widths)
    limit = n_steps(criterion.rows or 0.0, space.box.size)
    path = _Path(tuner, criterion, space, tuner.section(kernel, number), limit)
    # The first steps show whether the others are worth their time.
    probe = replace(path, limit=LEAST_STEPS, section=f"{path.section}.probe")
    stage, explanation = probe.better_than(one, objectives[0])
    kept = np.array_equal(stage.outcome.best.theta, one.outcome.best.theta)
    if kept or limit <= LEAST_STEPS or stage.outcome.stop.cut_short:
        return stage, explanation
    counted = replace(one, outcome=replace(one.outcome, trace=stage.outcome.trace))
    return path.better_than(counted, objectives[0])


def n_steps(rows: float, n_parameters: int) -> int:
    """Return how many free steps so many rows allow.

    Examples
    --------
    >>> n_steps(50, 11), n_steps(5000, 5)
    (5, 500)
    """
    return max(LEAST_STEPS, int(rows / (ROWS_PER_STEP * n_parameters)))


def _spread(stage: Stage, widths: EqualWidths) -> Stage:
    """Return a stage with one width as a stage with all of them."""
    assert isinstance(stage.objective, OneWidth)
    outcome = stage.outcome
    # One new step for each, so that the best is the very step of the trace.
    spread = {id(step): widths.spread_step(step) for step in (*outcome.trace, outcome.best, *outcome.optima)}
    steps = tuple(spread[id(step)] for step in outcome.trace)
    optima = tuple(spread[id(step)] for step in outcome.optima)
    found = replace(outcome, best=spread[id(outcome.best)], trace=steps, optima=optima, draws=())
    last = steps[len(steps) - len(stage.steps) :]
    return replace(stage, objective=stage.objective.objective, outcome=found, steps=last)


@dataclass(frozen=True, eq=False)
class _Path:
    """A few steps of the criterion alone, judged by the tie.

    Parameters
    ----------
    tuner : CandidateTuner
    criterion : Tied
    space : SearchSpace
    section : str
        Name of the search in a checkpoint.
    limit : int or None
        How many steps; ``None`` is no limit, for searches that do not descend.
    """

    tuner: CandidateTuner
    criterion: Tied
    space: SearchSpace
    section: str
    limit: int | None

    def better_than(self, one: Stage, first: AnyObjective) -> tuple[Stage, str]:
        """Return the stage with its best point, one width unless a width per feature gains enough, and both values."""
        each, theta = self.from_one_width(one, first), one.outcome.best.theta
        kept = each.at(theta)
        if kept is None:
            return each, ""
        others = [step for step in each.steps if not np.array_equal(step.theta, theta)]
        best = min(others, key=lambda step: step.value, default=kept)
        words = f"one width: {kept.value:.4g} per row; a width per feature: {best.value:.4g}, tied"
        if self.criterion.gain_in_nats(kept.value, best.value) > MIN_GAIN_NATS:
            return each, words
        outcome = replace(each.outcome, best=kept, optima=(kept,))
        return replace(each, outcome=outcome), f"{words}; one width was kept"

    def from_one_width(self, one: Stage, first: AnyObjective) -> Stage:
        """Return the stage with a width per feature: on the first block of rows, if there are several, then on all."""
        before, starts, objective = one, [one.outcome.best.theta], one.objective
        assert isinstance(objective, Objective | BlockObjective)
        if len(self.tuner.problem.stages) > 1:
            before = self.descents(first, starts, one, "first")
            starts = [*starts, before.outcome.best.theta]
        for i in range(MAX_CORRECTIONS + 1):
            if before.outcome.stop.cut_short:
                break
            path = self if i == 0 else replace(self, limit=CORRECTED_MAX_EVALUATIONS)
            before = path.descents(objective, starts, before, f"each.{i}")
            found = before.outcome.best.theta
            corrected = objective.corrected(found)
            if corrected is objective:
                break
            objective, starts = corrected, [starts[0], found]
        return before

    def descents(self, objective: AnyObjective, starts: list[Vector], before: Stage, name: str) -> Stage:
        """Return the stage of a descent from the starts, and where no width matters also of one from the coarse grid.

        The best width may be one at which nothing can be learned: no feature has a slope there.
        """
        found = self.steps(objective, starts, before, name)
        stage = self.judged(found, before, objective)
        one = stage.at(starts[0])
        gains = (
            one is None or self.criterion.gain_in_nats(one.value, stage.outcome.best.value) > MIN_GAIN_NATS
        )
        if gains or self.has_slope(found, objective) or self.limit is None or stage.outcome.stop.cut_short:
            return stage
        again = self.steps(objective, self.space.starts, stage, f"{name}.grid")
        again = self.judged(again, stage, objective)
        return again if again.outcome is stage.outcome else again.after(stage)

    def has_slope(self, found: Stage, objective: AnyObjective) -> bool:
        """Return whether a step of length one in some log width would gain something by the slope where a descent began."""
        first = next((step for step in found.steps if step.gradient is not None), None)
        if first is None:
            return False
        groups = self.criterion.tied_groups(objective.at(first.theta)[0])
        gradient = np.asarray(first.gradient)
        steepest = max(float(np.max(np.abs(gradient[group]))) for group in groups)
        return self.criterion.gain_in_nats(first.value, first.value - steepest) > MIN_GAIN_NATS

    def steps(self, objective: AnyObjective, starts: list[Vector], before: Stage, name: str) -> Stage:
        """Return the stage of one descent of the criterion alone."""
        limit = None if self.limit is None else self.limit + len(starts)
        return self.tuner.staged.on(
            _free(objective),
            replace(self.space, starts=starts),
            before,
            time.perf_counter() - before.seconds,
            f"{self.section}.{name}",
            max_evaluations=limit,
            from_optima=False,
        )

    def judged(self, stage: Stage, before: Stage, objective: AnyObjective) -> Stage:
        """Return the stage of a descent with the values of the tied criterion."""
        if stage.outcome is before.outcome or not stage.steps:
            return stage
        steps = tuple(self.judged_step(step, objective) for step in stage.steps)
        best, outcome = min(steps, key=lambda step: step.value), stage.outcome
        trace = outcome.trace[: len(outcome.trace) - len(steps)] + steps
        found = replace(outcome, best=best, optima=(best,), trace=trace)
        judged = replace(stage, objective=objective, outcome=found, steps=steps)
        return judged.within_budget(self.tuner.options.max_evaluations)

    def judged_step(self, step: Step, objective: AnyObjective) -> Step:
        """Return a step with the value of the tied criterion."""
        kernel, _ = objective.at(step.theta)
        tied, _ = self.criterion.with_penalty(Reading(step.value), kernel)
        return replace(step, value=float(tied.value), gradient=None)


def _free(objective: AnyObjective) -> AnyObjective:
    """Return the objective without its tie."""
    if isinstance(objective, BlockObjective):
        return replace(objective, objectives=[_without_tie(one) for one in objective.objectives])
    return _without_tie(objective)


def _without_tie(objective: Objective) -> Objective:
    assert isinstance(objective.criterion, Tied)
    return replace(objective, criterion=objective.criterion.inner_criterion)
