"""Outputs and losses of the rows when they are left out, for every machine, without refitting.

They make fits comparable row by row: two forms of one machine (a whole matrix, landmarks, cells), or a fit to all rows
and one to some of them.
"""

from functools import singledispatch
from typing import Any

import numpy as np

from foldless.core.contracts import Machine, Matrix, Vector
from foldless.core.errors import Undefined
from foldless.criteria.derivatives.svm import span_margins
from foldless.criteria.loo import loo_outputs
from foldless.machines.columnwise import ColumnwiseSolutions
from foldless.machines.least_squares.solution import LinearSolution
from foldless.machines.smooth import SmoothMachine
from foldless.machines.svm import HingeSVM, SquaredHingeSVM, SVMSolution


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


@row_losses.register(HingeSVM)
@row_losses.register(SquaredHingeSVM)
def _(machine: Any, Y: Matrix, outputs: Matrix) -> Vector:
    return np.asarray(np.mean(machine.loss.value(Y * outputs), axis=1))
