"""The demonstration: two tables that come with scikit-learn, and what people would use on them, on the same splits."""

import time
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from sklearn.base import BaseEstimator, clone
from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.gaussian_process.kernels import RBF
from sklearn.linear_model import LogisticRegression, RidgeCV
from sklearn.metrics import log_loss, r2_score
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from foldless.cli.experiment import split_table
from foldless.cli.files.encoding import Code, Encoder
from foldless.cli.files.read_table import Table
from foldless.cli.options import HOLDOUT_FRACTION
from foldless.core.contracts import Vector
from foldless.estimators import (
    KernelClassifier,
    KernelLogisticRegression,
    KernelRegressor,
    KernelRidgeRegressor,
)
from foldless.inspection.metrics import prediction_error

N_SPLITS, WORKER_PROCESSES = 4, 2
GRID_POINTS, CV_FOLDS = 5, 5
OURS, GRID = "foldless", "same machine, 5 x 5 grid, 5 folds"
# A difference counts from so many standard errors on.
CLEAR_STANDARD_ERRORS = 2.0


@dataclass(frozen=True, eq=False)
class Scores:
    """What one model reached on every split.

    Attributes
    ----------
    name : str
    error : array
        Share of wrong classes, or root mean squared error.
    score : array
        Log loss of classes, R2 of numbers.
    seconds : array
    """

    name: str
    error: Vector
    score: Vector
    seconds: Vector


def breast_cancer() -> Table:
    """Return scikit-learn's breast cancer set as a table: 569 rows, 30 features, two classes."""
    data = load_breast_cancer()
    y = np.asarray(data.target_names)[data.target].astype(str)
    return _table(data, y, "diagnosis", "classification")


def diabetes() -> Table:
    """Return scikit-learn's diabetes set as a table: 442 rows, 10 features, a number to predict."""
    data = load_diabetes()
    return _table(data, np.asarray(data.target, dtype=float), "progression", "regression")


def _table(data: Any, y: np.ndarray, target: str, task: str) -> Table:
    names = [str(name) for name in data.feature_names]
    encoder = Encoder(tuple(Code(name, "number") for name in names), target, task)
    return Table(data.data, y, names, target, task, encoder)


def models(task: str) -> dict[str, BaseEstimator]:
    """Return the default of foldless, and what people would use for a task."""
    kernels = [RBF(width, "fixed") for width in np.geomspace(0.5, 50, GRID_POINTS)]
    if task == "classification":
        grid = {"machine__kernel": kernels, "machine__C": np.geomspace(1e-2, 1e4, GRID_POINTS)}
        return {
            OURS: KernelClassifier(),
            GRID: _grid_search(KernelLogisticRegression(), grid, "neg_log_loss"),
            "logistic regression": make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000)),
            "HistGradientBoosting": HistGradientBoostingClassifier(random_state=0),
        }
    grid = {"machine__kernel": kernels, "machine__alpha": np.geomspace(1e-4, 1e2, GRID_POINTS)}
    return {
        OURS: KernelRegressor(),
        GRID: _grid_search(KernelRidgeRegressor(), grid, "neg_mean_squared_error"),
        "ridge regression": make_pipeline(StandardScaler(), RidgeCV(np.geomspace(1e-3, 1e3, 13))),
        "HistGradientBoosting": HistGradientBoostingRegressor(random_state=0),
    }


def _grid_search(machine: BaseEstimator, grid: dict[str, Any], scoring: str) -> GridSearchCV:
    pipeline = make_pipeline(StandardScaler(), machine)
    pipeline.steps[-1] = ("machine", machine)
    return GridSearchCV(pipeline, grid, cv=CV_FOLDS, scoring=scoring)


def measure(table: Table, seed: int, n_splits: int = N_SPLITS) -> list[Scores]:
    """Return the scores of all models on the same random splits, two splits at a time."""
    _, task = table.target()
    candidates = models(task)
    found = Parallel(n_jobs=WORKER_PROCESSES)(
        delayed(_measure_once)(list(candidates.values()), table, seed + split) for split in range(n_splits)
    )
    values = np.array(found)  # splits, models, (error, score, seconds)
    return [Scores(name, *values[:, i].T) for i, name in enumerate(candidates)]


def _measure_once(candidates: Sequence[Any], table: Table, seed: int) -> list[tuple[float, float, float]]:
    """Return error, score and seconds of every model on one split."""
    train, test = split_table(table, HOLDOUT_FRACTION, seed)
    y, task = table.target()
    found = []
    for model in map(clone, candidates):
        begun = time.perf_counter()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model.fit(table.X[train], y[train])
        seconds = time.perf_counter() - begun
        predicted = model.predict(table.X[test])
        wrong = prediction_error(y[test], predicted, task == "classification")
        found.append((wrong, _score(model, table.X[test], y[test], predicted, task), seconds))
    return found


def _score(model: Any, X: np.ndarray, y: np.ndarray, predicted: np.ndarray, task: str) -> float:
    if task == "classification":
        return float(log_loss(y, model.predict_proba(X), labels=model.classes_))
    return float(r2_score(y, predicted))


def verdict(found: Sequence[Scores], task: str) -> str:
    """Return a sentence: where the first is clearly better, where clearly worse, and where neither can be said."""
    ours, sign = found[0], 1.0 if task == "classification" else -1.0
    groups: dict[str, list[str]] = {"better than": [], "worse than": [], "not clearly different from": []}
    for other in found[1:]:
        gain = sign * (other.score - ours.score)
        error = float(np.std(gain, ddof=1) / np.sqrt(len(gain))) if len(gain) > 1 else np.inf
        clear = abs(np.mean(gain)) > CLEAR_STANDARD_ERRORS * error
        side = "better than" if np.mean(gain) > 0 else "worse than"
        groups[side if clear else "not clearly different from"].append(other.name)
    what = "log loss" if task == "classification" else "R2"
    parts = [f"{words} {', '.join(names)}" for words, names in groups.items() if names]
    ratio = np.mean(found[1].seconds) / np.mean(ours.seconds)
    return f"By {what} {ours.name} is {'; '.join(parts)}. The grid took {ratio:.1f} times as long."
