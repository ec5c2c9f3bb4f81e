r"""Logistic loss :math:`\log(1 + e^{-yz})` for labels y = -1, 1."""

import numpy as np
from scipy.special import expit

from foldless.core.contracts import Matrix, Vector
from foldless.core.errors import Undefined
from foldless.core.targets import check_signs


class Logistic:
    """Bernoulli deviance; the machine is kernel logistic regression."""

    labels = True

    def check(self, y: Matrix) -> None:
        """Raise unless the targets are -1 and 1."""
        check_signs(y)

    def value(self, y: Vector, z: Vector) -> Vector:
        """Return the loss of each row."""
        return np.logaddexp(0, -y * z)

    def derivatives(self, y: Vector, z: Vector) -> tuple[Vector, Vector, Vector]:
        """Return the first three derivatives in z; nothing cancels when the model is certain."""
        p, q = expit(z), expit(-z)
        w = p * q
        return -y * expit(-y * z), w, w * (q - p)

    def start(self, y: Vector, weights: Vector) -> float:
        """Return the log-odds of the classes, the best constant output."""
        positive, negative = weights[y > 0].sum(), weights[y < 0].sum()
        if positive == 0 or negative == 0:
            raise Undefined("the targets have only one class: with a free bias the fit has no minimum.")
        return float(np.log(positive) - np.log(negative))
