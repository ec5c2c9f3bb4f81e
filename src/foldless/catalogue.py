"""The machines a user can name, one line each: what the command line offers and the report knows in words."""

from collections.abc import Callable
from dataclasses import dataclass

from foldless.errors import UnknownName
from foldless.estimators import KernelLogisticRegression
from foldless.estimators.logistic import probabilities


@dataclass(frozen=True)
class Entry:
    """One machine: estimator, what it is for, its name in a sentence, and outputs -> probabilities if it has any."""

    estimator: type
    task: str
    title: str
    probabilities: Callable | None = None


MACHINES = {
    "logistic": Entry(
        KernelLogisticRegression, "classification", "kernel logistic regression", probabilities
    ),
}
TASKS = ("classification", "regression")


def default_machine(task):
    """Name of the first machine of the table that does ``task``."""
    for name, entry in MACHINES.items():
        if entry.task == task:
            return name
    raise UnknownName("task", task, {entry.task for entry in MACHINES.values()})


def look_up(name, task):
    """Return the entry called ``name``, or the default one for ``task`` when it is None.

    Raises
    ------
    UnknownName
        If there is no such machine, or it does not do ``task``; the message lists those that do.
    """
    name = default_machine(task) if name is None else name
    if name not in MACHINES or MACHINES[name].task != task:
        fitting = [other for other, entry in MACHINES.items() if entry.task == task]
        raise UnknownName(f"--machine (for {task})", name, fitting)
    return MACHINES[name]


def entry_of(estimator):
    """Return the entry of a fitted estimator."""
    for entry in MACHINES.values():
        if entry.estimator is type(estimator):
            return entry
    raise UnknownName(
        "estimator", type(estimator).__name__, (e.estimator.__name__ for e in MACHINES.values())
    )
