"""Columns of data frames: kernels that choose some by name, and codes for those that hold categories."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.gaussian_process.kernels import Kernel

from foldless.core.errors import DataError
from foldless.kernels.columns import bind_columns

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
    """The categories of a data frame: how its columns of texts, truth values and categories become numbers.

    A category is the number of its level. A level that is not listed becomes -1, which matches nothing. A missing value is
    a level of its own, ``None``, if there was one in training.

    Attributes
    ----------
    names : list
        All columns.
    levels : dict from names to lists
        The levels of every column that holds categories.
    """

    names: list[Any]
    levels: dict[Any, list[Any]]

    @property
    def categorical(self) -> list[int]:
        """Numbers of the columns with categories."""
        return [i for i, name in enumerate(self.names) if name in self.levels]

    @property
    def numeric(self) -> list[int]:
        """Numbers of the other columns."""
        return [i for i, name in enumerate(self.names) if name not in self.levels]

    def encode(self, X: Any) -> Any:
        """Return a data frame with codes in place of categories; an array must hold codes already and stays as it is.

        Examples
        --------
        >>> import pandas as pd
        >>> codes = learn_codes(pd.DataFrame({"age": [30, 40], "ward": ["A", "B"]}))
        >>> codes.encode(pd.DataFrame({"age": [50, 60], "ward": ["B", "C"]}))
           age  ward
        0   50   1.0
        1   60  -1.0
        """
        if not is_frame(X):
            return X
        return type(X)({name: self._encoded(X, name) for name in X.columns})

    def _encoded(self, X: Any, name: Any) -> Any:
        if name not in self.levels:
            return X[name]
        number = {level: float(code) for code, level in enumerate(self.levels[name])}
        values = _plain_values(X, name)
        return np.array([number.get(value, UNKNOWN_CODE) for value in values])


def learn_codes(X: Any) -> ColumnCodes | None:
    """Return the categories of a data frame; ``None`` for anything else, and for a frame of numbers only."""
    if not is_frame(X):
        return None
    names = list(X.columns)
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise DataError(f"X has several columns called {twice!r}; rename them or drop all but one.")
    levels = {name: _levels(X, name) for name in names if _holds_categories(X, name)}
    return ColumnCodes(names, levels) if levels else None


def is_frame(X: Any) -> bool:
    """Return True for a data frame of pandas or polars."""
    return hasattr(X, "columns") and hasattr(X, "to_dict")


def _holds_categories(X: Any, name: Any) -> bool:
    dtype = str(X[name].dtype).lower()
    if dtype.startswith(CATEGORY_DTYPES):
        return True
    return dtype.startswith("obj") and any(isinstance(value, str | bool) for value in X[name].to_list())


def _levels(X: Any, name: Any) -> list[Any]:
    """Return the different values, sorted as texts, with a missing one last."""
    return sorted(set(_plain_values(X, name)), key=lambda value: (value is None, str(value)))


def _plain_values(X: Any, name: Any) -> list[Any]:
    return [None if _is_missing(value) else value for value in X[name].to_list()]


def _is_missing(value: Any) -> bool:
    if value is None:
        return True
    try:
        return bool(value != value)
    except TypeError:
        # pandas.NA has no truth value.
        return True
