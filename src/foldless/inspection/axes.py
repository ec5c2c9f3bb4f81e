"""What all displays share: finding what was tuned, and a place to draw."""

from sklearn.exceptions import NotFittedError
from sklearn.pipeline import Pipeline

from foldless.core.optional_imports import import_extra


def tuned(estimator):
    """Return the fitted estimator that holds ``selection_``: itself, the last step of a pipeline, or a search.

    Raises
    ------
    NotFittedError
        If nothing was tuned yet, or a search was by folds.
    """
    inner = estimator[-1] if isinstance(estimator, Pipeline) else estimator
    if not hasattr(inner, "selection_"):
        raise NotFittedError(
            f"{type(inner).__name__} has no selection_ to draw. Fit it first; after pickling, or with criterion='cv', "
            "there is none."
        )
    return inner


def place(ax):
    """Return axes to draw on: those given, or new ones."""
    if ax is not None:
        return ax
    return import_extra("matplotlib.pyplot", "report").subplots(layout="constrained")[1]
