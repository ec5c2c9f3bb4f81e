"""How safely each training point is on its side when it is left out."""

import numpy as np

from foldless.inspection.axes import place, tuned

BINS = 30


class MarginDisplay:
    """Leave-one-out margins: the output for a point's own class, minus the largest other, without that point.

    Parameters
    ----------
    margins : array of shape (n,)
        Negative for points that the machine without them gets wrong.
    labels : array of shape (n,)

    Attributes
    ----------
    ax_, figure_
        Of matplotlib, after ``plot``.
    """

    def __init__(self, margins, labels):
        self.margins, self.labels = np.asarray(margins, dtype=float), np.asarray(labels)

    @classmethod
    def from_estimator(cls, estimator, *, ax=None):
        """Draw the margins of a fitted classifier with ``loo_decision_``, or a pipeline that ends in one."""
        model = tuned(estimator)
        model = getattr(model, "best_estimator_", model)
        model = model[-1] if hasattr(model, "steps") else model
        if not hasattr(model, "loo_decision_") or not hasattr(model, "classes_"):
            raise ValueError(f"{type(model).__name__} has no leave-one-out outputs of classes to draw.")
        Y = tuned(estimator).selection_.problem.Y
        codes = (Y[:, 0] > 0).astype(int) if Y.shape[1] == 1 else np.argmax(Y, axis=1)
        return cls(loo_margins(model.loo_decision_, codes), model.classes_[codes]).plot(ax=ax)

    def plot(self, ax=None):
        """Draw a histogram, one colour per class; returns itself."""
        self.ax_ = ax = place(ax)
        self.figure_ = ax.figure
        classes = np.unique(self.labels)
        parts = [self.margins[self.labels == label] for label in classes]
        edges = np.histogram_bin_edges(self.margins, bins=BINS)
        ax.hist(parts, bins=edges, stacked=True, label=[str(label) for label in classes])
        ax.axvline(0, color="k", lw=1)
        wrong = np.mean(self.margins <= 0)
        ax.set(
            xlabel="leave-one-out margin", ylabel="points", title=f"{100 * wrong:.1f} % wrong when left out"
        )
        ax.legend(title="class")
        return self


def loo_margins(outputs, codes):
    """Return the margin of each point: for two classes the output towards its own.

    Examples
    --------
    >>> loo_margins(np.array([2.0, -1.0]), np.array([1, 1])).tolist()
    [2.0, -1.0]
    >>> loo_margins(np.array([[2.0, 0.5, 1.5]]), np.array([2])).tolist()
    [-0.5]
    """
    if np.ndim(outputs) == 1:
        return np.where(codes == 1, outputs, -outputs)
    rows = np.arange(len(codes))
    others = np.array(outputs, dtype=float)
    others[rows, codes] = -np.inf
    return outputs[rows, codes] - others.max(axis=1)
