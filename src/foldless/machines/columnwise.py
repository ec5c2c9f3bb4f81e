"""Several problems that share Gram and machine and differ in their targets: one solution per column."""

from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True, eq=False)
class ColumnwiseSolutions:
    """One solution per column of the targets.

    Parameters
    ----------
    columns : tuple of solutions
        Each with ``gram``, ``machine``, targets ``y``, coefficients ``alpha`` and bias ``b``, and a ``start``.
    """

    columns: tuple[Any, ...]

    @property
    def gram(self):
        """The shared Gram."""
        return self.columns[0].gram

    @property
    def machine(self):
        """The shared machine."""
        return self.columns[0].machine

    @property
    def Y(self):
        """Targets, (n, k)."""
        return np.column_stack([s.y for s in self.columns])

    @property
    def start(self):
        """Warm starts, one per column."""
        return [s.start for s in self.columns]

    @property
    def alpha(self):
        """Coefficients, (n, k): ``f = K alpha``."""
        return np.column_stack([s.alpha for s in self.columns])

    @property
    def b(self):
        """Biases, (k,)."""
        return np.array([s.b for s in self.columns])
