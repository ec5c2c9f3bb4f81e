"""Posteriors of a machine: Laplace's approximation and its derivatives; the noise and the norm of a regression."""

from foldless.inference import noise, norm
from foldless.inference.laplace import Bend, differentiate

__all__ = ["Bend", "differentiate", "noise", "norm"]
