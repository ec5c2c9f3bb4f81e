"""Several problems that share Gram and machine and differ in their targets: one solution per column."""

from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import numpy as np

from foldless.core.contracts import Gram, Matrix, Vector

ColumnSolution = TypeVar("ColumnSolution", bound=Any)


@dataclass(frozen=True, eq=False)
class ColumnwiseSolutions(Generic[ColumnSolution]):
    """One solution per column of the targets.

    Parameters
    ----------
    columns : tuple of solutions
        Each with ``gram``, ``machine``, targets ``y``, coefficients ``alpha``, a bias ``b``, ``outputs`` and a ``start``.
    """

    columns: tuple[ColumnSolution, ...]

    @property
    def gram(self) -> Gram:
        """The shared Gram."""
        return self.columns[0].gram

    @property
    def machine(self) -> Any:
        """The shared machine."""
        return self.columns[0].machine

    @property
    def Y(self) -> Matrix:
        """Targets (n, k)."""
        return np.column_stack([s.y for s in self.columns])

    @property
    def start(self) -> list[Any]:
        """Warm starts, one per column."""
        return [s.start for s in self.columns]

    @property
    def alpha(self) -> Matrix:
        """Coefficients (n, k): ``f = K alpha``."""
        return np.column_stack([s.alpha for s in self.columns])

    @property
    def b(self) -> Vector:
        """Biases (k,)."""
        return np.array([s.b for s in self.columns])

    @property
    def outputs(self) -> Matrix:
        """Outputs of the rows, biases included (n, k)."""
        return np.column_stack([s.outputs for s in self.columns])
