"""Posteriors of a machine: Laplace's approximation and its derivatives."""

from foldless.inference.laplace import Bend, differentiate, laplace_evidence

__all__ = ["Bend", "differentiate", "laplace_evidence"]
