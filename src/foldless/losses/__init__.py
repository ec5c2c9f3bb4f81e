r"""Smooth convex losses, one small file each.

A loss has ``check(y)`` (raise on wrong targets), ``value(y, z)``, ``derivatives(y, z)`` (the first three in the
output z), ``start(y, weights)`` (the output of a machine that knows only the bias) and ``labels`` (whether targets are
-1 and 1).
"""

from foldless.losses.log_cosh import LogCosh
from foldless.losses.logistic import Logistic
from foldless.losses.poisson import Poisson
from foldless.losses.squared import Squared
from foldless.losses.squared_hinge import SquaredHinge

__all__ = ["LogCosh", "Logistic", "Poisson", "Squared", "SquaredHinge"]
