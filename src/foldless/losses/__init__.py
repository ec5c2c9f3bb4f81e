r"""Smooth convex losses: ``value(y, z)`` and ``derivatives(y, z)``, the first three in the output z.

The hinge losses are not smooth and have a protocol of their own: ``value(s)``, ``pull(s)``, ``log_kappa(C)``.
"""

from foldless.losses.hinge import Hinge, SquaredHinge
from foldless.losses.logistic import Logistic

__all__ = ["Hinge", "Logistic", "SquaredHinge"]
