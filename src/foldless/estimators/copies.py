r"""Copies of rows: one observation that stands several times in a table, or that has a weight above 1.

To leave out one of several copies tells nothing, since the others know its target: the criterion would choose a fit that
repeats the targets, noise and all. Copies are therefore fitted as one row with their total weight, and left out together.
A table of few categories is another matter: there two observations may well agree in everything, and each is evidence for new ones
that agree with them. Equal rows are taken for copies if such agreement is no chance,

* because some column, or the target, hardly repeats but in these rows, or because ten times as many pairs agree as would if the columns were independent,

.. math:: \frac{N (N - 1)}{2} \prod_j \sum_v p_{jv}^2  \tag{1}

for N rows, of which a share :math:`p_{jv}` has the value v in column j; and if

* rows that agree in all inputs hardly ever differ in a target of few values.
"""

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from foldless.core.contracts import Matrix, Vector
from foldless.core.targets import MIN_ROWS

Rows = NDArray[np.intp]

# A column hardly repeats if its distinct values are so many, and such a share of the distinct rows.
MANY_VALUES, MANY_VALUES_SHARE = 10, 0.25
# How many times as many pairs agree in everything as by chance.
CHANCE_FACTOR = 10.0
# Share of the groups of rows with equal inputs in which targets differ, from which on equal rows are observations.
MIXED_SHARE = 0.02
# Distinct rows whose values are counted.
COUNTED_ROWS = 2000
# Random directions that tell rows apart.
N_DIRECTIONS = 4
# A column whose values are all below this is not scaled: its inverse would be infinite.
SMALLEST = 1e-300


class FittedRows(NamedTuple):
    """The rows that are fitted.

    Attributes
    ----------
    numbers : array of shape (n,)
        Numbers of the rows of the table whose weight is positive.
    first : array of shape (m,)
        Places among these of the rows that are fitted, of copies the first; in another order if there are copies.
    place : array of shape (n,) or None
        Place of every row among those that are fitted; None if there are no copies.
    weight : array of shape (m,)
        Total weight of the copies.
    counts : array of shape (m,) or None
        How many observations each stands for, of which one is left out while the others stay; None if all copies are one observation.
    """

    numbers: Rows
    first: Rows
    place: Rows | None
    weight: Vector
    counts: Vector | None

    @property
    def rows(self) -> Rows:
        """Numbers of the rows that are fitted."""
        return self.numbers[self.first]


def fitted_rows(X: Any, Y: Matrix, weight: Vector) -> FittedRows:
    """Return which rows of a table are fitted, with the weight of their copies.

    Parameters
    ----------
    X : array or sparse matrix of shape (n, d)
    Y : array of shape (n, k)
        Targets.
    weight : array of shape (n,)
        Positive weights.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X, y = rng.normal(size=(20, 2)), rng.normal(size=(20, 1))
    >>> rows = np.r_[0:20, 3]
    >>> found = fitted_rows(X[rows], y[rows], np.ones(21))
    >>> len(found.first), found.weight[found.place[20]], found.place[20] == found.place[3]
    (20, np.float64(2.0), np.True_)
    """
    everyone = np.arange(len(weight))
    all_are_fitted = FittedRows(everyone, everyone, None, weight, weight)
    inputs = _equal_rows(X)
    if inputs is None and np.max(weight) <= 1:
        return all_are_fitted
    inputs = everyone if inputs is None else inputs
    first, place, n_equal = _groups(np.column_stack([inputs, *(_codes(column) for column in Y.T)]))
    total = np.bincount(place, weight).astype(float)
    n_copies = np.maximum(n_equal, total)
    if len(first) < MIN_ROWS or not np.any(n_copies > 1):
        return all_are_fitted
    # In an order that is that of the values, so that a weight of 2 is to the last bit the row twice, wherever it stands.
    order = np.lexsort((*Y[first].T, _projected(X[first], 1)[:, 0]))
    first, total, n_copies = first[order], total[order], n_copies[order]
    if not _are_copies(X[first], Y[first], inputs[first], n_copies):
        return all_are_fitted
    return FittedRows(everyone, first, np.argsort(order)[place], total, None)


def without_copies(
    X: Any, y: np.ndarray, weight: Vector | None, pairwise: bool = False
) -> tuple[Any, np.ndarray, Vector | None, FittedRows]:
    """Return points, targets and weights of the rows that are fitted, and which these are.

    Parameters
    ----------
    X : array or sparse matrix of shape (n, d)
        Or a Gram matrix (n, n), if ``pairwise``.
    y : array of shape (n,) or (n, k)
        Targets: numbers or labels.
    weight : array of shape (n,) or None
    pairwise : bool
    """
    numbers = np.arange(len(y)) if weight is None else np.flatnonzero(weight > 0)
    kept = np.ones(len(y)) if weight is None else weight[numbers]
    targets = y[numbers].reshape(len(numbers), -1)
    codes = np.column_stack([_codes(column) for column in targets.T]).astype(float)
    found = fitted_rows(X[numbers], codes, kept)._replace(numbers=numbers)
    rows = found.rows
    if len(rows) == len(y):
        return X, y, weight, found
    weightless = weight is None and found.place is None
    return X[rows][:, rows] if pairwise else X[rows], y[rows], None if weightless else found.weight, found


