"""Rows set aside while a search runs, and what a machine costs on them."""

import numpy as np
from sklearn.model_selection import train_test_split

from foldless.core.targets import class_index, is_pm1
from foldless.kernels import gram


def set_aside(Y, share, seed):
    """Return the rows to train on and those held out, stratified if the targets ``Y`` (n, k) are classes."""
    classes = class_index(Y) if is_pm1(Y) else None
    return train_test_split(np.arange(len(Y)), test_size=share, random_state=seed, stratify=classes)


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
