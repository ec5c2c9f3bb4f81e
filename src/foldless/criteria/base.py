"""What a criterion is: a frozen record of options that reads a solution."""

import operator
from dataclasses import dataclass
from functools import reduce, singledispatchmethod
from typing import ClassVar

import numpy as np

from foldless.core.contracts import LazyReading, Reading
from foldless.core.errors import UnreadableSolution

BY_NAME: dict[str, type] = {}  # every criterion, filled as the classes are made


@dataclass(frozen=True)
class Criterion:
    """Base of all criteria.

    A subclass is a frozen dataclass of options with a ``name`` and a ``read`` method that dispatches on the type of
    the solution: ``@read.register`` lists what it reads.
    """

    name: ClassVar[str] = ""
    tunes_kernel: ClassVar[bool] = True
    reason_against: ClassVar[str] = ""
    may_diverge_in_C: ClassVar[bool] = False  # its minimum over the regularisation may mean nothing
    ignores_machine: ClassVar[bool] = False  # to the machine: it looks at kernel and targets alone

    def __init_subclass__(cls, **kwargs):
        super().__init_subclass__(**kwargs)
        if cls.name:
            BY_NAME[cls.name] = cls

    def __call__(self, solution) -> Reading:
        """Read a solution; one with several columns gives the mean of their readings."""
        columns = getattr(solution, "columns", None)
        if columns is not None and not issubclass(type(solution), self.readable()):
            return mean_reading([self(column) for column in columns])
        return self.read(solution)

    def with_data_estimates(self, machine, grams, Y):
        """Return the criterion with whatever it estimates once (a noise variance) fixed; by default itself.

        Parameters
        ----------
        machine : Machine
        grams : sequence of Gram
            One per candidate kernel, or the one at the start of a search.
        Y : array of shape (n, k)
        """
        return self

    @singledispatchmethod
    def read(self, solution) -> Reading:
        """Read one solution."""
        raise self.unreadable(solution)

    def penalty(self, kernel, machine=None):
        """Return a cost of the parameters themselves, and its gradient in those of the kernel and of a machine: none here."""
        return 0.0, np.zeros(len(kernel.theta) + (0 if machine is None else len(machine.theta)))

    def prior(self, kernel, machine=None):
        """Return centres and deviations of normal densities of the parameters; infinite deviations are no density."""
        size = len(kernel.theta) + (0 if machine is None else len(machine.theta))
        return np.zeros(size), np.full(size, np.inf)

    def nats_per_unit(self, machine, n, k):
        """Return what one unit is worth in nats of the log likelihood of n points and k columns; only evidences are any."""
        likelihoods = [
            name for name, kind in BY_NAME.items() if kind.nats_per_unit is not Criterion.nats_per_unit
        ]
        raise ValueError(
            f"{self.name} is no likelihood, so that there is no posterior to draw from. Use one of {', '.join(likelihoods)}."
        )

    def check_choice(self, kernels):
        """Raise if this criterion would have to choose among kernels, or their parameters, and must not."""
        if not self.tunes_kernel and (len(kernels) > 1 or any(len(kernel.theta) for kernel in kernels)):
            raise ValueError(
                f"{self.name} must not choose a kernel: {self.reason_against}. Give one kernel with fixed parameters, for "
                "instance RBF(2.0, 'fixed'), or choose it by another criterion such as 'loo'."
            )

    def warning_for(self, solution) -> str:
        """Return what to warn about when the kernel behind ``solution`` was chosen by this criterion, or ''."""
        return ""

    @classmethod
    def readable(cls):
        """Types of solution that ``read`` has a formula for."""
        dispatcher = next(vars(base)["read"].dispatcher for base in cls.__mro__ if "read" in vars(base))
        return tuple(kind for kind in dispatcher.registry if kind is not object)

    def unreadable(self, solution):
        """Return the error that lists the alternatives."""
        kind = type(solution)
        alternatives = [name for name, other in BY_NAME.items() if issubclass(kind, other.readable())]
        return UnreadableSolution(
            self.name, kind.__name__, [k.__name__ for k in self.readable()], alternatives
        )


def mean_reading(readings):
    """Return the mean of several readings, derivatives included."""
    k = len(readings)
    if k == 1:
        return readings[0]

    def derive():
        adjoint = _mean([r.adjoint for r in readings])
        return adjoint, _mean([r.slope for r in readings])

    names = set.intersection(*(set(r.parts) for r in readings))
    parts = {name: float(np.mean([r.parts[name] for r in readings])) for name in sorted(names)}
    return LazyReading(float(np.mean([r.value for r in readings])), derive, parts)


def _mean(parts):
    """Mean of arrays or operators; ``None`` if one of them is."""
    if any(part is None for part in parts):
        return None
    return reduce(operator.add, parts) * (1 / len(parts))
