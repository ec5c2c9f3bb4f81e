r"""Poisson loss :math:`e^z - y z + \log y!` for counts y, with the logarithm of the rate as output z."""

import numpy as np
from scipy.special import gammaln

from foldless.core.contracts import Matrix, Vector
from foldless.core.errors import Undefined

MAX_LOG_RATE = 300.0  # in exponentials, which stay finite: a rate of 1e130 is as wrong as any larger one


class Poisson:
    """Minus the log likelihood of counts; the machine is kernel Poisson regression with a log link."""

    labels = False

    def check(self, y: Matrix) -> None:
        """Raise unless the targets are counts."""
        bad = ~np.isfinite(y) | (y < 0) | (y != np.round(y))
        if np.any(bad):
            raise ValueError(f"y must hold counts 0, 1, 2, ... for a Poisson loss, got {y[bad][0]:g}.")

    def value(self, y: Vector, z: Vector) -> Vector:
        """Return the loss of each row."""
        return np.exp(np.minimum(z, MAX_LOG_RATE)) - y * z + gammaln(y + 1)

    def derivatives(self, y: Vector, z: Vector) -> tuple[Vector, Vector, Vector]:
        """Return the first three derivatives in z."""
        rate = np.exp(np.minimum(z, MAX_LOG_RATE))
        return rate - y, rate, rate

    def start(self, y: Vector, weights: Vector) -> float:
        """Return the logarithm of the mean count, the best constant output."""
        total = weights @ y
        if total == 0:
            raise Undefined("all counts are zero: with a free bias the fit has no minimum.")
        return float(np.log(total) - np.log(weights.sum()))
