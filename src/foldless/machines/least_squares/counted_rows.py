"""Degrees of freedom of a linear fit whose rows may stand for several equal rows each."""

from typing import Any

import numpy as np

from foldless.core.contracts import Matrix, Vector
from foldless.core.memo import cached_property
from foldless.machines.base import LinearMachine, fraction_of_one_row


class CountedRows:
    """Counts and traces with all copies of a row included.

    Whitening turns c equal rows into one row of weight c and c - 1 rows of weight zero, which no fit touches. These are
    not stored, but they count: each adds 1 to the number of rows and to the trace of every power of R.
    """

    machine: LinearMachine
    Y: Matrix
    smoother: Any

    @property
    def n(self) -> int:
        """Number of stored rows."""
        return len(self.Y)

    @property
    def total_weight(self) -> float:
        """Sum of the sample weights."""
        return float(self.n if self.machine.weights is None else np.sum(self.machine.weights))

    @cached_property
    def n_extra_rows(self) -> float:
        """Number of rows that are copies of stored ones."""
        return 0.0 if self.machine.row_counts is None else float(np.sum(self.machine.row_counts)) - self.n

    @property
    def size(self) -> float:
        """Number of rows, copies included."""
        return self.n + self.n_extra_rows

    @cached_property
    def fraction_of_one_row(self) -> Vector:
        """The part of each point that is a single row: one over the number of equal rows it stands for."""
        return fraction_of_one_row(self.machine, self.n)

    @cached_property
    def residual_df(self) -> float:
        """Trace of R, which is n - df, copies included."""
        return self.smoother.trace() + self.n_extra_rows

    @cached_property
    def trace_R2(self) -> float:
        """Trace of R^2, copies included."""
        return self.smoother.trace2() + self.n_extra_rows

    @property
    def penalised(self) -> float:
        """Number of directions under the penalty, copies included."""
        return self.smoother.penalised + self.n_extra_rows

    @property
    def df(self) -> float:
        """Degrees of freedom tr H, free directions included."""
        return self.size - self.residual_df
