r"""Poisson loss :math:`e^z - y z + \log y!` for counts y, with the logarithm of the rate as output z."""

import numpy as np
from scipy.special import gammaln

from foldless.core.errors import Undefined

CEILING = 300.0  # of z in the exponential: a rate of 1e130 is as wrong as a larger one, and finite


class Poisson:
    """Minus the log likelihood of counts; the machine is kernel Poisson regression with a log link."""

    labels = False

    def check(self, y):
        """Raise unless the targets are counts."""
        bad = ~np.isfinite(y) | (y < 0) | (y != np.round(y))
        if np.any(bad):
            raise ValueError(f"y must hold counts 0, 1, 2, ... for a Poisson loss, got {y[bad][0]:g}.")

    def value(self, y, z):
        """Return the loss of each point."""
        return np.exp(np.minimum(z, CEILING)) - y * z + gammaln(y + 1)

    def derivatives(self, y, z):
        """Return the first three derivatives in z."""
        rate = np.exp(np.minimum(z, CEILING))
        return rate - y, rate, rate

    def start(self, y, weights):
        """Return the logarithm of the mean count."""
        total = weights @ y
        if total == 0:
            raise Undefined("all counts are zero: with a free bias the fit has no minimum.")
        return np.log(total) - np.log(weights.sum())
