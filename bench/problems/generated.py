"""Generated problems: any number of rows, the number of the split as seed."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bench.problems.base import Problem, Split
from foldless.datasets import make_banana, make_ringnorm, make_ripley, make_twonorm

TEST_ROWS = 3000
Rows = tuple[NDArray[Any], NDArray[Any]]


@dataclass(frozen=True)
class GeneratedProblem(Problem):
    """Rows of a generator ``make(n, seed)``."""

    make: Callable[[int, int], Rows]
    usual_rows: int = 400

    def split(self, number: int, rows: int | None = None) -> Split:
        """Return one split; the test rows come from the same generator."""
        n = rows or self.usual_rows
        X, y = self.make(n + TEST_ROWS, number)
        return Split(X[:n], y[:n], X[n:], y[n:], number)


@dataclass(frozen=True)
class NoisyFunction(Problem):
    """Numbers: a function of normal inputs plus normal noise; the test rows have none, so the error is that of the function."""

    function: Callable[[NDArray[Any]], NDArray[Any]]
    n_inputs: int
    noise: float
    usual_rows: int = 500

    def split(self, number: int, rows: int | None = None) -> Split:
        """Return one split."""
        rng, n = np.random.default_rng(number), rows or self.usual_rows
        X, X_test = rng.normal(size=(n, self.n_inputs)), rng.normal(size=(TEST_ROWS, self.n_inputs))
        y = self.function(X) + self.noise * rng.normal(size=n)
        return Split(X, y, X_test, self.function(X_test), number)


def smooth(X: NDArray[Any]) -> NDArray[Any]:
    """Return sin(2 x0) + sin(x0) x1 + x_last / 2, without the products if there is one input."""
    product = np.sin(X[:, 0]) * X[:, 1] if X.shape[1] > 1 else 0.0
    return np.sin(2 * X[:, 0]) + product + X[:, -1] / 2


def four_inputs(X: NDArray[Any]) -> NDArray[Any]:
    """Return a function of the first four inputs, however many there are."""
    return np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.5 * X[:, 3]


def make_noisy(n: int, seed: int) -> Rows:
    """Two classes in the plane with a curved border and noise on it."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    return X, (np.sin(2 * X[:, 0]) + X[:, 1] + 0.7 * rng.normal(size=n) > 0).astype(int)


def make_checkerboard(n: int, seed: int) -> Rows:
    """Squares in two of four inputs, uniform on [-2, 2]; one label in twenty is flipped."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-2, 2, size=(n, 4))
    y = np.floor(1.5 * X[:, :2]).sum(axis=1).astype(int) % 2
    return X, np.where(rng.random(n) < 0.05, 1 - y, y)


def make_collisions(n: int, seed: int) -> Rows:
    """Eighteen numbers of a collision: momenta, rapidities and angles of two particles, what is missing, and ten numbers made of them.

    In one class, 46 of 100, momenta are a little larger, half of the pairs have masses about a broad peak, and what is missing tends to
    point against the sum of both.
    """
    rng = np.random.default_rng(seed)
    y = (rng.random(n) < 0.46).astype(int)
    p = rng.gamma(2.0, (1 + 0.35 * y)[:, None], size=(n, 3))
    eta = rng.normal(size=(n, 2)) * (1.1 - 0.2 * y)[:, None]
    phi = rng.uniform(-np.pi, np.pi, size=(n, 3))
    opening = np.maximum(np.cosh(eta[:, 0] - eta[:, 1]) - np.cos(phi[:, 0] - phi[:, 1]), 1e-6)
    peaked = rng.gamma(9.0, 0.4, size=n) / np.sqrt(2 * p[:, 0] * p[:, 1] * opening)
    p[:, :2] *= np.where(rng.random(n) < 0.5 * y, peaked, 1.0)[:, None]
    against = np.angle(-p[:, 0] * np.exp(1j * phi[:, 0]) - p[:, 1] * np.exp(1j * phi[:, 1]))
    phi[:, 2] = np.where(rng.random(n) < 0.3 + 0.4 * y, against + 0.5 * rng.normal(size=n), phi[:, 2])
    between = np.cos(phi[:, [0, 0, 1]] - phi[:, [1, 2, 2]])
    pairs = p[:, [0, 0, 1]] * p[:, [1, 2, 2]]
    mass = np.sqrt(2 * pairs[:, 0] * opening)
    transverse = np.sqrt(2 * pairs[:, 1:] * (1 - between[:, 1:]))
    total = np.abs(np.sum(p * np.exp(1j * phi), axis=1))
    ratio, steep = p[:, 2] / p.sum(axis=1), np.abs(eta[:, 0] - eta[:, 1])
    return np.column_stack([p, eta, phi, between, mass, transverse, total, ratio, steep, p.sum(axis=1)]), y


def make_ten_classes(n: int, seed: int) -> Rows:
    """Ten overlapping clouds in eight inputs; the centres are always the same."""
    rng, centres = np.random.default_rng(seed), 1.5 * np.random.default_rng(0).normal(size=(10, 8))
    y = rng.integers(10, size=n)
    return centres[y] + rng.normal(size=(n, 8)), y


def make_five_inputs(n: int, seed: int) -> Rows:
    """Numbers: a function of four of five normal inputs plus normal noise, in training and test rows alike."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 5))
    return X, X[:, 0] + np.sin(2 * X[:, 1]) + 0.5 * X[:, 2] * X[:, 3] + 0.5 * rng.normal(size=n)


GENERATED: dict[str, Problem] = {
    problem.name: problem
    for problem in (
        GeneratedProblem("ripley", "classes", lambda n, seed: make_ripley(n, random_state=seed), 250),
        GeneratedProblem("banana", "classes", lambda n, seed: make_banana(n, random_state=seed)),
        GeneratedProblem("twonorm", "classes", lambda n, seed: make_twonorm(n, random_state=seed)),
        GeneratedProblem("ringnorm", "classes", lambda n, seed: make_ringnorm(n, random_state=seed)),
        GeneratedProblem("noisy", "classes", make_noisy),
        GeneratedProblem("checkerboard", "classes", make_checkerboard),
        GeneratedProblem("collisions", "classes", make_collisions),
        GeneratedProblem("ten-classes", "classes", make_ten_classes),
        *(NoisyFunction(f"smooth-{d}", "numbers", smooth, d, 0.3) for d in (1, 2, 3, 8)),
        GeneratedProblem("five-inputs", "numbers", make_five_inputs, 120),
        NoisyFunction("four-of-twenty", "numbers", four_inputs, 20, 0.2),
    )
}
