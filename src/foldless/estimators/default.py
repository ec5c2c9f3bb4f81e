r"""The default estimators: machine, kernel and metric are chosen by leave-one-out.

1. Columns are prepared: filled, scaled, categories coded (:mod:`foldless.estimators.preparation`).
2. The families of kernels race (:mod:`foldless.tuning.race`) with the usual machine: logistic regression for classes, ridge
   regression for numbers; least squares for many rows of several classes, where all classes share one factor.
3. Challengers change one thing about the winner. With :math:`d_i` the left-out loss of row i by the winner less that by the
   challenger, the challenger with the lowest left-out loss takes the place if

   .. math:: \bar d > \max\bigl(\sqrt{\operatorname{var}(d) / n},\; 10^{-3} L\bigr),  \tag{1}

   where L is the mean left-out loss of the winner. The winner is the simpler one, left-out losses are lower than they should
   be after a choice of many parameters, and two searches for the same optimum end a little apart. With more than two
   classes there are no challengers: on 150 rows of six classes a width per feature passed (1) and was worse on new rows.
"""

import time
import warnings
from abc import abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, MultiOutputMixin, RegressorMixin
from sklearn.gaussian_process.kernels import Kernel, Product
from sklearn.utils import Tags
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from foldless import criteria
from foldless.core.contracts import Matrix, Stop, Vector
from foldless.core.errors import BoundWarning, FoldlessError, ManyParametersWarning, SearchWarning
from foldless.core.targets import MIN_ROWS
from foldless.core.text_columns import naming_text_columns
from foldless.estimators.base import BaseKernelClassifier, BaseKernelEstimator, BaseKernelRegressor, Seed
from foldless.estimators.callbacks import CallbackMixin
from foldless.estimators.columns import ColumnCodes, learn_codes
from foldless.estimators.doc_links import DocLinkMixin
from foldless.estimators.docstrings import document_shared
from foldless.estimators.logistic import KernelLogisticRegression
from foldless.estimators.lssvc import KernelLSSVC
from foldless.estimators.preparation import Preparation
from foldless.estimators.ridge import KernelRidgeRegressor
from foldless.estimators.uncertainty.learning_curve import LearningCurve
from foldless.estimators.uncertainty.score import LooScore
from foldless.estimators.validation import check_options
from foldless.kernels import Columns, Laplacian
from foldless.kernels.families import Families, families
from foldless.tuning.result import Trial, Trials

# The winner is challenged up to so many columns and rows.
CHALLENGE_MAX_COLUMNS, CHALLENGE_MAX_ROWS = 50, 5000
# A challenger must lower the left-out loss by this fraction: two searches for the same optimum differ by their tolerances.
MIN_GAIN_FRACTION = 1e-3
# Evaluations of a challenger, in units of those of the winner.
CHALLENGER_EVALUATIONS_FACTOR = 4
# Share of a budget in seconds that belongs to the families.
FAMILIES_TIME_SHARE = 0.6
# With more than two classes least squares take the place of logistic regression if rows times classes are more. On 800
# rows of 10 and of 26 classes they took a twelfth and a hundredth of the time, with lower log losses on new rows.
LOGISTIC_MAX_OUTPUTS = 5000
# Advice about choices that nobody made.
UNASKED_ADVICE = (ManyParametersWarning, BoundWarning)


