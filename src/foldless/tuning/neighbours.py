r"""Nearest neighbours: what no fit should be worse than.

A search sees some rows at a time, and only structure that so many rows show. Finer structure, as of a checkerboard of many
squares, is there all the same where all rows lie as densely as they do: the rows nearest to one that is left out foretell its
label. Neighbours need no parameters, so that they cannot be misled, and a fit whose left-out rows are predicted worse has missed
something. Distances are those of the kernel,

.. math:: d^2(x, x') = K(x, x) + K(x', x') - 2 K(x, x').  \tag{1}
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from sklearn.gaussian_process.kernels import Kernel

from foldless.core.contracts import Machine, Matrix, Vector
from foldless.core.gram import Rows
from foldless.core.parallel import side_by_side
from foldless.core.standard_error import mean_and_error
from foldless.core.targets import class_index, is_pm1
from foldless.kernels import gram
from foldless.kernels.evaluate import diagonal
from foldless.kernels.precomputed import is_precomputed
from foldless.machines.smooth import SmoothMachine

# Rows whose neighbours are looked up: as many as take this number of distances, within bounds.
MAX_DISTANCES, LEAST_ROWS, MOST_ROWS = 1e7, 50, 500
# With fewer rows of a class than this the spread of their errors is not known.
SPREAD_MIN_ROWS = 5
# Distances that are in memory at a time.
DISTANCES_AT_A_TIME = 5e5
# Predictions are means over so many neighbours; the number that is best counts.
NUMBERS_OF_NEIGHBOURS = (1, 5, 15)
# Neighbours are better if the difference exceeds so many standard errors: the best of three numbers, at every fit.
MIN_STANDARD_ERRORS = 3.0


@dataclass(frozen=True, eq=False)
class Neighbours:
    """What the neighbours of some rows foretell of these rows.

    Attributes
    ----------
    rows : array of shape (m,)
        Drawn at random within every class, more than their share from rare ones.
    errors : array of shape (m,)
        1 or 0 for a class that is wrong or right, squared errors of numbers; times the weight of the row.
    weights : array of shape (m,)
        Weights of the rows in the machine's loss, of mean 1 over all rows.
    shares : list of pairs of an array and a float
        The places of the rows of every class, and the share of the class in all rows; for numbers those of all rows, and 1.
    """

    rows: Rows
    errors: Vector
    weights: Vector
    shares: Sequence[tuple[Rows, float]]

    @classmethod
    def of(
        cls, kernel: Kernel, X: Any, Y: Matrix, machine: Machine, seed: Any, among: Rows | None = None
    ) -> "Neighbours | None":
        """Look up the neighbours of some rows, drawn at random; None for outputs that are no predictions of ``Y``.

        Parameters
        ----------
        kernel : Kernel
            Its distances count, see eq. (1).
        X : array or sparse matrix of shape (n, d)
        Y : array of shape (n, k)
        machine : Machine
        seed : int
        among : array of shape (m,), optional
            Rows among which the rows are drawn; by default all.
        """
        if isinstance(machine, SmoothMachine) and not machine.loss.labels:
            return None
        n = len(Y)
        if n <= SPREAD_MIN_ROWS:
            return None
        n_asked = int(np.clip(MAX_DISTANCES / n, LEAST_ROWS, MOST_ROWS))
        rows, shares = _drawn(
            Y, np.random.default_rng(seed).permutation(n if among is None else among), n_asked
        )
        # Of several equal rows, which are kept as one, one is left out and the others stay.
        stays = np.zeros(n, bool) if machine.row_counts is None else np.asarray(machine.row_counts) > 1
        most = min(max(NUMBERS_OF_NEIGHBOURS), n - 1)
        near = nearest(kernel, X, rows, most, stays)
        weights = np.ones(n) if machine.loss_weights is None else np.asarray(machine.loss_weights, float)
        weights = weights / np.mean(weights)

        def with_number(k: int) -> "Neighbours":
            chosen = near[:, :k]
            shares_of_each = weights[chosen] / np.sum(weights[chosen], axis=1, keepdims=True)
            predicted = np.einsum("ij,ijk->ik", shares_of_each, Y[chosen])
            errors = weights[rows] * prediction_errors(Y[rows], predicted)
            return cls(rows, errors, weights[rows], shares)

        found = [with_number(k) for k in NUMBERS_OF_NEIGHBOURS if k <= most]
        return min(found, key=lambda one: one.mean(one.errors))

    def are_better(self, Y: Matrix, left_out: Matrix) -> bool:
        """Return whether they are right more often, or closer, than left-out outputs (n, k) of a fit."""
        gains = self.errors_of_fit(Y, left_out) - self.errors
        doubts = [
            share * (mean_and_error(gains[own])[1] if len(own) >= SPREAD_MIN_ROWS else len(own) ** -0.5)
            for own, share in self.shares
        ]
        # The root of the sum of squares, none of which may overflow.
        return self.mean(gains) > MIN_STANDARD_ERRORS * float(np.hypot.reduce(doubts))

    def mean(self, errors: Vector) -> float:
        """Return the mean of errors of the rows (m,) as it would be over all rows."""
        return float(sum(share * np.mean(errors[own]) for own, share in self.shares))

    def errors_of_fit(self, Y: Matrix, left_out: Matrix) -> Vector:
        """Return the errors of left-out outputs (n, k) of a fit for the same rows, times their weights; at most those of a constant.

        Without a row its class is rarer, so that a fit which knows nothing else is wrong for every row that is left out.
        """
        own = self.weights * prediction_errors(Y[self.rows], left_out[self.rows])
        means = [np.average(Y[self.rows[places]], axis=0) * share for places, share in self.shares]
        weights = [np.mean(self.weights[places]) for places, _ in self.shares]
        constant = np.sum([w * mean for w, mean in zip(weights, means, strict=True)], axis=0)
        without = self.weights * prediction_errors(
            Y[self.rows], np.broadcast_to(constant, Y[self.rows].shape)
        )
        return min(own, without, key=self.mean)

    def missed(self, Y: Matrix, left_out: Matrix) -> Rows:
        """Return the rows at which a fit has a larger error."""
        return self.rows[self.errors_of_fit(Y, left_out) > self.errors]


def _drawn(Y: Matrix, order: Rows, n: int) -> tuple[Rows, list[tuple[Rows, float]]]:
    """Return about the first n rows in ``order``, and place and share of those of every class; see :class:`Neighbours`."""
    if not is_pm1(Y):
        rows = order[:n]
        return rows, [(np.arange(len(rows)), 1.0)]
    group = class_index(Y[order])
    classes, sizes = np.unique(group, return_counts=True)
    least = n / (2 * len(classes))
    parts = [
        order[group == one][: int(max(n * size / len(order), least, 1))]
        for one, size in zip(classes, sizes, strict=True)
    ]
    ends = np.cumsum([len(part) for part in parts])
    places = [np.arange(end - len(part), end) for part, end in zip(parts, ends, strict=True)]
    return np.concatenate(parts), list(zip(places, sizes / len(order), strict=True))


def prediction_errors(Y: Matrix, outputs: Matrix) -> Vector:
    """Return 1 for rows of the wrong class and 0 for others; for numbers the squared errors, the mean over columns."""
    if is_pm1(Y):
        return (class_index(outputs) != class_index(Y)).astype(float)
    return np.asarray(np.mean((Y - outputs) ** 2, axis=1))


def nearest(kernel: Kernel, X: Any, rows: Rows, n_neighbours: int, stays: Any = False) -> Rows:
    """Return the rows nearest to some rows (m, n_neighbours), the nearest first.

    Parameters
    ----------
    kernel : Kernel
    X : array or sparse matrix of shape (n, d)
        With a precomputed kernel the matrix.
    rows : array of shape (m,)
    n_neighbours : int
    stays : array of shape (n,), optional
        Whether a row is a neighbour of itself; by default none is.
    """
    n = X.shape[0]
    norms = np.diag(X) if is_precomputed(kernel) else diagonal(kernel, X)
    itself = np.broadcast_to(np.where(stays, 0.0, np.inf), n)

    def look_up(some: Rows) -> Rows:
        distances = X[some] if is_precomputed(kernel) else gram(kernel, X[some], X)
        distances = norms - 2 * distances
        distances[np.arange(len(some)), some] += itself[some]
        near = np.argpartition(distances, n_neighbours - 1, axis=1)[:, :n_neighbours]
        order = np.argsort(np.take_along_axis(distances, near, axis=1), axis=1, kind="stable")
        return np.take_along_axis(near, order, axis=1)

    return np.concatenate(side_by_side([partial(look_up, part) for part in _parts(rows, n)]))


def _parts(rows: Rows, n: int) -> Iterator[Rows]:
    step = max(1, int(DISTANCES_AT_A_TIME / n))
    return (rows[i : i + step] for i in range(0, len(rows), step))
