"""Outputs and losses of the rows when they are left out, for every machine, without refitting.

They make fits comparable row by row: two forms of one machine (a whole matrix, landmarks, cells), or a fit to all rows
and one to some of them.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import singledispatch
from typing import Any, NamedTuple, Self

import numpy as np
from scipy.special import logsumexp, softmax

from foldless.core.contracts import Machine, Matrix, Vector
from foldless.core.errors import Undefined
from foldless.core.gram import Rows
from foldless.core.standard_error import mean_and_error
from foldless.core.targets import class_index, is_pm1, is_wrong, weighted_mean
from foldless.criteria.derivatives.svm import span_margins
from foldless.criteria.loo import loo_outputs
from foldless.machines.base import row_weights
from foldless.machines.columnwise import ColumnwiseSolutions
from foldless.machines.least_squares.solution import LinearSolution
from foldless.machines.smooth import SmoothMachine
from foldless.machines.softmax import SoftmaxMachine
from foldless.machines.svm import HingeSVM, SquaredHingeSVM, SVMSolution

# A gain over a constant may be chance up to so many standard errors. Of 120 fits to 100 and 120 fits to 400 rows of noise with two
# classes 2 gained more; of 40 and 40 regressions none.
CHANCE_STANDARD_ERRORS = 2.0


@singledispatch
def left_out_outputs(solution: Any) -> Matrix:
    """Return the output of every row (n, k) from the fit without it: exact, or by the machine's approximation."""
    return np.asarray(loo_outputs(solution)).reshape(solution.gram.n, -1)


@left_out_outputs.register
def _(solution: ColumnwiseSolutions) -> Matrix:
    return np.column_stack([left_out_outputs(column) for column in solution.columns])


@left_out_outputs.register
def _(solution: LinearSolution) -> Matrix:
    weights = solution.machine.weights
    root = np.ones(len(solution.Y)) if weights is None else np.sqrt(weights)
    return np.asarray(solution.Y - solution.loo_residuals / root[:, None])


@left_out_outputs.register
def _(solution: SVMSolution) -> Matrix:
    # The span costs one inverse where refits would cost a fit for every support vector. Without a support vector on
    # the margin it does not exist.
    try:
        outputs = solution.y * span_margins(solution)
    except Undefined:
        outputs = loo_outputs(solution)
    return np.asarray(outputs)[:, None]


@singledispatch
def row_losses(machine: Machine, Y: Matrix, outputs: Matrix) -> Vector:
    """Return the machine's loss of every row, the mean over its columns: squared errors unless it has another loss."""
    return np.asarray(np.mean((Y - outputs) ** 2, axis=1))


@row_losses.register
def _(machine: SmoothMachine, Y: Matrix, outputs: Matrix) -> Vector:
    return np.asarray(np.mean(machine.loss.value(Y, outputs), axis=1))


@row_losses.register
def _(machine: SoftmaxMachine, Y: Matrix, outputs: Matrix) -> Vector:
    return np.asarray(logsumexp(outputs, axis=1) - outputs[np.arange(len(Y)), class_index(Y)])


@row_losses.register(HingeSVM)
@row_losses.register(SquaredHingeSVM)
def _(machine: Any, Y: Matrix, outputs: Matrix) -> Vector:
    return np.asarray(np.mean(machine.loss.value(Y * outputs), axis=1))


@singledispatch
def row_residuals(machine: Machine, Y: Matrix, outputs: Matrix) -> Matrix:
    """Return minus the slope of the machine's loss in every output (n, k), up to a factor."""
    return np.asarray(Y - outputs)


@row_residuals.register
def _(machine: SmoothMachine, Y: Matrix, outputs: Matrix) -> Matrix:
    return np.asarray(-machine.loss.derivatives(Y, outputs)[0])


@row_residuals.register
def _(machine: SoftmaxMachine, Y: Matrix, outputs: Matrix) -> Matrix:
    return np.asarray((Y > 0) - softmax(outputs, axis=1))


@row_residuals.register(HingeSVM)
@row_residuals.register(SquaredHingeSVM)
def _(machine: Any, Y: Matrix, outputs: Matrix) -> Matrix:
    return np.asarray(Y * machine.loss.pull(Y * outputs))


