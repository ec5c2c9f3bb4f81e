r"""A criterion around another one, to which it adds a cost of the parameters themselves."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any, Self

import numpy as np
from sklearn.gaussian_process.kernels import Kernel, Product

from foldless.core.contracts import Gram, Machine, Matrix, Reading, Vector
from foldless.core.errors import UnknownName
from foldless.core.memo import cached_property
from foldless.criteria.base import BY_NAME, Criterion


def _of_inner(attribute: str) -> Any:
    """Return a property that has the value it has for the criterion inside."""

    def value(self: "PenalisedCriterion") -> Any:
        return getattr(self.inner_criterion, attribute)

    return property(value, doc=f"``{attribute}`` of the criterion.")


@dataclass(frozen=True)
class PenalisedCriterion(Criterion):
    """Base of the criteria that add a cost of the parameters to another criterion; a subclass defines ``with_penalty``.

    Called on a solution alone, which does not know its kernel, it is the criterion without the cost.

    Parameters
    ----------
    criterion : str or Criterion, default="loo"
        The criterion that the cost is added to.
    """

    criterion: str | Criterion = "loo"

    def __post_init__(self) -> None:
        if not isinstance(self.criterion, Criterion) and self.criterion not in BY_NAME:
            raise UnknownName("criterion", self.criterion, BY_NAME)

    @cached_property
    def inner_criterion(self) -> Criterion:
        """The criterion that the cost is added to."""
        return self.criterion if isinstance(self.criterion, Criterion) else BY_NAME[self.criterion]()

    name = _of_inner("name")
    title = _of_inner("title")
    unit = _of_inner("unit")
    tunes_kernel = _of_inner("tunes_kernel")
    reason_against = _of_inner("reason_against")
    may_diverge_in_C = _of_inner("may_diverge_in_C")
    ignores_machine = _of_inner("ignores_machine")
    needs_fit = _of_inner("needs_fit")
    needs_proper_offset = _of_inner("needs_proper_offset")
    needs_amplitude = _of_inner("needs_amplitude")
    value_scale = _of_inner("value_scale")

    def __call__(self, solution: Any) -> Reading:
        """Return the cost of a solution per row, by the criterion alone; a solution does not know its kernel."""
        return self.inner_criterion(solution)

    def in_nats(self, machine: Machine) -> bool:
        """Return whether the criterion counts nats for a machine."""
        return self.inner_criterion.in_nats(machine)

    def approximates(self, machine: Machine) -> bool:
        """Return whether the criterion can check its formula for a machine."""
        return self.inner_criterion.approximates(machine)

    def corrected(self, solution: Any) -> Self:
        """Return this with its criterion corrected, or itself if that holds."""
        corrected = self.inner_criterion.corrected(solution)
        return self if corrected == self.inner_criterion else replace(self, criterion=corrected)

    def with_data_estimates(self, machine: Machine, grams: Iterable[Gram], Y: Matrix) -> Self:
        """Return this with the data estimates of its criterion fixed."""
        return replace(self, criterion=self.inner_criterion.with_data_estimates(machine, grams, Y))

    def amplitude_bounds(self, loss_power: int) -> tuple[float, float]:
        """Return the range that the criterion allows."""
        return self.inner_criterion.amplitude_bounds(loss_power)

    def warning_for(self, solution: Any) -> str:
        """Return the warning of the criterion."""
        return self.inner_criterion.warning_for(solution)

    def nats_per_unit(self, machine: Machine, n: int, k: int) -> float:
        """Return the nats in one unit of the criterion."""
        return self.inner_criterion.nats_per_unit(machine, n, k)


def parameters(kernel: Kernel, machine: Machine | None) -> Vector:
    """Return ``kernel.theta`` followed by ``machine.theta``, if there is a machine."""
    return np.r_[kernel.theta, np.zeros(0) if machine is None else machine.theta]


def roles(kernel: Kernel) -> list[tuple[str, slice]]:
    """Return the length scales and amplitudes among a kernel's free parameters, as (role, slice of ``kernel.theta``)."""
    found, begin = [], 0
    for parameter in kernel.hyperparameters:
        if parameter.fixed:
            continue
        end = begin + parameter.n_elements
        found.append((_role(kernel, parameter.name), slice(begin, end)))
        begin = end
    return [pair for pair in found if pair[0]]


def _role(kernel: Kernel, name: str) -> str:
    """Return ``"length_scale"``, ``"amplitude"`` (a constant that multiplies a kernel), or '' for anything else."""
    *path, last = name.split("__")
    if last == "length_scale":
        return last
    multiplies = bool(path) and isinstance(reduce(getattr, path[:-1], kernel), Product)
    return "amplitude" if last == "constant_value" and multiplies else ""
