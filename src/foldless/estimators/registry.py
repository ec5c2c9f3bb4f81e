"""The machines that a user can name: their estimators, tasks and titles, for the command line, reports and ``compare``.

``AUTOMATIC`` holds the estimators that choose the machine themselves; what they choose is one of ``MACHINES``.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from foldless.core.errors import UnknownName
from foldless.estimators import (
    KernelClassifier,
    KernelLogisticRegression,
    KernelLSSVC,
    KernelPoissonRegressor,
    KernelRegressor,
    KernelRidgeRegressor,
    KernelSubsetRegressor,
    KernelSVC,
)
from foldless.estimators.base import BaseKernelEstimator
from foldless.estimators.choice import BaseDefault
from foldless.estimators.poisson import rates

TASKS = ("classification", "regression")


@dataclass(frozen=True)
class Entry:
    """One machine.

    Attributes
    ----------
    estimator : type
    task : str
        One of ``TASKS``.
    title : str
        Its name in a sentence.
    inverse_link : callable
        Turns outputs of a regressor into predicted numbers.
    """

    estimator: type[BaseKernelEstimator]
    task: str
    title: str
    inverse_link: Callable[[Any], np.ndarray] = np.asarray


MACHINES = {
    "logistic": Entry(KernelLogisticRegression, "classification", "kernel logistic regression"),
    "svc": Entry(KernelSVC, "classification", "support vector machine"),
    "lssvc": Entry(KernelLSSVC, "classification", "least-squares support vector machine"),
    "ridge": Entry(KernelRidgeRegressor, "regression", "kernel ridge regression"),
    "subset": Entry(KernelSubsetRegressor, "regression", "kernel regression on a subset of the rows"),
    "poisson": Entry(KernelPoissonRegressor, "regression", "kernel Poisson regression", rates),
}
AUTOMATIC: dict[str, type[BaseDefault]] = {"classification": KernelClassifier, "regression": KernelRegressor}
DEFAULT_MACHINES = {"classification": "logistic", "regression": "ridge"}


def look_up(name: str | None, task: str) -> Entry:
    """Return the entry called ``name``, or the default one for ``task`` if it is None.

    Raises
    ------
    UnknownName
        If there is no such machine, or it does not do ``task``; the message lists those that do.
    """
    name = DEFAULT_MACHINES[task] if name is None else name
    suitable = {other: entry for other, entry in MACHINES.items() if entry.task == task}
    if name not in suitable:
        raise UnknownName(f"--machine (for {task})", name, [*suitable, "auto"])
    return suitable[name]


def entry_of(estimator: BaseKernelEstimator) -> Entry:
    """Return the entry of an estimator."""
    return MACHINES[name_of(estimator)]


def name_of(estimator: BaseKernelEstimator) -> str:
    """Return the name of an estimator in the table."""
    for name, entry in MACHINES.items():
        if entry.estimator is type(estimator):
            return name
    known = (entry.estimator.__name__ for entry in MACHINES.values())
    raise UnknownName("estimator", type(estimator).__name__, known)
