"""What simple models reach on the same rows: the commonest class or the mean, a linear model, boosted trees.

With rows held out they are fitted to the training rows and judged on the rows held out, as our model is. Without, they are
judged by five folds: each row by a fit to the other four fifths, since leaving out one row at a time would take a fit per row.
Large tables are cut, so that the comparison stays cheaper than the fit it is about.
"""

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, is_classifier
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.linear_model import LogisticRegression, RidgeCV
from sklearn.model_selection import KFold, StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

from foldless.cli.experiment import Experiment
from foldless.cli.report.scores import Unseen
from foldless.core.contracts import Matrix

BASELINE_MAX_ROWS, BASELINE_MAX_ROWS_TIMES_CLASSES = 5000, 20_000
FOLDS = 5
BOOSTING = "boosted trees"
# Rows times columns times classes that boosted trees work through in about two seconds.
QUICK_MAX_CELLS = 300_000


def baselines(experiment: Experiment, quick: bool = False) -> list[Unseen]:
    """Return what the simple models answer for the rows that our model is judged on; those that take long are left out if ``quick``."""
    models = simple_models(experiment.is_classification)
    if quick and _boosting_cells(experiment) > QUICK_MAX_CELLS:
        del models[BOOSTING]
    with warnings.catch_warnings(), threadpool_limits(1):
        # A linear model that has not converged, or a class that is missing in a fold, is no concern of the reader.
        warnings.simplefilter("ignore")
        return [_unseen(name, model, experiment) for name, model in models.items()]


def simple_models(is_classification: bool) -> dict[str, BaseEstimator]:
    """Return the models that a result is compared with, by name."""
    if is_classification:
        return {
            "commonest class": DummyClassifier(strategy="prior"),
            "logistic regression": make_pipeline(StandardScaler(), LogisticRegression(max_iter=500)),
            BOOSTING: HistGradientBoostingClassifier(random_state=0),
        }
    return {
        "mean": DummyRegressor(),
        "ridge regression": make_pipeline(StandardScaler(), RidgeCV(np.geomspace(1e-3, 1e3, 13))),
        BOOSTING: HistGradientBoostingRegressor(random_state=0),
    }


def _boosting_cells(experiment: Experiment) -> int:
    return len(judged_rows(experiment)) * len(experiment.table.feature_names) * _n_outputs(experiment)


def _n_outputs(experiment: Experiment) -> int:
    """Return the number of trees in a step of boosting: one per class if there are more than two."""
    classes = len(experiment.estimator.classes_) if experiment.is_classification else 1
    return classes if classes > 2 else 1


def judged_rows(experiment: Experiment) -> NDArray[np.intp]:
    """Return which training rows the simple models see: all, or a sample of many."""
    n = len(experiment.y)
    limit = min(BASELINE_MAX_ROWS, max(500, BASELINE_MAX_ROWS_TIMES_CLASSES // _n_outputs(experiment)))
    return np.arange(n) if n <= limit else np.sort(np.random.default_rng(0).permutation(n)[:limit])


def _unseen(name: str, model: Any, experiment: Experiment) -> Unseen:
    rows, held_out = judged_rows(experiment), experiment.held_out
    X, y = experiment.indicators(experiment.X[rows]), experiment.y[rows]
    classes = experiment.estimator.classes_ if experiment.is_classification else None
    if held_out is not None:
        predicted, p = _answers(_fitted(model, X, y), experiment.indicators(held_out.X), classes)
        return Unseen(name, held_out.y, predicted, p, classes, "rows held out")
    if isinstance(model, (DummyClassifier, DummyRegressor)):
        # Frequencies and means of folds differ by chance from those of all rows.
        predicted, p = _answers(model.fit(X, y), X, classes)
        return Unseen(name, y, predicted, p, classes, "all rows")
    predicted, p = _over_folds(model, X, y, classes)
    return Unseen(name, y, predicted, p, classes, f"{FOLDS} folds")


def _fitted(model: Any, X: Matrix, y: NDArray[Any]) -> Any:
    """Return a fitted model; of rows of a single class, which most models refuse, one that always answers this class."""
    if is_classifier(model) and len(np.unique(y)) == 1:
        return DummyClassifier().fit(X, y)
    return model.fit(X, y)


def _answers(model: Any, X: Matrix, classes: NDArray[Any] | None) -> tuple[NDArray[Any], Matrix | None]:
    """Return predictions, and probabilities with a column for every class, also those the model has not met."""
    if classes is None:
        return model.predict(X), None
    p = np.zeros((len(X), len(classes)))
    p[:, np.searchsorted(classes, model.classes_)] = model.predict_proba(X)
    return classes[np.argmax(p, axis=1)], p


def _over_folds(
    model: Any, X: Matrix, y: NDArray[Any], classes: NDArray[Any] | None
) -> tuple[NDArray[Any], Matrix | None]:
    most = len(y) if classes is None else int(np.unique(y, return_counts=True)[1].max())
    kind = KFold if classes is None else StratifiedKFold
    folds = kind(min(FOLDS, most), shuffle=True, random_state=0)
    predicted, p = np.empty_like(y), None if classes is None else np.zeros((len(y), len(classes)))
    for train, test in folds.split(X, y):
        predicted[test], found = _answers(_fitted(model, X[train], y[train]), X[test], classes)
        if p is not None and found is not None:
            p[test] = found
    return predicted, p
