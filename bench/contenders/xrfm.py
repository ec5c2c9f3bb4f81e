"""xRFM: kernel machines with a learned metric, from the package of its authors."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler
from sklearn.utils.metaestimators import available_if

from bench.contenders.base import EstimatorContender
from bench.problems import Task

VALIDATION_SHARE = 0.2


@dataclass(frozen=True)
class RecursiveFeatureMachine(EstimatorContender):
    """xRFM, twenty random settings; a fifth of the training rows chooses among them, and the round of each."""

    name: str = "xRFM, tuned"
    settings: int = 20

    package: ClassVar[str | None] = "xrfm"

    def build(self, task: Task, jobs: int) -> BaseEstimator:
        """Return the search."""
        return SearchedRecursiveFeatureMachine(task, self.settings, jobs)

    def evaluations(self, model: Any) -> int:
        """Return the number of fits."""
        return self.settings


class SearchedRecursiveFeatureMachine(BaseEstimator):
    """xRFM with the interface of scikit-learn, behind a scaler."""

    def __init__(self, task: Task, settings: int, n_threads: int) -> None:
        self.task = task
        self.settings = settings
        self.n_threads = n_threads

    def fit(self, X: NDArray[Any], y: NDArray[Any]) -> Self:
        """Cut off the rows for validation, and keep the setting that predicts them best."""
        import torch
        from xrfm import xRFM

        torch.set_num_threads(self.n_threads)
        target: NDArray[Any] = y.astype(np.float32)
        if self.task == "classes":
            self.classes_, target = np.unique(y, return_inverse=True)
        train, validation = train_test_split(np.arange(len(y)), test_size=VALIDATION_SHARE, random_state=0)
        self.scaler_ = StandardScaler().fit(X)
        inputs = self._scaled(X)
        least = np.inf
        for parameters in self._parameters():
            model = xRFM(parameters, device=torch.device("cpu"), random_state=0, verbose=False)
            model.fit(inputs[train], target[train], inputs[validation], target[validation])
            loss = self._loss(model, inputs[validation], target[validation])
            if loss < least:
                least, self.model_ = loss, model
        return self

    def _parameters(self) -> Iterator[dict[str, Any]]:
        """Yield random settings within wide bounds."""
        random = np.random.default_rng(0)
        for _ in range(self.settings):
            kernel = {
                "kernel": "l2_high_dim",
                "bandwidth": float(np.exp(random.uniform(np.log(1), np.log(200)))),
                "exponent": float(random.uniform(0.7, 1.4)),
                "diag": bool(random.integers(2)),
                "bandwidth_mode": "constant",
            }
            ridge = float(np.exp(random.uniform(np.log(1e-6), np.log(1))))
            yield {"model": kernel, "fit": {"reg": ridge, "iters": 5, "return_best_params": True}}

    def _loss(self, model: Any, X: NDArray[Any], y: NDArray[Any]) -> float:
        """Return the mean squared error, of the probabilities for classes."""
        if self.task == "numbers":
            return float(np.mean((np.ravel(model.predict(X)) - y) ** 2))
        return float(np.mean((model.predict_proba(X) - np.eye(len(self.classes_))[y]) ** 2))

    def predict(self, X: NDArray[Any]) -> NDArray[Any]:
        """Return the classes or the numbers."""
        found = np.ravel(self.model_.predict(self._scaled(X)))
        return np.asarray(self.classes_[found.astype(int)] if self.task == "classes" else found)

    @available_if(lambda self: self.task == "classes")
    def predict_proba(self, X: NDArray[Any]) -> NDArray[Any]:
        """Return the probabilities, which add up to one only to the digits of single precision as they come."""
        found = np.asarray(self.model_.predict_proba(self._scaled(X)), dtype=float)
        return np.asarray(found / found.sum(axis=1, keepdims=True))

    def _scaled(self, X: NDArray[Any]) -> NDArray[Any]:
        return np.asarray(self.scaler_.transform(X), dtype=np.float32)
