"""Rows set aside while a search runs, and what a machine costs on them."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import train_test_split

from foldless.core.targets import class_index, is_pm1
from foldless.kernels import gram


def set_aside(Y, share, seed):
    """Return the rows to train on and those held out, stratified if the targets ``Y`` (n, k) are classes."""
    return split_rows(len(Y), share, seed, class_index(Y) if is_pm1(Y) else None)


def split_rows(
    n: int, share: float, seed: int, classes: NDArray[Any] | None = None
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return the numbers of the rows to train on and of a share to hold out, stratified by ``classes`` if given."""
    train, test = train_test_split(np.arange(n), test_size=share, random_state=seed, stratify=classes)
    return train, test


def held_out_cost(problem, theta, X, Y):
    """Return the mean logistic loss of classes, or the mean squared error, of the machine at ``theta`` on other rows."""
    kernel, _, solution = problem.solve(theta)
    points, beta = problem.builder.expansion(solution.gram, solution.alpha.reshape(-1, Y.shape[1]))
    outputs = gram(kernel, X, points) @ beta + solution.b
    losses = np.logaddexp(0, -Y * outputs) if is_pm1(Y) else (Y - outputs) ** 2
    return float(np.mean(losses))


def improvements(steps):
    """Return the steps that were better than all before them."""
    best, found = np.inf, []
    for step in steps:
        if step.value < best:
            best = step.value
            found.append(step)
    return found
