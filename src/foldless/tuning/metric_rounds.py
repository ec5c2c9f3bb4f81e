r"""Rounds of learning a metric: fit, take the average gradient outer product, tune again with the metric it gives.

A metric that was learned from a row has seen its target, and leave-one-out over that row is no longer honest: on 245 rows
of 34 columns it fell from 0.14 to 0.06 while the test error doubled. So the rows are cut into two halves A and B, a
metric is learned on each, and the criterion of a round is

.. math:: J_r(\theta) = \tfrac12 J_A(\theta; M_B^r) + \tfrac12 J_B(\theta; M_A^r)  \tag{1}

with width, power and regularisation in :math:`\theta`. Round 0 is the plain distance. A learned metric is taken only if its
left-out losses are lower than those of round 0 by more than two standard errors of the mean paired difference; the
rounds are then repeated on all rows with the parameters that were found.
"""

import time
from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass, replace

import numpy as np
from sklearn.gaussian_process.kernels import Kernel

from foldless.core.contracts import Step, Vector
from foldless.criteria.left_out import LeftOutLosses
from foldless.grams.expansion import gradient_outer_product
from foldless.kernels.metric import learned_metric, with_metric
from foldless.machines.coefficients import expand
from foldless.tuning.candidate import CandidateTuner
from foldless.tuning.objective import UNDEFINED_ERRORS, left_out_losses
from foldless.tuning.result import Selection
from foldless.tuning.row_blocks import BlockObjective, Rows, row_blocks, stratified_order
from foldless.tuning.search_space import is_length_scale, starts_near
from foldless.tuning.stage import Stage

# Rows on which metrics are learned and compared.
METRIC_MAX_ROWS = 1200
# A learned metric is the best of several rounds: on noise one in six was better than the plain distance by one standard error.
ACCEPT_STANDARD_ERRORS = 2.0
# A round that lowers the criterion by a smaller fraction is the last.
MIN_ROUND_GAIN = 0.01
# Where a round begins: steps of the log width from that of the round before.
START_LOG_WIDTH_STEPS = (-0.5, 0.5, 1.5)


@dataclass(frozen=True, eq=False)
class Round:
    """A round on the two halves: the search (1), and the left-out losses at its best point."""

    stage: Stage
    losses: LeftOutLosses

    @property
    def theta(self) -> Vector:
        """The best point."""
        return self.stage.outcome.best.theta

    @property
    def value(self) -> float:
        """The criterion there."""
        return float(self.stage.outcome.best.value)


@dataclass(frozen=True, eq=False)
class MetricRounds:
    """Rounds of learning on two halves of some rows.

    Attributes
    ----------
    tuner : CandidateTuner
    kernel : Kernel
        With a :class:`~foldless.kernels.Metric` that has rounds to learn somewhere in it.
    number : int
        Position among the candidates.
    halves : list of two arrays
    rounds : list of Round
        The first with the plain distance.
    """

    tuner: CandidateTuner
    kernel: Kernel
    number: int
    halves: list[Rows]
    rounds: list[Round]

    @classmethod
    def learn(
        cls,
        tuner: CandidateTuner,
        kernel: Kernel,
        start: Vector,
        number: int = 0,
        used: int = 0,
        max_rows: int = METRIC_MAX_ROWS,
    ) -> "MetricRounds":
        """Learn from a start with the plain distance, after ``used`` evaluations of the budget."""
        order = stratified_order(tuner.Y, np.random.default_rng(tuner.seed))
        halves = row_blocks(tuner.Y, order, min(len(order), max_rows), 2)
        return cls(
            tuner, kernel, number, halves, _rounds_on_halves(tuner, kernel, halves, number, used, start)
        )

    @property
    def best(self) -> int:
        """The number of the round with the lowest criterion."""
        return min(range(len(self.rounds)), key=lambda r: self.rounds[r].value)

    @property
    def gains(self) -> bool:
        """Whether a learned metric is better than the plain distance by more than two standard errors."""
        if not self.rounds or self.best == 0:
            return False
        mean, error = self.rounds[0].losses.excess(self.rounds[self.best].losses)
        return mean > ACCEPT_STANDARD_ERRORS * error

    @property
    def steps(self) -> tuple[Step, ...]:
        """The steps of all rounds."""
        return tuple(step for one in self.rounds for step in one.stage.steps)

    @property
    def stage(self) -> Stage:
        """The stage of the best round, with the steps of all rounds as its trace."""
        best = self.rounds[self.best].stage
        return replace(best, outcome=replace(best.outcome, trace=self.steps))

    def fit(self, earlier: tuple[Step, ...] = ()) -> Selection:
        """Learn the metric of the best round from all these rows, and fit with it."""
        kernel, rows, stage = self.kernel, np.unique(np.concatenate(self.halves)), self.stage
        for one in self.rounds[: self.best]:
            kernel = _learned(self.tuner, kernel, rows, one.theta)
        outcome = replace(stage.outcome, trace=earlier + self.steps)
        found = self.tuner.fit_after(replace(stage, outcome=outcome), kernel, self.number)
        # The criterion of all rows has seen their targets through the metric: the halves' is reported.
        reading = copy(found.reading)
        reading.value = self.rounds[self.best].value
        return replace(found, reading=reading, metric_is_learned=True)


