"""The machine that does nothing: it returns Gram and targets, for criteria that need nothing else."""

from dataclasses import dataclass

import numpy as np

from foldless.core.contracts import Gram, Machine, Matrix, Vector


@dataclass(frozen=True)
class NoMachine(Machine):
    """No machine: only the kernel is tuned."""

    def solve(self, gram: Gram, Y: Matrix, start: None = None) -> "NoMachineSolution":
        """Return ``gram`` and ``Y`` (n, k) as they are."""
        return NoMachineSolution(gram, self, Y)


@dataclass(frozen=True, eq=False)
class NoMachineSolution:
    """Gram and targets, as they were given."""

    gram: Gram
    machine: NoMachine
    Y: Matrix

    start = None

    @property
    def precision(self) -> Vector:
        """One over the mean diagonal (n,): criteria of the kernel alone ignore its scale."""
        return np.full(self.gram.n, 1 / np.mean(self.gram.diag()))
