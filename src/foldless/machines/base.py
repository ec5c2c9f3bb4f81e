"""What machines share: a weight C of the loss, and weights and counts of rows."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any, Self, cast

import numpy as np

from foldless.core.contracts import Gram, Machine, Matrix, Vector


class MachineWithC(Machine):
    """A machine, as a dataclass with a field ``C``: the weight of the loss against the squared norm."""

    C: float

    def __post_init__(self) -> None:
        if not 0 < self.C < np.inf:
            raise ValueError(f"C must be positive and finite, got {self.C!r}.")

    @property
    def theta(self) -> Vector:
        """``[log C]``."""
        return np.array([np.log(self.C)])

    def with_theta(self, theta: Vector) -> Self:
        """Return the machine with another C."""
        return replace(cast(Any, self), C=float(np.exp(theta[0])))

    def path(self, gram: Gram, Y: Matrix, Cs: Iterable[float]) -> tuple[Any, ...]:
        """Return the solutions for several values of C, each one started at the one before.

        Parameters
        ----------
        gram : Gram
        Y : array of shape (n, k)
        Cs : sequence of float
            Best in increasing or decreasing order.
        """
        machine, solutions, start = cast(Any, self.for_regularisation_path), [], None
        for C in Cs:
            solutions.append(replace(machine, C=float(C)).solve(gram, Y, start))
            start = solutions[-1].start
        return tuple(solutions)


def row_weights(machine: Machine, n: int) -> Vector:
    """Return the weights of the n rows, ones by default."""
    return np.ones(n) if machine.weights is None else np.asarray(machine.weights, float)


def fraction_of_one_row(machine: Machine, n: int) -> Vector:
    """Return which part of each point is a single row: one over the number of equal rows it stands for."""
    return np.ones(n) if machine.row_counts is None else 1 / np.maximum(machine.row_counts, 1)


class LinearMachine(Machine):
    """A machine whose fit is linear in its targets: ridge and subset regression."""

    weights: Vector | None = None

    @property
    def penalty_is_kernel(self) -> bool:
        """Whether the penalty is the Gram matrix itself, so that it changes with the kernel."""
        return False
