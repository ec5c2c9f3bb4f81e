r"""Smooth convex losses: ``value(y, z)`` and ``derivatives(y, z)``, the first three in the output z."""

from foldless.losses.logistic import Logistic

__all__ = ["Logistic"]
