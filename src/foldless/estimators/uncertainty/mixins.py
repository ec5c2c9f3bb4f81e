"""What every estimator offers about its own certainty; the formulas are in the other files of this folder."""

import warnings
from abc import abstractmethod
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import norm
from sklearn.base import clone
from sklearn.gaussian_process.kernels import Kernel
from sklearn.model_selection import train_test_split
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import check_is_fitted, indexable

from foldless.core.contracts import Matrix, Vector
from foldless.core.errors import LeverageWarning, Undefined, UnknownName
from foldless.core.targets import class_index
from foldless.criteria.left_out_models import leverages, refitted_changes
from foldless.estimators.uncertainty.guarantee import SETS, Conditions, sentence
from foldless.estimators.uncertainty.intervals import (
    LeftOutPredictions,
    check_level,
    check_method,
    ends,
    warn_of_resolution,
)
from foldless.estimators.uncertainty.learning_curve import LearningCurve, learning_curve
from foldless.estimators.uncertainty.left_out import (
    Block,
    CellLeftOutModels,
    JointLeftOutModels,
    LeftOutModels,
    joint_models,
    point_map,
)
from foldless.estimators.uncertainty.score import (
    LooScore,
    left_out_classifier,
    left_out_regressor,
    loo_score,
)
from foldless.estimators.uncertainty.sets import filled, p_values, scorer
from foldless.estimators.uncertainty.training_rows import TrainingRows
from foldless.kernels import gram
from foldless.tuning.result import Selection

CALIBRATIONS = ("same", "split")
# Leverage above which one step is a rough approximation of a refit.
LEVERAGE_LIMIT = 0.7

Rows = NDArray[np.intp]


