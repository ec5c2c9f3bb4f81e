"""The machines a user can name, one line each: what the command line offers and the report knows in words."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from foldless.core.errors import UnknownName
from foldless.estimators import (
    KernelLogisticRegression,
    KernelLSSVC,
    KernelPoissonRegressor,
    KernelRidgeRegressor,
    KernelSubsetRegressor,
    KernelSVC,
)


@dataclass(frozen=True)
class Entry:
    """One machine: its estimator, what it is for, its name in a sentence, and how outputs become predicted numbers."""

    estimator: type
    task: str
    title: str
    respond: Callable = np.asarray  # of regressors: the identity, or the inverse link


MACHINES = {
    "logistic": Entry(KernelLogisticRegression, "classification", "kernel logistic regression"),
    "svc": Entry(KernelSVC, "classification", "support vector machine"),
    "lssvc": Entry(KernelLSSVC, "classification", "least-squares support vector machine"),
    "ridge": Entry(KernelRidgeRegressor, "regression", "kernel ridge regression"),
    "subset": Entry(KernelSubsetRegressor, "regression", "kernel regression on a subset of the rows"),
    "poisson": Entry(KernelPoissonRegressor, "regression", "kernel Poisson regression", np.exp),
}
USUAL = {"classification": "logistic", "regression": "ridge"}
TASKS = ("classification", "regression")


def look_up(name, task):
    """Return the entry called ``name``, or the usual one for ``task`` when it is None.

    Raises
    ------
    UnknownName
        If there is no such machine, or it does not do ``task``; the message lists those that do.
    """
    name = USUAL[task] if name is None else name
    if name not in MACHINES or MACHINES[name].task != task:
        fitting = [other for other, entry in MACHINES.items() if entry.task == task]
        raise UnknownName(f"--machine (for {task})", name, fitting)
    return MACHINES[name]


def entry_of(estimator):
    """Return the entry of an estimator."""
    return MACHINES[name_of(estimator)]


def name_of(estimator):
    """Return the name under which an estimator is in the table."""
    for name, entry in MACHINES.items():
        if entry.estimator is type(estimator):
            return name
    raise UnknownName(
        "estimator", type(estimator).__name__, (e.estimator.__name__ for e in MACHINES.values())
    )
