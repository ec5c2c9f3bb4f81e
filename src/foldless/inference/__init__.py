"""Posteriors of a machine: Laplace's approximation and its derivatives."""

from foldless.inference.laplace import Bend, differentiate

__all__ = ["Bend", "differentiate"]
