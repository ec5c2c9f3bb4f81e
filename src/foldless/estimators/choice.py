r"""What the default estimators share: machine, kernel and metric are chosen by leave-one-out.

1. Columns are prepared: filled, scaled, categories coded (:mod:`foldless.estimators.preparation`).
2. The families of kernels race (:mod:`foldless.tuning.race`) with the usual machine: logistic regression for classes, ridge
   regression for numbers; least squares for many rows of several classes, where all classes share one factor.
3. Softened columns (:class:`foldless.kernels.Softened`) challenge the best family (:mod:`foldless.tuning.challengers`); with
   one output or two classes a width per feature and a learned metric do so too. With more classes they do not: on 150 rows of
   six classes a width per feature passed the test and was worse on new rows.
"""

import warnings
from abc import abstractmethod
from copy import copy
from dataclasses import replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, clone
from sklearn.gaussian_process.kernels import Kernel
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from foldless.core.contracts import Stop, Vector
from foldless.core.errors import BoundWarning, ManyParametersWarning, SearchWarning
from foldless.core.targets import MIN_ROWS
from foldless.estimators.advice import levels_warning, warn_about
from foldless.estimators.attribute_names import AttributeNamesMixin
from foldless.estimators.base import BaseKernelEstimator, Seed
from foldless.estimators.callbacks import CallbackMixin
from foldless.estimators.columns import ColumnCodes, learn_codes
from foldless.estimators.dask_collections import is_dask
from foldless.estimators.dask_fit import TUNED_MAX_ROWS, checked_collection
from foldless.estimators.doc_links import DocLinkMixin
from foldless.estimators.parameter_names import ParameterNamesMixin
from foldless.estimators.preparation import Preparation
from foldless.estimators.prepared_columns import read_rows
from foldless.estimators.uncertainty.learning_curve import LearningCurve
from foldless.estimators.validation import check_labels_present, check_options, checked_weights
from foldless.kernels.columns import Selector
from foldless.kernels.families import METRIC, SOFTENED, WIDTHS, Families, families
from foldless.tuning.result import Trials

# Advice about choices that nobody made.
UNASKED_ADVICE = (ManyParametersWarning, BoundWarning)


class BaseDefault(AttributeNamesMixin, DocLinkMixin, ParameterNamesMixin, CallbackMixin, BaseEstimator):
    """What both default estimators share: preparation of the columns, the choice, and answers of the chosen estimator."""

    best_estimator_: BaseKernelEstimator
    trials_: Trials
    column_codes_: ColumnCodes | None
    preparation_: Preparation

    # Those of a model that was saved before there was a choice.
    calibration: str = "same"
    categorical_features: Selector = None
    _many_classes: bool = False  # whether there are more than two
    _explained_parameters = dict.fromkeys(
        ("kernel", "criterion", "C", "alpha"),
        "It chooses kernel, widths and regularisation itself; KernelLogisticRegression, KernelLSSVC, KernelSVC and "
        "KernelRidgeRegressor take them.",
    )

    def __init__(
        self,
        time_budget: float | None = None,
        scale: bool = True,
        random_state: Seed = None,
        n_jobs: int | None = None,
        verbose: int = 0,
        on_interrupt: str = "raise",
        calibration: str = "same",
        categorical_features: Selector = None,
    ):
        self.time_budget = time_budget
        self.scale = scale
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.on_interrupt = on_interrupt
        self.calibration = calibration
        self.categorical_features = categorical_features

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = True
        return tags

    @abstractmethod
    def _machine(self, y: NDArray[Any], **options: Any) -> BaseKernelEstimator:
        """Return the usual estimator for these targets, with the given options."""

    def _fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None, **checks: Any) -> Self:
        """Prepare the columns, let families and challengers compete, and keep the best."""
        check_options(self)
        if is_dask(X):
            return self._fit_collection(X, y, sample_weight)
        check_labels_present(y)
        self.column_codes_ = learn_codes(X, self.categorical_features)
        points, targets = read_rows(self, self.column_codes_, X, y, ensure_min_samples=MIN_ROWS, **checks)
        warn_about([levels_warning(self.column_codes_, len(targets))])
        weights = checked_weights(sample_weight, points)
        categorical = [] if self.column_codes_ is None else self.column_codes_.categorical
        model = self._machine(targets, time_budget=self.time_budget)
        # Rows that are set aside for the guarantee have no say in scales and kernels.
        rows = model._halves(targets)[0] if model._splits else np.arange(len(targets))
        self.preparation_ = Preparation.learn(points[rows], weights[rows], categorical, bool(self.scale))
        Z = self.preparation_(points)

        with self._reported_task() as task:
            model.set_params(kernel=self._kernels(Z[rows], weights[rows]))
            with task.inner_fit(model, "machine"):
                self.best_estimator_, advice = _fitted_quietly(model, Z, targets, sample_weight)
        self.trials_ = self.best_estimator_._trials
        for warning in advice:
            warnings.warn(warning, stacklevel=3)
        return self

    def _fit_collection(self, X: Any, y: Any, sample_weight: Any) -> Self:
        """Choose on some rows of a Dask collection, then tune and fit the chosen estimator on all of it."""
        collection, rng = checked_collection(self, X, y, sample_weight)
        self.fit(*collection.draw(min(collection.n, TUNED_MAX_ROWS), rng))
        if collection.n > TUNED_MAX_ROWS:
            chosen = clone(self.best_estimator_)
            self.best_estimator_ = chosen.set_params(kernel=self.kernel_).fit(
                *collection.mapped(copy(self)._points, X, y, sample_weight)
            )
        return self

    def _kernels(self, Z: Any, weights: Vector) -> Families:
        """Return the families to compare, for rows that count, and what challenges the best of them."""
        found = families(Z[weights > 0], self.preparation_.prepared_categorical)
        return replace(found, challengers=(SOFTENED,) if self._many_classes else (SOFTENED, WIDTHS, METRIC))

    def _options(self) -> dict[str, Any]:
        return {
            "random_state": self.random_state,
            "n_jobs": self.n_jobs,
            "verbose": self.verbose,
            "on_interrupt": self.on_interrupt,
            "calibration": self.calibration,
        }

    def _best(self) -> Any:
        check_is_fitted(self)
        return self.best_estimator_

    def _points(self, X: ArrayLike) -> Any:
        """Return new rows as the chosen estimator needs them."""
        check_is_fitted(self)
        return self.preparation_(read_rows(self, self.column_codes_, X, reset=False))

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


def _fitted_quietly(
    model: Any, X: Any, y: NDArray[Any], sample_weight: ArrayLike | None
) -> tuple[Any, list[Warning]]:
    """Return the fitted model, and its warnings but for advice about choices that nobody made."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(X, y, sample_weight)
    found = [record.message for record in caught if isinstance(record.message, Warning)]
    ignored: tuple[type[Warning], ...] = UNASKED_ADVICE
    outcome = model.selection_.outcome
    # The number of evaluations is limited here, not by the user.
    if outcome.stop is Stop.BUDGET:
        model.selection_ = replace(model.selection_, outcome=replace(outcome, stop=Stop.STEPS))
        ignored = (*UNASKED_ADVICE, SearchWarning)
    return model, [warning for warning in found if not isinstance(warning, ignored)]
