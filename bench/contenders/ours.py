"""Estimators of foldless, as they come."""

from dataclasses import dataclass
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, clone, is_classifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from bench.contenders.base import EstimatorContender, Measurement
from bench.contenders.grids import scaled_svc
from bench.measure import error, timed
from bench.problems import Split, Task
from foldless import (
    KernelClassifier,
    KernelLogisticRegression,
    KernelLSSVC,
    KernelRegressor,
    KernelRidgeRegressor,
    KernelSearch,
    KernelSVC,
)
from foldless.core.optional_imports import import_extra

# Dask's workers give memory back to the system early, which can slow a pass over the rows down.
KEEPING_MEMORY = {
    f"distributed.nanny.pre-spawn-environ.MALLOC_{name}_THRESHOLD_": 2**30 for name in ("TRIM", "MMAP")
}


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
class FoldlessOnDask(Foldless):
    """The same through a Dask cluster of two processes on this machine, from a directory of Parquet files."""

    package = "distributed"
    warms_up = False

    def run(self, split: Split, task: Task, jobs: int) -> Measurement:
        """Measure the fit, and the predictions of the test rows as an array; the files are written before."""
        import dask
        import dask.dataframe as dd
        from distributed import Client, LocalCluster

        pd, scaler = import_extra("pandas"), StandardScaler().fit(split.X)
        columns = [f"x{i}" for i in range(split.X.shape[1])]
        with (
            TemporaryDirectory() as folder,
            dask.config.set(KEEPING_MEMORY),
            LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as cluster,
            Client(cluster),
        ):
            for i, rows in enumerate(np.array_split(np.arange(len(split.y)), -(-len(split.y) // 25_000))):
                part = pd.DataFrame(scaler.transform(split.X[rows]), columns=columns).assign(y=split.y[rows])
                part.to_parquet(f"{folder}/{i:04d}.parquet")
            table = dd.read_parquet(folder)
            model = clone(self.estimator).set_params(n_jobs=jobs)
            _, times = timed(lambda: model.fit(table[columns], table["y"]))
        test = pd.DataFrame(scaler.transform(split.X_test), columns=columns)
        wrong = error(task, split.y_test, model.predict(test))
        return Measurement(*times, wrong, evaluations=int(model.n_evaluations_))


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
