r"""Log-cosh loss :math:`\delta^2 \log\cosh((y - z)/\delta)` for numbers y with outliers."""

from dataclasses import dataclass

import numpy as np

from foldless.core.targets import check_numbers


@dataclass(frozen=True)
class LogCosh:
    r"""A Huber loss without its corner: a square within :math:`\delta`, a slope of :math:`\delta` far away.

    Parameters
    ----------
    delta : float
        Residuals beyond this count as outliers.
    """

    delta: float = 1.0
    labels = False

    def __post_init__(self):
        if not 0 < self.delta < np.inf:
            raise ValueError(f"delta must be a positive number, got {self.delta!r}.")

    def check(self, y):
        """Raise unless the targets are finite numbers."""
        check_numbers(y)

    def value(self, y, z):
        """Return the loss of each point."""
        r = np.abs(z - y) / self.delta
        return self.delta**2 * (r + np.log1p(np.exp(-2 * r)) - np.log(2))

    def derivatives(self, y, z):
        """Return the first three derivatives in z; the curvature does not cancel far away."""
        r = (z - y) / self.delta
        t, decay = np.tanh(r), np.exp(-2 * np.abs(r))
        w = 4 * decay / (1 + decay) ** 2  # 1 - t^2
        return self.delta * t, w, -2 / self.delta * t * w

    def start(self, y, weights):
        """Return the weighted median: outliers do not reach it."""
        order = np.argsort(y)
        return y[order][np.searchsorted(np.cumsum(weights[order]), weights.sum() / 2)]
