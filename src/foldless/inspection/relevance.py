"""Which features a kernel with a length scale for each one looks at."""

import numpy as np

from foldless.inspection.axes import place, tuned

MOST = 40  # features shown


class RelevanceDisplay:
    """One over the length scale of each feature: how fast the kernel changes along it.

    Parameters
    ----------
    relevance : array of shape (d,)
    names : sequence of str

    Attributes
    ----------
    ax_, figure_
        Of matplotlib, after ``plot``.
    """

    def __init__(self, relevance, names):
        self.relevance, self.names = np.asarray(relevance, dtype=float), list(names)

    @classmethod
    def from_estimator(cls, estimator, feature_names=None, *, ax=None):
        """Draw the relevances of a fitted estimator, pipeline or KernelSearch.

        Parameters
        ----------
        estimator : fitted estimator
            Tuned with ``kernel="rbf-ard"`` or another kernel with several length scales.
        feature_names : sequence of str, optional
            By default those seen in ``fit``, else numbers.
        ax : matplotlib axes, optional
        """
        scales = length_scales(tuned(estimator).selection_.kernel)
        if scales is None:
            raise ValueError("the kernel has one length scale for all features; fit with kernel='rbf-ard'.")
        if feature_names is None:
            feature_names = getattr(estimator, "feature_names_in_", range(len(scales)))
        return cls(1 / scales, [str(name) for name in feature_names]).plot(ax=ax)

    def plot(self, ax=None):
        """Draw, the most relevant on top; returns itself."""
        self.ax_ = ax = place(ax)
        self.figure_ = ax.figure
        order = np.argsort(self.relevance)[::-1][:MOST]
        rows = np.arange(len(order))
        ax.barh(rows, self.relevance[order])
        ax.set_yticks(rows, [self.names[i] for i in order])
        ax.invert_yaxis()
        ax.set(xlabel="1 / length scale", title="relevance of the features")
        return self


def length_scales(kernel):
    """Return the length scales of the first part of a kernel that has several, or ``None``."""
    found = (v for n, v in kernel.get_params().items() if n.endswith("length_scale") and np.size(v) > 1)
    scales = next(found, None)
    return None if scales is None else np.asarray(scales, dtype=float)
