"""A kernel on some of the columns; sums and products of such kernels make additive models and mixed tables."""

from collections.abc import Sequence
from difflib import get_close_matches
from typing import Any, TypeAlias

import numpy as np
from sklearn.base import clone
from sklearn.gaussian_process.kernels import Kernel

from foldless.core.contracts import Matrix
from foldless.kernels.input_map import InputMap
from foldless.kernels.pairs import Pairs

# A number or a name, a list of them, a slice, a boolean mask, or a callable that takes a data frame and returns names.
Selector: TypeAlias = Any
SHOWN_NAMES = 8


class Columns(InputMap):
    """Another kernel, applied to some of the columns.

    Parameters
    ----------
    kernel : Kernel
        Sees only the chosen columns, in the order in which they are named.
    columns : int, str, slice, list of int, list of str, boolean mask, or callable
        Which columns. Names, and callables such as ``sklearn.compose.make_column_selector(dtype_include="number")``,
        need a data frame: an estimator turns them into column numbers when it is fitted with one.

    Examples
    --------
    >>> from sklearn.gaussian_process.kernels import RBF
    >>> kernel = Columns(RBF(1.0), [0]) + Columns(RBF(1.0), [1])
    >>> kernel([[0.0, 0.0], [0.0, 9.0]]).round(4)
    array([[2., 1.],
           [1., 2.]])
    """

    def __init__(self, kernel: Kernel, columns: Selector) -> None:
        self.kernel = kernel
        self.columns = columns

    def __repr__(self) -> str:
        shown = self.columns.tolist() if isinstance(self.columns, np.ndarray) else self.columns
        return f"Columns({self.kernel!r}, {shown!r})"

    def changed(self, X: Matrix) -> Matrix:
        """Return the chosen columns."""
        return X[:, self.indices(X.shape[1])]

    def changed_pairs(self, pairs: Pairs) -> Pairs:
        """Return the pairs that the chosen columns make."""
        return pairs.on_columns(self.indices(pairs.X.shape[1]))

    def is_stationary(self) -> bool:
        """Return True if the kernel is stationary."""
        return self.kernel.is_stationary()

    def indices(self, n_columns: int) -> list[int]:
        """Return the numbers of the chosen columns out of ``n_columns``."""
        return column_indices(self.columns, range(n_columns))


def column_indices(
    columns: Selector, names: Sequence[Any], frame: Any = None, parameter: str = "columns"
) -> list[int]:
    """Return the numbers of the columns that a selector stands for.

    Parameters
    ----------
    columns : selector
    names : sequence
        All columns in order; numbers if they have no names.
    frame : data frame, optional
        What a callable is applied to.
    parameter : str, default="columns"
        What messages call the selector.

    Examples
    --------
    >>> column_indices(["bmi", "age"], ["age", "sex", "bmi"])
    [2, 0]
    >>> column_indices(slice(1, None), range(3)), column_indices([True, False, True], range(3))
    ([1, 2], [0, 2])
    """
    if callable(columns):
        columns = columns(_needed_frame(frame, parameter, "a callable"))
    if isinstance(columns, slice):
        chosen = list(range(len(names)))[columns]
    else:
        listed = [columns] if isinstance(columns, str | int | np.integer) else list(columns)
        chosen = _from_list(listed, names, parameter)
    if not chosen:
        raise ValueError(f"{parameter}={columns!r} selects none of the {len(names)} columns.")
    return chosen


def _from_list(listed: list[Any], names: Sequence[Any], parameter: str) -> list[int]:
    if listed and all(isinstance(one, bool | np.bool_) for one in listed):
        if len(listed) != len(names):
            raise ValueError(
                f"{parameter} is a mask of {len(listed)} columns, but X has {len(names)} columns."
            )
        return np.flatnonzero(listed).tolist()
    return [_index(one, names, parameter) for one in listed]


def _index(column: Any, names: Sequence[Any], parameter: str) -> int:
    """Return the number of one column, given by number or name."""
    n = len(names)
    if isinstance(column, int | np.integer) and not isinstance(column, bool | np.bool_):
        if not -n <= column < n:
            raise ValueError(f"{parameter} names column {column}, but X has {n} columns, numbered from 0.")
        return int(column) % n
    if not isinstance(column, str):
        raise TypeError(f"{parameter} must hold column numbers, names or a mask, got {column!r}.")
    if isinstance(names, range):
        _needed_frame(None, parameter, f"the name {column!r}")
    found = list(names)
    if column not in found:
        near = get_close_matches(column, [str(name) for name in found], n=1)
        more = ", ..." if n > SHOWN_NAMES else ""
        cure = f"Did you mean {near[0]!r}?" if near else f"It has {str(found[:SHOWN_NAMES])[1:-1]}{more}."
        raise ValueError(f"{parameter} names {column!r}, but X has no such column. {cure}")
    return found.index(column)


def _needed_frame(frame: Any, parameter: str, what: str) -> Any:
    if frame is None:
        raise ValueError(
            f"{parameter} holds {what}, which needs a data frame: fit the estimator with one, or give column numbers."
        )
    return frame


def bind_columns(kernel: Kernel, frame: Any) -> Kernel:
    """Return ``kernel`` with every :class:`Columns` in it reduced to column numbers of a data frame (or an array).

    Examples
    --------
    >>> import pandas as pd
    >>> from sklearn.gaussian_process.kernels import RBF, ConstantKernel
    >>> frame = pd.DataFrame({"age": [30.0], "bmi": [24.0]})
    >>> bind_columns(1.0 * Columns(RBF(2.0), "bmi"), frame).k2
    Columns(RBF(length_scale=2), [1])
    """
    params = {"": kernel} | kernel.get_params()
    owners = {name: part for name, part in params.items() if isinstance(part, Columns)}
    if not owners:
        return kernel
    has_names = hasattr(frame, "columns")
    shape = np.shape(frame)
    if len(shape) != 2:  # no table; whoever reads it will say so
        return kernel
    names = list(frame.columns) if has_names else range(shape[1])
    found = {
        f"{name}__columns".lstrip("_"): column_indices(part.columns, names, frame if has_names else None)
        for name, part in owners.items()
    }
    return clone(kernel).set_params(**found)
