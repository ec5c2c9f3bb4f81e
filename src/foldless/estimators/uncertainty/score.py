r"""Any metric of scikit-learn over the left-out predictions of all rows, pooled, with a standard error.

A metric that is a mean over rows has the standard error of that mean. For any other the rows are cut at random into G groups (up to 200
rows each is a group), and with :math:`\theta_g` the metric without group g

.. math:: s^2 = \frac{G - 1}{G} \sum_g (\theta_g - \bar\theta)^2  \tag{1}

is the jackknife's estimate, good for metrics that change smoothly with the shares of the rows, such as areas and ratios of means.
"""

import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy.special import xlogy
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin, is_classifier, is_regressor
from sklearn.metrics import get_scorer, get_scorer_names, make_scorer

from foldless.core.contracts import Matrix, Vector
from foldless.core.errors import DataError, did_you_mean
from foldless.core.gram import Rows

# The modules of scikit-learn's metrics by what they compare.
CLASS_METRICS = ("sklearn.metrics._classification", "sklearn.metrics._ranking")
NUMBER_METRICS = ("sklearn.metrics._regression",)
# Up to so many rows each is a group of eq. (1); otherwise there are so many groups, and the standard error is known to a tenth.
ONE_BY_ONE_MAX_ROWS, JACKKNIFE_GROUPS = 200, 50


class LooScore(NamedTuple):
    """A score over left-out predictions; greater is better, as scikit-learn's scorers have it.

    Attributes
    ----------
    value : float
    standard_error : float
        Of the mean over rows, or by the jackknife for a metric that is no such mean; NaN if all rows together count no more than
        one, or if the metric does not exist without some of them.
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

    def take(self, rows: Rows) -> "_LeftOutClassifier":
        """Return the predictions for some of the rows."""
        P = self.probabilities
        return _LeftOutClassifier(self.classes, self.decision[rows], None if P is None else P[rows])

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

    def take(self, rows: Rows) -> "_LeftOutRegressor":
        """Return the predictions for some of the rows."""
        return _LeftOutRegressor(self.predictions[rows])

    def predict(self, X: Any) -> np.ndarray:
        return self.predictions


def left_out_classifier(classes: np.ndarray, decision: np.ndarray, probabilities: Matrix | None) -> Any:
    """Return an object with the methods of a classifier that gives left-out outputs and probabilities."""
    return _LeftOutClassifier(classes, decision, probabilities)


def left_out_regressor(predictions: np.ndarray) -> Any:
    """Return an object with the methods of a regressor that gives left-out predictions."""
    return _LeftOutRegressor(predictions)


def loo_score(
    metric: str | Callable[..., float],
    model: Any,
    y: np.ndarray,
    weights: Vector,
    leaves: Vector | None = None,
) -> LooScore:
    """Return the score of left-out predictions.

    Parameters
    ----------
    metric : str or callable
        A name of ``sklearn.metrics.get_scorer_names()``, a scorer, or a function of targets and predictions.
    model : object
        Made by :func:`left_out_classifier` or :func:`left_out_regressor`.
    y : array of shape (n,) or (n, n_outputs)
    weights : array of shape (n,)
        Weights of the rows, which add up to the number of observations.
    leaves : array of shape (n,), optional
        How much of its weight a row loses at a time; by default one observation, the others of which stay.
    """
    leaves = np.ones_like(weights) if leaves is None else leaves
    scorer = _scorer_of(metric)
    _check_suits(metric, scorer, model, y)
    value = _score(scorer, model, y, weights)
    per_row = PER_ROW.get(metric) if isinstance(metric, str) else None
    if per_row is not None:
        return LooScore(value, _standard_error(per_row(model, y), weights, leaves))
    return LooScore(value, _jackknife_error(scorer, model, y, weights, leaves))


def _score(scorer: Any, model: Any, y: np.ndarray, weights: Vector) -> float:
    given = {} if np.all(weights == 1) else {"sample_weight": weights}
    return float(scorer(model, np.zeros((len(y), 1)), y, **given))


def _jackknife_error(scorer: Any, model: Any, y: np.ndarray, weights: Vector, leaves: Vector) -> float:
    """Return the standard error of a score; eq. (1)."""
    one_by_one = len(y) <= ONE_BY_ONE_MAX_ROWS
    rows = np.random.default_rng(0).permutation(len(y))
    groups = list(rows[:, None]) if one_by_one else np.array_split(rows, JACKKNIFE_GROUPS)
    found = []
    with warnings.catch_warnings():
        # What scikit-learn says about a metric without some of the rows was said about all of them, or is seen in its value.
        warnings.simplefilter("ignore")
        for group in groups:
            left = weights.astype(float)
            left[group] -= np.minimum(left[group], leaves[group]) if one_by_one else left[group]
            rest = np.flatnonzero(left > 0)
            try:
                found.append(_score(scorer, model.take(rest), y[rest], left[rest]))
            except ValueError:
                return np.nan
    times = (weights / leaves)[rows] if one_by_one else np.ones(len(groups))
    total = times.sum()
    deviations = np.array(found) - np.average(found, weights=times)
    return float(np.sqrt((total - 1) / total * (times @ deviations**2))) if total > 1 else np.nan


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


def _standard_error(values: Vector, weights: Vector, leaves: Vector) -> float:
    total = weights.sum()
    if total <= 1:
        return np.nan
    mean = np.average(values, weights=weights)
    return float(np.sqrt((weights * leaves) @ (values - mean) ** 2 / (total - 1) / total))


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
