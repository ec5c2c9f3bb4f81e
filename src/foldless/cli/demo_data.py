"""The demonstration: two tables from scikit-learn, and foldless beside what people would use, on the same splits."""

import time
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from sklearn.base import BaseEstimator, clone
from sklearn.datasets import load_digits, make_friedman1
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
from foldless.cli.numbers import listing
from foldless.cli.options import HOLDOUT_FRACTION
from foldless.cli.report.verdict import CLEAR_STANDARD_ERRORS
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
N_DIGITS, N_FRIEDMAN = 600, 250
OURS, GRID = "foldless", "5 x 5 grid search"
# Times of two models that differ by less than this factor are called about the same.
SIMILAR_TIMES = 1.25


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


@dataclass(frozen=True)
class Problem:
    """One table of the demonstration, and what to say about it."""

    table: Table
    title: str
    question: str
    source: str


def digits() -> Problem:
    """Return some of scikit-learn's handwritten digits, 64 grey values each; the classes are even and odd."""
    data = load_digits()
    rows = np.random.default_rng(0).permutation(len(data.target))[:N_DIGITS]
    y = np.array(["even", "odd"])[data.target[rows] % 2]
    table = numeric_table(data.data[rows], y, data.feature_names, "digit")
    question = f"{N_DIGITS} handwritten digits, as 64 grey values each. Is the digit even or odd?"
    return Problem(table, "Handwritten digits", question, "scikit-learn's handwritten digits")


def friedman() -> Problem:
    """Return a sample of Friedman's first test function: ten columns, of which five have no influence."""
    X, y = make_friedman1(N_FRIEDMAN, noise=1.0, random_state=0)
    table = numeric_table(X, y, [f"x{i + 1}" for i in range(X.shape[1])], "y")
    question = (
        f"{N_FRIEDMAN} rows with y = 10 sin(pi x1 x2) + 20 (x3 - 0.5)^2 + 10 x4 + 5 x5 + noise. The columns x6 to x10 have no influence, "
        "and the noise alone gives an RMSE of 1."
    )
    return Problem(table, "Friedman's function", question, "Friedman's test function")


def numeric_table(X: np.ndarray, y: np.ndarray, names: Sequence[str], target: str) -> Table:
    """Return a table whose columns are all numbers; targets of text are classes."""
    task = "classification" if y.dtype.kind == "U" else "regression"
    encoder = Encoder(tuple(Code(str(name), "number") for name in names), target, task)
    return Table(X, y, [str(name) for name in names], target, task, encoder)


def models(task: str) -> dict[str, BaseEstimator]:
    """Return the default of foldless, and what people would use for a task.

    The grid tunes the machine that foldless chooses for two classes and for numbers.
    """
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
    """Return what was won and what was not: where the first model is clearly better, clearly worse, or neither."""
    groups: dict[str, list[str]] = {"better": [], "worse": [], "": []}
    for other in found[1:]:
        groups[_compared(found[0], other, task)].append(other.name)
    metric = "log loss" if task == "classification" else "R2"
    won, lost, even = groups.values()
    parts = [f"a clearly better {metric} than {listing(won)}"] if won else []
    parts += [f"a clearly worse {metric} than {listing(lost)}"] if lost else []
    parts += [f"no clear difference from {listing(even)}"] if even else []
    return f"foldless has {'; '.join(parts)}. {_time_of_the_grid(found)}"


def _compared(ours: Scores, other: Scores, task: str) -> str:
    """Return "better" or "worse" if our score differs by more than two standard errors of the differences, else ""."""
    gain = (other.score - ours.score) if task == "classification" else (ours.score - other.score)
    error = float(np.std(gain, ddof=1) / np.sqrt(len(gain))) if len(gain) > 1 else np.inf
    if abs(np.mean(gain)) <= CLEAR_STANDARD_ERRORS * error:
        return ""
    return "better" if np.mean(gain) > 0 else "worse"


def _time_of_the_grid(found: Sequence[Scores]) -> str:
    ratio = float(np.mean(found[1].seconds) / np.mean(found[0].seconds))
    if 1 / SIMILAR_TIMES < ratio < SIMILAR_TIMES:
        return "foldless and the grid take about the same time."
    return (
        f"The grid takes {ratio:.2g} times as long."
        if ratio > 1
        else f"foldless takes {1 / ratio:.2g} times as long as the grid."
    )
