"""The default estimators, for those who do not want to choose; :mod:`foldless.estimators.choice` does it."""

from collections.abc import Callable
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin, MultiOutputMixin, RegressorMixin
from sklearn.utils.multiclass import check_classification_targets

from foldless.core.contracts import Matrix, Vector
from foldless.estimators.base import BaseKernelClassifier, BaseKernelEstimator, BaseKernelRegressor
from foldless.estimators.choice import BaseDefault
from foldless.estimators.dask_collections import lazy_on_dask
from foldless.estimators.docstrings import document_shared
from foldless.estimators.logistic import KernelLogisticRegression
from foldless.estimators.lssvc import KernelLSSVC
from foldless.estimators.ridge import KernelRidgeRegressor
from foldless.estimators.uncertainty.score import LooScore

# With more than two classes least squares take the place of logistic regression if rows times classes are more. On 800
# rows of 10 and of 26 classes they took a twelfth and a hundredth of the time, with lower log losses on new rows.
LOGISTIC_MAX_OUTPUTS = 5000


@document_shared
class KernelClassifier(ClassifierMixin, BaseDefault):
    """Classifier for those who do not want to choose: kernel, metric and C by leave-one-out, probabilities and sets included.

    Columns are standardised, those of two values by half their distance; texts, truth values and categories of a data frame are
    understood, and so are the columns that ``categorical_features`` names; a missing number is replaced by the mean of its column,
    and a further column tells the machine that it was missing.
    Then families of kernels compete with kernel logistic regression (with least squares if there are more than two classes, and
    rows times classes are more than 5000).
    Softened columns challenge the winner, and so do, if there are two classes and at most 50 columns, a width per feature and, up
    to 5000 rows, a learned metric. Columns that never change are left out.

    Parameters
    ----------
    time_budget : float, default=None
        Seconds for the whole choice. ``None`` takes about as long as seven fits with one width: six families, of which
        the worse ones are dropped early, and three challengers with at most four times the evaluations of the winner. The result
        does then not depend on the clock.
    :shared: scale random_state n_jobs verbose on_interrupt calibration categorical_features

    Attributes
    ----------
    best_estimator_ : KernelLogisticRegression or KernelLSSVC
        The chosen estimator, fitted to prepared columns.
    trials_ : Trials
        What was compared, and the criterion: left-out loss a row, and the price of confidence. ``print`` shows a table.
    :shared: kernel_ classes_
    loo_decision_ : array of shape (n,) or (n, n_classes)
        Leave-one-out outputs of the training rows.
    loo_proba_ : array of shape (n, n_classes)
        Probabilities from ``loo_decision_``.
    :shared: loo_predict_ leverage_ label_quality_ suspicious_ guarantee_ learning_curve_ relevance_ column_codes_
    :shared: preparation_ n_features_in_

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
        X : data frame, array-like, sparse matrix or Dask collection of shape (n, d)
            Missing numbers are NaN or None; a sparse matrix has none. Sparse columns of a data frame are read as dense ones.
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

    @lazy_on_dask
    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Most likely class of each row of ``X``."""
        return self._best().predict(self._points(X))

    @lazy_on_dask
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

    @lazy_on_dask
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

    @property
    def label_quality_(self) -> Vector:
        """Probability of each training row's own class without it, where rows with doubtful labels count less."""
        return self._best().label_quality_


@document_shared
class KernelRegressor(MultiOutputMixin, RegressorMixin, BaseDefault):
    """Regressor for those who do not want to choose: kernel, metric and alpha by leave-one-out, intervals included.

    Columns are standardised, those of two values by half their distance; texts, truth values and categories of a data frame are
    understood, and so are the columns that ``categorical_features`` names; a missing number is replaced by the mean of its column,
    and a further column tells the machine that it was missing.
    Then families of kernels compete with kernel ridge regression; softened columns, up to 50 columns a width per feature and, up to
    5000 rows, a learned metric challenge the winner. Columns that never change are left out.

    Parameters
    ----------
    time_budget : float, default=None
        Seconds for the whole choice. ``None`` takes about as long as seven fits with one width: six families, of which
        the worse ones are dropped early, and three challengers with at most four times the evaluations of the winner. The result
        does then not depend on the clock.
    :shared: scale random_state n_jobs verbose on_interrupt calibration categorical_features

    Attributes
    ----------
    best_estimator_ : KernelRidgeRegressor
        The chosen estimator, fitted to prepared columns.
    trials_ : Trials
        What was compared and the left-out squared errors a row; ``print`` shows a table.
    :shared: kernel_ loo_predict_ loo_residuals_ leverage_ suspicious_ guarantee_ learning_curve_ relevance_ column_codes_
    :shared: preparation_ n_features_in_

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
        X : data frame, array-like, sparse matrix or Dask collection of shape (n, d)
            Missing numbers are NaN or None; a sparse matrix has none. Sparse columns of a data frame are read as dense ones.
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

    @lazy_on_dask
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
