"""Posteriors of a machine: Laplace's approximation, expectation propagation, samples; what points left out would say."""

from foldless.inference import noise, norm
from foldless.inference.diagnostics import effective_draws, rhat
from foldless.inference.ep import (
    EPPosterior,
    HingeSite,
    ProbitSite,
    SquaredHingeSite,
    Tilted,
    class_probability,
    expectation_propagation,
)
from foldless.inference.laplace import Bend, differentiate, laplace_evidence
from foldless.inference.left_out import through_left_out
from foldless.inference.multinomial import differentiate_blocks, third
from foldless.inference.sampling import (
    Reference,
    Target,
    draws,
    gold_sollich_draws,
    slice_round,
    trajectory,
)
from foldless.inference.support import implicit, refit_margins, span_margins, through_outputs

__all__ = [
    "Bend",
    "EPPosterior",
    "HingeSite",
    "ProbitSite",
    "Reference",
    "SquaredHingeSite",
    "Target",
    "Tilted",
    "class_probability",
    "differentiate",
    "differentiate_blocks",
    "draws",
    "effective_draws",
    "expectation_propagation",
    "gold_sollich_draws",
    "implicit",
    "laplace_evidence",
    "noise",
    "norm",
    "refit_margins",
    "rhat",
    "slice_round",
    "span_margins",
    "through_outputs",
    "third",
    "through_left_out",
    "trajectory",
]
