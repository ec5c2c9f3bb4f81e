"""Any metric of scikit-learn over the left-out predictions of all rows, pooled, with a standard error where it is a mean."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy.special import xlogy
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin, is_classifier, is_regressor
from sklearn.metrics import get_scorer, get_scorer_names, make_scorer

from foldless.core.contracts import Matrix, Vector
from foldless.core.errors import DataError, did_you_mean

# The modules of scikit-learn's metrics by what they compare.
CLASS_METRICS = ("sklearn.metrics._classification", "sklearn.metrics._ranking")
NUMBER_METRICS = ("sklearn.metrics._regression",)


class LooScore(NamedTuple):
    """A score over left-out predictions; greater is better, as scikit-learn's scorers have it.

    Attributes
    ----------
    value : float
    standard_error : float
        Of the mean over rows; NaN if the metric is no such mean, or if all rows together count no more than one.
    """

    value: float
    standard_error: float


class _LeftOutClassifier(ClassifierMixin, BaseEstimator):
    """Left-out predictions in the place of a classifier: whatever rows are asked for, it answers for the training rows."""

    def __init__(self, classes: np.ndarray, decision: np.ndarray, probabilities: Matrix | None) -> None:
        self.classes = classes
        self.decision = decision
        self.probabilities = probabilities
        self.classes_ = classes

    def predict(self, X: Any) -> np.ndarray:
        top = self.decision > 0 if self.decision.ndim == 1 else np.argmax(self.decision, axis=1)
        return self.classes_[np.asarray(top, dtype=np.intp)]

    def decision_function(self, X: Any) -> np.ndarray:
        return self.decision

    def predict_proba(self, X: Any) -> Matrix:
        if self.probabilities is None:
            raise ValueError("this classifier has no left-out probabilities; ask for a score of its outputs.")
        return self.probabilities


class _LeftOutRegressor(RegressorMixin, BaseEstimator):
    """Left-out predictions in the place of a regressor."""

    def __init__(self, predictions: np.ndarray) -> None:
        self.predictions = predictions
        self.fitted_ = True

    def predict(self, X: Any) -> np.ndarray:
        return self.predictions


def left_out_classifier(classes: np.ndarray, decision: np.ndarray, probabilities: Matrix | None) -> Any:
    """Return an object with the methods of a classifier that gives left-out outputs and probabilities."""
    return _LeftOutClassifier(classes, decision, probabilities)


def left_out_regressor(predictions: np.ndarray) -> Any:
    """Return an object with the methods of a regressor that gives left-out predictions."""
    return _LeftOutRegressor(predictions)


def loo_score(metric: str | Callable[..., float], model: Any, y: np.ndarray, counts: Vector) -> LooScore:
    """Return the score of left-out predictions.

    Parameters
    ----------
    metric : str or callable
        A name of ``sklearn.metrics.get_scorer_names()``, a scorer, or a function of targets and predictions.
    model : object
        Made by :func:`left_out_classifier` or :func:`left_out_regressor`.
    y : array of shape (n,) or (n, n_outputs)
    counts : array of shape (n,)
        Number of equal rows that each row stands for.
    """
    scorer = _scorer_of(metric)
    _check_suits(metric, scorer, model, y)
    weights = {} if np.all(counts == 1) else {"sample_weight": counts}
    value = float(scorer(model, np.zeros((len(y), 1)), y, **weights))
    per_row = PER_ROW.get(metric) if isinstance(metric, str) else None
    return LooScore(value, np.nan if per_row is None else _standard_error(per_row(model, y), counts))


def _scorer_of(metric: str | Callable[..., float]) -> Any:
    if not isinstance(metric, str):
        return _as_scorer(metric)
    if metric not in get_scorer_names():
        raise DataError(
            "metric must be a name of sklearn.metrics.get_scorer_names(), a scorer, or a function of targets and predictions; got "
            f"{metric!r}.{did_you_mean(metric, get_scorer_names())}"
        )
    return get_scorer(metric)


def _check_suits(metric: str | Callable[..., float], scorer: Any, model: Any, y: np.ndarray) -> None:
    """Raise if a metric of scikit-learn for classes is asked of numbers, or one for numbers of labels that are none."""
    function = getattr(scorer, "_score_func", None)
    kind = getattr(function, "__module__", "")
    name = repr(metric) if isinstance(metric, str) else getattr(function, "__name__", "")
    if is_regressor(model) and kind in CLASS_METRICS:
        raise DataError(
            f"the metric {name} is for classes, and this estimator predicts numbers. Ask for one of numbers, such as 'r2' or "
            "'neg_mean_absolute_error'."
        )
    if is_classifier(model) and kind in NUMBER_METRICS and y.dtype.kind not in "iuf":
        raise DataError(
            f"the metric {name} is for numbers, and this estimator predicts classes such as {y.tolist()[0]!r}. Ask for one of classes, "
            "such as 'accuracy' or 'neg_log_loss'."
        )


def _as_scorer(metric: Callable[..., float]) -> Callable[..., float]:
    """Return a scorer as it is, and a function of targets and predictions as a scorer."""
    is_scorer = type(metric).__module__.startswith("sklearn.metrics")
    return metric if is_scorer else make_scorer(metric)


def _standard_error(values: Vector, counts: Vector) -> float:
    total = counts.sum()
    if total <= 1:
        return np.nan
    mean = np.average(values, weights=counts)
    return float(np.sqrt(counts @ (values - mean) ** 2 / (total - 1) / total))


def _own(model: Any, y: np.ndarray) -> Vector:
    """Return the left-out probability of each row's own class."""
    return model.predict_proba(None)[np.arange(len(y)), np.searchsorted(model.classes_, y)]


def _brier(model: Any, y: np.ndarray) -> Vector:
    """Return Brier's score of each row, as scikit-learn scales it: half the sum over classes if there are two."""
    P = model.predict_proba(None)
    squares = np.sum((P - (y[:, None] == model.classes_)) ** 2, axis=1)
    return squares / 2 if P.shape[1] == 2 else squares


def _poisson_deviance(model: Any, y: np.ndarray) -> Vector:
    rate = model.predict(None).reshape(len(y), -1)
    y = y.reshape(len(y), -1)
    return 2 * np.mean(xlogy(y, y / rate) - y + rate, axis=1)


def _residuals(model: Any, y: np.ndarray) -> Matrix:
    return (y - model.predict(None)).reshape(len(y), -1)


PER_ROW: dict[str, Callable[[Any, np.ndarray], Vector]] = {
    "accuracy": lambda model, y: np.asarray(model.predict(None) == y, dtype=float),
    "neg_log_loss": lambda model, y: np.log(np.maximum(_own(model, y), np.finfo(float).eps)),
    "neg_brier_score": lambda model, y: -_brier(model, y),
    "neg_mean_squared_error": lambda model, y: -np.mean(_residuals(model, y) ** 2, axis=1),
    "neg_mean_absolute_error": lambda model, y: -np.mean(np.abs(_residuals(model, y)), axis=1),
    "neg_mean_poisson_deviance": lambda model, y: -_poisson_deviance(model, y),
}
"""Scores that are means over rows, by the value of each row."""
