"""Columns of tables: kernels that choose some by name, and codes for those that hold categories."""

import warnings
from collections import Counter
from collections.abc import Sequence, Sized
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.gaussian_process.kernels import ConstantKernel, Kernel, WhiteKernel

from foldless.core.errors import DataError, UnseenLevelWarning
from foldless.core.text_columns import check_unique_names
from foldless.kernels import Categorical, Columns
from foldless.kernels.columns import Selector, bind_columns, column_indices

# Beginnings of the names that pandas and polars give to the types of columns with categories.
CATEGORY_DTYPES = ("category", "categorical", "enum", "str", "utf8", "bool")
UNKNOWN_CODE = -1.0


def bound_kernels(kernel: str | Kernel | Sequence[str | Kernel], X: Any) -> Any:
    """Return the kernel, or every kernel of a list, with the names of columns of ``X`` turned into numbers."""
    if isinstance(kernel, list | tuple):
        return [bound_kernels(one, X) for one in kernel]
    return bind_columns(kernel, X) if isinstance(kernel, Kernel) else kernel


@dataclass(frozen=True, eq=False)
class ColumnCodes:
    """The categories of a table: how its columns of texts, truth values and categories become numbers.

    A category is the number of its level. A level that is not listed becomes -1, which matches nothing. A missing value is
    a level of its own, ``None``, if there was one in training.

    Attributes
    ----------
    names : list
        All columns; numbers from 0 for an array.
    levels : dict from names to lists
        The levels of every column that holds categories.
    of_array : bool
        Whether they were learned from an array, so that columns are found by place and not by name.
    """

    names: list[Any]
    levels: dict[Any, list[Any]]
    of_array: bool = False

    @property
    def categorical(self) -> list[int]:
        """Numbers of the columns with categories."""
        return [i for i, name in enumerate(self.names) if name in self.levels]

    def encode(self, X: Any) -> Any:
        """Return a table with codes in place of categories.

        If the categories are those of a data frame, an array must hold codes already and stays as it is. Levels that were not
        learned are told by an ``UnseenLevelWarning``.

        Examples
        --------
        >>> import pandas as pd
        >>> codes = learn_codes(pd.DataFrame({"age": [30, 40], "ward": ["A", "B"]}))
        >>> codes.encode(pd.DataFrame({"age": [50, 60], "ward": ["B", "A"]}))
           age  ward
        0   50   1.0
        1   60   0.0
        """
        if self.of_array:
            return self._encoded_array(X)
        if not is_frame(X):
            return X
        columns = {name: X[name] for name in X.columns}
        coded = {name: self._coded(name, X[name].to_list()) for name in columns if name in self.levels}
        return type(X)(columns | coded)

    def _encoded_array(self, X: Any) -> Any:
        if issparse(X) or np.shape(X)[1:] != (len(self.names),):  # whoever reads it will say what is wrong
            return X
        coded = _as_array(X).copy()
        for place in self.levels:
            coded[:, place] = self._coded(place, coded[:, place].tolist())
        return coded

    def _coded(self, name: Any, values: list[Any]) -> Any:
        number = {level: float(code) for code, level in enumerate(self.levels[name])}
        found = list(map(_plain, values))
        unseen = Counter(value for value in found if value not in number)
        if unseen:
            warnings.warn(UnseenLevelWarning(name, unseen), stacklevel=5)
        return np.array([number.get(value, UNKNOWN_CODE) for value in found])


def number_columns(kernel: str | Kernel, n_columns: int) -> set[int]:
    """Return the columns that a kernel reads as numbers: all but those that only a kernel for categories sees.

    Examples
    --------
    >>> from foldless.kernels import Categorical, Columns
    >>> from sklearn.gaussian_process.kernels import RBF
    >>> number_columns(Columns(RBF(), [0, 2]) * Columns(Categorical(), [1, 2]), 3)
    {0, 2}
    """
    if isinstance(kernel, Categorical | ConstantKernel | WhiteKernel):
        return set()
    if isinstance(kernel, Columns):
        chosen = kernel.indices(n_columns)
        return {chosen[i] for i in number_columns(kernel.kernel, len(chosen))}
    params = kernel.get_params(deep=False) if isinstance(kernel, Kernel) else {}
    parts = [part for part in params.values() if isinstance(part, Kernel)]
    seen = [number_columns(part, n_columns) for part in parts]
    return set().union(*seen) if parts else set(range(n_columns))


def codes_for(kernel: Any, X: Any) -> ColumnCodes | None:
    """Return the categories of the columns of a data frame that a kernel, or a list of them, does not read as numbers.

    Parameters
    ----------
    kernel : str, Kernel, or list of them
        ``"auto"`` suits itself to all columns.
    X : data frame, array or sparse matrix
    """
    if not is_frame(X):
        return None
    if isinstance(kernel, str) and kernel == "auto":
        return learn_codes(X)
    n_columns = len(X.columns)
    listed = kernel if isinstance(kernel, list | tuple) else [kernel]
    numbers = set().union(*(number_columns(one, n_columns) for one in listed))
    codes = learn_codes(X) if len(numbers) < n_columns else None
    if codes is None:
        return None
    levels = {
        name: codes.levels[name]
        for i, name in enumerate(codes.names)
        if i in set(codes.categorical) - numbers
    }
    return ColumnCodes(codes.names, levels) if levels else None


