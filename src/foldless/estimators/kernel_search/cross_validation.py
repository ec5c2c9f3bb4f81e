"""The mean score over folds, for estimators that no criterion reads."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.base import BaseEstimator, clone, is_classifier
from sklearn.kernel_ridge import KernelRidge
from sklearn.model_selection import KFold, StratifiedKFold, cross_val_score
from sklearn.svm import SVC, SVR, NuSVC, NuSVR

from foldless.core.contracts import Evaluation, Vector
from foldless.core.errors import DataError
from foldless.estimators.kernel_search.param_space import ParamSpace, Range
from foldless.estimators.kernel_search.pipeline import PipelineParts

KERNEL_MACHINES = (SVC, NuSVC, SVR, NuSVR, KernelRidge)


@dataclass(frozen=True, eq=False)
class CrossValidatedScore:
    """Minus the mean score over folds as a function of theta; it has no gradient.

    Parameters
    ----------
    estimator : object
    names : tuple of str
        The parameters to tune, in the order of theta, which holds their logarithms. Whole numbers stay whole.
    X, y : arrays
    folds, seed : int
        Shuffled folds, stratified for a classifier; all evaluations use the same ones.
    fit_params : dict
        Passed on to ``fit``.
    """

    estimator: BaseEstimator
    names: tuple[str, ...]
    X: Any
    y: np.ndarray
    folds: int = 10
    seed: int = 0
    fit_params: dict[str, Any] = field(default_factory=dict)

    def params(self, theta: Vector) -> dict[str, Any]:
        """Return the parameters that ``theta`` stands for."""
        now = self.estimator.get_params()
        return {n: _of_same_type(now[n], float(np.exp(t))) for n, t in zip(self.names, theta, strict=True)}

    def __call__(self, theta: Vector, warm_start: Any = None) -> Evaluation:
        """Refit on all folds."""
        estimator = clone(self.estimator).set_params(**self.params(theta))
        splitter = StratifiedKFold if is_classifier(estimator) else KFold
        cv = splitter(self._n_folds(), shuffle=True, random_state=self.seed)
        scores = cross_val_score(
            estimator, self.X, self.y, cv=cv, params=self.fit_params, error_score="raise"
        )
        return Evaluation(-float(np.mean(scores)), parts={"std": float(np.std(scores))})

    def _n_folds(self) -> int:
        """Return the number of folds: each holds two rows for a score of numbers, or a row of each class."""
        counts = (
            np.unique(self.y, return_counts=True)[1] if is_classifier(self.estimator) else len(self.y) // 2
        )
        most = int(np.min(counts))
        if most < 2:
            raise DataError(
                "criterion='cv' needs at least two rows of each class, or four rows of numbers. Add rows."
            )
        return min(self.folds, most)


def _of_same_type(now: Any, value: float) -> float:
    """Round a value if the parameter is a whole number now."""
    whole = isinstance(now, (int, np.integer)) and not isinstance(now, bool)
    return max(1, round(value)) if whole else value


def check_points(parts: PipelineParts, X: Any, y: np.ndarray) -> None:
    """Raise one clear error if a kernel machine of scikit-learn would get something else than numbers.

    A kernel that is a function of the user's may take anything, and so may a machine that we do not know.
    """
    if isinstance(parts.machine, KERNEL_MACHINES) and not callable(parts.machine.kernel):
        parts.points(X, y)


def default_ranges(parts: PipelineParts, X: Any, y: np.ndarray) -> ParamSpace:
    """Return ranges for the numbers that scikit-learn's kernel machines share, under their names in the pipeline."""
    machine = parts.machine
    if not isinstance(machine, KERNEL_MACHINES):
        raise ValueError(
            f"criterion='cv' needs a param_space for {type(machine).__name__}: there is no default one."
        )
    X = parts.points(X, y)
    variance = float(np.var(X.data if issparse(X) else X)) or 1.0
    gamma = 1 / (X.shape[1] * variance)
    deviation = 1.0 if is_classifier(machine) else float(np.std(y)) or 1.0
    ranges = {
        "C": Range(1e-2, 1e4),
        "alpha": Range(1e-6, 1e2),
        "epsilon": Range(1e-3 * deviation, deviation),
        "gamma": Range(1e-2 * gamma, 1e2 * gamma),
    }
    fixed = {"gamma"} if machine.kernel in ("linear", "precomputed") else set()
    known = machine.get_params().keys() - fixed
    return parts.with_prefix({name: part for name, part in ranges.items() if name in known})
