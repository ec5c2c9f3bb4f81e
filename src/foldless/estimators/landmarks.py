"""Checks of landmarks and sizes of cells that a user gives."""

from numbers import Integral
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils import check_array

from foldless.core.targets import MIN_ROWS
from foldless.estimators.columns import ColumnCodes, readable_columns

EXPECTED = "landmarks must be row numbers of X, or points with the columns of X"


def landmark_points(landmarks: Any, X: Any, codes: ColumnCodes | None = None) -> Any:
    """Return the points that are meant: the rows of ``X`` with these numbers, or the points themselves.

    Parameters
    ----------
    landmarks : array-like of shape (m,) or (m, d), or None
    X : array or sparse matrix of shape (n, d)
    codes : ColumnCodes, optional
        Turns the categories of a data frame into numbers.

    Examples
    --------
    >>> landmark_points([2, 0], np.array([[1.0], [2.0], [3.0]]))
    array([[1.],
           [3.]])
    """
    if landmarks is None:
        return None
    if isinstance(landmarks, str):
        raise ValueError(f"{EXPECTED}; got {landmarks!r}.")
    if not sp.issparse(landmarks) and np.ndim(landmarks) == 1:
        return X[row_numbers(np.asarray(landmarks), X.shape[0])]
    frame = readable_columns(landmarks if codes is None else codes.encode(landmarks))
    points = check_array(frame, accept_sparse="csr", dtype=np.float64, input_name="landmarks")
    if points.shape[1] != X.shape[1]:
        raise ValueError(f"{EXPECTED}: X has {X.shape[1]}, the landmarks have {points.shape[1]}.")
    return sp.csr_array(points) if sp.issparse(X) else points.toarray() if sp.issparse(points) else points


def row_numbers(rows: np.ndarray, n: int) -> np.ndarray:
    """Return the different row numbers in order, or raise if one of them is not a row."""
    if not (rows.size and np.issubdtype(rows.dtype, np.integer)):
        what = f"numbers of type {rows.dtype}" if rows.size else "an empty list"
        raise ValueError(f"{EXPECTED}; got {what}.")
    if rows.min() < 0 or rows.max() >= n:
        wrong = rows.min() if rows.min() < 0 else rows.max()
        raise ValueError(f"{EXPECTED}: X has the rows 0 to {n - 1}, got {wrong}.")
    return np.unique(rows)


def cell_rows(cell_size: Any) -> int | None:
    """Return the size of a cell, or raise if it is not a whole number that allows a fit."""
    if cell_size is None:
        return None
    if not isinstance(cell_size, Integral) or isinstance(cell_size, bool) or cell_size < MIN_ROWS:
        raise ValueError(
            f"cell_size must be a whole number of at least {MIN_ROWS} rows, or None to have it chosen; got {cell_size!r}."
        )
    return int(cell_size)
