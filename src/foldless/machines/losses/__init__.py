r"""Smooth convex losses, one small file each.

A loss has ``check(y)`` (raise on wrong targets), ``value(y, z)``, ``derivatives(y, z)`` (the first three in the
output z), ``start(y, weights)`` (the output of a machine that knows only the bias) and ``labels`` (whether targets are
-1 and 1).

The hinge losses are functions of the margin and have a protocol of their own: ``value(s)``, ``pull(s)``,
``log_kappa(C)``.
"""

from foldless.machines.losses.hinge import Hinge, SquaredHinge
from foldless.machines.losses.log_cosh import LogCosh
from foldless.machines.losses.logistic import Logistic
from foldless.machines.losses.poisson import Poisson
from foldless.machines.losses.squared import Squared
from foldless.machines.losses.squared_hinge import SmoothSquaredHinge

__all__ = ["Hinge", "LogCosh", "Logistic", "Poisson", "SmoothSquaredHinge", "Squared", "SquaredHinge"]
