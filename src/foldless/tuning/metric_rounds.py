r"""Rounds of learning a metric: fit, take the average gradient outer product, tune again with the metric it gives.

A metric that was learned from a row has seen its target, and leave-one-out over that row is no longer honest: on 245 rows
of 34 columns it fell from 0.14 to 0.06 while the test error doubled. So the rows are cut into two halves A and B, a
metric is learned on each, and the criterion of a round is

.. math:: J_r(\theta) = \tfrac12 J_A(\theta; M_B^r) + \tfrac12 J_B(\theta; M_A^r)  \tag{1}

with width, power and regularisation in :math:`\theta`. Round 0 is the plain distance. A learned metric is taken only if its
left-out losses are lower than those of round 0 by more than one standard error of the mean paired difference; the
rounds are then repeated on all rows with the parameters that were found.
"""

import time
from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass, replace

import numpy as np
from sklearn.gaussian_process.kernels import Kernel

from foldless.core.contracts import Vector
from foldless.criteria.left_out import left_out_outputs, row_losses
from foldless.grams.expansion import gradient_outer_product
from foldless.kernels.metric import learned_metric, with_metric
from foldless.machines.coefficients import expand
from foldless.tuning.candidate import CandidateTuner, Stage
from foldless.tuning.objective import UNDEFINED_ERRORS, Objective
from foldless.tuning.result import HalfMetrics, Selection
from foldless.tuning.row_blocks import BlockObjective, Rows, row_blocks, stratified_order

# Rows on which metrics are learned and compared.
METRIC_MAX_ROWS = 1200
ACCEPT_STANDARD_ERRORS = 1.0


@dataclass(frozen=True, eq=False)
class Round:
    """A round on the two halves: the search (1), the left-out losses at its best point, and the kernel of each half."""

    stage: Stage
    losses: Vector
    kernels: tuple[Kernel, ...]

    @property
    def theta(self) -> Vector:
        """The best point."""
        return self.stage.outcome.best.theta

    @property
    def value(self) -> float:
        """The criterion there."""
        return float(self.stage.outcome.best.value)


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
    order = stratified_order(tuner.Y, np.random.default_rng(tuner.seed))
    n_used = min(len(order), METRIC_MAX_ROWS)
    halves = row_blocks(tuner.Y, order, n_used, 2)
    rounds = _rounds_on_halves(tuner, kernel, halves, number, len(plain.outcome.trace))
    if not rounds:
        return plain
    best = min(range(len(rounds)), key=lambda r: rounds[r].value)
    difference = rounds[best].losses - rounds[0].losses
    error = float(np.std(difference) / np.sqrt(len(difference)))
    if best == 0 or not np.mean(difference) < -ACCEPT_STANDARD_ERRORS * error:
        return plain
    for one in rounds[:best]:
        kernel = _learned(tuner, kernel, np.sort(order[:n_used]), one.theta)
    chosen = rounds[best].stage
    trace = plain.outcome.trace + tuple(step for one in rounds for step in one.stage.steps)
    found = tuner.fit_after(replace(chosen, outcome=replace(chosen.outcome, trace=trace)), kernel, number)
    # The criterion of all rows has seen their targets through the metric: the halves' is reported.
    reading = copy(found.reading)
    reading.value = rounds[best].value
    parameters = [tuner.at(half, rounds[best].theta) for half in rounds[best].kernels]
    judged = HalfMetrics(tuple(halves), tuple(half for half, _ in parameters), parameters[0][1])
    return replace(found, reading=reading, half_metrics=judged)


def _rounds_on_halves(
    tuner: CandidateTuner, kernel: Kernel, halves: Sequence[Rows], number: int, used: int
) -> list[Round]:
    """Return the rounds up to the first that is no better, as far as the budget goes."""
    own, found, most = [kernel, kernel], list[Round](), tuner.options.max_evaluations
    for r in range(_n_rounds(kernel) + 1):
        left = None if most is None else most - used
        if left is not None and left <= 0:
            break
        budgeted = replace(tuner, options=replace(tuner.options, max_evaluations=left))
        objectives = [budgeted.on_rows(own[1 - h], halves[h]) for h in (0, 1)]
        section = f"{budgeted.section(own[0], number)}.round.{r}"
        try:
            stage = budgeted.search_on(
                BlockObjective(objectives, tuner.options.n_jobs),
                budgeted.space(own[0]),
                None,
                time.perf_counter(),
                section,
            )
            losses = np.concatenate([_losses(one, stage.outcome.best.theta) for one in objectives])
        except UNDEFINED_ERRORS:
            break
        used += len(stage.steps)
        found.append(Round(stage, losses, (own[1], own[0])))
        if stage.outcome.stop.cut_short or (r > 0 and found[r].value >= found[r - 1].value):
            break
        own = [_learned(tuner, own[h], halves[h], found[r].theta) for h in (0, 1)]
    return found


def _n_rounds(kernel: Kernel) -> int:
    name = learned_metric(kernel)
    return (kernel.get_params()[name] if name else kernel).rounds


def _losses(objective: Objective, theta: Vector) -> Vector:
    _, machine, solution = objective.solve(theta)
    return row_losses(machine, objective.Y, left_out_outputs(solution))


def _learned(tuner: CandidateTuner, kernel: Kernel, rows: Rows, theta: Vector) -> Kernel:
    """Return the kernel with the metric of a fit to some rows at ``theta``."""
    objective = tuner.on_rows(kernel, rows)
    fitted, _, solution = objective.solve(theta)
    expansion = expand(objective.builder, solution)
    return with_metric(fitted, gradient_outer_product(expansion, fitted, tuner.X[rows]))
