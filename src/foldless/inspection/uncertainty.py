"""How sure is it? Intervals, calibration, learning curves and suspicious rows, drawn from left-out models."""

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.pipeline import Pipeline

from foldless.core.contracts import Vector
from foldless.core.errors import Undefined
from foldless.core.targets import class_index
from foldless.estimators.kernel_search.estimator import KernelSearch
from foldless.estimators.uncertainty.interval_mixin import IntervalMixin
from foldless.estimators.uncertainty.learning_curve import LearningCurve
from foldless.estimators.uncertainty.left_out_mixin import LeftOutMixin
from foldless.estimators.uncertainty.set_mixin import SetMixin
from foldless.inspection.axes import get_axes

MAX_SHOWN_ROWS = 20
# How far beyond the rows at hand a learning curve is continued.
EXTRAPOLATION_FACTOR = 4


def left_out_model(estimator: BaseEstimator) -> Any:
    """Return the fitted estimator with left-out models: itself, the last step of a pipeline, or that of a search."""
    inner = estimator[-1] if isinstance(estimator, Pipeline) else estimator
    inner = inner.left_out_model_ if isinstance(inner, KernelSearch) else inner
    if not isinstance(inner, LeftOutMixin):
        raise TypeError(
            f"{type(inner).__name__} has no left-out models; an estimator of foldless, or a KernelSearch, has."
        )
    return inner