class LeftOutMixin:
    """Left-out models, leverages, refits and scores: what regressors and classifiers share."""

    kernel_: Kernel
    selection_: Selection
    calibration: str = "same"
    random_state: Any

    _rows: Rows
    _training: TrainingRows | None
    _left_out: Matrix  # left-out outputs of the rows (n, k)
    _split: bool
    _refitted: Rows

    @property
    def _pairwise(self) -> bool:
        return False

    @abstractmethod
    def _check_points(self, X: ArrayLike) -> Any:
        """Return new points as an array or a CSR matrix of numbers."""

    @abstractmethod
    def _keep_left_out(self, outputs: Matrix) -> None:
        """Keep left-out outputs (n, k), as fitted attributes."""

    @abstractmethod
    def _chosen_params(self) -> dict[str, Any]:
        """Return the parameters that make ``fit`` only solve, with what was chosen."""

    @abstractmethod
    def _stratify(self, y: ArrayLike) -> ArrayLike | None:
        """Return the labels whose shares both halves of a split should have, or None."""

    def _forget_left_out(self, selection: Selection) -> None:
        """Keep the rows of a new fit, and nothing of an earlier one."""
        self._training = TrainingRows.of(selection)
        self._refitted = np.zeros(0, dtype=np.intp)
        self._split = False
        for name in ("_known", "_left_out", "loo_predict_", "loo_residuals_"):
            self.__dict__.pop(name, None)

    @property
    def _cache(self) -> dict[str, Any]:
        """Results that a saved model leaves out."""
        return self.__dict__.setdefault("_known", {})

    def _once(self, name: str, compute: Callable[[], Any]) -> Any:
        if name not in self._cache:
            self._cache[name] = compute()
        return self._cache[name]

    def _rows_of_fit(self) -> TrainingRows:
        """Return the rows of the fit; raise if they are not here."""
        check_is_fitted(self)
        training = self.__dict__.get("_training")
        if training is None:
            raise Undefined(
                "the rows of this fit are not at hand: it was made by gram='dask', or saved by an older version. Fit it "
                "again with another gram."
            )
        return training

    def _own_outputs(self) -> Matrix:
        """Return the left-out outputs of the rows (n, k)."""
        check_is_fitted(self)
        if "_left_out" not in self.__dict__:
            raise Undefined(
                "leave-one-out is undefined: a row fixes its own output. Raise alpha (or lower C), or use fewer basis "
                "functions."
            )
        return self._left_out

    def _solution(self) -> Any:
        """Return the fit; a loaded model solves once more."""
        training = self._rows_of_fit()
        if hasattr(self, "selection_"):
            return self.selection_.solution
        return self._once("solution", lambda: training.solve(self.kernel_))

    def _left_out_models(self) -> LeftOutModels:
        return self._once("models", self._build_models)

    def _build_models(self) -> LeftOutModels:
        training = self._rows_of_fit()
        if training.cells is not None:
            return CellLeftOutModels(training.cells)
        solution = self._solution()
        models = joint_models(training, self.kernel_, solution, self._cross_with)
        if not len(self._refitted):
            return models
        changes = refitted_changes(models.changes, solution, self._refitted, point_map(training, solution))
        return JointLeftOutModels(models.cross, models.expansion, changes)

    def _cross_with(self, points: Any, others: Any) -> Matrix:
        """Return kernel values of new points with the points that carry the fit."""
        return points[:, self._rows] if self._pairwise else gram(self.kernel_, points, others)

    @property
    def leverage_(self) -> Vector:
        """Leverage of every training row: the part of its output that is its own doing, between 0 and 1."""
        return self._once("leverage", lambda: leverages(self._one_solution()))

    def _one_solution(self) -> Any:
        if self._rows_of_fit().cells is not None:
            raise Undefined(
                "a fit by cells has leverages in every cell, and none for all rows. Use gram='lowrank'."
            )
        return self._solution()

    def _warn_of_leverage(self) -> None:
        """Warn if left-out models are approximate and some rows have a leverage at which that matters."""
        if self._rows_of_fit().machine.exact_left_out:
            return
        with suppress(Undefined):
            high = np.setdiff1d(np.flatnonzero(self.leverage_ > LEVERAGE_LIMIT), self._refitted)
            if len(high):
                warnings.warn(LeverageWarning(len(high) / len(self.leverage_), LEVERAGE_LIMIT), stacklevel=4)

    def refit_left_out(self, rows: ArrayLike | None = None) -> Self:
        """Replace the left-out models of some training rows by refits.

        Parameters
        ----------
        rows : array-like of int, default=None
            Numbers of training rows; by default those with a leverage above 0.7, for which one step is a rough
            approximation.

        Returns
        -------
        self : estimator
            Its left-out outputs, scores, intervals and sets use the refits from now on.
        """
        chosen = np.flatnonzero(self.leverage_ > LEVERAGE_LIMIT) if rows is None else self._places(rows)
        self._refitted = np.union1d(self._refitted, chosen)
        self._cache.pop("models", None)
        if len(self._refitted):
            self._one_solution()
            self._replace_left_out()
        return self

    def _places(self, rows: ArrayLike) -> Rows:
        """Return the places of given rows among those with a positive weight."""
        given = np.atleast_1d(np.asarray(rows))
        if not np.all(np.isin(given, self._rows)):
            raise ValueError(f"rows must be numbers of training rows with a positive weight, got {rows!r}.")
        return np.searchsorted(self._rows, given)

    def _replace_left_out(self) -> None:
        models, training = self._left_out_models(), self._rows_of_fit()
        points = training.X[self._refitted]
        if self._pairwise:
            points = _with_columns(points, self._rows)
        outputs = self._own_outputs().copy()
        for block in models.blocks(points):
            own = self._refitted[block.rows]
            outputs[own] = block.left_out[np.arange(len(own)), own]
        self._keep_left_out(outputs)

    @property
    def learning_curve_(self) -> LearningCurve:
        """The left-out loss against the number of rows, at the chosen parameters."""
        compute = partial(learning_curve, self._rows_of_fit(), self.kernel_, self._own_outputs())
        return self._once("learning_curve", compute)

    def _conditions(self) -> Conditions:
        training = self._rows_of_fit()
        return Conditions(training.machine.exact_left_out, training.tuned, not training.whole, self._split)

    @property
    def _splits(self) -> bool:
        """Whether half of the rows are set aside for tuning."""
        if self.calibration not in CALIBRATIONS:
            raise UnknownName("calibration", self.calibration, CALIBRATIONS)
        return self.calibration == "split"

    def _fit_split(self, X: Any, y: Any, sample_weight: Any) -> Self:
        """Tune on one half of the rows, and fit the other half with the parameters that were found."""
        if self._pairwise:
            raise ValueError(
                "calibration='split' needs points to cut apart, and kernel='precomputed' has none."
            )
        X, y = indexable(X, y)
        seed = 0 if self.random_state is None else self.random_state
        halves = train_test_split(
            np.arange(len(y)), test_size=0.5, stratify=self._stratify(y), random_state=seed
        )
        weights = None if sample_weight is None else np.asarray(sample_weight)
        parts = [
            (_safe_indexing(X, half), _safe_indexing(y, half), None if weights is None else weights[half])
            for half in map(np.sort, halves)
        ]
        whole = clone(self).set_params(calibration="same")
        # Row numbers of all rows mean nothing in a half.
        if whole.landmarks is not None and np.ndim(whole.landmarks) == 1:
            whole.set_params(landmarks=_safe_indexing(X, whole.landmarks))
        tuned = clone(whole).fit(*parts[0])
        other = clone(whole).set_params(**tuned._chosen_params()).fit(*parts[1])
        parameters = self.get_params(deep=False)  # type: ignore[attr-defined]
        vars(self).update({name: value for name, value in vars(other).items() if name not in parameters})
        self._rows = np.sort(halves[1])[other._rows]
        self.trace_, self.n_evaluations_, self._split = tuned.trace_, tuned.n_evaluations_, True
        return self


