"""KernelSearch: what ``GridSearchCV`` does, around the same estimators, without folds."""

import copy
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from os import PathLike
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import rankdata
from sklearn.base import BaseEstimator, MetaEstimatorMixin, clone, is_classifier, is_regressor
from sklearn.metrics import accuracy_score, check_scoring, r2_score
from sklearn.utils import Tags, _safe_indexing, check_array, get_tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import (
    _check_method_params,
    _num_samples,
    assert_all_finite,
    check_is_fitted,
    column_or_1d,
    has_fit_parameter,
    indexable,
)

from foldless.core.contracts import Step
from foldless.core.errors import (
    DataError,
    FoldlessError,
    JitterWarning,
    MissingVerb,
    NoGainWarning,
    Undefined,
)
from foldless.core.parallel import in_background, one_blas_thread
from foldless.core.targets import MIN_ROWS
from foldless.core.text_columns import naming_text_columns
from foldless.criteria import CV
from foldless.criteria.base import Criterion
from foldless.criteria.left_out import left_out_outputs
from foldless.estimators.advice import no_gain_warning, scale_warning, warn_about
from foldless.estimators.attribute_names import AttributeNamesMixin
from foldless.estimators.callbacks import CallbackMixin, both
from foldless.estimators.doc_links import DocLinkMixin
from foldless.estimators.kernel_search.ensemble import Ensemble, members_and_weights
from foldless.estimators.kernel_search.grid_search_habits import (
    EXPLANATIONS,
    warn_about_steps_that_use_y,
)
from foldless.estimators.kernel_search.left_out_answers import LeftOutAnswers, TrainingData
from foldless.estimators.kernel_search.param_space import read_space
from foldless.estimators.kernel_search.pipeline import join_pipeline, split_pipeline
from foldless.estimators.kernel_search.setting import SearchTask, SettingResult
from foldless.estimators.kernel_search.strategies import build_runs
from foldless.estimators.parameter_names import ParameterNamesMixin
from foldless.estimators.uncertainty.halves import check_points_are_given, halves, splits
from foldless.estimators.uncertainty.left_out_mixin import LeftOutMixin
from foldless.estimators.validation import check_labels_present, check_options, checked_weights
from foldless.machines import HingeSVM
from foldless.searches.base import Search
from foldless.tuning.objective import UNDEFINED_ERRORS
from foldless.tuning.progress import progress
from foldless.tuning.result import Selection, Trials
from foldless.tuning.trace import Trace

# Default number of local searches for an ensemble, which needs more than the best optimum.
ENSEMBLE_STARTS = 8


def _has(method: str) -> Callable[["KernelSearch"], bool]:
    """Return a check for ``available_if``: the wrapped estimator's own AttributeError says why a method is missing."""

    def check(self: "KernelSearch") -> bool:
        getattr(self.best_estimator_ if hasattr(self, "best_estimator_") else self.estimator, method)
        return True

    return check


