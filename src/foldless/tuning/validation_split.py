"""Rows held out of a search, the loss of a machine on them, and early stopping by it."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.gaussian_process.kernels import Kernel
from sklearn.model_selection import train_test_split

from foldless.core.contracts import Matrix, Step, Vector
from foldless.core.targets import class_index, is_pm1
from foldless.kernels.precomputed import is_precomputed
from foldless.machines.coefficients import expand
from foldless.tuning.candidate import CandidateTuner
from foldless.tuning.fit_after import selection_of, with_penalty
from foldless.tuning.objective import Objective
from foldless.tuning.result import Selection

Rows = NDArray[np.intp]


def tune_with_early_stopping(tuner: CandidateTuner, kernel: Kernel, number: int = 0) -> Selection:
    """Search on part of the rows, then fit all rows at the step that is best on the other part.

    Parameters
    ----------
    tuner : CandidateTuner
        Its search has a fraction ``validation`` of the rows to hold out.
    kernel : Kernel
    number : int
        Position among the candidates.
    """
    if is_precomputed(kernel):
        raise ValueError("early stopping needs points, not a precomputed Gram matrix.")
    search, X, Y = tuner.search, tuner.X, tuner.Y
    train, test = set_aside(Y, search.validation or 0.0, search.seed)
    part = replace(
        tuner,
        X=X[train],
        Y=Y[train],
        machine=tuner.machine.on_rows(train),
        search=search.without_early_stopping,
    )
    on_part = part.tune(kernel, number)
    best = min(
        improvements(on_part.steps_on_last_rows),
        key=lambda step: held_out_cost(on_part.objective, step.theta, X[test], Y[test]),
    )
    problem = tuner.problem
    form = with_penalty(problem, tuner.last_fit.fit(*problem.at(kernel, best.theta)))
    outcome = replace(on_part.outcome, best=best, optima=(best,))
    return selection_of(problem, kernel, form, outcome, on_part.steps_on_last_rows)


def set_aside(Y: Matrix, fraction: float, seed: int) -> tuple[Rows, Rows]:
    """Return the rows to train on and those held out, stratified if the targets ``Y`` (n, k) are classes."""
    return split_rows(len(Y), fraction, seed, class_index(Y) if is_pm1(Y) else None)


def split_rows(n: int, fraction: float, seed: int, classes: NDArray[Any] | None = None) -> tuple[Rows, Rows]:
    """Return the numbers of the rows to train on and of those held out, stratified by ``classes`` if given."""
    train, test = train_test_split(np.arange(n), test_size=fraction, random_state=seed, stratify=classes)
    return train, test


def held_out_cost(objective: Objective, theta: Vector, X: Any, Y: Matrix) -> float:
    """Return the mean logistic loss for classes, or the mean squared error, of the machine at ``theta`` on other rows."""
    kernel, _, solution = objective.solve(theta)
    outputs = expand(objective.builder, solution)(kernel, X)
    losses = np.logaddexp(0, -Y * outputs) if is_pm1(Y) else (Y - outputs) ** 2
    return float(np.mean(losses))


def improvements(steps: Iterable[Step]) -> list[Step]:
    """Return the steps that were better than all before them."""
    best, found = np.inf, []
    for step in steps:
        if step.value < best:
            best = step.value
            found.append(step)
    return found