def _with_columns(K: Matrix, rows: Rows) -> Matrix:
    """Return kernel values of training rows in the columns that they had among all rows."""
    wide = np.zeros((len(K), int(rows[-1]) + 1))
    wide[:, rows] = K
    return wide


class IntervalMixin(LeftOutMixin):
    """Prediction intervals and what belongs to them, for regressors."""

    loo_predict_: np.ndarray
    loo_residuals_: np.ndarray

    _lowest: float = -np.inf  # no target is smaller

    @abstractmethod
    def _shaped(self, outputs: Matrix) -> np.ndarray:
        """Return outputs (..., k) in the shape that y had."""

    def _response(self, outputs: Matrix) -> Matrix:
        """Return the predicted targets of outputs."""
        return outputs

    def _stratify(self, y: ArrayLike) -> ArrayLike | None:
        return None

    def _keep_left_out(self, outputs: Matrix) -> None:
        self._left_out = outputs
        training = self._rows_of_fit()
        self.loo_predict_ = self._shaped(self._response(outputs))
        self.loo_residuals_ = self._shaped(training.Y - self._response(outputs))

    def predict_interval(self, X: ArrayLike, level: float = 0.9, method: str = "jackknife+") -> Matrix:
        """Intervals that hold a new target with a given probability.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, d)
        level : float, default=0.9
            Share of new targets that should lie in their intervals. With fewer than level / (1 - level) rows the only
            honest interval is infinite, and a warning says so.
        method : {"jackknife+", "minmax", "jackknife", "studentized", "posterior"}, default="jackknife+"
            ``"jackknife+"`` from the left-out models and residuals; ``"minmax"``, wider, with the stronger guarantee;
            ``"jackknife"``, symmetric around the prediction; ``"studentized"``, wider where the data are thin;
            ``"posterior"``, of the Gaussian process whose mean a ridge fit is. :meth:`guarantee` says what each promises.

        Returns
        -------
        intervals : array of shape (n, 2), or (n, 2, n_outputs)
            Lower and upper ends.
        """
        level, method = check_level(level), check_method(method)
        points = self._check_points(X)
        if method == "posterior":
            return self._posterior_interval(points, level)
        counts, residuals = self._rows_of_fit().counts, self._residual_columns()
        warn_of_resolution(level, counts.sum(), "the intervals are infinite")
        self._warn_of_leverage()
        found = np.empty((points.shape[0], 2, residuals.shape[1]))
        for block in self._left_out_models().blocks(points):
            fitted, left_out = self._response(block.outputs), self._response(block.left_out)
            predictions = LeftOutPredictions(fitted, left_out, residuals, counts, level)
            found[block.rows] = ends(method, predictions, partial(self._scales, block))
        return self._shaped(np.maximum(found, self._lowest))

    def _residual_columns(self) -> Matrix:
        return self._rows_of_fit().Y - self._response(self._own_outputs())

    def _scales(self, block: Block) -> tuple[Matrix, Matrix]:
        r"""Return the deviations :math:`\tau_{-i}(x)` (p, n, k) and :math:`\tau_{-i}(x_i)` (n, k)."""
        raise Undefined(
            "method='studentized' needs the deviation of a new target, which this machine lacks. Use method='jackknife+', "
            "or KernelRidgeRegressor."
        )

    def _posterior_interval(self, points: Any, level: float) -> Matrix:
        mean, deviation = self._gaussian_prediction(points)
        reach = norm.ppf((1 + level) / 2) * deviation
        return np.stack([mean - reach, mean + reach], axis=1)

    def _gaussian_prediction(self, points: Any) -> tuple[np.ndarray, np.ndarray]:
        """Return mean and standard deviation of new targets under a Gaussian process."""
        raise Undefined(
            "method='posterior' needs a Gaussian process, which this machine is not. Use method='jackknife+', or "
            "KernelRidgeRegressor."
        )

    def guarantee(self, level: float = 0.9, method: str = "jackknife+") -> str:
        """Return one sentence: what the intervals of :meth:`predict_interval` promise for this fit.

        Parameters
        ----------
        level : float, default=0.9
        method : str, default="jackknife+"
        """
        return sentence(check_method(method), check_level(level), self._conditions())

    @property
    def guarantee_(self) -> str:
        """What the 90 % intervals of ``predict_interval`` promise, in one sentence."""
        return self.guarantee()

    @property
    def suspicious_(self) -> Rows:
        """Numbers of the training rows, the one with the largest left-out residual (in units of its deviation) first."""
        return self._rows[np.argsort(-self._suspicion(), kind="stable")]

    def _suspicion(self) -> Vector:
        r"""Return the left-out residuals in units of :math:`\tau_{-i}(x_i)`, the root mean square over outputs (n,)."""
        residuals = self._residual_columns()
        scale = np.ones(len(residuals))
        with suppress(Undefined):
            scale = np.sqrt(np.maximum(1 - self.leverage_, 0))
        return scale * np.sqrt(np.mean((residuals / np.std(residuals, axis=0).clip(1e-300)) ** 2, axis=1))

    def loo_score(self, metric: str | Callable[..., float] = "r2") -> LooScore:
        """Score of the left-out predictions of all training rows together.

        Parameters
        ----------
        metric : str or callable, default="r2"
            A name of ``sklearn.metrics.get_scorer_names()``, a scorer, or a function of targets and predictions.

        Returns
        -------
        score : LooScore
            ``value``, and ``standard_error`` if the metric is a mean over rows (else NaN).
        """
        self._own_outputs()
        self._warn_of_leverage()
        y = self.loo_predict_ + self.loo_residuals_
        return loo_score(metric, left_out_regressor(self.loo_predict_), y, self._rows_of_fit().counts)


