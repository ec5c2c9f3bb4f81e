"""Tables with something else where numbers are needed: an error that names the column and the cure."""

from collections.abc import Iterator, Sized
from contextlib import contextmanager
from typing import Any

import numpy as np
from scipy.sparse import issparse

from foldless.core.errors import DataError

# Beginnings of the names that pandas and polars give to types of dates and times.
DATE_DTYPES = ("date", "time", "duration", "period")


@contextmanager
def naming_text_columns(X: Any, y: Any = None) -> Iterator[None]:
    """Replace the error of a failed conversion to numbers by one that names the column of ``X`` with text or other things.

    Parameters
    ----------
    X : array-like, data frame or sparse matrix
    y : array-like, default=None
        Targets, if they must be numbers too.
    """
    if type(X).__name__ == "LazyFrame":  # of polars, which warns whoever looks at it
        raise DataError("X must be a table of numbers, got LazyFrame: call its collect() first.")
    check_unique_names(X)
    try:
        # A sum that overflows while scikit-learn looks for NaN says nothing.
        with np.errstate(over="ignore", invalid="ignore"):
            yield
    except (TypeError, ValueError) as error:
        date = next((name for name in getattr(X, "columns", ()) if _holds_dates(X, name)), None)
        if date is not None:
            raise DataError(
                f"column {date!r} of X holds dates or times, and numbers are needed. Count days from some day, take parts such "
                "as the month (foldless.cli.ColumnReader does), or leave it out."
            ) from error
        found = None if issparse(X) else _fault(X, str(error).rstrip("."))
        fault = found or _fill_fault(X) or _target_fault(y)
        if fault is None:
            raise
        # scikit-learn promises a TypeError for things that are neither texts nor numbers.
        raise (TypeError if isinstance(error, TypeError) else DataError)(fault) from error


def _holds_dates(X: Any, name: Any) -> bool:
    """Return whether a column of pandas or polars has a type for dates or times."""
    return str(getattr(X[name], "dtype", "")).lower().startswith(DATE_DTYPES)


def check_unique_names(X: Any) -> None:
    """Raise if two columns of a data frame have the same name."""
    names = list(X.columns) if hasattr(X, "to_dict") and hasattr(X, "columns") else []
    twice = [name for i, name in enumerate(names) if name in names[:i]]
    if twice:
        raise DataError(f"X has several columns called {twice[0]!r}; rename them or drop all but one.")


def _fault(X: Any, said: str) -> str | None:
    """Return a sentence about what is not a number; None if all is."""
    try:
        values = np.asarray(X, dtype=object)
    except ValueError:  # arrays of different shapes
        values = np.empty(())
    if values.ndim == 2:
        return _column_fault(values, getattr(X, "columns", None), said)
    if values.ndim == 1 and len({len(row) if isinstance(row, Sized) else 0 for row in values}) > 1:
        return "the rows of X have different lengths, and a table of numbers is needed."
    if all(_is_number(value) for value in values.ravel()):
        return None
    return f"X must be a table of numbers, got {type(X).__name__}: {said}."


def _fill_fault(X: Any) -> str | None:
    """Return a sentence about a frame of sparse columns that is no sparse matrix, because one leaves out no zeros."""
    dtypes = X.dtypes.items() if hasattr(X, "dtypes") and hasattr(X, "sparse") else ()
    bad = next(((name, dtype.fill_value) for name, dtype in dtypes if dtype.fill_value != 0), None)
    return bad and (
        f"column {bad[0]!r} of X is sparse and leaves out {bad[1]}, where a sparse matrix leaves out zeros. Pass "
        "X.sparse.to_dense()."
    )


def _target_fault(y: Any) -> str | None:
    """Return a sentence about the first target that is not a number; None if all are."""
    values = np.empty(0) if issparse(y) else np.asarray(y, dtype=object).ravel()
    bad = next((value for value in values if not _is_number(value)), None)
    return None if bad is None else f"y must hold numbers for a regression, got {bad!r}."


def _column_fault(values: Any, names: Any, said: str) -> str | None:
    if names is not None and len(names) == 0:
        return "X has no columns."
    columns = range(len(values.T)) if names is None else names
    found = [
        (name, value)
        for name, entries in zip(columns, values.T)
        for value in entries
        if not _is_number(value)
    ]
    if not found:
        return None
    # Texts are the likelier fault: some libraries read missing values, and others do not.
    return _unreadable(*min(found, key=lambda one: not isinstance(one[1], str)), said)


def _unreadable(column: Any, value: Any, said: str) -> str:
    if isinstance(value, str):
        return (
            f"column {column!r} of X holds text such as {value!r}, and numbers are needed. Encode it, for example by "
            f"make_column_transformer((OneHotEncoder(), [{column!r}]), remainder='passthrough') in a pipeline, give an "
            "estimator a data frame and kernel='auto', or leave it out."
        )
    return (
        f"column {column!r} of X holds values of type {type(value).__name__}, and numbers are needed ({said}). Turn it "
        "into numbers, for example dates into days, or leave it out."
    )


def _is_number(value: Any) -> bool:
    """Return whether a value is a number, a text that is one, or missing; scikit-learn says enough about complex ones."""
    if value is None or isinstance(value, complex):
        return True
    try:
        float(value)
    except (TypeError, ValueError, OverflowError):
        return False
    return True
