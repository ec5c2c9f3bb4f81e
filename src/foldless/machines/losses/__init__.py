r"""Convex losses, one small file each.

A smooth loss is a function of target and output with three derivatives (``SmoothLoss``); ``SmoothMachine(loss)`` takes any
of them, and your own. ``Logistic`` and ``Poisson`` are those of our estimators; ``Squared``, ``LogCosh`` (robust regression)
and ``SmoothSquaredHinge`` are for use with ``SmoothMachine``.

The hinge losses are functions of the margin (``MarginLoss``) and belong to the support vector machines.
"""

from foldless.machines.losses.hinge import Hinge, SquaredHinge
from foldless.machines.losses.log_cosh import LogCosh
from foldless.machines.losses.logistic import Logistic
from foldless.machines.losses.poisson import Poisson
from foldless.machines.losses.protocols import MarginLoss, SmoothLoss
from foldless.machines.losses.squared import Squared
from foldless.machines.losses.squared_hinge import SmoothSquaredHinge

__all__ = [
    "Hinge",
    "LogCosh",
    "Logistic",
    "MarginLoss",
    "Poisson",
    "SmoothLoss",
    "SmoothSquaredHinge",
    "Squared",
    "SquaredHinge",
]
