"""What people use on tables: boosting, forests, linear models, Gaussian processes, random features."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.gaussian_process import GaussianProcessClassifier, GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import HalvingGridSearchCV, RandomizedSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from bench.contenders.base import EstimatorContender
from bench.contenders.grids import ALPHA_BOUNDS, C_BOUNDS, GAMMA_BOUNDS, axis
from bench.problems import Task


@dataclass(frozen=True)
class Boosting(EstimatorContender):
    """Gradient boosting of histograms, as it comes."""

    name: str = "HistGradientBoosting"

    def build(self, task: Task, jobs: int) -> Any:
        """Return the model; the runner limits its threads."""
        kind = HistGradientBoostingClassifier if task == "classes" else HistGradientBoostingRegressor
        return kind(random_state=0)


@dataclass(frozen=True)
class TunedBoosting(Boosting):
    """The same, twenty random settings with five folds."""

    name: str = "HistGradientBoosting, tuned"

    def build(self, task: Task, jobs: int) -> RandomizedSearchCV:
        """Return the search."""
        space = {
            "learning_rate": np.geomspace(0.01, 0.5, 20),
            "max_leaf_nodes": [7, 15, 31, 63],
            "min_samples_leaf": [5, 10, 20, 50],
            "l2_regularization": [0.0, 0.1, 1.0, 10.0],
        }
        return RandomizedSearchCV(
            super().build(task, jobs), space, n_iter=20, cv=5, random_state=0, n_jobs=jobs
        )

    def evaluations(self, model: Any) -> int:
        """Return the number of fits."""
        return len(model.cv_results_["params"]) * int(model.n_splits_)


@dataclass(frozen=True)
class Forest(EstimatorContender):
    """A random forest, as it comes."""

    name: str = "RandomForest"

    def build(self, task: Task, jobs: int) -> Any:
        """Return the model."""
        kind = RandomForestClassifier if task == "classes" else RandomForestRegressor
        return kind(random_state=0, n_jobs=jobs)


@dataclass(frozen=True)
class Linear(EstimatorContender):
    """Logistic regression for classes, ridge regression for numbers."""

    name: str = "linear model"

    def build(self, task: Task, jobs: int) -> Any:
        """Return the model behind a scaler."""
        return make_pipeline(
            StandardScaler(), LogisticRegression(max_iter=1000) if task == "classes" else Ridge()
        )


@dataclass(frozen=True)
class GaussianProcess(EstimatorContender):
    """scikit-learn's Gaussian processes: amplitude, width and, for numbers, noise by the marginal likelihood."""

    name: str = "GaussianProcess"

    def build(self, task: Task, jobs: int) -> Any:
        """Return the model behind a scaler."""
        kernel = ConstantKernel(1.0, (1e-3, 1e5)) * RBF(3.0, (1e-2, 1e3))
        if task == "classes":
            return make_pipeline(StandardScaler(), GaussianProcessClassifier(kernel, n_jobs=jobs))
        noisy = kernel + WhiteKernel(0.1)
        return make_pipeline(StandardScaler(), GaussianProcessRegressor(noisy, normalize_y=True))


@dataclass(frozen=True)
class NystroemLinear(EstimatorContender):
    """A thousand landmarks and a linear model, width and regularisation by halving with five folds."""

    name: str = "Nystroem + linear"
    n_components: int = 1000

    def build(self, task: Task, jobs: int) -> HalvingGridSearchCV:
        """Return the search."""
        linear = LogisticRegression(max_iter=1000) if task == "classes" else Ridge()
        features = Nystroem(n_components=self.n_components, random_state=0)
        strengths = {"logisticregression__C": axis(C_BOUNDS, 5)}
        if task == "numbers":
            strengths = {"ridge__alpha": axis(ALPHA_BOUNDS, 5)}
        grid = {"nystroem__gamma": axis(GAMMA_BOUNDS, 6), **strengths}
        pipeline = make_pipeline(StandardScaler(), features, linear)
        return HalvingGridSearchCV(pipeline, grid, cv=5, n_jobs=jobs, random_state=0)

    def evaluations(self, model: Any) -> int:
        """Return the number of fits."""
        return len(model.cv_results_["params"]) * int(model.n_splits_)