def learn_codes(X: Any, asked: Selector = None) -> ColumnCodes | None:
    """Return the categories of a data frame, and those of the columns that were asked for; ``None`` if there are none.

    Parameters
    ----------
    X : data frame, array or sparse matrix
    asked : selector, optional
        Columns that hold categories even if their type does not tell; see :class:`foldless.kernels.Columns`.

    Examples
    --------
    >>> learn_codes(np.array([[0.5, 3.0], [1.5, 7.0], [2.5, np.nan]]), asked=[1]).levels
    {1: [3.0, 7.0, None]}
    """
    if not is_frame(X):
        return _learn_array_codes(X, asked)
    check_unique_names(X)
    names = list(X.columns)
    chosen = {names[i] for i in _asked_places(asked, names, X)}
    levels = {
        name: _levels(X[name].to_list()) for name in names if name in chosen or _holds_categories(X, name)
    }
    return ColumnCodes(names, levels) if levels else None


def _learn_array_codes(X: Any, asked: Selector) -> ColumnCodes | None:
    if asked is None or len(np.shape(X)) != 2:  # no table: whoever reads it will say so
        return None
    n_columns = np.shape(X)[1]
    places = _asked_places(asked, range(n_columns))
    if not places:
        return None
    if issparse(X):
        raise DataError(
            "categorical_features needs a data frame or a dense array, got a sparse matrix: pass X.toarray()."
        )
    values = _as_array(X)
    levels = {place: _levels(values[:, place].tolist()) for place in sorted(places)}
    return ColumnCodes(list(range(n_columns)), levels, of_array=True)


def _asked_places(asked: Selector, names: Sequence[Any], frame: Any = None) -> list[int]:
    if asked is None or (isinstance(asked, Sized) and len(asked) == 0):
        return []
    return column_indices(asked, names, frame, "categorical_features")


def _as_array(X: Any) -> Any:
    """Return an array that keeps texts and numbers apart."""
    return X if isinstance(X, np.ndarray) else np.asarray(X, dtype=object)


def dense_columns(X: Any) -> Any:
    """Return a data frame of pandas with its sparse columns made dense; anything else as it is.

    Examples
    --------
    >>> import pandas as pd
    >>> dense_columns(pd.DataFrame({"a": pd.arrays.SparseArray([0.0, 2.0])})).dtypes["a"]
    dtype('float64')
    """
    sparse = _sparse_dtypes(X)
    return X.astype({name: dtype.subtype for name, dtype in sparse.items()}) if sparse else X


def readable_columns(X: Any) -> Any:
    """Return a data frame as scikit-learn reads it: a frame whose columns all leave out zeros is a sparse matrix.

    Sparse columns of any other frame are made dense.
    """
    sparse = _sparse_dtypes(X)
    leaves_out_zeros = [name for name, dtype in sparse.items() if dtype.fill_value == 0]
    return X if not sparse or len(leaves_out_zeros) == len(X.columns) else dense_columns(X)


def _sparse_dtypes(X: Any) -> dict[Any, Any]:
    """Return the types of the sparse columns of a data frame of pandas; polars has none."""
    found = X.dtypes.items() if is_frame(X) and hasattr(X.dtypes, "items") else ()
    return {name: dtype for name, dtype in found if hasattr(dtype, "fill_value")}


def is_frame(X: Any) -> bool:
    """Return True for a data frame of pandas or polars."""
    return hasattr(X, "to_dict") and hasattr(X, "columns")


def _holds_categories(X: Any, name: Any) -> bool:
    # The type of a sparse column wraps the type of its values.
    dtype = str(getattr(X[name].dtype, "subtype", X[name].dtype)).lower()
    if dtype.startswith(CATEGORY_DTYPES):
        return True
    return dtype.startswith("obj") and any(isinstance(value, str | bool) for value in X[name].to_list())


def _levels(values: list[Any]) -> list[Any]:
    """Return the different values: numbers in their order, then texts in theirs, then a missing one.

    Examples
    --------
    >>> _levels(["b", 10, None, 2, "a"])
    [2, 10, 'a', 'b', None]
    """
    return sorted(set(map(_plain, values)), key=_place_in_order)


def _place_in_order(level: Any) -> tuple[int, float, str]:
    if isinstance(level, int | float):
        return 0, float(level), ""
    return (2 if level is None else 1), 0.0, str(level)


def _plain(value: Any) -> Any:
    return None if is_missing(value) else value


def is_missing(value: Any) -> bool:
    """Return True for None, NaN and the missing values of pandas."""
    if value is None:
        return True
    try:
        return bool(value != value)
    except TypeError:
        # pandas.NA has no truth value.
        return True