def _are_copies(X: Any, Y: Matrix, inputs: Rows, n_copies: Vector) -> bool:
    """Return whether agreement in all columns is no chance, and rows of equal inputs have equal targets.

    Parameters
    ----------
    X, Y : arrays of shape (m, d) and (m, k)
        The distinct rows.
    inputs : array of shape (m,)
        The same number for rows of equal inputs.
    n_copies : array of shape (m,)
        How often each occurs.
    """
    rows = np.linspace(0, len(Y) - 1, min(len(Y), COUNTED_ROWS)).astype(np.intp)
    columns, few = [_values(X[rows], n_copies[rows]), _values(Y[rows], n_copies[rows])], len(rows)
    hardly_repeats = [np.any(found.n >= max(MANY_VALUES, MANY_VALUES_SHARE * few)) for found in columns]
    if not hardly_repeats[1] and _mixed_share(inputs, n_copies) > MIXED_SHARE:
        return False
    if any(hardly_repeats):
        return True
    n_rows = n_copies.sum()
    log_pairs = np.log(np.sum(n_copies * np.maximum(n_copies - 1, 0)))
    by_chance = np.log(n_rows * (n_rows - 1)) + sum(np.sum(np.log(found.agreement)) for found in columns)
    return bool(log_pairs > by_chance + np.log(CHANCE_FACTOR))


def _mixed_share(inputs: Rows, n_copies: Vector) -> float:
    """Return the share of the groups of several rows with equal inputs that have different targets."""
    _, group = np.unique(inputs, return_inverse=True)
    several = np.bincount(group, n_copies) > 1
    return float(np.mean((np.bincount(group) > 1)[several]))


class _Values(NamedTuple):
    """Of every column the number of distinct values, and the share of pairs of rows that agree in it."""

    n: NDArray[np.intp]
    agreement: Vector


def _values(columns: Any, n_copies: Vector) -> _Values:
    stored, share = sp.csc_array(columns), n_copies / n_copies.sum()
    stored.eliminate_zeros()
    entries, d = stored.tocoo(), columns.shape[1]
    order = np.lexsort((entries.data, entries.col))
    column, value = entries.col[order], entries.data[order]
    is_new = np.ones(len(order), dtype=bool)
    is_new[1:] = (column[1:] != column[:-1]) | (value[1:] != value[:-1])
    of_values = np.bincount(np.cumsum(is_new) - 1, share[entries.row[order]])
    # Zeros are not stored.
    has_zeros = np.bincount(column, minlength=d) < len(share)
    of_zeros = np.where(has_zeros, 1 - np.bincount(entries.col, share[entries.row], minlength=d), 0.0)
    n = np.bincount(column[is_new], minlength=d) + has_zeros
    return _Values(n, np.bincount(column[is_new], of_values**2, minlength=d) + of_zeros**2)


def _codes(column: NDArray[Any]) -> Rows:
    return np.unique(column, return_inverse=True)[1]


def _equal_rows(X: Any) -> Rows | None:
    """Return the same number (n,) for equal rows; None if there are none."""
    one = np.sort(_projected(X, 1)[:, 0])
    if np.all(one[1:] > one[:-1]):
        return None
    first, place, _ = _groups(_projected(X, N_DIRECTIONS))
    # A projection loses what is far below the largest value of a column.
    differs = np.asarray((X[first[place]] != X).sum(axis=1)).ravel() > 0
    place[differs] = len(first) + np.arange(np.sum(differs))
    return place if len(np.unique(place)) < len(place) else None


def _projected(X: Any, n_directions: int) -> Matrix:
    """Return the rows along random directions, computed in the same way for each, so that equal rows stay equal to the bit."""
    largest = abs(X).max(axis=0)
    largest = np.asarray(largest.todense() if sp.issparse(X) else largest).ravel()
    directions = np.random.default_rng(0).normal(size=(X.shape[1], n_directions))
    directions /= np.where(largest > SMALLEST, largest, 1.0)[:, None]
    if sp.issparse(X):
        return np.asarray(X @ directions)
    found = np.zeros((X.shape[0], n_directions))
    for column, direction in zip(X.T, directions):
        found += np.multiply.outer(column, direction)
    return found


def _groups(keys: NDArray[Any]) -> tuple[Rows, Rows, Rows]:
    """Return the first row of each group of equal rows of ``keys`` in the order of the table, the group of every row, and their sizes."""
    rows = np.ascontiguousarray(keys)
    whole = rows.view(np.dtype((np.void, rows.dtype.itemsize * rows.shape[1]))).ravel()
    _, first, place, sizes = np.unique(whole, return_index=True, return_inverse=True, return_counts=True)
    order = np.argsort(first)
    return first[order], np.argsort(order)[place], sizes[order]
