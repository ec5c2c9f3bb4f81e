"""Posteriors of a machine: Laplace's approximation and its derivatives; the noise and the norm of a regression."""

from foldless.inference import noise, norm
from foldless.inference.laplace import Bend, differentiate, laplace_evidence

__all__ = ["Bend", "differentiate", "laplace_evidence", "noise", "norm"]
