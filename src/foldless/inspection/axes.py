"""Helpers that all displays share: the tuned estimator, and axes to draw on."""

from typing import Any

from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import Pipeline

from foldless.core.optional_imports import import_extra


def tuned_estimator(estimator: BaseEstimator) -> Any:
    """Return the fitted estimator that holds ``selection_``: itself, the last step of a pipeline, or a search.

    Raises
    ------
    NotFittedError
        If nothing was tuned yet, or a search used folds.
    """
    inner = _last_step(estimator)
    if not hasattr(inner, "selection_"):
        raise NotFittedError(
            f"{type(inner).__name__} has no selection_ to draw. Fit it first; after pickling, or with criterion='cv', "
            "there is none."
        )
    return inner


def predicting_estimator(estimator: BaseEstimator) -> Any:
    """Return the fitted estimator that predicts: like :func:`tuned_estimator`, but inside a search its best one."""
    tuned = tuned_estimator(estimator)
    return _last_step(getattr(tuned, "best_estimator_", tuned))


def _last_step(estimator: BaseEstimator) -> BaseEstimator:
    return estimator[-1] if isinstance(estimator, Pipeline) else estimator


def get_axes(ax: Any, figsize: tuple[float, float] | None = None) -> Any:
    """Return ``ax``, or new axes if it is None."""
    if ax is not None:
        return ax
    return import_extra("matplotlib.pyplot", "report").subplots(figsize=figsize, layout="constrained")[1]
