r"""Hinge losses of the margin :math:`s = y\theta`, and the constant that makes them a likelihood.

.. math:: \ell_1(s) = (1-s)_+, \qquad \ell_2(s) = \tfrac12 (1-s)_+^2.  \tag{1}

:math:`\kappa(C)\, e^{-C \ell(s)}` is a sub-normalised probability of the class; its constant is as large as it may be,

.. math:: 1/\kappa = \max_z\; e^{-C \ell(z)} + e^{-C \ell(-z)}.  \tag{2}

Hinge: :math:`\ln\kappa = -\ln(1 + e^{-2C})`. Squared hinge: the maximiser :math:`z_0` is 0 for :math:`C \le 1`, else the
positive root of :math:`z = \tanh(Cz)`. The slope in C is an envelope, :math:`\kappa \sum_\pm \ell(\pm z_0) e^{-C\ell(\pm z_0)}`.

References
----------
.. [1] Gold and Sollich, *Model selection for support vector machine classification*, (2) and after (6). The root
   exists, and is the maximum, only for C > 1.
"""

import numpy as np
from scipy.optimize import brentq

from foldless.core.contracts import Vector


class Hinge:
    r""":math:`\ell_1` of eq. (1)."""

    power = 1

    def value(self, s: Vector) -> Vector:
        """Return the loss."""
        return np.maximum(1 - s, 0)

    def pull(self, s: Vector) -> Vector:
        """Return minus the derivative in s."""
        return (s < 1).astype(float)

    def log_kappa(self, C: Vector | float) -> tuple[Vector, Vector]:
        """Return ``ln kappa`` and its derivative in C; eq. (2)."""
        C = np.asarray(C, float)
        return -np.log1p(np.exp(-2 * C)), 2 * np.exp(-2 * C) / (1 + np.exp(-2 * C))


class SquaredHinge:
    r""":math:`\ell_2` of eq. (1), with the factor one half."""

    power = 2

    def value(self, s: Vector) -> Vector:
        """Return the loss."""
        return np.maximum(1 - s, 0) ** 2 / 2

    def pull(self, s: Vector) -> Vector:
        """Return minus the derivative in s."""
        return np.maximum(1 - s, 0)

    def log_kappa(self, C: Vector | float) -> tuple[Vector, Vector]:
        """Return ``ln kappa`` and its derivative in C; eq. (2)."""
        C = np.asarray(C, float)
        levels, back = np.unique(C, return_inverse=True)
        z = np.array([balance(c) for c in levels])[back].reshape(C.shape)
        plus, minus = self.value(z), self.value(-z)
        value = -np.logaddexp(-C * plus, -C * minus)
        return value, plus * np.exp(value - C * plus) + minus * np.exp(value - C * minus)


def balance(C: float) -> float:
    r"""Return the maximiser :math:`z_0` of eq. (2) for the squared hinge."""
    if C <= 1:
        return 0.0
    low = 0.5 * np.sqrt(3 * (C - 1) / C**3) if C < 1.2 else 0.1
    return float(brentq(lambda z: z - np.tanh(C * z), low, 1.0, xtol=1e-15, rtol=1e-15))
