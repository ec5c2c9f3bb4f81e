"""Several fitted estimators that answer as one."""

from dataclasses import dataclass
from typing import Any

import numpy as np

DECAY = 0.1  # an optimum that is worse by this part of the best value weighs 1 / e


def weigh(values):
    """Return weights that sum to one, falling with how much worse a criterion is than the best.

    Examples
    --------
    >>> weigh([2.0, 2.0]).tolist()
    [0.5, 0.5]
    """
    values = np.asarray(values, dtype=float)
    best = values.min()
    w = np.exp(-(values - best) / (DECAY * max(abs(best), np.finfo(float).tiny)))
    return w / w.sum()


def votes(outcome):
    """Return the steps whose estimators answer together, and their weights: draws alike, or local optima by value."""
    if outcome.draws:
        return outcome.draws, np.full(len(outcome.draws), 1 / len(outcome.draws))
    return outcome.optima, weigh([step.value for step in outcome.optima])


@dataclass(frozen=True, eq=False)
class Ensemble:
    """Weighted mean of fitted estimators.

    Probabilities are averaged where all have them, else decision values, else predicted numbers.

    Parameters
    ----------
    members : tuple of fitted estimators
    weights : array of shape (len(members),)
    """

    members: tuple[Any, ...]
    weights: np.ndarray

    @property
    def classes_(self):
        """Class labels."""
        return self.members[0].classes_

    def _mean(self, method, X):
        return np.tensordot(self.weights, [getattr(member, method)(X) for member in self.members], axes=1)

    def predict_proba(self, X):
        """Mean probabilities."""
        return self._mean("predict_proba", X)

    def decision_function(self, X):
        """Mean decision values."""
        return self._mean("decision_function", X)

    def predict(self, X):
        """The class of the largest mean, or the mean prediction of regressors."""
        if not hasattr(self.members[0], "classes_"):
            return self._mean("predict", X)
        if hasattr(self.members[0], "predict_proba"):
            return self.classes_[np.argmax(self.predict_proba(X), axis=1)]
        outputs = self.decision_function(X)
        chosen = np.argmax(outputs, axis=1) if outputs.ndim == 2 else (outputs > 0).astype(int)
        return self.classes_[chosen]
