"""The demonstration: data that come with scikit-learn, and a grid search with folds to compare with."""

import time
from dataclasses import dataclass
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from foldless.cli.experiment import split_table
from foldless.cli.files.encoding import Code, Encoder
from foldless.cli.files.read_table import Table
from foldless.core.contracts import Matrix
from foldless.inspection.metrics import prediction_error

HOLDOUT_FRACTION = 0.3
CV_FOLDS, WORKER_PROCESSES = 10, 2
GRID = {"svc__C": np.logspace(-5, 15, 10, base=2.0), "svc__gamma": np.logspace(-15, 3, 10, base=2.0)}


@dataclass(frozen=True)
class Baseline:
    """Result of the grid search: the parameters, the errors, and the cost."""

    C: float
    width: float
    folds_error: float
    held_out_error: float
    fits: int
    seconds: float


def breast_cancer() -> Table:
    """Return scikit-learn's breast cancer set as a table: 569 rows, 30 features, two classes."""
    data = load_breast_cancer()
    names = [str(name) for name in data.feature_names]
    y = np.asarray(data.target_names)[data.target].astype(str)
    encoder = Encoder(tuple(Code(name, "number") for name in names), "diagnosis", "classification")
    return Table(data.data, y, names, "diagnosis", "classification", encoder)


def grid_search(table: Table, seed: int, holdout: float = HOLDOUT_FRACTION) -> Baseline:
    """Tune scikit-learn's SVC on the same training rows over 10 x 10 settings with 10 folds.

    The worker processes are started before the clock, so that only the methods are compared.
    """
    train, test = split_table(table, holdout, seed)
    y, _ = table.target()
    Parallel(n_jobs=WORKER_PROCESSES)(
        delayed(_fit_once)(table.X[train], y[train]) for _ in range(2 * WORKER_PROCESSES)
    )
    search = GridSearchCV(make_pipeline(StandardScaler(), SVC()), GRID, cv=CV_FOLDS, n_jobs=WORKER_PROCESSES)
    begun = time.perf_counter()
    search.fit(table.X[train], y[train])
    seconds = time.perf_counter() - begun
    best, fits = search.best_params_, CV_FOLDS * len(search.cv_results_["params"]) + 1
    error = prediction_error(y[test], search.predict(table.X[test]), is_classification=True)
    return Baseline(best["svc__C"], _width(best["svc__gamma"]), 1 - search.best_score_, error, fits, seconds)


def _fit_once(X: Matrix, y: NDArray[Any]) -> None:
    make_pipeline(StandardScaler(), SVC()).fit(X, y)


def _width(gamma: float) -> float:
    return 1 / np.sqrt(2 * gamma)
