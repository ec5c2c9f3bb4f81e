"""The demonstration: data that come with scikit-learn, tuned without folds and by a grid search with folds."""

import time
from dataclasses import dataclass

import numpy as np
from joblib import Parallel, delayed
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from foldless.cli.experiment import prediction_error, split
from foldless.cli.files.encoding import Code, Encoder
from foldless.cli.files.read_table import Table

HOLDOUT = 0.3
FOLDS, PROCESSES = 10, 2
GRID = {"svc__C": np.logspace(-5, 15, 10, base=2.0), "svc__gamma": np.logspace(-15, 3, 10, base=2.0)}


@dataclass(frozen=True)
class Baseline:
    """What the grid search found, and what it took."""

    C: float
    width: float
    folds_error: float
    held_out_error: float
    fits: int
    seconds: float


def breast_cancer():
    """Return scikit-learn's breast cancer set as a table: 569 rows, 30 features, two classes."""
    data = load_breast_cancer()
    names = [str(name) for name in data.feature_names]
    y = np.asarray(data.target_names)[data.target].astype(str)
    encoder = Encoder(tuple(Code(name, "number") for name in names), "diagnosis", "classification")
    return Table(data.data, y, names, "diagnosis", "classification", encoder)


def grid_search(table, seed, holdout=HOLDOUT):
    """Tune scikit-learn's SVC on the same rows by 10 x 10 settings with 10 folds.

    The worker processes are started before the clock, so that the comparison is one of methods.
    """
    (X, y), (X_held, y_held) = split(table, holdout, seed)
    Parallel(n_jobs=PROCESSES)(delayed(_warm)(X, y) for _ in range(2 * PROCESSES))
    search = GridSearchCV(make_pipeline(StandardScaler(), SVC()), GRID, cv=FOLDS, n_jobs=PROCESSES)
    begun = time.perf_counter()
    search.fit(X, y)
    seconds = time.perf_counter() - begun
    best, fits = search.best_params_, FOLDS * len(search.cv_results_["params"]) + 1
    error = prediction_error(y_held, search.predict(X_held), classes=True)
    return Baseline(best["svc__C"], _width(best["svc__gamma"]), 1 - search.best_score_, error, fits, seconds)


def _warm(X, y):
    make_pipeline(StandardScaler(), SVC()).fit(X, y)


def _width(gamma):
    return 1 / np.sqrt(2 * gamma)
