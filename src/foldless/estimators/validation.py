"""Checks of what a user passes to an estimator, before any work."""

from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state
from sklearn.utils.validation import _check_sample_weight

from foldless.core.contracts import Vector
from foldless.core.errors import UnknownName
from foldless.core.targets import MIN_ROWS

ON_INTERRUPT = ("raise", "keep")
# Parameters that count something, and the smallest number that makes sense.
COUNTS = {"max_evaluations": 0, "n_starts": 1, "n_components": 1}


def check_options(estimator: BaseEstimator) -> None:
    """Raise an error that names the first of the shared parameters whose value makes no sense."""
    given = estimator.get_params(deep=False)
    for name, least in COUNTS.items():
        count = given.get(name)
        if not _is_missing_or(Integral, count) or (count is not None and count < least):
            raise ValueError(f"{name} must be at least {least}, or None for the default; got {count!r}.")
    seconds = given.get("time_budget")
    if not _is_missing_or(Real, seconds) or (seconds is not None and not seconds >= 0):
        raise ValueError(f"time_budget must be seconds, or None for no limit; got {seconds!r}.")
    if not _is_missing_or(Integral, given.get("n_jobs")) or given.get("n_jobs") == 0:
        raise ValueError(
            f"n_jobs must be a number of threads, -1 for all cores, or None; got {given['n_jobs']!r}."
        )
    if given.get("on_interrupt", "raise") not in ON_INTERRUPT:
        raise UnknownName("on_interrupt", given["on_interrupt"], ON_INTERRUPT)
    check_random_state(given.get("random_state"))


def _is_missing_or(kind: type, value: Any) -> bool:
    """Return whether a value is None or a number of a kind; truth values are no numbers."""
    return value is None or (isinstance(value, kind) and not isinstance(value, bool))


def checked_weights(sample_weight: ArrayLike | None, X: Any, name: str = "sample_weight") -> Vector:
    """Return the weights of the rows of ``X`` as numbers; enough of them must be positive."""
    weights = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
    n_kept = np.count_nonzero(weights)
    if n_kept < MIN_ROWS:
        raise ValueError(f"{name} leaves {n_kept} rows; at least {MIN_ROWS} must weigh more than 0.")
    return weights


def regularisation(name: str, value: float | None) -> tuple[float, bool]:
    """Return a start for C or alpha, and whether it is tuned, which it is if ``value`` is None."""
    if value is None:
        return 1.0, True
    if not isinstance(value, Real) or not 0 < value < np.inf:
        raise ValueError(f"{name} must be positive, or None to have it tuned; got {value!r}.")
    return float(value), False
