"""What a search answers about certainty: intervals, sets, scores and rows to look at, from the left-out models of its best estimator."""

from collections.abc import Callable
from numbers import Real
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import norm
from sklearn.base import BaseEstimator, is_classifier, is_regressor
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.utils import check_array
from sklearn.utils.metaestimators import available_if

from foldless.core.contracts import Matrix, Vector
from foldless.core.errors import DataError, Undefined
from foldless.estimators.base import BaseKernelEstimator
from foldless.estimators.kernel_search.left_out_twin import check_twin, has_twin, twin_of
from foldless.estimators.kernel_search.pipeline import split_pipeline
from foldless.estimators.uncertainty.intervals import check_level
from foldless.estimators.uncertainty.learning_curve import LearningCurve
from foldless.estimators.uncertainty.score import LooScore

Rows = NDArray[np.intp]
TrainingData = tuple[Any, Any, dict[str, Any]]  # X, y and the parameters of fit


def _predicts_numbers(self: "LeftOutAnswers") -> bool:
    return is_regressor(self.estimator)


def _predicts_classes(self: "LeftOutAnswers") -> bool:
    return is_classifier(self.estimator)


class LeftOutAnswers:
    """Intervals, sets, scores and row diagnostics of a search, around its ``left_out_model_``."""

    estimator: BaseEstimator
    ensemble: bool
    cv_results_: dict[str, Any]
    _predictor: Any
    _fitted_rows: TrainingData
    _fitted_half: Rows | None = None  # numbers of the rows that were fitted, if the others tuned
    _machine_rows: tuple[Any, np.ndarray, Vector | None]  # points as the machine sees them, y and weights

    @property
    def left_out_model_(self) -> Any:
        """The estimator of foldless whose left-out models give intervals and sets: the best one, or its equivalent.

        For ``SVC`` with several classes it fits one class against the rest, where scikit-learn fits pairs.
        """
        if self.ensemble:
            raise Undefined("an ensemble has no left-out models. Use ensemble=False.")
        machine = split_pipeline(self._predictor).machine
        if isinstance(machine, BaseKernelEstimator):
            return machine
        if not hasattr(self, "_twin"):
            check_twin(machine)
            self._twin = twin_of(machine, self._tuned_names(), *self._rows_of_machine(), self._fitted_half)
        return self._twin

    def _tuned_names(self) -> set[str]:
        """Return the machine's parameters of which the search tried several numbers."""
        start = f"param_{split_pipeline(self._predictor).prefix}"
        tried = {name: values for name, values in self.cv_results_.items() if name.startswith(start)}
        return {
            name.removeprefix(start)
            for name, values in tried.items()
            if len({value for value in values.compressed() if isinstance(value, Real)}) > 1
        }

    def _rows_of_machine(self) -> tuple[Any, np.ndarray, Vector | None]:
        """Return points as the machine sees them, targets and weights of the training rows."""
        if hasattr(self, "_machine_rows"):
            return self._machine_rows
        if not hasattr(self, "_fitted_rows"):
            raise Undefined(
                "the training rows were not saved with this search, by an older version. Fit it again."
            )
        X, y, params = self._fitted_rows
        weight = params.get(f"{split_pipeline(self._predictor).prefix}sample_weight")
        return self._machine_points(X), np.asarray(y), weight

    def _forget_rows(self) -> None:
        """Keep nothing of an earlier fit."""
        for name in ("_twin", "_fitted_rows", "_fitted_half", "_machine_rows"):
            self.__dict__.pop(name, None)

    def _state_of_rows(self) -> dict[str, Any]:
        """Return what a saved search needs in order to answer when it is loaded."""
        unasked = hasattr(self, "_fitted_rows") and hasattr(self, "best_estimator_") and not self.ensemble
        if not unasked or hasattr(self, "_twin") or not has_twin(split_pipeline(self._predictor).machine):
            return {}
        return {"_machine_rows": self._rows_of_machine()}

    def _machine_points(self, X: Any) -> Any:
        """Return points as the machine at the end of a pipeline sees them."""
        transformers = split_pipeline(self._predictor).transformers
        points = X if transformers is None else transformers.transform(X)
        if isinstance(split_pipeline(self._predictor).machine, BaseKernelEstimator):
            return points  # it checks them itself, and knows the names of the columns
        return check_array(points, accept_sparse="csr", dtype=np.float64)

    @available_if(_predicts_numbers)
    def predict_interval(self, X: ArrayLike, level: float = 0.9, method: str = "jackknife+") -> Matrix:
        """Prediction intervals (n, 2), or (n, 2, n_outputs); see :meth:`KernelRidgeRegressor.predict_interval`.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, d)
        level : float, default=0.9
        method : {"jackknife+", "minmax", "jackknife", "posterior"}, default="jackknife+"
            ``"posterior"`` is that of a Gaussian process; estimators of foldless have all of their own methods.
        """
        points, machine = self._machine_points(X), split_pipeline(self._predictor).machine
        if method == "posterior" and isinstance(machine, GaussianProcessRegressor):
            return _posterior_interval(machine, points, check_level(level))
        return self.left_out_model_.predict_interval(points, level, method)

    @available_if(_predicts_classes)
    def predict_set(self, X: ArrayLike, level: float = 0.9, score: str | None = None) -> NDArray[np.bool_]:
        """Sets of classes, a boolean matrix (n, n_classes); see :meth:`KernelLSSVC.predict_set`.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, d)
        level : float, default=0.9
        score : {"probability", "adaptive", "margin"}, default=None
        """
        return self.left_out_model_.predict_set(self._machine_points(X), level, score)

    def loo_score(self, metric: str | Callable[..., float] | None = None) -> LooScore:
        """Score of the left-out predictions of all training rows, with a standard error if it is a mean over rows.

        Parameters
        ----------
        metric : str or callable, default=None
            A name of ``sklearn.metrics.get_scorer_names()``, a scorer, or a function of targets and predictions; ``None``
            is the accuracy, or the coefficient of determination.
        """
        model = self.left_out_model_
        return model.loo_score() if metric is None else model.loo_score(metric)

    def guarantee(self, level: float = 0.9, method: str | None = None) -> str:
        """Return one sentence: what intervals or sets promise for this fit.

        Parameters
        ----------
        level : float, default=0.9
        method : str, default=None
            For regressors, as in :meth:`predict_interval`; ``None`` is ``"jackknife+"``.
        """
        model = self.left_out_model_
        if method is None:
            return model.guarantee(level)
        if is_classifier(self.estimator):
            raise DataError(f"method is for intervals, and this search predicts classes; got {method!r}.")
        return model.guarantee(level, method)

    @property
    def guarantee_(self) -> str:
        """What the 90 % intervals or sets promise, in one sentence."""
        return self.left_out_model_.guarantee_

    @property
    def loo_predict_(self) -> np.ndarray:
        """Predictions for the training rows by the models without them."""
        return self.left_out_model_.loo_predict_

    @property
    def loo_residuals_(self) -> np.ndarray:
        """Targets less ``loo_predict_``, for regressors."""
        return self.left_out_model_.loo_residuals_

    @property
    def leverage_(self) -> Vector:
        """Part of the output of each training row that is its own doing."""
        return self.left_out_model_.leverage_

    @property
    def label_quality_(self) -> Vector:
        """Probability of each row's own class without it, where rows with doubtful labels count less; for classifiers."""
        return self.left_out_model_.label_quality_

    @property
    def suspicious_(self) -> Rows:
        """Numbers of the training rows, most surprising one first."""
        return self.left_out_model_.suspicious_

    @property
    def learning_curve_(self) -> LearningCurve:
        """Left-out loss against the number of rows, at the chosen parameters."""
        return self.left_out_model_.learning_curve_

    def refit_left_out(self, rows: ArrayLike | None = None) -> Self:
        """Replace the left-out models of some training rows by refits; see :meth:`KernelLSSVC.refit_left_out`.

        Parameters
        ----------
        rows : array-like of int, default=None
            Numbers of training rows; by default those for which the usual approximation is rough.
        """
        self.left_out_model_.refit_left_out(rows)
        return self


def _posterior_interval(machine: GaussianProcessRegressor, points: Any, level: float) -> Matrix:
    """Return the central intervals of new targets: the process has ``alpha`` as noise beside that of its kernel."""
    mean, deviation = machine.predict(points, return_std=True)
    noise = machine.alpha * machine._y_train_std**2
    reach = norm.ppf((1 + level) / 2) * np.sqrt(deviation**2 + noise)
    return np.stack([mean - reach, mean + reach], axis=1)
