r"""Squared hinge loss :math:`\tfrac12 [1 - y z]_+^2` for labels y = -1, 1."""

import numpy as np

from foldless.core.contracts import Matrix, Vector
from foldless.core.errors import Undefined
from foldless.core.targets import check_signs


class SmoothSquaredHinge:
    """The loss of :class:`foldless.machines.SquaredHingeSVM`, for ``SmoothMachine`` and its criteria.

    The curvature is 1 for support vectors and 0 for the others, so that leave-one-out by one Newton step is exact as
    long as the support vectors stay the same: the span rule. No estimator uses this loss; pass it to ``SmoothMachine``.
    """

    labels = True

    def check(self, y: Matrix) -> None:
        """Raise unless the targets are -1 and 1."""
        check_signs(y)

    def value(self, y: Vector, z: Vector) -> Vector:
        """Return the loss of each row."""
        return np.maximum(0, 1 - y * z) ** 2 / 2

    def derivatives(self, y: Vector, z: Vector) -> tuple[Vector, Vector, Vector]:
        """Return the first three derivatives in z; at y z = 1, where they jump, those of the flat side."""
        slack = np.maximum(0, 1 - y * z)
        return -y * slack, (slack > 0).astype(float), np.zeros_like(z)

    def start(self, y: Vector, weights: Vector) -> float:
        """Return the mean label, the best constant output."""
        mean = float(weights @ y / weights.sum())
        if abs(mean) == 1:
            raise Undefined(
                "the targets have only one class: with a free bias the fit has no unique minimum."
            )
        return mean
