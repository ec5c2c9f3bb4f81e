"""Relevance of the features: from length scales if there is one per feature, else from the gradients of the fit."""

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.gaussian_process.kernels import Kernel

from foldless.core.contracts import Vector
from foldless.estimators.base import BaseKernelEstimator
from foldless.inspection.axes import get_axes, predicting_estimator, tuned_estimator

MAX_BARS = 40


class RelevanceDisplay:
    """How much every feature matters to a fitted machine.

    With one length scale per feature it is one over the length scale: how fast the kernel changes along the feature.
    Otherwise it is ``relevance_``: the share of the feature in the squared gradient of the fitted function.

    Parameters
    ----------
    relevance : array of shape (d,)
    names : sequence of str
    label : str, default="relevance"
        Of the axis.

    Attributes
    ----------
    ax_, figure_
        Axes and figure of matplotlib, after ``plot``.
    """

    def __init__(self, relevance: ArrayLike, names: Sequence[str], label: str = "relevance"):
        self.relevance, self.names, self.label = np.asarray(relevance, dtype=float), list(names), label

    @classmethod
    def from_estimator(
        cls, estimator: BaseEstimator, feature_names: Sequence[str] | None = None, *, ax: Any = None
    ) -> Self:
        """Draw the relevances of a fitted estimator, pipeline or KernelSearch.

        Parameters
        ----------
        estimator : fitted estimator
            With any kernel; around a machine of scikit-learn it needs several length scales.
        feature_names : sequence of str, optional
            By default those seen in ``fit``, else numbers.
        ax : matplotlib axes, optional
        """
        values, label = _relevance(estimator)
        seen: Sequence[Any] = getattr(estimator, "feature_names_in_", range(len(values)))
        names = seen if feature_names is None else feature_names
        return cls(values, [str(name) for name in names], label).plot(ax=ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw bars, the most relevant feature on top; return the display."""
        self.ax_ = ax = get_axes(ax)
        self.figure_ = ax.figure
        order = np.argsort(self.relevance)[::-1][:MAX_BARS]
        rows = np.arange(len(order))
        ax.barh(rows, self.relevance[order])
        ax.set_yticks(rows, [self.names[i] for i in order])
        ax.invert_yaxis()
        ax.set(xlabel=self.label, title="relevance of the features")
        return self


def _relevance(estimator: BaseEstimator) -> tuple[Vector, str]:
    """Return the relevances and what they are."""
    scales = length_scales(tuned_estimator(estimator).selection_.kernel)
    if len(scales) > 1:
        return 1 / scales, "1 / length scale"
    fitted = predicting_estimator(estimator)
    if not isinstance(fitted, BaseKernelEstimator) or not hasattr(fitted, "relevance_"):
        raise ValueError(
            "the kernel has one length scale for all features, and there are no gradients of this machine; fit with "
            "kernel='rbf-ard'."
        )
    return fitted.relevance_, "share of the squared gradient"


def length_scales(kernel: Kernel) -> Vector:
    """Return the length scales of a kernel: one per feature, a single one, or an empty array if it has none.

    In a sum or a product the part with the most length scales counts, the first of equals.

    Examples
    --------
    >>> from sklearn.gaussian_process.kernels import RBF, DotProduct
    >>> length_scales(RBF(2.0) + RBF([1.0, 3.0])).tolist()
    [1.0, 3.0]
    >>> length_scales(DotProduct()).tolist()
    []
    """
    parameters = sorted(kernel.get_params().items())
    found = [np.ravel(value) for name, value in parameters if name.rpartition("__")[2] == "length_scale"]
    return np.asarray(max(found, key=len, default=()), dtype=float)
