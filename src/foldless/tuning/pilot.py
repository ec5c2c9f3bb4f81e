r"""A cheap pilot of the search where there are several classes.

Most machines fit one class against the rest at a time, so that an evaluation takes a factorisation for every class. A
least-squares machine fits all classes with a single one. A kernel that is good for one machine is nearly as good for the other,
and their best C differ by a factor. With three classes or more a search therefore begins with the least-squares machine, and
the machine itself goes on from there with its own criterion.
"""

from dataclasses import dataclass, replace
from functools import singledispatch
from typing import Self

import numpy as np

from foldless.core.contracts import Machine, Vector
from foldless.machines.lssvm import LSSVM
from foldless.machines.smooth import SmoothMachine
from foldless.machines.svm import SupportVectorMachine

MIN_CLASSES = 3
# Roughly the logarithm of the best C over that of the least-squares machine with the same kernel: on one split each of glass, anneal, usps
# and letter it was -0.3 to 1.7 and -2.9 to 0. It only says where the search of the machine itself begins.
LOGISTIC_LOG_RATIO, SVM_LOG_RATIO = 1.5, -1.0


@dataclass(frozen=True, eq=False)
class PilotMachine(LSSVM):
    """A least-squares machine whose parameter is the C of another machine.

    Parameters
    ----------
    log_ratio : float
        Logarithm of the other machine's C over this one's.
    """

    log_ratio: float = 0.0

    @property
    def theta(self) -> Vector:
        """The logarithm of the other machine's C."""
        return super().theta + self.log_ratio

    def with_theta(self, theta: Vector) -> Self:
        """Return the machine for another C of the other machine."""
        return replace(self, C=float(np.exp(theta[0] - self.log_ratio)))


def pilot_of(machine: Machine, n_columns: int) -> PilotMachine | None:
    """Return the machine that searches first; None if it would not be cheaper or cannot be fitted."""
    log_ratio = _log_ratio(machine)
    weights = machine.weights
    if log_ratio is None or machine.n_separate_fits(n_columns) < MIN_CLASSES:
        return None
    if isinstance(weights, str) or (weights is not None and not np.all(np.asarray(weights) > 0)):
        return None
    C = float(np.exp(machine.theta[0] - log_ratio))
    return PilotMachine(C, machine.bias, weights, row_counts=machine.row_counts, log_ratio=log_ratio)


@singledispatch
def _log_ratio(machine: Machine) -> float | None:
    return None


@_log_ratio.register
def _(machine: SmoothMachine) -> float | None:
    return LOGISTIC_LOG_RATIO if machine.loss.labels else None


@_log_ratio.register
def _(machine: SupportVectorMachine) -> float | None:
    return SVM_LOG_RATIO
