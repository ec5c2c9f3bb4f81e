r"""Log-cosh loss :math:`\delta^2 \log\cosh((y - z)/\delta)` for numbers y with outliers."""

from dataclasses import dataclass

import numpy as np

from foldless.core.contracts import Matrix, Vector
from foldless.core.targets import check_numbers


@dataclass(frozen=True)
class LogCosh:
    r"""A Huber loss without its corner: a square within :math:`\delta`, a slope of :math:`\delta` far away.

    No estimator uses this loss; pass it to :class:`foldless.machines.SmoothMachine` for robust regression.

    Parameters
    ----------
    delta : float
        Residuals beyond this count as outliers.
    """

    delta: float = 1.0
    labels = False

    def __post_init__(self) -> None:
        if not 0 < self.delta < np.inf:
            raise ValueError(f"delta must be a positive number, got {self.delta!r}.")

    def check(self, y: Matrix) -> None:
        """Raise unless the targets are finite numbers."""
        check_numbers(y)

    def value(self, y: Vector, z: Vector) -> Vector:
        """Return the loss of each row."""
        r = np.abs(z - y) / self.delta
        return self.delta**2 * (r + np.log1p(np.exp(-2 * r)) - np.log(2))

    def derivatives(self, y: Vector, z: Vector) -> tuple[Vector, Vector, Vector]:
        """Return the first three derivatives in z; the curvature does not cancel far away."""
        r = (z - y) / self.delta
        t, decay = np.tanh(r), np.exp(-2 * np.abs(r))
        w = 4 * decay / (1 + decay) ** 2  # equals 1 - t**2, without cancellation
        return self.delta * t, w, -2 / self.delta * t * w

    def start(self, y: Vector, weights: Vector) -> float:
        """Return the weighted median: outliers hardly move it."""
        order = np.argsort(y)
        return float(y[order][np.searchsorted(np.cumsum(weights[order]), weights.sum() / 2)])