class BaseDefault(DocLinkMixin, CallbackMixin, BaseEstimator):
    """What both default estimators share: preparation of the columns, the choice, and answers of the chosen estimator."""

    best_estimator_: BaseKernelEstimator
    trials_: Trials
    column_codes_: ColumnCodes | None
    preparation_: Preparation

    _many_classes: bool = False  # whether there are more than two

    def __init__(
        self,
        time_budget: float | None = None,
        scale: bool = True,
        random_state: Seed = None,
        n_jobs: int | None = None,
        verbose: int = 0,
        on_interrupt: str = "raise",
    ):
        self.time_budget = time_budget
        self.scale = scale
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.on_interrupt = on_interrupt

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = True
        return tags

    @abstractmethod
    def _machine(self, y: NDArray[Any], **options: Any) -> BaseKernelEstimator:
        """Return the usual estimator for these targets, with the given options."""

    @abstractmethod
    def _losses(self, fitted: Any) -> Vector:
        """Return the left-out losses of the rows of a fit (n,)."""

    def _fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None, **checks: Any) -> Self:
        """Prepare the columns, let families and challengers compete, and keep the best."""
        check_options(self)
        begun = time.perf_counter()
        self.column_codes_ = learn_codes(X)
        points, targets = self._validated(X, y, ensure_min_samples=MIN_ROWS, **checks)
        weights = _check_sample_weight(sample_weight, points, dtype=np.float64, ensure_non_negative=True)
        categorical = [] if self.column_codes_ is None else self.column_codes_.categorical
        self.preparation_ = Preparation.learn(points, weights, categorical, bool(self.scale))
        Z = self.preparation_(points)

        with self._reported_task() as task:

            def fit(share: float, **options: Any) -> tuple[Any, list[Warning]]:
                model = self._machine(targets, time_budget=self._seconds(begun, share), **options)
                with task.inner_fit(model, "machine"):
                    return _fitted_quietly(model, Z, targets, sample_weight)

            winner, advice = fit(FAMILIES_TIME_SHARE, kernel=self._kernels(Z, weights))
            trials = list(winner.selection_.trials)
            for name, options in self._challengers(winner, Z):
                if self._seconds(begun, 1.0) == 0 or _was_interrupted(winner):
                    break
                challenge = partial(fit, 1.0, **options)
                winner, advice = self._duel(name, (winner, advice), challenge, trials)
        self.best_estimator_, self.trials_ = winner, Trials(trials)
        for warning in advice:
            warnings.warn(warning, stacklevel=3)
        return self

    def _validated(self, X: Any, *y: Any, **checks: Any) -> Any:
        """Return the rows as numbers, with missing ones unless the matrix is sparse; and the targets, if given."""
        frame = X if self.column_codes_ is None else self.column_codes_.encode(X)
        # scikit-learn has a name for a sparse matrix that may hold missing values, but kernels have none.
        finite = True if sp.issparse(X) else "allow-nan"
        with naming_text_columns(frame):
            return validate_data(
                self, frame, *y, accept_sparse="csr", dtype=np.float64, ensure_all_finite=finite, **checks
            )

    def _seconds(self, begun: float, share: float) -> float | None:
        """Return the seconds that are left of a share of the budget; ``None`` without one."""
        if self.time_budget is None:
            return None
        return max(0.0, share * self.time_budget + begun - time.perf_counter())

    def _kernels(self, Z: Any, weights: Vector) -> str | Families:
        """Return the families to compare, for rows that count."""
        categorical = self.preparation_.prepared_categorical
        return families(Z[weights > 0], categorical) if categorical else "auto"

    def _challengers(self, winner: BaseKernelEstimator, Z: Any) -> Iterator[tuple[str, dict[str, Any]]]:
        """Yield names and options of what may be better than the winner."""
        kernel = _with_widths(winner.kernel_, Z.shape[1])
        if kernel is None or Z.shape[0] > CHALLENGE_MAX_ROWS or sp.issparse(Z) or self._many_classes:
            return
        evaluations = CHALLENGER_EVALUATIONS_FACTOR * winner.n_evaluations_
        tied = criteria.Tied(criteria.LOO())
        yield "a width per feature", {"kernel": kernel, "criterion": tied, "max_evaluations": evaluations}
        if not self.preparation_.prepared_categorical:
            metric = "laplacian-metric" if isinstance(kernel, Laplacian) else "rbf-metric"
            yield "a learned metric", {"kernel": metric, "max_evaluations": evaluations}

    def _duel(
        self,
        name: str,
        winner: tuple[Any, list[Warning]],
        fit: Callable[[], tuple[Any, list[Warning]]],
        trials: list[Trial],
    ) -> tuple[Any, list[Warning]]:
        """Return the winner or the challenger, eq. (1), and add the challenger to the trials."""
        try:
            other = fit()
            losses = self._losses(winner[0])
            gain = losses - self._losses(other[0])
        except FoldlessError as failure:
            trials.append(Trial(winner[0].kernel_, np.inf, None, str(failure), name))
            return winner
        mean, error = float(np.mean(gain)), float(np.std(gain) / np.sqrt(len(gain)))
        better = mean > max(error, MIN_GAIN_FRACTION * float(np.mean(losses)))
        if better:
            trials[:] = [replace(trial, note=_overtaken(trial.note)) for trial in trials]
        note = f"{'chosen: better' if better else 'not better'} by {mean:.3g} ± {error:.2g} a row"
        loss = float(np.mean(self._losses(other[0])))
        trials.append(Trial(other[0].kernel_, loss, other[0].selection_.outcome, note, name))
        return other if better else winner

    def _options(self) -> dict[str, Any]:
        return {
            "random_state": self.random_state,
            "n_jobs": self.n_jobs,
            "verbose": self.verbose,
            "on_interrupt": self.on_interrupt,
        }

    def _best(self) -> Any:
        check_is_fitted(self)
        return self.best_estimator_

    def _points(self, X: ArrayLike) -> Any:
        """Return new rows as the chosen estimator needs them."""
        check_is_fitted(self)
        return self.preparation_(self._validated(X, reset=False))

    def refit_left_out(self, rows: ArrayLike | None = None) -> Self:
        """Replace the left-out models of some training rows by refits.

        Parameters
        ----------
        rows : array-like of int, default=None
            Numbers of training rows; by default those for which the usual approximation is rough.

        Returns
        -------
        self : estimator
        """
        self._best().refit_left_out(rows)
        return self

    @property
    def kernel_(self) -> Kernel:
        """The chosen kernel, for prepared columns."""
        return self._best().kernel_

    @property
    def relevance_(self) -> Vector:
        """Share of every column of ``X`` in the squared gradient of the fitted function."""
        best = self._best()
        found = best._relevance(self.preparation_.prepared_categorical)
        return self.preparation_.gathered(found)

    @property
    def loo_predict_(self) -> NDArray[Any]:
        """Predictions for the training rows by the models without them."""
        return self._best().loo_predict_

    @property
    def leverage_(self) -> Vector:
        """Part of the output of each training row that is its own doing."""
        return self._best().leverage_

    @property
    def suspicious_(self) -> NDArray[np.intp]:
        """Numbers of the training rows, most surprising one first."""
        return self._best().suspicious_

    @property
    def guarantee_(self) -> str:
        """What intervals, or sets, promise for this fit."""
        return self._best().guarantee_

    @property
    def learning_curve_(self) -> LearningCurve:
        """Left-out loss against the number of rows."""
        return self._best().learning_curve_