class IntervalDisplay:
    """Prediction intervals as bars, with the targets if they are known.

    Parameters
    ----------
    predictions : array of shape (n,)
    intervals : array of shape (n, 2)
    y : array of shape (n,), optional
        The targets.
    x : array of shape (n,), optional
        Positions of the bars; by default the predictions.
    level : float, default=0.9

    Attributes
    ----------
    coverage : float or None
        Share of the targets that lie in their intervals.
    ax_, figure_
        Axes and figure of matplotlib, after ``plot``.
    """

    def __init__(
        self,
        predictions: ArrayLike,
        intervals: ArrayLike,
        y: ArrayLike | None = None,
        x: ArrayLike | None = None,
        level: float = 0.9,
    ):
        self.predictions, self.intervals = np.asarray(predictions, float), np.asarray(intervals, float)
        self.y = None if y is None else np.asarray(y, float)
        self.x, self.level = None if x is None else np.asarray(x, float), level

    @property
    def coverage(self) -> float | None:
        """Share of the targets that lie in their intervals; None without targets."""
        if self.y is None:
            return None
        return float(np.mean((self.intervals[:, 0] <= self.y) & (self.y <= self.intervals[:, 1])))

    @classmethod
    def from_estimator(
        cls,
        estimator: BaseEstimator,
        X: ArrayLike,
        y: ArrayLike | None = None,
        *,
        level: float = 0.9,
        method: str = "jackknife+",
        ax: Any = None,
    ) -> Self:
        """Draw the intervals of a fitted regressor with one output, or a pipeline that ends in one, at some rows.

        Parameters
        ----------
        estimator : fitted estimator
        X : array-like of shape (n, d)
            New rows. Where they have a single column, it is the horizontal axis.
        y : array-like of shape (n,), optional
            Their targets.
        level, method
            See ``predict_interval``.
        ax : matplotlib axes, optional
        """
        model = left_out_model(estimator)
        if not isinstance(model, IntervalMixin):
            raise TypeError(
                f"{type(model).__name__} has no prediction intervals; a regressor of foldless has."
            )
        points = estimator[:-1].transform(X) if isinstance(estimator, Pipeline) else X
        intervals = model.predict_interval(points, level, method)
        if intervals.ndim == 3:
            raise ValueError("intervals of one output can be drawn, got several outputs.")
        columns = np.asarray(X, dtype=float) if np.shape(X)[1:] == (1,) else None
        x = None if columns is None else columns[:, 0]
        return cls(estimator.predict(X), intervals, y, x, level).plot(ax=ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw bars, predictions and targets; return the display."""
        self.ax_ = ax = get_axes(ax)
        self.figure_ = ax.figure
        x = self.predictions if self.x is None else self.x
        ax.vlines(
            x, *self.intervals.T, color="C0", alpha=0.4, lw=2, label=f"{100 * self.level:.4g} % interval"
        )
        ax.plot(x, self.predictions, "_", color="C0", label="prediction")
        if self.y is not None:
            ax.plot(x, self.y, ".", color="C1", label="target")
            ax.set_title(f"{100 * (self.coverage or 0):.1f} % of the targets are inside")
        ax.set(xlabel="prediction" if self.x is None else "x", ylabel="target")
        ax.legend()
        return self


class CalibrationDisplay:
    """Probability of the most likely class against how often it came true, over left-out rows.

    Parameters
    ----------
    confidence : array of shape (n,)
        Left-out probability of the class that is most likely then.
    right : array of shape (n,)
        Whether it is the row's class.
    n_bins : int, default=8
        Groups of equally many rows.

    Attributes
    ----------
    mean_confidence, share_right, standard_error : arrays of shape (n_bins,)
        One number per group.
    ece : float
        Expected calibration error: the mean distance between the two over rows.
    ax_, figure_
        Axes and figure of matplotlib, after ``plot``.
    """

    def __init__(self, confidence: ArrayLike, right: ArrayLike, n_bins: int = 8):
        self.confidence, self.right = np.asarray(confidence, float), np.asarray(right, float)
        groups = np.array_split(np.argsort(self.confidence, kind="stable"), min(n_bins, len(self.right)))
        self.mean_confidence = np.array([self.confidence[group].mean() for group in groups])
        self.share_right = np.array([self.right[group].mean() for group in groups])
        sizes = np.array([len(group) for group in groups])
        self.standard_error = np.sqrt(self.mean_confidence * (1 - self.mean_confidence) / sizes)
        self.ece = float(np.average(np.abs(self.share_right - self.mean_confidence), weights=sizes))

    @classmethod
    def from_estimator(cls, estimator: BaseEstimator, *, n_bins: int = 8, ax: Any = None) -> Self:
        """Draw the calibration of a fitted classifier with ``loo_proba_``, or a pipeline that ends in one."""
        model = left_out_model(estimator)
        if not isinstance(model, SetMixin) or model.loo_proba_ is None:
            raise TypeError(
                f"{type(model).__name__} has no left-out probabilities; a classifier without a posterior has."
            )
        labels = model._of_rows(class_index(model._rows_of_fit().Y))
        top = np.argmax(model.loo_proba_, axis=1)
        return cls(np.max(model.loo_proba_, axis=1), top == labels, n_bins).plot(ax=ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw one point per group, with two standard errors; return the display."""
        self.ax_ = ax = get_axes(ax)
        self.figure_ = ax.figure
        low = float(min(self.mean_confidence.min(), self.share_right.min()))
        ax.plot([low, 1], [low, 1], "k:", label="perfectly calibrated")
        ax.errorbar(
            self.mean_confidence, self.share_right, 2 * self.standard_error, fmt="o", label="left-out rows"
        )
        ax.set(
            xlabel="probability of the most likely class",
            ylabel="share that came true",
            title=f"expected calibration error {self.ece:.3f}",
        )
        ax.legend()
        return self


class LearningCurveDisplay:
    """Left-out loss against the number of rows, and its continuation by a power law.

    Parameters
    ----------
    curve : LearningCurve

    Attributes
    ----------
    ax_, figure_
        Axes and figure of matplotlib, after ``plot``.
    """

    def __init__(self, curve: LearningCurve):
        self.curve = curve

    @classmethod
    def from_estimator(cls, estimator: BaseEstimator, *, ax: Any = None) -> Self:
        """Draw the learning curve of a fitted estimator, or a pipeline that ends in one."""
        return cls(left_out_model(estimator).learning_curve_).plot(ax=ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw the losses with two standard errors, and the continuation where there are three sizes; return the display."""
        self.ax_ = ax = get_axes(ax)
        self.figure_ = ax.figure
        curve = self.curve
        ax.errorbar(curve.rows, curve.values, 2 * curve.standard_errors, fmt="o-", label="left-out loss")
        rows = np.geomspace(curve.rows[-1], EXTRAPOLATION_FACTOR * curve.rows[-1], 10)
        try:
            value, error = curve.extrapolate(rows)
        except Undefined:
            pass
        else:
            ax.plot(rows, value, "C0--", label="power law")
            ax.fill_between(rows, value - 2 * error, value + 2 * error, color="C0", alpha=0.2)
        ax.set(xscale="log", xlabel="rows", ylabel="loss per row", title="would more rows help?")
        ax.legend()
        return self


class SuspiciousRowsDisplay:
    """The rows that surprise the model without them most: possible errors of labels or measurements.

    Parameters
    ----------
    rows : array of int of shape (m,)
        Numbers of the rows, most surprising first.
    values : array of shape (m,)
        What makes them so.
    label : str
        What the values are.

    Attributes
    ----------
    ax_, figure_
        Axes and figure of matplotlib, after ``plot``.
    """

    def __init__(self, rows: ArrayLike, values: ArrayLike, label: str):
        self.rows, self.values, self.label = np.asarray(rows), np.asarray(values, float), label

    @classmethod
    def from_estimator(
        cls, estimator: BaseEstimator, *, n_rows: int = MAX_SHOWN_ROWS, ax: Any = None
    ) -> Self:
        """Draw the most suspicious rows of a fitted estimator, or a pipeline that ends in one.

        Parameters
        ----------
        estimator : fitted estimator
        n_rows : int, default=20
            Most rows that are shown.
        ax : matplotlib axes, optional
        """
        rows, values, label = suspicious_rows(left_out_model(estimator))
        return cls(rows[:n_rows], values[:n_rows], label).plot(ax=ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw a bar per row, the most suspicious one on top; return the display."""
        self.ax_ = ax = get_axes(ax)
        self.figure_ = ax.figure
        places = np.arange(len(self.rows))[::-1]
        ax.barh(places, self.values)
        ax.set_yticks(places, [str(row) for row in self.rows])
        ax.set(xlabel=self.label, ylabel="row", title="rows to look at")
        return self


def suspicious_rows(model: Any) -> tuple[NDArray[np.intp], Vector, str]:
    """Return row numbers, most suspicious first, what makes each suspicious, and the name of that."""
    if isinstance(model, SetMixin):
        values: Vector = np.sort(model.label_quality_, kind="stable")
        return model.suspicious_, values, "left-out probability of the row's own class"
    values = -np.sort(-model._of_rows(model._suspicion()), kind="stable")
    return model.suspicious_, values, "left-out residual, in deviations"
