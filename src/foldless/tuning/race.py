r"""A race of kernel families: all search on the first rows, and those that are clearly worse search no further.

With :math:`\ell_i` and :math:`\ell^*_i` the losses of row i, when it is left out, of a family and of the one with the lowest
criterion, a family is dropped after a stage of the search if its criterion is larger and

.. math:: \bar d > 2 \sqrt{\operatorname{var}(d) / n}, \qquad d_i = \ell_i - \ell^*_i.  \tag{1}

The differences are paired, so that rows that are hard for all families do not blur the comparison. The family with the
lowest criterion after the last stage is fitted to all rows.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from threading import Event

import numpy as np
from sklearn.gaussian_process.kernels import Kernel

from foldless.core.contracts import Stop, Vector
from foldless.core.errors import Undefined
from foldless.core.parallel import side_by_side
from foldless.criteria.left_out import left_out_outputs, row_losses
from foldless.kernels.families import Families
from foldless.tuning.candidate import CandidateTuner, Stage
from foldless.tuning.objective import UNDEFINED_ERRORS, Objective
from foldless.tuning.result import Selection, Trial, Trials
from foldless.tuning.row_blocks import BlockObjective

# A family is dropped if it is worse by more than so many standard errors of the mean difference.
DROP_STANDARD_ERRORS = 2.0


@dataclass(eq=False)
class Runner:
    """A family in the race.

    Attributes
    ----------
    name : str
    kernel : Kernel
    tuner : CandidateTuner
        With this family's share of the budget.
    stages : iterator of Stage
    stage : Stage or None
        The latest.
    note : str
        Why it is out of the race; empty if it is not.
    """

    name: str
    kernel: Kernel
    tuner: CandidateTuner
    stages: Iterator[Stage]
    stage: Stage | None = None
    note: str = ""

    @property
    def value(self) -> float:
        """The criterion at the best point of the latest stage."""
        return np.inf if self.stage is None else float(self.stage.outcome.best.value)

    def advance(self) -> bool:
        """Search on the next rows; return whether there were any. An undefined criterion ends the race for a family."""
        try:
            stage = next(self.stages, None)
        except Undefined as error:
            self.note = str(error)
            return False
        self.stage = stage or self.stage
        return stage is not None

    def losses(self) -> Vector:
        """Return the left-out losses of the rows of the latest stage."""
        assert self.stage is not None
        whole, theta = self.stage.objective, self.stage.outcome.best.theta
        assert isinstance(whole, Objective | BlockObjective)
        parts = whole.objectives if isinstance(whole, BlockObjective) else [whole]
        return np.concatenate([_left_out_losses(part, theta) for part in parts])

    def trial(self) -> Trial:
        """Return the record of this family."""
        if self.stage is None:
            return Trial(self.kernel, np.inf, None, self.note, self.name)
        kernel, _ = self.tuner.at(self.kernel, self.stage.outcome.best.theta)
        return Trial(kernel, self.value, self.stage.outcome, self.note, self.name)


def _left_out_losses(objective: Objective, theta: Vector) -> Vector:
    _, machine, solution = objective.solve(theta)
    return row_losses(machine, objective.Y, left_out_outputs(solution))


def race(
    tuner: CandidateTuner, candidates: Families, budgets: Sequence[int | None], n_jobs: int | None
) -> Selection:
    """Return the selection of the family with the lowest criterion; its trials list all families.

    Parameters
    ----------
    tuner : CandidateTuner
    candidates : Families
    budgets : sequence of int or None
        Evaluations of every family; a family with none does not start.
    n_jobs : int, optional
        Families that search side by side.
    """
    runners = [_runner(tuner, candidates, i, budgets[i]) for i in range(len(budgets))]
    racing, interrupted = [runner for runner in runners if not runner.note], Event()
    while racing and _advance_all(racing, n_jobs, interrupted) and not interrupted.is_set():
        racing = _without_losers([runner for runner in racing if not runner.note])
    finished = [runner for runner in racing if runner.stage is not None and not runner.note]
    if not finished:
        raise Undefined(next((runner.note for runner in runners if runner.note), "no family was tried."))
    best = min(finished, key=lambda runner: runner.value)
    assert best.stage is not None
    stage = best.stage.ended_by(Stop.INTERRUPTED) if interrupted.is_set() else best.stage
    selection = best.tuner.fit_after(stage, best.kernel, runners.index(best))
    best.note = "chosen"
    return replace(selection, trials=Trials(runner.trial() for runner in runners))


def _advance_all(racing: Sequence[Runner], n_jobs: int | None, interrupted: Event) -> bool:
    """Search on the next rows; return whether there were any. An interrupt keeps what was found, if anything was."""

    def advance(runner: Runner) -> bool:
        if interrupted.is_set():
            return False
        moved = runner.advance()
        if runner.stage is not None and runner.stage.outcome.stop == Stop.INTERRUPTED:
            interrupted.set()
        return moved

    try:
        return any(side_by_side([partial(advance, runner) for runner in racing], n_jobs))
    except KeyboardInterrupt:
        # Threads learn of it through the event.
        interrupted.set()
        if all(runner.stage is None or runner.tuner.options.raises_interrupt for runner in racing):
            raise
        return False


def _runner(tuner: CandidateTuner, candidates: Families, i: int, budget: int | None) -> Runner:
    own = replace(tuner, options=replace(tuner.options, max_evaluations=budget))
    kernel = candidates.kernels[i]
    note = (
        f"max_evaluations={tuner.options.max_evaluations} left none for this kernel." if budget == 0 else ""
    )
    return Runner(candidates.names[i], kernel, own, own.search_in_stages(kernel, i), note=note)


def _without_losers(racing: list[Runner]) -> list[Runner]:
    """Return the families that stay after a stage; eq. (1)."""
    best = min(racing, key=lambda runner: runner.value)
    if len(racing) == 1 or best.tuner.criterion.ignores_machine:
        return racing
    try:
        reference = best.losses()
    except UNDEFINED_ERRORS:
        return racing
    for runner in racing:
        if runner is not best:
            runner.note = _reason_to_drop(runner, best, reference)
    return [runner for runner in racing if not runner.note]


def _reason_to_drop(runner: Runner, best: Runner, reference: Vector) -> str:
    """Return a sentence, or nothing if the family stays."""
    try:
        difference = runner.losses() - reference
    except UNDEFINED_ERRORS:
        return ""
    if len(difference) != len(reference):
        return ""
    mean, error = float(np.mean(difference)), float(np.std(difference) / np.sqrt(len(difference)))
    if not mean > DROP_STANDARD_ERRORS * error:
        return ""
    return f"dropped after {len(reference)} rows: worse than {best.name} by {mean:.3g} ± {error:.2g} a row"