class KernelSearch(
    LeftOutAnswers,
    AttributeNamesMixin,
    DocLinkMixin,
    ParameterNamesMixin,
    CallbackMixin,
    MetaEstimatorMixin,
    BaseEstimator,
):
    r"""Choose the parameters of a kernel machine by a criterion that needs no folds.

    The place of ``GridSearchCV`` around scikit-learn's own ``SVC``, ``NuSVC``, ``KernelRidge``,
    ``GaussianProcessRegressor`` and ``GaussianProcessClassifier``, around foldless's estimators, and around pipelines
    that end in one of them.

    Parameters
    ----------
    estimator : estimator
        The estimator to tune.
    param_space : dict or list of dict, default=None
        From parameter names (``svc__C``) to a range ``(low, high)``, which is searched in logarithms; a list of values,
        which are tried one by one, as ``GridSearchCV`` does; or a distribution of ``scipy.stats``, which stands for its
        range. Parameters that are not named stay as they are. ``None`` tunes the regularisation and gamma, each in a
        range that comes from the data, or the parameters of the kernel of a Gaussian process.
    criterion : str or object, default="auto"
        See ``foldless.criteria``. ``"auto"`` is ``"loo"``, with three exceptions: for ``SVC`` and ``NuSVC`` it is
        ``"calibrated-loo"`` of a surrogate, the least-squares machine with the same kernel; for
        ``GaussianProcessRegressor`` the evidence, ``"abic"``; for ``SVR`` and sigmoid kernels ``"cv"``, because no other
        criterion exists. A criterion that is named is evaluated on the support vector machine itself. ``"cv"`` refits
        on ten folds; it works for every estimator, at the price of folds.
    search : str or object, default="lbfgs"
        Search strategy, by name or object; see ``foldless.searches``. Lists of numbers are tried one by one, whatever
        the search.
    refit : bool, default=True
        Whether to fit the estimator with the chosen parameters on all rows.
    ensemble : bool, default=False
        Whether predictions are the mean over all local optima found, weighted by the criterion; with
        ``search=searches.EllipticalSlice()`` over draws from the posterior of the parameters.
    n_starts : int, default=None
        Number of local searches. ``None`` uses the search's default (8 with ``ensemble``).
    max_evaluations, time_budget : default=None
        Largest number of evaluations and of seconds, shared by all combinations of listed values.
    n_jobs : int, default=None
        Number of combinations, or of local searches for a single one, that run at the same time with one BLAS thread
        each.
    random_state : int or RandomState, default=None
        Seed of the landmarks that large sets are searched on; ``None`` gives the same ones every time.
    verbose : int, default=0
        1 shows a progress bar, and leaves one line behind.
    on_interrupt : {"raise", "keep"}, default="raise"
        What Ctrl-C does during the search: raise KeyboardInterrupt, or keep the best parameters so far and fit with them.
    checkpoint : path, default=None
        File to which every evaluation is appended; a run that was killed continues from it.
    calibration : {"same", "split"}, default="same"
        Rows behind intervals and sets. ``"same"`` tunes and fits all rows; ``"split"`` chooses the parameters, and fits the steps of
        a pipeline before the machine, on one half, and fits the machine to the other, so that the guarantee holds for any number
        of rows; see :meth:`guarantee`.

    Attributes
    ----------
    best_params_ : dict
        In the estimator's own names.
    best_score_ : float
        Minus the criterion: larger is better. With ``criterion="cv"`` it is the mean accuracy or R2.
    score_name_ : str
        What ``best_score_`` measures, with its unit.
    scorer_ : callable
        What ``score`` computes for new rows, as ``scorer_(estimator, X, y)``. It chose nothing: the criterion did.
    multimetric_ : bool
        Always False: one criterion chooses.
    best_estimator_ : estimator
        Fitted with ``best_params_``; only with ``refit``.
    best_index_ : int
        Row of ``cv_results_``.
    cv_results_ : dict of arrays
        One row per evaluation on the last Gram matrix: ``params``, ``param_<name>``, ``mean_test_score`` (minus the
        criterion), ``rank_test_score``, ``mean_fit_time``.
    trace_ : Trace
        Every evaluation of the chosen combination; ``trace_.to_frame()`` is a table.
    selection_ : Selection
        The chosen kernel and machine, the solution and the whole search; absent with ``criterion="cv"``.
    ensemble_ : Ensemble
        Only with ``ensemble``.
    refit_time_ : float
    n_evaluations_ : int
    classes_, n_features_in_, feature_names_in_
        Those of ``best_estimator_``.

    Notes
    -----
    With the hinge loss the leave-one-out margins need refits, which are expensive, or bounds, which are loose. With the
    squared loss they are exact and almost free, and a kernel that is good for one machine is as good for the other: on
    the data sets of the manual this choice is as accurate as a grid of refits, and GACV of the hinge loss is not.

    Leave-one-out does not depend on the scale of a kernel. For a ``GaussianProcessRegressor`` ``"auto"`` is therefore its
    log marginal likelihood (``"abic"``); after ``"loo"`` its predicted standard deviations would mean nothing.

    The steps of a pipeline before the machine are fitted once, on all rows. A step that uses the targets (feature
    selection) makes the criterion too optimistic; folds would show it.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from sklearn.svm import SVC
    >>> X, y = load_iris(return_X_y=True)
    >>> search = KernelSearch(make_pipeline(StandardScaler(), SVC())).fit(X, y)
    >>> sorted(search.best_params_)
    ['svc__C', 'svc__gamma']
    >>> search.score(X, y) > 0.95
    True
    """

    _explained_parameters = EXPLANATIONS

    def __init__(
        self,
        estimator: BaseEstimator,
        param_space: Mapping[str, Any] | Sequence[Mapping[str, Any]] | None = None,
        *,
        criterion: str | Criterion = "auto",
        search: str | Search = "lbfgs",
        refit: bool = True,
        ensemble: bool = False,
        n_starts: int | None = None,
        max_evaluations: int | None = None,
        time_budget: float | None = None,
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = None,
        verbose: int = 0,
        on_interrupt: str = "raise",
        checkpoint: str | PathLike[str] | None = None,
        calibration: str = "same",
    ):
        self.estimator = estimator
        self.param_space = param_space
        self.criterion = criterion
        self.search = search
        self.refit = refit
        self.ensemble = ensemble
        self.n_starts = n_starts
        self.max_evaluations = max_evaluations
        self.time_budget = time_budget
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
        self.on_interrupt = on_interrupt
        self.checkpoint = checkpoint
        self.calibration = calibration

    def fit(self, X: ArrayLike, y: ArrayLike | None = None, **params: Any) -> Self:
        """Choose the parameters, and fit with them.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, d)
        y : array-like of shape (n,) or (n, k)
        **params : dict
            Passed to the estimator's ``fit``. ``sample_weight`` (of a pipeline ``svc__sample_weight``) also weighs
            the rows in the criterion.

        Returns
        -------
        self : KernelSearch
        """
        check_options(self)
        X, y = self._check_data(X, y)
        if not _cross_validates(self.criterion):
            warn_about_steps_that_use_y(self.estimator)
        params = _check_weights(params, self.estimator, X, y)
        self._forget_rows()
        tuning = fitted = (X, y, params)
        if splits(self.calibration):
            tuning, fitted = self._cut(X, y, params)
        results = self._tune_settings(tuning[0], np.asarray(tuning[1]), tuning[2])
        best = min(results, key=lambda result: result.value)
        self._record(results, best)
        self._advise(best)
        self._fitted_rows = fitted
        if self.refit:
            self._refit(best, tuning)
        return self

    def _cut(self, X: Any, y: Any, params: dict[str, Any]) -> tuple[TrainingData, TrainingData]:
        """Return the half that tunes and the half that is fitted."""
        check_points_are_given(split_pipeline(self.estimator).pairwise)
        numbers = halves(_num_samples(X), y if is_classifier(self.estimator) else None, self.random_state)
        self._fitted_half = numbers[1]
        tuning, fitted = (
            (_safe_indexing(X, half), _safe_indexing(y, half), _check_method_params(X, params, half))
            for half in numbers
        )
        return tuning, fitted

    def _advise(self, best: SettingResult) -> None:
        """Warn about points whose columns have very different scales, and where nothing was found; foldless's own estimators have done so."""
        if best.selection is None:
            return
        points = best.selection.builder.X
        found = [scale_warning(best.selection.objective.kernel, points, range(points.shape[1]))]
        warn_about(found if best.fitted is not None else [*found, _no_gain(best.selection)])

    def _check_data(self, X: Any, y: Any) -> tuple[Any, Any]:
        if not hasattr(self.estimator, "fit"):
            raise TypeError(
                f"estimator must have a fit method, got {self.estimator!r}. Pass SVC(), for instance."
            )
        X, y = indexable(X, y)
        if y is None:
            raise ValueError("KernelSearch requires y to be passed, but the target y is None.")
        check_labels_present(y)
        if _num_samples(X) < MIN_ROWS:
            raise ValueError(
                f"KernelSearch needs at least {MIN_ROWS} rows to choose parameters, got n_samples = {_num_samples(X)}."
            )
        if is_classifier(self.estimator):
            y = column_or_1d(y, warn=True)
            assert_all_finite(y, input_name="y")
            check_classification_targets(y)
        elif is_regressor(self.estimator):
            with naming_text_columns(np.zeros((0, 0)), y):
                y = check_array(y, dtype=np.float64, ensure_2d=False, input_name="y")
        return X, y

    def _tune_settings(self, X: Any, y: np.ndarray, params: dict[str, Any]) -> list[SettingResult]:
        """Return a result for every combination of listed values at which the criterion is defined."""
        with (
            progress(self.verbose, self.max_evaluations) as watch,
            self._reported_task() as reported,
            warnings.catch_warnings(),
        ):
            # Duplicate rows only jitter the surrogate; the final model is scikit-learn's, so hide the warning.
            warnings.simplefilter("ignore", JitterWarning)
            options = {
                "n_starts": ENSEMBLE_STARTS if self.ensemble and self.n_starts is None else self.n_starts,
                "max_evaluations": self.max_evaluations,
                "time_budget": self.time_budget,
                "random_state": self.random_state,
                "n_jobs": self.n_jobs,
                "watch": both(watch, reported.watch),
                "checkpoint": self.checkpoint,
                "on_interrupt": self.on_interrupt,
            }
            task = SearchTask(X, y, params, self.criterion, self.search, options)
            runs = build_runs(clone(self.estimator), read_space(self.param_space), task)
            if len(runs) == 1:
                return [runs[0]()]
            found = in_background([partial(_result_or_error, run) for run in runs], self.n_jobs)
        results = [result for result in found if isinstance(result, SettingResult)]
        if not results:
            raise next(error for error in found if isinstance(error, Undefined))
        return results

    def _record(self, results: list[SettingResult], best: SettingResult) -> None:
        rows = [(result, step) for result in results for step in result.steps]
        self.best_index_ = next(i for i, (r, s) in enumerate(rows) if r is best and s is best.outcome.best)
        self.best_params_, self.best_score_ = best.best_params, -best.value
        self.score_name_ = self._score_name(best)
        self.cv_results_ = results_table(rows)
        self.cv_results_["mean_test_score"][self.best_index_] = self.best_score_
        self.cv_results_["params"][self.best_index_] = self.best_params_
        self.trace_ = Trace(best.outcome.trace) if best.selection is None else best.selection.trace
        self.n_evaluations_ = sum(len(result.outcome.trace) for result in results)
        if best.selection is not None:
            self.selection_ = best.selection

    def _score_name(self, best: SettingResult) -> str:
        if best.selection is not None:
            return f"minus {best.selection.criterion.label}"
        return f"mean {'accuracy' if is_classifier(self.estimator) else 'R2'} over the folds"

    def _refit(self, best: SettingResult, tuning: TrainingData) -> None:
        begun = time.perf_counter()
        reusable = best.fitted if self._fitted_half is None else None
        self.best_estimator_ = reusable or self._fitted(best.best_params, tuning)
        self.refit_time_ = time.perf_counter() - begun
        if hasattr(self.best_estimator_, "feature_names_in_"):
            self.feature_names_in_ = self.best_estimator_.feature_names_in_
        if self.ensemble:
            steps, weights = members_and_weights(best.outcome)
            members = tuple(self._fitted(best.params(step.theta), tuning) for step in steps)
            self.ensemble_ = Ensemble(members, weights)

    def _fitted(self, chosen: dict[str, Any], tuning: TrainingData) -> BaseEstimator:
        """Return the estimator, fitted with the chosen parameters; if it cannot be, the error gives them."""
        estimator = clone(self.estimator).set_params(**clone(chosen, safe=False))
        X, y, params = self._fitted_rows
        try:
            if self._fitted_half is None:
                return estimator.fit(X, y, **params)
            return self._fitted_after(estimator, tuning)
        except (TypeError, ValueError, np.linalg.LinAlgError) as error:
            if isinstance(error, FoldlessError):
                raise
            raise DataError(
                f"the fit of {estimator} with the chosen parameters failed: {error} Scale the inputs, remove constant "
                "columns, or search a narrower param_space."
            ) from error

    def _fitted_after(self, estimator: BaseEstimator, tuning: TrainingData) -> BaseEstimator:
        """Return the machine fitted to one half, after steps that were fitted to the other."""
        parts, (X, y, params) = split_pipeline(estimator), self._fitted_rows
        steps, _ = parts.transformed(*tuning[:2])
        machine = clone(parts.machine)
        machine.fit(X if steps is None else steps.transform(X), y, **parts.without_prefix(params))
        if isinstance(machine, LeftOutMixin) and self._fitted_half is not None:
            # Folds compare no kernels.
            trials = self.selection_.trials if hasattr(self, "selection_") else Trials()
            machine._keep_half(self._fitted_half, trials)
        return join_pipeline(estimator, steps, machine)

    @property
    def _predictor(self) -> Any:
        """The ensemble, or the best estimator."""
        check_is_fitted(self, "best_params_")
        if not self.refit:
            raise AttributeError(
                "KernelSearch was made with refit=False: it chose parameters and fitted nothing."
            )
        return self.ensemble_ if self.ensemble else self.best_estimator_

    @property
    def scorer_(self) -> Callable[..., float]:
        """What ``score`` computes for new rows."""
        check_is_fitted(self, "best_params_")
        return check_scoring(self.estimator)

    @property
    def multimetric_(self) -> bool:
        """Whether several scores are computed: never."""
        check_is_fitted(self, "best_params_")
        return False

    @property
    def classes_(self) -> np.ndarray:
        """Class labels."""
        return self._predictor.classes_

    @property
    def n_features_in_(self) -> int:
        """Number of features seen in ``fit``."""
        if not hasattr(self, "best_estimator_"):
            raise AttributeError("KernelSearch has no n_features_in_ before it has fitted an estimator.")
        return self.best_estimator_.n_features_in_

    @available_if(_has("predict"))
    def predict(self, X: ArrayLike) -> np.ndarray:
        """Predict with the best estimator, or the ensemble."""
        return self._predictor.predict(X)

    @available_if(_has("predict_proba"))
    def predict_proba(self, X: ArrayLike) -> np.ndarray:
        """Probabilities of the best estimator, or the ensemble."""
        return self._predictor.predict_proba(X)

    @available_if(_has("predict_log_proba"))
    def predict_log_proba(self, X: ArrayLike) -> np.ndarray:
        """Logarithms of the probabilities."""
        return np.log(self._predictor.predict_proba(X))

    @available_if(_has("decision_function"))
    def decision_function(self, X: ArrayLike) -> np.ndarray:
        """Decision values of the best estimator, or the ensemble."""
        return self._predictor.decision_function(X)

    def score(self, X: ArrayLike, y: ArrayLike, **params: Any) -> float:
        """Score of the best estimator; for an ensemble its accuracy or its coefficient of determination."""
        if not self.ensemble:
            return self._predictor.score(X, y, **params)
        measure = accuracy_score if is_classifier(self) else r2_score
        return measure(y, self.predict(X), **params)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        inner = get_tags(self.estimator)
        tags.estimator_type = inner.estimator_type
        tags.classifier_tags = copy.deepcopy(inner.classifier_tags)
        tags.regressor_tags = copy.deepcopy(inner.regressor_tags)
        tags.input_tags.pairwise = inner.input_tags.pairwise
        tags.input_tags.sparse = inner.input_tags.sparse
        tags.target_tags = copy.deepcopy(inner.target_tags)
        tags.target_tags.required = True
        return tags

    def __getstate__(self) -> dict[str, Any]:
        """Leave the working matrices out, and keep the rows for intervals, sets and scores."""
        state = super().__getstate__()
        kept = {key: value for key, value in state.items() if key not in ("selection_", "_fitted_rows")}
        return kept | self._state_of_rows()


