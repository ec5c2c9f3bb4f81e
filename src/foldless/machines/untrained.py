"""The machine that does nothing: it hands Gram and targets through, for criteria that look at these alone."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from foldless.core.contracts import Gram, Matrix


@dataclass(frozen=True)
class NoMachine:
    """No machine; nothing to tune but the kernel."""

    sign: ClassVar[float] = 1.0

    @property
    def theta(self):
        """Empty."""
        return np.zeros(0)

    def with_theta(self, theta):
        """Return itself."""
        return self

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
