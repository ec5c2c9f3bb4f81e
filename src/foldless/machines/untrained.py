"""The machine that does nothing: it hands Gram and targets through, for criteria that look at these alone."""

from dataclasses import dataclass

import numpy as np

from foldless.core.contracts import Gram, Machine, Matrix


@dataclass(frozen=True)
class NoMachine(Machine):
    """No machine; nothing to tune but the kernel."""

    def solve(self, gram, Y, start=None):
        """Hand ``gram`` and ``Y`` (n, k) through."""
        return NoMachineSolution(gram, self, Y)


@dataclass(frozen=True, eq=False)
class NoMachineSolution:
    """Gram and targets, as they came."""

    gram: Gram
    machine: NoMachine
    Y: Matrix

    @property
    def precision(self):
        """One over the mean diagonal (n,): criteria of the kernel alone ignore its scale."""
        return np.full(self.gram.n, 1 / np.mean(self.gram.diag()))

    @property
    def start(self):
        """Nothing."""
        return None
