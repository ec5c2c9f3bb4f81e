"""What a machine asks of its loss."""

from typing import Protocol

from foldless.core.contracts import Matrix, Vector


class SmoothLoss(Protocol):
    """A convex loss of target y and output z with three derivatives in z; the machine is ``SmoothMachine``."""

    @property
    def labels(self) -> bool:
        """Whether targets are -1 and 1, so that the sign of an output can be wrong."""

    def check(self, y: Matrix) -> None:
        """Raise a ValueError unless the loss is defined for these targets."""

    def value(self, y: Vector, z: Vector) -> Vector:
        """Return the loss of each row."""

    def derivatives(self, y: Vector, z: Vector) -> tuple[Vector, Vector, Vector]:
        """Return the first three derivatives of the loss of each row in z."""

    def start(self, y: Vector, weights: Vector) -> float:
        """Return the constant output with the lowest weighted loss, or one close to it."""


class MarginLoss(Protocol):
    """A convex loss of the margin s = y z, such as the hinge; the machine is a support vector machine."""

    @property
    def power(self) -> int:
        """1 for the hinge, 2 for the squared hinge."""

    def value(self, s: Vector) -> Vector:
        """Return the loss of each row."""

    def pull(self, s: Vector) -> Vector:
        """Return minus the derivative in s."""

    def log_kappa(self, C: Vector | float) -> tuple[Vector, Vector]:
        """Return the logarithm of the constant that makes exp(-C loss) a likelihood, and its derivative in C."""
