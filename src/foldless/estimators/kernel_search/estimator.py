"""KernelSearch: what ``GridSearchCV`` does, around the same estimators, without folds."""

import copy
import time
import warnings

import numpy as np
from scipy.stats import rankdata
from sklearn.base import BaseEstimator, MetaEstimatorMixin, clone, is_classifier
from sklearn.metrics import accuracy_score, r2_score
from sklearn.utils import get_tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import (
    _check_sample_weight,
    assert_all_finite,
    check_is_fitted,
    column_or_1d,
    indexable,
)

from foldless.core.errors import JitterWarning, Undefined
from foldless.core.parallel import side_by_side
from foldless.estimators.kernel_search.ensemble import Ensemble, votes
from foldless.estimators.kernel_search.param_space import read_space
from foldless.estimators.kernel_search.strategies import SearchTask, plan_attempts, take_apart
from foldless.tuning.progress import progress

ENSEMBLE_STARTS = 8  # descents, if nobody says, when all local optima are wanted


def _has(method):
    """Tell whether what answers has a method, raising what it raises: hasattr then says why not."""

    def check(self):
        getattr(self.best_estimator_ if hasattr(self, "best_estimator_") else self.estimator, method)
        return True

    return check


class KernelSearch(MetaEstimatorMixin, BaseEstimator):
    r"""Choose the parameters of a kernel machine by a criterion that needs no folds.

    The place of ``GridSearchCV`` around scikit-learn's own ``SVC``, ``NuSVC``, ``KernelRidge``,
    ``GaussianProcessRegressor`` and ``GaussianProcessClassifier``, around foldless's estimators, and around pipelines
    that end in one of them.

    Parameters
    ----------
    estimator : estimator
        What to tune.
    param_space : dict or list of dict, default=None
        From parameter names (``svc__C``) to a range ``(low, high)``, which is searched in logarithms; a list of values,
        which are tried one by one, as ``GridSearchCV`` does; or a distribution of ``scipy.stats``, which stands for its
        range. What is not named stays as it is. ``None`` tunes the regularisation and gamma, each in a range that
        comes from the data, or the parameters of the kernel of a Gaussian process.
    criterion : str or object, default="auto"
        See ``foldless.criteria``. ``"auto"`` is ``"loo"``; for ``SVC`` and ``NuSVC`` ``"calibrated-loo"`` of the
        least-squares machine with the same kernel, which stands in for them; and folds for ``SVR`` and the sigmoid kernel, which
        have nothing better. A criterion that is named judges the support vector machine itself. ``"cv"`` refits on
        ten honest folds; it works for every estimator, at the price of folds.
    search : str or object, default="lbfgs"
        See ``foldless.searches``. Lists of numbers are looked at one by one whatever the search.
    refit : bool, default=True
        Whether to fit the estimator with the chosen parameters on all rows.
    ensemble : bool, default=False
        Whether predictions are the mean over all local optima found, weighted by the criterion; with
        ``search=searches.EllipticalSlice()`` over draws from the posterior of the parameters.
    n_starts : int, default=None
        Descents of the search; ``None`` leaves it to the search (8 with ``ensemble``).
    max_evaluations, time_budget : default=None
        Budgets of evaluations and seconds, shared by all combinations of listed values.
    n_jobs : int, default=None
        Combinations, or the descents of one, side by side with one BLAS thread each.
    random_state : int or RandomState, default=None
        Draws landmarks for large sets; ``None`` draws the same every time.
    verbose : int, default=0
        1 shows a progress bar.
    checkpoint : path, default=None
        File for the steps as they are taken; a killed run continues from it.

    Attributes
    ----------
    best_params_ : dict
        In the estimator's own names.
    best_score_ : float
        Minus the criterion: larger is better.
    best_estimator_ : estimator
        Fitted with ``best_params_``; only with ``refit``.
    best_index_ : int
        Row of ``cv_results_``.
    cv_results_ : dict of arrays
        One row per evaluation on the last representation: ``params``, ``param_<name>``, ``mean_test_score`` (minus the
        criterion), ``rank_test_score``, ``mean_fit_time``.
    trace_ : list of Step
        Every evaluation of the chosen combination.
    selection_ : Selection
        Everything foldless found there; absent with ``criterion="cv"``.
    ensemble_ : Ensemble
        Only with ``ensemble``.
    refit_time_ : float
    n_evaluations_ : int
    classes_, n_features_in_, feature_names_in_
        Of ``best_estimator_``.

    Notes
    -----
    With the hinge loss the margins of points left out are dear (refits) or rough (bounds). By squares they are exact and
    cost next to nothing, and the kernel that is best for the one machine is as good for the other: on the sets of the manual
    this choice is as accurate as a grid of refits, and GACV, which judges the hinge itself, is not.

    Leave-one-out does not see the scale of a kernel. For a ``GaussianProcessRegressor`` ``"auto"`` is therefore twice
    minus its log marginal likelihood (``"abic"``); after ``"loo"`` its predicted standard deviations mean nothing.

    The steps of a pipeline before the machine are fitted once, on all rows: a step that looks at the targets (feature
    selection) makes the criterion too hopeful, where folds would have caught it.

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

    def __init__(
        self,
        estimator,
        param_space=None,
        *,
        criterion="auto",
        search="lbfgs",
        refit=True,
        ensemble=False,
        n_starts=None,
        max_evaluations=None,
        time_budget=None,
        n_jobs=None,
        random_state=None,
        verbose=0,
        checkpoint=None,
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
        self.checkpoint = checkpoint

    def fit(self, X, y=None, **params):
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
        if not hasattr(self.estimator, "fit"):
            raise TypeError(
                f"estimator must have a fit method, got {self.estimator!r}. Pass SVC(), for instance."
            )
        X, y = indexable(X, y)
        if y is None:
            raise ValueError("KernelSearch requires y to be passed, but the target y is None.")
        if is_classifier(self.estimator):
            y = column_or_1d(y, warn=True)
            assert_all_finite(y, input_name="y")
            check_classification_targets(y)
        params = _checked(params, self.estimator, X, y)
        attempts = self._attempt(X, np.asarray(y), params)
        best = min(attempts, key=lambda attempt: attempt.value)
        self._record(attempts, best)
        if self.refit:
            self._refit(best, X, y, params)
        return self

    def _attempt(self, X, y, params):
        """Try every combination of listed values; one without a criterion is passed over."""
        with progress(self.verbose, self.max_evaluations) as watch:
            task = SearchTask(
                X, y, params, self.criterion, self.search, {"watch": watch, "checkpoint": self.checkpoint}
            )
            tasks = plan_attempts(clone(self.estimator), read_space(self.param_space), task)
            several = len(tasks) > 1
            task.options.update(self._options(len(tasks)))
            with warnings.catch_warnings():  # equal rows are no matter: what is fitted in the end is not ours
                warnings.simplefilter("ignore", JitterWarning)
                found = side_by_side([_guarded(run) for run in tasks], self.n_jobs if several else None)
        attempts = [attempt for attempt in found if not isinstance(attempt, Undefined)]
        if not attempts:
            raise found[0]
        return attempts

    def _options(self, count):
        starts = ENSEMBLE_STARTS if self.ensemble and self.n_starts is None else self.n_starts
        return {
            "n_starts": starts,
            "max_evaluations": None
            if self.max_evaluations is None
            else max(1, self.max_evaluations // count),
            "time_budget": None if self.time_budget is None else self.time_budget / count,
            "random_state": self.random_state,
            "n_jobs": self.n_jobs if count == 1 else None,
        }

    def _record(self, attempts, best):
        rows = [(attempt, step) for attempt in attempts for step in attempt.steps]
        self.best_index_ = next(i for i, (a, s) in enumerate(rows) if a is best and s is best.best)
        self.best_params_, self.best_score_ = best.best_params, -best.value
        self.cv_results_ = results(rows)
        self.cv_results_["mean_test_score"][self.best_index_] = self.best_score_
        self.cv_results_["params"][self.best_index_] = self.best_params_
        self.n_evaluations_ = len(rows)
        self.trace_ = list(best.steps)
        if best.selection is not None:
            self.selection_ = best.selection
            self.trace_ = list(best.selection.outcome.trace)
            self.n_evaluations_ = sum(len(a.selection.outcome.trace) for a in attempts)

    def _refit(self, best, X, y, params):
        begun = time.perf_counter()
        self.best_estimator_ = best.fitted or self._fitted(best.best_params, X, y, params)
        self.refit_time_ = time.perf_counter() - begun
        if hasattr(self.best_estimator_, "feature_names_in_"):
            self.feature_names_in_ = self.best_estimator_.feature_names_in_
        if self.ensemble:
            steps, weights = votes(best.outcome)
            members = tuple(self._fitted(best.params(step.theta), X, y, params) for step in steps)
            self.ensemble_ = Ensemble(members, weights)

    def _fitted(self, chosen, X, y, params):
        return clone(self.estimator).set_params(**clone(chosen, safe=False)).fit(X, y, **params)

    @property
    def _answers(self):
        check_is_fitted(self, "best_params_")
        if not self.refit:
            raise AttributeError(
                "KernelSearch was made with refit=False: it chose parameters and fitted nothing."
            )
        return self.ensemble_ if self.ensemble else self.best_estimator_

    @property
    def classes_(self):
        """Class labels."""
        return self._answers.classes_

    @property
    def n_features_in_(self):
        """Number of features seen in ``fit``."""
        if not hasattr(self, "best_estimator_"):
            raise AttributeError("KernelSearch has no n_features_in_ before it has fitted an estimator.")
        return self.best_estimator_.n_features_in_

    @available_if(_has("predict"))
    def predict(self, X):
        """Predict with the best estimator, or the ensemble."""
        return self._answers.predict(X)

    @available_if(_has("predict_proba"))
    def predict_proba(self, X):
        """Probabilities of the best estimator, or the ensemble."""
        return self._answers.predict_proba(X)

    @available_if(_has("predict_log_proba"))
    def predict_log_proba(self, X):
        """Logarithms of the probabilities."""
        return np.log(self._answers.predict_proba(X))

    @available_if(_has("decision_function"))
    def decision_function(self, X):
        """Decision values of the best estimator, or the ensemble."""
        return self._answers.decision_function(X)

    def score(self, X, y, **params):
        """Score of the best estimator; of the ensemble its accuracy, or its coefficient of determination."""
        if not self.ensemble:
            return self._answers.score(X, y, **params)
        measure = accuracy_score if is_classifier(self) else r2_score
        return measure(y, self.predict(X), **params)

    def __sklearn_tags__(self):
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

    def __getstate__(self):
        """Leave the working matrices out: a fitted search predicts without them."""
        state = super().__getstate__()
        return {key: value for key, value in state.items() if key != "selection_"}


def _checked(params, estimator, X, y):
    """Return the parameters of ``fit`` with the sample weights as an array; they go by the name of the machine's step."""
    name = f"{take_apart(estimator)[2]}sample_weight"
    if name != "sample_weight" and "sample_weight" in params:
        raise ValueError(
            f"the weights of a pipeline go to a step of it: pass {name}=... instead of sample_weight."
        )
    if params.get(name) is None:
        return params
    weight = _check_sample_weight(params[name], X, ensure_non_negative=True)
    if is_classifier(estimator) and len(np.unique(np.asarray(y)[weight > 0])) < 2:
        raise ValueError(f"{name} leaves rows of fewer than two classes; a classifier needs two.")
    return {**params, name: weight}


def _guarded(run):
    def attempt():
        try:
            return run()
        except Undefined as error:
            return error

    return attempt


def results(rows):
    """Return pairs of an attempt and one of its steps as the arrays of ``cv_results_``."""
    params = [attempt.params(step.theta) for attempt, step in rows]
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
