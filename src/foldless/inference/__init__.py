"""Posteriors of a machine: Laplace's approximation and its derivatives."""

from foldless.inference.laplace import Bend, differentiate, laplace_evidence
from foldless.inference.multinomial import differentiate_blocks, third

__all__ = ["Bend", "differentiate", "differentiate_blocks", "laplace_evidence", "third"]
