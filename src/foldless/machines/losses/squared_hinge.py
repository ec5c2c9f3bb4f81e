r"""Squared hinge loss :math:`\tfrac12 [1 - y z]_+^2` for labels y = -1, 1."""

import numpy as np

from foldless.core.errors import Undefined
from foldless.core.targets import check_signs


class SmoothSquaredHinge:
    """The loss of a support vector machine with squared slacks.

    The curvature is 1 for support vectors and 0 for the others, so that leave-one-out by one Newton step is exact as
    long as the others stay support vectors: the span rule.
    """

    labels = True

    def check(self, y):
        """Raise unless the targets are -1 and 1."""
        check_signs(y)

    def value(self, y, z):
        """Return the loss of each point."""
        return np.maximum(0, 1 - y * z) ** 2 / 2

    def derivatives(self, y, z):
        """Return the first three derivatives in z (the last two but at the corner)."""
        slack = np.maximum(0, 1 - y * z)
        return -y * slack, (slack > 0).astype(float), np.zeros_like(z)

    def start(self, y, weights):
        """Return the mean label, the output of a machine that knows only the bias."""
        mean = weights @ y / weights.sum()
        if abs(mean) == 1:
            raise Undefined(
                "the targets have only one class: with a free bias the fit has no unique minimum."
            )
        return mean