def _no_gain(selection: Selection) -> NoGainWarning | None:
    """Return a warning if left-out rows are predicted no better than by a constant; None where that would take refits to know."""
    solution = selection.solution
    if isinstance(solution.machine, HingeSVM):
        return None
    with suppress(*UNDEFINED_ERRORS, MissingVerb), one_blas_thread():
        return no_gain_warning(solution.machine, solution.Y, left_out_outputs(solution))
    return None


def _cross_validates(criterion: str | Criterion) -> bool:
    return isinstance(criterion, CV) or criterion == CV.name


def _check_weights(params: dict[str, Any], estimator: BaseEstimator, X: Any, y: Any) -> dict[str, Any]:
    """Return the parameters of ``fit`` with the sample weights as an array, under the name of the machine's step."""
    name = f"{split_pipeline(estimator).prefix}sample_weight"
    if name != "sample_weight" and "sample_weight" in params:
        raise ValueError(
            f"the weights of a pipeline go to a step of it: pass {name}=... instead of sample_weight."
        )
    if params.get(name) is None:
        return params
    machine = split_pipeline(estimator).machine
    if not has_fit_parameter(machine, "sample_weight"):
        raise ValueError(
            f"{type(machine).__name__} takes no weights, got {name}. Leave them out, or repeat rows instead."
        )
    weight = checked_weights(params[name], X, name)
    if is_classifier(estimator) and len(np.unique(np.asarray(y)[weight > 0])) < 2:
        raise ValueError(f"{name} leaves rows of fewer than two classes; a classifier needs two.")
    return {**params, name: weight}


def _result_or_error(run: Callable[[], SettingResult]) -> SettingResult | Undefined:
    """Return the error if the criterion is undefined for a setting: another setting may be chosen."""
    try:
        return run()
    except Undefined as error:
        return error


def results_table(rows: list[tuple[SettingResult, Step]]) -> dict[str, Any]:
    """Return pairs of a result and one of its steps as the arrays of ``cv_results_``."""
    params = [result.params(step.theta) for result, step in rows]
    scores = np.array([-step.value for _, step in rows])
    columns = {}
    for name in sorted({name for row in params for name in row}):
        column = np.ma.masked_all(len(rows), dtype=object)
        for i, row in enumerate(params):
            if name in row:
                column[i] = row[name]
        columns[f"param_{name}"] = column
    return {
        "mean_fit_time": np.array([step.seconds for _, step in rows]),
        **columns,
        "params": params,
        "mean_test_score": scores,
        "rank_test_score": rankdata(-scores, method="min").astype(np.int32),
    }
