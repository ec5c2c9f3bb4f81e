"""Relevance of the features, from a kernel with one length scale per feature."""

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.gaussian_process.kernels import Kernel

from foldless.core.contracts import Vector
from foldless.inspection.axes import get_axes, tuned_estimator

MAX_BARS = 40


class RelevanceDisplay:
    """One over the length scale of each feature: how fast the kernel changes along it.

    Parameters
    ----------
    relevance : array of shape (d,)
    names : sequence of str

    Attributes
    ----------
    ax_, figure_
        Axes and figure of matplotlib, after ``plot``.
    """

    def __init__(self, relevance: ArrayLike, names: Sequence[str]):
        self.relevance, self.names = np.asarray(relevance, dtype=float), list(names)

    @classmethod
    def from_estimator(
        cls, estimator: BaseEstimator, feature_names: Sequence[str] | None = None, *, ax: Any = None
    ) -> Self:
        """Draw the relevances of a fitted estimator, pipeline or KernelSearch.

        Parameters
        ----------
        estimator : fitted estimator
            Tuned with ``kernel="rbf-ard"`` or another kernel with several length scales.
        feature_names : sequence of str, optional
            By default those seen in ``fit``, else numbers.
        ax : matplotlib axes, optional
        """
        scales = length_scales(tuned_estimator(estimator).selection_.kernel)
        if len(scales) < 2:
            raise ValueError("the kernel has one length scale for all features; fit with kernel='rbf-ard'.")
        seen: Sequence[Any] = getattr(estimator, "feature_names_in_", range(len(scales)))
        names = seen if feature_names is None else feature_names
        return cls(1 / scales, [str(name) for name in names]).plot(ax=ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw bars, the most relevant feature on top; return the display."""
        self.ax_ = ax = get_axes(ax)
        self.figure_ = ax.figure
        order = np.argsort(self.relevance)[::-1][:MAX_BARS]
        rows = np.arange(len(order))
        ax.barh(rows, self.relevance[order])
        ax.set_yticks(rows, [self.names[i] for i in order])
        ax.invert_yaxis()
        ax.set(xlabel="1 / length scale", title="relevance of the features")
        return self


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
