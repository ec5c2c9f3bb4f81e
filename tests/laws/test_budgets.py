"""max_evaluations is never exceeded: by no search, with no list of candidates, and not by choosing C separately."""

import warnings

import numpy as np
import pytest
from sklearn.svm import SVC

from foldless import (
    KernelLogisticRegression,
    KernelLSSVC,
    KernelPoissonRegressor,
    KernelRidgeRegressor,
    KernelSearch,
    KernelSubsetRegressor,
    KernelSVC,
    searches,
)
from foldless.core.errors import FoldlessWarning, SearchWarning
from foldless.datasets import make_ripley
from foldless.searches.run import SearchRun

SEARCHES = {name: kind() for name, kind in searches.BY_NAME.items()} | {
    "multi-start": searches.MultiStart(searches.LBFGS(), 4),
    "early-stopping": searches.EarlyStopping(searches.LBFGS()),
    "elliptical-slice": searches.EllipticalSlice(draws=2, burn_in=3, chains=2),
    "three descents": searches.LBFGS(n_starts=3),
}
BUDGETS = [1, 2, 3, 5, 12]


@pytest.fixture
def evaluations(monkeypatch):
    """A list that grows with every evaluation that any search makes."""
    evaluate, made = SearchRun._evaluation, []

    def counted(self, theta, gradient):
        made.append(theta)
        return evaluate(self, theta, gradient)

    monkeypatch.setattr(SearchRun, "_evaluation", counted)
    return made


def fit(estimator, X, y):
    """Fit, and let warnings about the budget pass."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FoldlessWarning)
        return estimator.fit(X, y)


def check(estimator, data, budget, evaluations):
    model = fit(estimator.set_params(max_evaluations=budget), *data)
    assert 1 <= len(evaluations) <= budget
    assert 1 <= model.n_evaluations_ <= budget


@pytest.fixture(scope="module")
def classes():
    return make_ripley(60, random_state=2)


@pytest.fixture(scope="module")
def counts():
    rng = np.random.default_rng(5)
    X = rng.uniform(-2, 2, size=(50, 2))
    return X, rng.poisson(np.exp(X[:, 0])).astype(float)


@pytest.mark.parametrize("budget", BUDGETS)
@pytest.mark.parametrize("search", SEARCHES)
def test_by_no_search(search, budget, classes, evaluations):
    estimator = KernelLogisticRegression(search=SEARCHES[search], criterion="evidence")
    check(estimator, classes, budget, evaluations)


@pytest.mark.parametrize("budget", BUDGETS)
@pytest.mark.parametrize("kind", [KernelLogisticRegression, KernelLSSVC, KernelSVC])
@pytest.mark.parametrize("criterion", ["alignment", "spectral"])
def test_not_by_choosing_the_regularisation_separately(kind, criterion, budget, classes, evaluations):
    check(kind(criterion=criterion), classes, budget, evaluations)


@pytest.mark.parametrize("budget", BUDGETS)
@pytest.mark.parametrize("n_jobs", [None, 2])
@pytest.mark.parametrize("criterion", ["loo", "alignment"])
def test_not_by_a_list_of_candidates(criterion, n_jobs, budget, classes, evaluations):
    kernels = ["rbf", "linear", "matern"]
    model = KernelLogisticRegression(kernels, criterion=criterion, n_jobs=n_jobs)
    check(model, classes, budget, evaluations)
    tried = [trial for trial in model.selection_.trials if trial.outcome is not None]
    assert len(tried) == min(len(kernels), budget)


@pytest.mark.parametrize("budget", BUDGETS)
@pytest.mark.parametrize("kind", [KernelRidgeRegressor, KernelPoissonRegressor])
def test_not_by_a_regression(kind, budget, counts, evaluations):
    check(kind(), counts, budget, evaluations)


@pytest.mark.parametrize("budget", BUDGETS)
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"param_space": {"kernel": ["rbf", "linear"]}},
        {"param_space": {"C": [0.1, 1.0, 10.0], "gamma": [0.1, 1.0]}},
        {"criterion": "cv"},
    ],
)
def test_not_by_a_search_over_settings(options, budget, classes, evaluations):
    check(KernelSearch(SVC(), **options), classes, budget, evaluations)


def test_a_choice_of_functions_ends_with_the_time(counts):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", SearchWarning)
        KernelSubsetRegressor(time_budget=1e-6).fit(*counts)
    assert "the time budget was spent after 1 kernel functions" in str(caught[-1].message)


def test_candidates_that_the_budget_does_not_reach_are_listed_with_the_reason(classes):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = KernelLogisticRegression(["rbf", "linear"], max_evaluations=1).fit(*classes)
    said = [str(w.message) for w in caught if w.category is SearchWarning]
    assert any("max_evaluations=1 is fewer than the 2 candidate kernels" in message for message in said)
    trial = model.selection_.trials[1]
    assert trial.value == np.inf
    assert "max_evaluations=1" in trial.note


def test_settings_that_the_budget_does_not_reach_are_warned_about(classes):
    search = KernelSearch(SVC(), {"kernel": ["rbf", "linear"]}, max_evaluations=1)
    with pytest.warns(SearchWarning, match="max_evaluations=1 is fewer than the 2 settings of param_space"):
        search.fit(*classes)
    assert search.best_params_["kernel"] == "rbf"
