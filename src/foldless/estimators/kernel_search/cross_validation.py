"""Honest folds around any estimator: what there is where no criterion does without."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.model_selection import KFold, StratifiedKFold, cross_val_score

from foldless.core.contracts import Evaluation
from foldless.estimators.kernel_search.param_space import Range


@dataclass(frozen=True, eq=False)
class Refits:
    """Minus the mean score over folds as a function of theta; it has no gradient.

    Parameters
    ----------
    estimator : object
    names : tuple of str
        Its parameters that move, in the order of theta: their logarithms. Whole numbers stay whole.
    X, y : arrays
    folds, seed : int
        Shuffled folds, stratified for a classifier, the same at every look.
    fit_params : dict
        Passed on to ``fit``.
    """

    estimator: Any
    names: tuple[str, ...]
    X: Any
    y: Any
    folds: int = 10
    seed: int = 0
    fit_params: dict = field(default_factory=dict)

    def params(self, theta):
        """Return the parameters that ``theta`` stands for."""
        now = self.estimator.get_params()
        return {n: _like(now[n], float(np.exp(t))) for n, t in zip(self.names, theta, strict=True)}

    def __call__(self, theta, carry=None):
        """Refit on all folds."""
        estimator = clone(self.estimator).set_params(**self.params(theta))
        splitter = StratifiedKFold if is_classifier(estimator) else KFold
        cv = splitter(self._count(), shuffle=True, random_state=self.seed)
        scores = cross_val_score(
            estimator, self.X, self.y, cv=cv, params=self.fit_params, error_score="raise"
        )
        return Evaluation(-float(np.mean(scores)), parts={"std": float(np.std(scores))})

    def _count(self):
        """No more folds than the smallest class has rows."""
        if not is_classifier(self.estimator):
            return min(self.folds, len(self.y))
        return max(2, min(self.folds, int(np.min(np.unique(self.y, return_counts=True)[1]))))


def _like(now, value):
    whole = isinstance(now, (int, np.integer)) and not isinstance(now, bool)
    return max(1, round(value)) if whole else value


def usual_space(estimator, X, y):
    """Return ranges for the parameters that kernel machines share, as far as ``estimator`` has them as numbers."""
    variance = float(np.var(X.data if hasattr(X, "tocsr") else X)) or 1.0
    gamma = 1 / (X.shape[1] * variance)
    spread = 1.0 if is_classifier(estimator) else float(np.std(y)) or 1.0
    ranges = {
        "C": Range(1e-2, 1e4),
        "alpha": Range(1e-6, 1e2),
        "epsilon": Range(1e-3 * spread, spread),
        "gamma": Range(1e-2 * gamma, 1e2 * gamma),
    }
    without = {"gamma"} if getattr(estimator, "kernel", "") in ("linear", "precomputed") else set()
    return {name: ranges[name] for name in ranges if name in estimator.get_params() and name not in without}
