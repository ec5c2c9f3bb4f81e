"""The grid, in one place, and what searches it with folds."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.experimental import enable_halving_search_cv  # noqa: F401
from sklearn.kernel_ridge import KernelRidge
from sklearn.model_selection import GridSearchCV, HalvingGridSearchCV, cross_val_score
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from bench.contenders.base import EstimatorContender
from bench.problems import Task

C_BOUNDS, GAMMA_BOUNDS, ALPHA_BOUNDS = (1e-2, 1e4), (1e-4, 10.0), (1e-6, 1e3)
POINTS_PER_AXIS = 10
FOLDS = 10


def axis(bounds: tuple[float, float], points: int = POINTS_PER_AXIS) -> NDArray[Any]:
    """Return values from bound to bound with equal ratios."""
    return np.geomspace(*bounds, points)


def scaled_svc() -> Pipeline:
    """Return the pipeline that all searches for an SVC tune."""
    return make_pipeline(StandardScaler(), SVC(kernel="rbf"))


def pipeline_and_grid(task: Task, points: int = POINTS_PER_AXIS) -> tuple[Pipeline, dict[str, NDArray[Any]]]:
    """Return the pipeline of a task, and the square grid of its parameters."""
    gammas = axis(GAMMA_BOUNDS, points)
    if task == "classes":
        return scaled_svc(), {"svc__C": axis(C_BOUNDS, points), "svc__gamma": gammas}
    ridge = make_pipeline(StandardScaler(), KernelRidge(kernel="rbf"))
    return ridge, {"kernelridge__alpha": axis(ALPHA_BOUNDS, points), "kernelridge__gamma": gammas}


@dataclass(frozen=True)
class GridSearch(EstimatorContender):
    """``GridSearchCV`` over 10 x 10 points with ten folds: an SVC for classes, kernel ridge regression for numbers."""

    name: str = "GridSearchCV"

    def build(self, task: Task, jobs: int) -> BaseEstimator:
        """Return the search."""
        return GridSearchCV(*pipeline_and_grid(task), cv=FOLDS, n_jobs=jobs)

    def evaluations(self, model: Any) -> int:
        """Return the number of fits."""
        return len(model.cv_results_["params"]) * int(model.n_splits_)


@dataclass(frozen=True)
class SmallGridSearch(GridSearch):
    """``GridSearchCV`` as many write it: 5 x 5 points with five folds."""

    name: str = "GridSearchCV, 5 x 5"

    def build(self, task: Task, jobs: int) -> BaseEstimator:
        """Return the search."""
        return GridSearchCV(*pipeline_and_grid(task, points=5), cv=5, n_jobs=jobs)


@dataclass(frozen=True)
class HalvingSearch(GridSearch):
    """``HalvingGridSearchCV`` over the same grid with the same folds."""

    name: str = "HalvingGridSearchCV"

    def build(self, task: Task, jobs: int) -> BaseEstimator:
        """Return the search."""
        return HalvingGridSearchCV(*pipeline_and_grid(task), cv=FOLDS, n_jobs=jobs, random_state=0)


@dataclass(frozen=True)
class OptunaSearch(EstimatorContender):
    """Optuna's default sampler within the bounds of the grid: 50 trials, five folds each."""

    name: str = "optuna"
    trials: int = 50
    folds: int = 5

    tasks = ("classes",)
    package: ClassVar[str | None] = "optuna"

    def build(self, task: Task, jobs: int) -> BaseEstimator:
        """Return the search, which fits the best parameters to all rows."""
        return OptunaSVC(self.trials, self.folds, jobs)

    def evaluations(self, model: Any) -> int:
        """Return the number of fits."""
        return self.trials * self.folds


class OptunaSVC(BaseEstimator):
    """An SVC whose C and gamma optuna chooses."""

    def __init__(self, trials: int, folds: int, n_jobs: int) -> None:
        self.trials = trials
        self.folds = folds
        self.n_jobs = n_jobs

    def fit(self, X: NDArray[Any], y: NDArray[Any]) -> "OptunaSVC":
        """Choose the parameters, and fit with them."""
        import optuna

        optuna.logging.set_verbosity(optuna.logging.WARNING)

        def accuracy(trial: Any) -> float:
            C = trial.suggest_float("svc__C", *C_BOUNDS, log=True)
            gamma = trial.suggest_float("svc__gamma", *GAMMA_BOUNDS, log=True)
            model = scaled_svc().set_params(svc__C=C, svc__gamma=gamma)
            return float(cross_val_score(model, X, y, cv=self.folds, n_jobs=self.n_jobs).mean())

        study = optuna.create_study(direction="maximize", sampler=optuna.samplers.TPESampler(seed=0))
        study.optimize(accuracy, n_trials=self.trials)
        self.best_estimator_ = scaled_svc().set_params(**study.best_params).fit(X, y)
        return self

    def predict(self, X: NDArray[Any]) -> NDArray[Any]:
        """Return the classes."""
        return np.asarray(self.best_estimator_.predict(X))