@document_shared
class KernelClassifier(ClassifierMixin, BaseDefault):
    """Classifier for those who do not want to choose: kernel, metric and C by leave-one-out, probabilities and sets included.

    Columns are standardised; texts, truth values and categories of a data frame are understood; a missing number is replaced by
    the mean of its column, and a further column tells the machine that it was missing. Then families of kernels compete
    with kernel logistic regression (with least squares if there are more than two classes, and rows times classes are more than 5000). If there are two
    classes, at most 5000 rows and at most 50 columns, a width per feature and a learned metric challenge the winner. Columns that
    never change are left out.

    Parameters
    ----------
    time_budget : float, default=None
        Seconds for the whole choice. ``None`` takes about as long as ten fits with one width: six families, of which
        the worse ones are dropped early, and two challengers with at most four times the evaluations of the winner. The result
        does then not depend on the clock.
    scale : bool, default=True
        Whether columns of numbers are standardised, and those that never change left out.
    :shared: random_state n_jobs verbose on_interrupt

    Attributes
    ----------
    best_estimator_ : KernelLogisticRegression or KernelLSSVC
        The chosen estimator, fitted to prepared columns.
    trials_ : Trials
        What was compared and the left-out losses a row; ``print`` shows a table.
    :shared: kernel_ classes_
    loo_decision_ : array of shape (n,) or (n, n_classes)
        Leave-one-out outputs of the training rows.
    loo_proba_ : array of shape (n, n_classes)
        Probabilities from ``loo_decision_``.
    :shared: loo_predict_ leverage_ suspicious_ guarantee_ learning_curve_ relevance_ column_codes_
    preparation_ : Preparation
        How columns are filled and scaled.
    :shared: n_features_in_

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from foldless import KernelClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = KernelClassifier().fit(X, y)
    >>> model.loo_score().value > 0.95
    True
    >>> model.predict_set(X[:1], level=0.95)
    array([[ True, False, False]])
    """

    best_estimator_: BaseKernelClassifier

    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Choose and fit.

        Parameters
        ----------
        X : data frame, array-like or sparse matrix of shape (n, d)
            Missing numbers are NaN or None; a sparse matrix has none.
        y : array-like of shape (n,)
            Class labels.
        sample_weight : array-like of shape (n,), default=None
            How many rows each one stands for: a weight of 2 is the row twice, 0 leaves it out.

        Returns
        -------
        self : KernelClassifier
        """
        self._fit(X, y, sample_weight)
        self.classes_ = self.best_estimator_.classes_
        return self

    def _machine(self, y: NDArray[Any], **options: Any) -> BaseKernelEstimator:
        check_classification_targets(y)
        n_classes = len(np.unique(y))
        self._many_classes = n_classes > 2
        least_squares = self._many_classes and len(y) * n_classes > LOGISTIC_MAX_OUTPUTS
        return (KernelLSSVC if least_squares else KernelLogisticRegression)(**self._options(), **options)

    def _losses(self, fitted: Any) -> Vector:
        return -np.log(np.maximum(fitted.loo_own_proba_, np.finfo(float).tiny))

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Most likely class of each row of ``X``."""
        return self._best().predict(self._points(X))

    def predict_proba(self, X: ArrayLike) -> Matrix:
        """Class probabilities.

        Parameters
        ----------
        X : data frame, array-like or sparse matrix of shape (n, d)

        Returns
        -------
        probabilities : array of shape (n, n_classes)
        """
        return self._best().predict_proba(self._points(X))

    def decision_function(self, X: ArrayLike) -> NDArray[Any]:
        """Outputs of the chosen machine.

        Parameters
        ----------
        X : data frame, array-like or sparse matrix of shape (n, d)

        Returns
        -------
        outputs : array of shape (n,), or (n, n_classes) for more than two classes
        """
        return self._best().decision_function(self._points(X))

    def predict_set(self, X: ArrayLike, level: float = 0.9, score: str | None = None) -> NDArray[np.bool_]:
        """Sets of classes that hold the class of a new row with a given probability.

        Parameters
        ----------
        X : data frame, array-like or sparse matrix of shape (n, d)
        level : float, default=0.9
            Share of new rows whose class should be in their set.
        score : {"probability", "adaptive", "margin"}, default=None
            By what classes are ranked; see :meth:`KernelLogisticRegression.predict_set`.

        Returns
        -------
        members : boolean array of shape (n, n_classes)
            True for the classes in the set; columns in the order of ``classes_``.
        """
        return self._best().predict_set(self._points(X), level, score)

    def guarantee(self, level: float = 0.9) -> str:
        """Return one sentence: what the sets of :meth:`predict_set` promise for this fit."""
        return self._best().guarantee(level)

    def loo_score(self, metric: str | Callable[..., float] = "accuracy") -> LooScore:
        """Score of the left-out predictions of all training rows together; ``metric`` as in scikit-learn."""
        return self._best().loo_score(metric)

    @property
    def loo_decision_(self) -> NDArray[Any]:
        """Leave-one-out outputs of the training rows."""
        return self._best().loo_decision_

    @property
    def loo_proba_(self) -> Matrix:
        """Leave-one-out probabilities of the training rows (n, n_classes)."""
        return self._best().loo_proba_


