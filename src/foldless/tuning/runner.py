"""A candidate in a race of kernels: its search so far, and the losses of left-out rows by which it is compared."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from sklearn.gaussian_process.kernels import Kernel

from foldless.core.contracts import Vector
from foldless.core.errors import Undefined
from foldless.criteria.left_out import LeftOutLosses
from foldless.tuning.candidate import CandidateTuner
from foldless.tuning.objective import Objective, left_out_losses
from foldless.tuning.result import Trial
from foldless.tuning.row_blocks import BlockObjective, Rows
from foldless.tuning.search_space import starts_near
from foldless.tuning.stage import Stage

# A search that is accurate enough for some of the rows may end above its minimum by this fraction of the criterion's scale.
ROUGH_FRACTION = 2e-3


@dataclass(eq=False)
class Runner:
    """A candidate in the race.

    Attributes
    ----------
    name : str
    kernel : Kernel
    tuner : CandidateTuner
        With this candidate's share of the budget.
    number : int
        Position among the candidates.
    stage : Stage or None
        The latest.
    note : str
        Why it is out of the race; empty if it is not.
    is_finished : bool
        Whether it was searched to full accuracy, with a criterion that holds.
    """

    name: str
    kernel: Kernel
    tuner: CandidateTuner
    number: int
    stage: Stage | None = None
    note: str = ""
    is_finished: bool = False
    _stages: Iterator[Stage] | None = None

    @property
    def value(self) -> float:
        """The criterion at the best point of the latest stage."""
        return np.inf if self.stage is None else float(self.stage.outcome.best.value)

    @property
    def lowest_value(self) -> float:
        """What the criterion may fall to when the search is finished; a corrected criterion is rarely lower."""
        if self.note:
            return np.inf
        if self.stage is None or self.is_finished:
            return self.value
        scale = self.stage.objective.value_scale
        return self.value - ROUGH_FRACTION * (abs(self.value) if scale is None else scale)

    @property
    def is_cut_short(self) -> bool:
        """Whether a budget or an interrupt ended the search."""
        return self.stage is not None and self.stage.outcome.stop.cut_short

    @property
    def theta(self) -> Vector:
        """The best point."""
        assert self.stage is not None
        return self.stage.outcome.best.theta

    def begin_near(self, first: "Runner") -> None:
        """Begin near the optimum of a kernel with the same parameters, unless several descents are asked for."""
        sisters = len(first.kernel.theta) == len(self.kernel.theta) > 0
        if first.stage is None or not sisters or self.tuner.search.n_starts > 1:
            return
        shift = np.zeros(len(first.theta))
        shift[: len(self.kernel.theta)] = self.kernel.theta - first.kernel.theta
        machine = self.tuner.machine if self.tuner.tune_machine else None
        self.tuner = replace(self.tuner, starts=starts_near(first.theta + shift, self.kernel, machine))

    def advance(self) -> bool:
        """Search on the next rows; return whether there were any. An undefined criterion ends the race for a candidate."""
        if self._stages is None:
            self._stages = self.tuner.search_in_stages(self.kernel, self.number)
        try:
            stage = next(self._stages, None)
        except Undefined as error:
            self.note = str(error)
            return False
        self.stage = stage or self.stage
        return stage is not None

    def finish(self) -> None:
        """Search on to full accuracy, with a criterion that holds at the point found; where it is undefined the race is over."""
        assert self.stage is not None
        try:
            self.stage = self.tuner.finish(self.stage, self.kernel, self.number)
        except Undefined as error:
            self.note = str(error)
        self.is_finished = True

    def losses(self) -> LeftOutLosses:
        """Return the left-out losses of the rows of the latest stage."""
        assert self.stage is not None
        whole = self.stage.objective
        assert isinstance(whole, Objective | BlockObjective)
        start = self.stage.outcome.warm_start
        if isinstance(whole, BlockObjective):
            return left_out_losses(whole.objectives, self.theta, start)
        return left_out_losses([whole], self.theta, [start])

    def losses_on(self, blocks: Sequence[Rows]) -> LeftOutLosses:
        """Return the left-out losses of fits to other blocks of rows at the best point."""
        return left_out_losses([self.tuner.problem.on_rows(self.kernel, rows) for rows in blocks], self.theta)

    def trial(self) -> Trial:
        """Return the record of this candidate."""
        if self.stage is None:
            return Trial(self.kernel, np.inf, None, self.note, self.name)
        kernel, _ = self.tuner.problem.at(self.kernel, self.theta)
        return Trial(kernel, self.value, self.stage.outcome, self.note, self.name)
