"""The tuned parameters of an experiment, under the names that its estimator gives them."""

from dataclasses import replace
from typing import Any

from foldless.cli.experiment import Experiment
from foldless.inspection.criterion_surface import Parameter, parameters

# From this many parameters of one kind on, only their range is shown.
RANGE_MIN_PARAMETERS = 4


def shows_alpha_for_C(estimator: Any) -> bool:
    """Return True if the machine is tuned in C, but the estimator shows alpha = 1 / C."""
    named = parameters(estimator.selection_)
    return bool(named) and named[-1].name == "C" and hasattr(estimator, "alpha_")


def tuned_parameters(experiment: Experiment) -> list[Parameter]:
    """Return the tuned parameters, under the names the estimator gives them."""
    estimator = experiment.estimator
    found = parameters(estimator.selection_)
    if shows_alpha_for_C(estimator):
        found[-1] = replace(found[-1], name="alpha", value=estimator.alpha_)
    return found