@document_shared
class KernelRegressor(MultiOutputMixin, RegressorMixin, BaseDefault):
    """Regressor for those who do not want to choose: kernel, metric and alpha by leave-one-out, intervals included.

    Columns are standardised; texts, truth values and categories of a data frame are understood; a missing number is replaced by
    the mean of its column, and a further column tells the machine that it was missing. Then families of kernels compete
    with kernel ridge regression; up to 5000 rows and 50 columns a width per feature and a learned metric challenge the
    winner. Columns that never change are left out.

    Parameters
    ----------
    time_budget : float, default=None
        Seconds for the whole choice. ``None`` takes about as long as ten fits with one width: six families, of which
        the worse ones are dropped early, and two challengers with at most four times the evaluations of the winner. The result
        does then not depend on the clock.
    scale : bool, default=True
        Whether columns of numbers are standardised, and those that never change left out.
    :shared: random_state n_jobs verbose on_interrupt

    Attributes
    ----------
    best_estimator_ : KernelRidgeRegressor
        The chosen estimator, fitted to prepared columns.
    trials_ : Trials
        What was compared and the left-out squared errors a row; ``print`` shows a table.
    :shared: kernel_ loo_predict_ loo_residuals_ leverage_ suspicious_ guarantee_ learning_curve_ relevance_ column_codes_
    preparation_ : Preparation
        How columns are filled and scaled.
    :shared: n_features_in_

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from foldless import KernelRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = KernelRegressor().fit(X, y)
    >>> model.loo_score("r2").value > 0.45
    True
    >>> low, high = model.predict_interval(X[:1], level=0.9)[0]
    >>> bool(low < model.predict(X[:1])[0] < high)
    True
    """

    best_estimator_: BaseKernelRegressor

    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Choose and fit.

        Parameters
        ----------
        X : data frame, array-like or sparse matrix of shape (n, d)
            Missing numbers are NaN or None; a sparse matrix has none.
        y : array-like of shape (n,) or (n, n_outputs)
        sample_weight : array-like of shape (n,), default=None
            How many rows each one stands for: a weight of 2 is the row twice, 0 leaves it out.

        Returns
        -------
        self : KernelRegressor
        """
        return self._fit(X, y, sample_weight, multi_output=True, y_numeric=True)

    def _machine(self, y: NDArray[Any], **options: Any) -> BaseKernelEstimator:
        return KernelRidgeRegressor(**self._options(), **options)

    def _losses(self, fitted: Any) -> Vector:
        residuals = fitted.loo_residuals_
        return np.sum(residuals.reshape(len(residuals), -1) ** 2, axis=1)

    def predict(
        self, X: ArrayLike, return_std: bool = False
    ) -> NDArray[Any] | tuple[NDArray[Any], NDArray[Any]]:
        """Predict; with ``return_std`` also the standard deviation of the function.

        Parameters
        ----------
        X : data frame, array-like or sparse matrix of shape (n, d)
        return_std : bool, default=False
            See :meth:`KernelRidgeRegressor.predict`.

        Returns
        -------
        mean : array of shape (n,) or (n, n_outputs)
        sd : array of the same shape
            Only with ``return_std=True``.
        """
        return self._best().predict(self._points(X), return_std=return_std)

    def predict_interval(self, X: ArrayLike, level: float = 0.9, method: str = "jackknife+") -> Matrix:
        """Intervals that hold a new target with a given probability.

        Parameters
        ----------
        X : data frame, array-like or sparse matrix of shape (n, d)
        level : float, default=0.9
            Share of new targets that should lie in their intervals.
        method : {"jackknife+", "minmax", "jackknife", "studentized", "posterior"}, default="jackknife+"
            See :meth:`KernelRidgeRegressor.predict_interval`.

        Returns
        -------
        intervals : array of shape (n, 2), or (n, 2, n_outputs)
            Lower and upper ends.
        """
        return self._best().predict_interval(self._points(X), level, method)

    def guarantee(self, level: float = 0.9, method: str = "jackknife+") -> str:
        """Return one sentence: what the intervals of :meth:`predict_interval` promise for this fit."""
        return self._best().guarantee(level, method)

    def loo_score(self, metric: str | Callable[..., float] = "r2") -> LooScore:
        """Score of the left-out predictions of all training rows together; ``metric`` as in scikit-learn."""
        return self._best().loo_score(metric)

    @property
    def loo_residuals_(self) -> NDArray[Any]:
        """Targets less ``loo_predict_``."""
        return self._best().loo_residuals_


def _fitted_quietly(
    model: Any, X: Any, y: NDArray[Any], sample_weight: ArrayLike | None
) -> tuple[Any, list[Warning]]:
    """Return the fitted model, and its warnings but for advice about choices that nobody made."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(X, y, sample_weight)
    found = [record.message for record in caught if isinstance(record.message, Warning)]
    # The number of evaluations is limited here, not by the user.
    limited = model.selection_.outcome.stop is Stop.BUDGET
    ignored = (*UNASKED_ADVICE, SearchWarning) if limited else UNASKED_ADVICE
    return model, [warning for warning in found if not isinstance(warning, ignored)]


def _overtaken(note: str) -> str:
    """Return the note of a candidate after a challenger was better."""
    return note.replace("chosen: better", "better").replace("chosen", "the best family")


def _was_interrupted(model: Any) -> bool:
    return bool(model.selection_.outcome.stop is Stop.INTERRUPTED)


def _with_widths(kernel: Kernel, n_columns: int) -> Kernel | None:
    """Return a kernel with a width for every column of numbers; ``None`` if it has no width, or there are too many columns.

    Examples
    --------
    >>> from sklearn.gaussian_process.kernels import RBF
    >>> _with_widths(RBF(2.0), 3)
    RBF(length_scale=[2, 2, 2])
    """
    if isinstance(kernel, Product) and isinstance(kernel.k1, Columns):
        inner = _with_widths(kernel.k1.kernel, len(kernel.k1.indices(n_columns)))
        return None if inner is None else Columns(inner, kernel.k1.columns) * kernel.k2
    if "length_scale" not in kernel.get_params() or not 1 < n_columns <= CHALLENGE_MAX_COLUMNS:
        return None
    widths = np.full(n_columns, float(kernel.length_scale))
    return kernel.__class__(**{**kernel.get_params(), "length_scale": widths})
