"""Estimators of foldless, as they come."""

from dataclasses import dataclass
from typing import Any

from sklearn.base import BaseEstimator, clone, is_classifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from bench.contenders.base import EstimatorContender
from bench.contenders.grids import scaled_svc
from bench.problems import Task
from foldless import (
    KernelClassifier,
    KernelLogisticRegression,
    KernelLSSVC,
    KernelRegressor,
    KernelRidgeRegressor,
    KernelSearch,
    KernelSVC,
)


@dataclass(frozen=True)
class Foldless(EstimatorContender):
    """An estimator that chooses its parameters without folds."""

    estimator: BaseEstimator

    def build(self, task: Task, jobs: int) -> Any:
        """Return the estimator behind a scaler."""
        return make_pipeline(StandardScaler(), clone(self.estimator).set_params(n_jobs=jobs))

    def evaluations(self, model: Any) -> int:
        """Return how often the criterion was evaluated."""
        return int(model[-1].n_evaluations_)

    def takes(self, task: Task, rows: int, number: int) -> bool:
        """Return whether this is its task."""
        kind = "classes" if is_classifier(self.estimator) else "numbers"
        return task == kind and super().takes(task, rows, number)


@dataclass(frozen=True)
class FoldlessDefault(EstimatorContender):
    """``KernelClassifier`` for classes, ``KernelRegressor`` for numbers."""

    name: str = "foldless"

    def build(self, task: Task, jobs: int) -> Any:
        """Return the estimator, which scales the inputs itself."""
        return (KernelClassifier if task == "classes" else KernelRegressor)(n_jobs=jobs)

    def evaluations(self, model: Any) -> int:
        """Return how often the criterion was evaluated, by all candidates together."""
        return sum(len(trial.outcome.trace) for trial in model.trials_ if trial.outcome is not None)


@dataclass(frozen=True)
class FoldlessOneWidth(EstimatorContender):
    """Kernel logistic regression for classes, kernel ridge regression for numbers, with one width."""

    name: str = "foldless, one width"

    def build(self, task: Task, jobs: int) -> Any:
        """Return the estimator behind a scaler."""
        kind = KernelLogisticRegression if task == "classes" else KernelRidgeRegressor
        return make_pipeline(StandardScaler(), kind(n_jobs=jobs))

    def evaluations(self, model: Any) -> int:
        """Return how often the criterion was evaluated."""
        return int(model[-1].n_evaluations_)


@dataclass(frozen=True)
class SearchedSVC(EstimatorContender):
    """``KernelSearch`` around the pipeline that the grid searches too; a fitted ``SVC`` comes out."""

    name: str = "KernelSearch"
    tasks = ("classes",)

    def build(self, task: Task, jobs: int) -> KernelSearch:
        """Return the search."""
        return KernelSearch(scaled_svc(), n_jobs=jobs)

    def evaluations(self, model: Any) -> int:
        """Return how often the criterion was evaluated."""
        return int(model.n_evaluations_)


LOGISTIC = Foldless("KernelLogisticRegression", KernelLogisticRegression())
SVM = Foldless("KernelSVC", KernelSVC())
LSSVM = Foldless("KernelLSSVC", KernelLSSVC())
RIDGE = Foldless("KernelRidgeRegressor", KernelRidgeRegressor())