class SetMixin(LeftOutMixin):
    """Sets of classes and what belongs to them, for classifiers."""

    classes_: np.ndarray
    loo_proba_: Matrix | None
    loo_decision_: np.ndarray
    loo_predict_: np.ndarray
    n_filled_sets_: int

    _score: str = "margin"

    @abstractmethod
    def _one_or_all(self, columns: Matrix) -> np.ndarray:
        """Return outputs as scikit-learn shapes them."""

    @abstractmethod
    def _probabilities(self, outputs: Matrix) -> Matrix:
        """Return class probabilities (n, n_classes) of outputs (n, k)."""

    def _stratify(self, y: ArrayLike) -> ArrayLike | None:
        return y

    def _keep_left_out(self, outputs: Matrix) -> None:
        self._left_out = outputs
        self.loo_decision_ = self._one_or_all(outputs)
        self.loo_predict_ = self.classes_[class_index(outputs)]
        self.loo_proba_ = self._probabilities(outputs)

    def predict_set(self, X: ArrayLike, level: float = 0.9, score: str | None = None) -> NDArray[np.bool_]:
        """Sets of classes that hold the class of a new row with a given probability.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, d)
        level : float, default=0.9
            Share of new rows whose class should be in their set. With fewer than level / (1 - level) rows the only
            honest set has all classes, and a warning says so.
        score : {"probability", "adaptive", "margin"}, default=None
            By what classes are ranked: one minus their probability, the sum of the probabilities that are at least as
            large, or the lead of another class in the outputs. ``None`` is ``"probability"`` for logistic regression,
            else ``"margin"``.

        Returns
        -------
        members : boolean array of shape (n, n_classes)
            True for the classes in the set; columns in the order of ``classes_``. An empty set gets the most likely
            class; ``n_filled_sets_`` counts them.
        """
        level, points = check_level(level), self._check_points(X)
        scores = scorer(self._score if score is None else score, self._probabilities)
        training, own = self._rows_of_fit(), self._own_outputs()
        warn_of_resolution(level, training.counts.sum(), "every set has all classes")
        self._warn_of_leverage()
        labels = class_index(training.Y)
        own_scores = scores(own)[np.arange(len(own)), labels]
        members = np.zeros((points.shape[0], len(self.classes_)), dtype=bool)
        likely = np.zeros(points.shape[0], dtype=np.intp)
        for block in self._left_out_models().blocks(points):
            found = p_values(scores(block.left_out), own_scores, training.counts)
            members[block.rows] = found > (1 - level) * (1 + 1e-9)
            likely[block.rows] = class_index(block.outputs)
        members, self.n_filled_sets_ = filled(members, likely)
        return members

    def guarantee(self, level: float = 0.9) -> str:
        """Return one sentence: what the sets of :meth:`predict_set` promise for this fit.

        Parameters
        ----------
        level : float, default=0.9
        """
        return sentence(SETS, check_level(level), self._conditions())

    @property
    def guarantee_(self) -> str:
        """What the 90 % sets of ``predict_set`` promise, in one sentence."""
        return self.guarantee()

    @property
    def loo_own_proba_(self) -> Vector:
        """Probability of every training row's own class when it is left out (n,)."""
        own = self._own_outputs()
        return self._probabilities(own)[np.arange(len(own)), class_index(self._rows_of_fit().Y)]

    @property
    def suspicious_(self) -> Rows:
        """Numbers of the training rows, the one whose own class is least probable when it is left out first."""
        return self._rows[np.argsort(self.loo_own_proba_, kind="stable")]

    def loo_score(self, metric: str | Callable[..., float] = "accuracy") -> LooScore:
        """Score of the left-out predictions of all training rows together.

        Parameters
        ----------
        metric : str or callable, default="accuracy"
            A name of ``sklearn.metrics.get_scorer_names()`` such as ``"roc_auc"`` or ``"neg_log_loss"``, a scorer, or a
            function of labels and predicted labels.

        Returns
        -------
        score : LooScore
            ``value``, and ``standard_error`` if the metric is a mean over rows (else NaN).
        """
        self._own_outputs()
        self._warn_of_leverage()
        training = self._rows_of_fit()
        model = left_out_classifier(self.classes_, self.loo_decision_, self.loo_proba_)
        return loo_score(metric, model, self.classes_[class_index(training.Y)], training.counts)
