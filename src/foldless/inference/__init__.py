"""Posteriors of a machine: Laplace's approximation, expectation propagation, samples; what points left out would say."""

from foldless.criteria.derivatives.lssvm import through_left_out
from foldless.criteria.derivatives.smooth import Bend, differentiate, laplace_evidence
from foldless.criteria.derivatives.softmax import differentiate_blocks, third
from foldless.criteria.derivatives.svm import implicit, refit_margins, span_margins, through_outputs
from foldless.criteria.posteriors.diagnostics import effective_draws, rhat
from foldless.criteria.posteriors.ep import (
    EPPosterior,
    HingeSite,
    ProbitSite,
    SquaredHingeSite,
    Tilted,
    class_probability,
    expectation_propagation,
)
from foldless.criteria.posteriors.sampling import (
    Reference,
    Target,
    draws,
    gold_sollich_draws,
    slice_round,
    trajectory,
)
from foldless.criteria.regression import error_norms as norm
from foldless.criteria.regression import noise_variance as noise

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
