r"""Logistic loss :math:`\log(1 + e^{-yz})` for labels y = -1, 1."""

import numpy as np
from scipy.special import expit

from foldless.core.errors import Undefined
from foldless.core.targets import check_signs


class Logistic:
    """Bernoulli deviance; the machine is kernel logistic regression."""

    labels = True  # targets are -1 and 1, and a sign can be wrong

    def check(self, y):
        """Raise unless the targets are -1 and 1."""
        check_signs(y)

    def value(self, y, z):
        """Return the loss of each point."""
        return np.logaddexp(0, -y * z)

    def derivatives(self, y, z):
        """Return the first three derivatives in z; nothing cancels when the model is certain."""
        p, q = expit(z), expit(-z)
        w = p * q
        return -y * expit(-y * z), w, w * (q - p)

    def start(self, y, weights):
        """Return the log-odds of the classes, the output of a machine that knows only the bias."""
        positive, negative = weights[y > 0].sum(), weights[y < 0].sum()
        if positive == 0 or negative == 0:
            raise Undefined("the targets have only one class: with a free bias the fit has no minimum.")
        return np.log(positive) - np.log(negative)