@singledispatch
def constant_outputs(machine: Machine, Y: Matrix) -> Matrix:
    """Return the outputs (1, k) of the best machine that ignores its inputs."""
    return np.atleast_2d(np.average(Y, axis=0, weights=machine.loss_weights))


@constant_outputs.register
def _(machine: SmoothMachine, Y: Matrix) -> Matrix:
    weights = row_weights(machine, len(Y))
    return np.array([[machine.loss.start(y, weights) for y in Y.T]])


@constant_outputs.register
def _(machine: SoftmaxMachine, Y: Matrix) -> Matrix:
    return np.log(np.atleast_2d(np.average(Y > 0, axis=0, weights=machine.loss_weights)))


@constant_outputs.register
def _(machine: HingeSVM, Y: Matrix) -> Matrix:
    return np.sign(np.atleast_2d(np.average(Y, axis=0, weights=machine.loss_weights)))


class Gain(NamedTuple):
    """What left-out outputs gain over the best constant.

    Attributes
    ----------
    loss, constant_loss : float
        Their mean loss, and that of the constant.
    error : float
        Standard error of the difference.
    is_right_more_often : bool
        Whether fewer rows have the wrong class; True for numbers.
    fewer_wrong, fewer_wrong_error : float
        By what share of the rows fewer have the wrong class, and its standard error; zeros for numbers.
    """

    loss: float
    constant_loss: float
    error: float
    is_right_more_often: bool
    fewer_wrong: float = 0.0
    fewer_wrong_error: float = 0.0

    def exceeds(self, standard_errors: float) -> bool:
        """Return whether the loss is lower than that of the constant by more than so many standard errors."""
        return self.constant_loss - self.loss > standard_errors * self.error

    @property
    def is_no_chance(self) -> bool:
        """Whether the loss is lower, or classes are right more often, by more than chance explains."""
        fewer_wrong = self.fewer_wrong > CHANCE_STANDARD_ERRORS * self.fewer_wrong_error
        return fewer_wrong or self.exceeds(CHANCE_STANDARD_ERRORS)


def gain_over_constant(machine: Machine, Y: Matrix, left_out: Matrix) -> Gain:
    """Compare left-out outputs (n, k) with the best constant."""
    constant = np.broadcast_to(constant_outputs(machine, Y), Y.shape)
    ours, others = (LeftOutLosses.of(machine, Y, outputs) for outputs in (left_out, constant))
    losses = ours.mean, others.mean, others.excess(ours)[1]
    if not is_pm1(Y):
        return Gain(*losses, is_right_more_often=True)
    weights, group = machine.loss_weights, class_index(Y)
    commonest = Y[group == np.argmax(np.bincount(group, weights))][0]
    outputs = (left_out, np.broadcast_to(commonest, Y.shape))
    wrong, always_wrong = (is_wrong(Y, one) for one in outputs)
    # Two means round alike, where that of the differences may be off zero for a tie.
    right_more_often = weighted_mean(wrong, weights) < weighted_mean(always_wrong, weights)
    return Gain(*losses, right_more_often, *mean_and_error(always_wrong - wrong, weights))


@dataclass(frozen=True, eq=False)
class LeftOutLosses:
    """The losses of some rows when they are left out, and the weights of the rows; a row of weight 2 is the row twice."""

    losses: Vector
    weights: Vector | None = None

    @classmethod
    def of(cls, machine: Machine, Y: Matrix, outputs: Matrix) -> Self:
        """Return the losses of left-out outputs."""
        return cls(row_losses(machine, Y, outputs), machine.loss_weights)

    @classmethod
    def joined(cls, parts: Sequence[Self]) -> Self:
        """Return the losses of all parts, one after the other."""
        weights = [part.weights for part in parts if part.weights is not None]
        losses = np.concatenate([part.losses for part in parts])
        return cls(losses, np.concatenate(weights) if weights else None)

    def __len__(self) -> int:
        return len(self.losses)

    def __getitem__(self, rows: Rows | slice) -> Self:
        weights = None if self.weights is None else self.weights[rows]
        return self.__class__(self.losses[rows], weights)

    @property
    def mean(self) -> float:
        """The weighted mean."""
        return weighted_mean(self.losses, self.weights)

    def excess(self, other: Self) -> tuple[float, float]:
        """Return by how much the mean is above that of another fit on the same rows, and its standard error."""
        return mean_and_error(self.losses - other.losses, self.weights)
