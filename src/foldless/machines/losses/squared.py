r"""Squared loss :math:`\tfrac12 (y - z)^2` for numbers y; the machine is kernel ridge regression."""

import numpy as np

from foldless.core.contracts import Matrix, Vector
from foldless.core.targets import check_numbers


class Squared:
    """Half the squared error; leave-one-out by one Newton step is then exact."""

    labels = False

    def check(self, y: Matrix) -> None:
        """Raise unless the targets are finite numbers."""
        check_numbers(y)

    def value(self, y: Vector, z: Vector) -> Vector:
        """Return the loss of each row."""
        return (y - z) ** 2 / 2

    def derivatives(self, y: Vector, z: Vector) -> tuple[Vector, Vector, Vector]:
        """Return the first three derivatives in z."""
        return z - y, np.ones_like(z), np.zeros_like(z)

    def start(self, y: Vector, weights: Vector) -> float:
        """Return the mean, the best constant output."""
        return float(weights @ y / weights.sum())
