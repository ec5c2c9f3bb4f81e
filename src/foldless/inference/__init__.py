"""Posteriors of a machine: Laplace's approximation, expectation propagation; what points left out would say."""

from foldless.inference.ep import (
    EPPosterior,
    HingeSite,
    SquaredHingeSite,
    Tilted,
    class_probability,
    expectation_propagation,
)
from foldless.inference.laplace import Bend, differentiate
from foldless.inference.support import implicit, refit_margins, span_margins

__all__ = [
    "Bend",
    "differentiate",
    "EPPosterior",
    "HingeSite",
    "SquaredHingeSite",
    "Tilted",
    "class_probability",
    "expectation_propagation",
    "implicit",
    "refit_margins",
    "span_margins",
]