def tune_rounds(tuner: CandidateTuner, kernel: Kernel, number: int = 0) -> Selection:
    """Return the fit with the plain distance, or with the metric of the best round if that is better.

    Parameters
    ----------
    tuner : CandidateTuner
        Its budget of evaluations is for all rounds.
    kernel : Kernel
        With a :class:`~foldless.kernels.Metric` that has rounds to learn somewhere in it.
    number : int
        Position among the candidates.
    """
    plain = tuner.tune(kernel, number)
    # A criterion that ignores the machine has no fit whose gradients a metric could be learned from.
    if plain.outcome.stop.cut_short or tuner.criterion.ignores_machine:
        return plain
    start, trace = plain.outcome.best.theta, plain.outcome.trace
    rounds = MetricRounds.learn(tuner, kernel, start, number, len(trace))
    return rounds.fit(trace) if rounds.gains else plain


def _rounds_on_halves(
    tuner: CandidateTuner, kernel: Kernel, halves: Sequence[Rows], number: int, used: int, start: Vector
) -> list[Round]:
    """Return the rounds up to the first that gains little, as far as the budget goes; each begins where the last one ended."""
    starts = starts_near(start, kernel, tuner.machine if tuner.tune_machine else None)
    begun = time.perf_counter()
    own, found, most = [kernel, kernel], list[Round](), tuner.options.max_evaluations
    for r in range(_n_rounds(kernel) + 1):
        left = None if most is None else most - used
        if left is not None and left <= 0:
            break
        budgeted = replace(tuner, options=replace(tuner.options, max_evaluations=left))
        objectives = [budgeted.problem.on_rows(own[1 - h], halves[h]) for h in (0, 1)]
        section = f"{budgeted.section(own[0], number)}.round.{r}"
        try:
            stage = budgeted.staged.on(
                BlockObjective(objectives, tuner.options.n_jobs),
                replace(budgeted.staged.space(own[0]), starts=starts),
                None,
                begun,
                section,
            )
            losses = left_out_losses(objectives, stage.outcome.best.theta, stage.outcome.warm_start)
        except UNDEFINED_ERRORS:
            break
        used += len(stage.steps)
        found.append(Round(stage, losses))
        if stage.outcome.stop.cut_short or (r > 0 and _gain(found) < MIN_ROUND_GAIN):
            break
        strength = found[r].theta[len(own[0].theta) :]
        own = [_learned(tuner, own[h], halves[h], found[r].theta) for h in (0, 1)]
        # Fewer directions make distances shorter or longer.
        starts = [
            np.r_[own[0].theta + step * is_length_scale(own[0]), strength] for step in START_LOG_WIDTH_STEPS
        ]
    return found


def _gain(rounds: Sequence[Round]) -> float:
    """Return by what fraction the last round lowered the criterion."""
    before, after = rounds[-2].value, rounds[-1].value
    return (before - after) / abs(before) if before else 0.0


def _n_rounds(kernel: Kernel) -> int:
    name = learned_metric(kernel)
    return (kernel.get_params()[name] if name else kernel).rounds


def _learned(tuner: CandidateTuner, kernel: Kernel, rows: Rows, theta: Vector) -> Kernel:
    """Return the kernel with the metric of a fit to some rows at ``theta``."""
    objective = tuner.problem.on_rows(kernel, rows)
    fitted, _, solution = objective.solve(theta)
    expansion = expand(objective.builder, solution)
    return with_metric(fitted, gradient_outer_product(expansion, fitted, tuner.X[rows]))
