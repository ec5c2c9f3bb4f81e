"""Several fitted estimators that predict as one."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator

from foldless.core.contracts import Outcome, Step, Vector
from foldless.core.targets import class_index

# An optimum worse than the best by this fraction of the best value weighs 1 / e.
WEIGHT_DECAY_FRACTION = 0.1


def criterion_weights(values: ArrayLike) -> Vector:
    """Return weights that sum to one and fall with how much worse a criterion is than the best.

    Examples
    --------
    >>> criterion_weights([2.0, 2.0]).tolist()
    [0.5, 0.5]
    """
    values = np.asarray(values, dtype=float)
    best = values.min()
    w = np.exp(-(values - best) / (WEIGHT_DECAY_FRACTION * max(abs(best), np.finfo(float).tiny)))
    return w / w.sum()


def members_and_weights(outcome: Outcome) -> tuple[Sequence[Step], Vector]:
    """Return draws with equal weights if the search has drawn any, else the local optima weighted by value."""
    if outcome.draws:
        return outcome.draws, np.full(len(outcome.draws), 1 / len(outcome.draws))
    return outcome.optima, criterion_weights([step.value for step in outcome.optima])


@dataclass(frozen=True, eq=False)
class Ensemble:
    """Weighted mean of fitted estimators.

    Probabilities are averaged where all members have them, else decision values, else predicted numbers.

    Parameters
    ----------
    members : tuple of fitted estimators
    weights : array of shape (len(members),)
    """

    members: tuple[BaseEstimator, ...]
    weights: Vector

    @property
    def classes_(self) -> np.ndarray:
        """Class labels."""
        return self.members[0].classes_

    def _mean(self, method: str, X: Any) -> np.ndarray:
        return np.tensordot(self.weights, [getattr(member, method)(X) for member in self.members], axes=1)

    def predict_proba(self, X: Any) -> np.ndarray:
        """Mean probabilities."""
        return self._mean("predict_proba", X)

    def decision_function(self, X: Any) -> np.ndarray:
        """Mean decision values."""
        return self._mean("decision_function", X)

    def predict(self, X: Any) -> np.ndarray:
        """The class of the largest mean, or the mean prediction of regressors."""
        if not hasattr(self.members[0], "classes_"):
            return self._mean("predict", X)
        if hasattr(self.members[0], "predict_proba"):
            return self.classes_[np.argmax(self.predict_proba(X), axis=1)]
        outputs = self.decision_function(X)
        return self.classes_[class_index(outputs.reshape(len(outputs), -1))]
