"""Checks of what a user passes to an estimator, before any work."""

from collections.abc import Mapping
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state
from sklearn.utils.class_weight import compute_sample_weight
from sklearn.utils.validation import _check_sample_weight

from foldless.core.contracts import Vector
from foldless.core.errors import DataError, UnknownName
from foldless.core.targets import MIN_ROWS
from foldless.estimators.columns import is_missing

ON_INTERRUPT = ("raise", "keep")
# Products of C, weights and squares of outputs must neither overflow nor vanish.
REGULARISATION_RANGE = (1e-60, 1e60)
WEIGHT_RANGE = (1e-30, 1e30)
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
    if not isinstance(given.get("scale", True), bool | np.bool_):
        raise ValueError(f"scale must be True or False; got {given['scale']!r}.")
    if given.get("on_interrupt", "raise") not in ON_INTERRUPT:
        raise UnknownName("on_interrupt", given["on_interrupt"], ON_INTERRUPT)
    _check_seed(given.get("random_state"))


def check_labels_present(y: Any) -> None:
    """Raise if labels that are texts or objects lack some values; scikit-learn says so for numbers only."""
    labels = np.asarray(y)
    # No y at all is for scikit-learn to complain about.
    if y is None or labels.dtype.kind != "O":
        return
    missing = [place for place, label in enumerate(labels.ravel()) if is_missing(label)]
    if missing:
        values = "1 missing value" if len(missing) == 1 else f"{len(missing)} missing values"
        raise DataError(
            f"y has {values}, the first in row {missing[0]} (from 0). Leave those rows out of X and y."
        )


def _check_seed(seed: Any) -> None:
    try:
        check_random_state(seed)
    except ValueError as error:
        raise ValueError(
            f"random_state must be a seed from 0 to 2**32 - 1, a RandomState or None; got {seed!r}."
        ) from error


def _is_missing_or(kind: type, value: Any) -> bool:
    """Return whether a value is None or a number of a kind; truth values are no numbers."""
    return value is None or (isinstance(value, kind) and not isinstance(value, bool))


def checked_weights(sample_weight: ArrayLike | None, X: Any, name: str = "sample_weight") -> Vector:
    """Return the weights of the rows of ``X`` as numbers; enough of them must be positive."""
    try:
        np.asarray(sample_weight, dtype=float)
    except (TypeError, ValueError) as error:
        raise TypeError(f"{name} must hold a number for every row: {error}.") from error
    weights = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
    check_weight_range(weights, name)
    n_kept = np.count_nonzero(weights)
    if n_kept < MIN_ROWS:
        raise ValueError(f"{name} leaves {n_kept} rows; at least {MIN_ROWS} must weigh more than 0.")
    return weights


def check_weight_range(weights: Vector, name: str) -> None:
    """Raise if a weight is so large or small that products of it are lost."""
    low, high = WEIGHT_RANGE
    bad = weights[(weights != 0) & ~((weights >= low) & (weights <= high))]
    if len(bad):
        raise ValueError(f"{name} must be 0 or between {low:g} and {high:g}, got {bad[0]:g}.")


def weights_of_classes(class_weight: Mapping[Any, float] | str | None, y: NDArray[Any]) -> Vector:
    """Return the weight of the class of every row; all must be positive."""
    weights = np.asarray(compute_sample_weight(class_weight, y), dtype=float)
    if not np.all(weights > 0):
        raise ValueError(f"class_weight must be positive, got {weights[~(weights > 0)][0]:g}.")
    check_weight_range(weights, "class_weight")
    return weights


def regularisation(name: str, value: float | None) -> tuple[float, bool]:
    """Return a start for C or alpha, and whether it is tuned, which it is if ``value`` is None."""
    if value is None:
        return 1.0, True
    low, high = REGULARISATION_RANGE
    if not isinstance(value, Real) or not value > 0:
        raise ValueError(f"{name} must be positive, or None to have it tuned; got {value!r}.")
    if not low <= float(value) <= high:
        raise ValueError(f"{name} must lie between {low:g} and {high:g}, got {value!r}.")
    return float(value), False
