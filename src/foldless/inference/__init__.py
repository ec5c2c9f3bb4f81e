"""Posteriors of a machine: Laplace's approximation and its derivatives; what points left out would say."""

from foldless.inference.laplace import Bend, differentiate
from foldless.inference.support import implicit, refit_margins, span_margins

__all__ = ["Bend", "differentiate", "implicit", "refit_margins", "span_margins"]
