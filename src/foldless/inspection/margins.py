"""Leave-one-out margins: how far each training row is on its own side when the machine has not seen it."""

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator

from foldless.core.contracts import Vector
from foldless.core.targets import class_index
from foldless.inspection.axes import get_axes, predicting_estimator, tuned_estimator

HISTOGRAM_BINS = 30


class MarginDisplay:
    """Leave-one-out margins: the output for a row's own class minus the largest other, by the machine without that row.

    Parameters
    ----------
    margins : array of shape (n,)
        Negative for rows that the machine without them puts in the wrong class.
    labels : array of shape (n,)

    Attributes
    ----------
    ax_, figure_
        Axes and figure of matplotlib, after ``plot``.
    """

    def __init__(self, margins: ArrayLike, labels: ArrayLike):
        self.margins, self.labels = np.asarray(margins, dtype=float), np.asarray(labels)

    @classmethod
    def from_estimator(cls, estimator: BaseEstimator, *, ax: Any = None) -> Self:
        """Draw the margins of a fitted classifier with ``loo_decision_``, or a pipeline that ends in one."""
        model, selection = predicting_estimator(estimator), tuned_estimator(estimator).selection_
        if not hasattr(model, "loo_decision_") or not hasattr(model, "classes_"):
            raise ValueError(f"{type(model).__name__} has no leave-one-out outputs of classes to draw.")
        codes = model._of_rows(class_index(selection.objective.Y))
        return cls(loo_margins(model.loo_decision_, codes), model.classes_[codes]).plot(ax=ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw a histogram with one colour per class; return the display."""
        self.ax_ = ax = get_axes(ax)
        self.figure_ = ax.figure
        classes = np.unique(self.labels)
        parts = [self.margins[self.labels == label] for label in classes]
        edges = np.histogram_bin_edges(self.margins, bins=HISTOGRAM_BINS)
        ax.hist(parts, bins=edges, stacked=True, label=[str(label) for label in classes])
        ax.axvline(0, color="k", lw=1)
        wrong = np.mean(self.margins <= 0)
        ax.set(xlabel="leave-one-out margin", ylabel="rows", title=f"{100 * wrong:.1f} % wrong when left out")
        ax.legend(title="class")
        return self


def loo_margins(outputs: ArrayLike, codes: NDArray[np.intp]) -> Vector:
    """Return the margin of each row from leave-one-out outputs (n,), (n, 1) or (n, classes) and class numbers.

    Examples
    --------
    >>> loo_margins(np.array([2.0, -1.0]), np.array([1, 1])).tolist()
    [2.0, -1.0]
    >>> loo_margins(np.array([[2.0, 0.5, 1.5]]), np.array([2])).tolist()
    [-0.5]
    """
    others = np.array(outputs, dtype=float).reshape(len(codes), -1)
    if others.shape[1] == 1:
        return np.where(codes == 1, others[:, 0], -others[:, 0])
    rows = np.arange(len(codes))
    own = others[rows, codes].copy()
    others[rows, codes] = -np.inf
    return own - others.max(axis=1)
