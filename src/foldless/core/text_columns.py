"""Tables with text or dates where numbers are needed: an error that names the column and the cure."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from scipy.sparse import issparse

from foldless.core.errors import DataError

# Beginnings of the names that pandas and polars give to types of dates and times.
DATE_DTYPES = ("date", "time", "duration", "period")


@contextmanager
def naming_text_columns(X: Any) -> Iterator[None]:
    """Replace the error of a failed conversion to numbers by one that names the column of ``X`` with text or dates."""
    try:
        yield
    except (TypeError, ValueError) as error:
        date = next((name for name in getattr(X, "columns", ()) if _holds_dates(X, name)), None)
        if date is not None:
            raise DataError(
                f"column {date!r} of X holds dates or times, and numbers are needed. Count days from some day, take parts such "
                "as the month, or leave it out."
            ) from error
        found = _first_text(X)
        if found is None:
            raise
        column, value = found
        raise DataError(
            f"column {column!r} of X holds text such as {value!r}, and numbers are needed. Encode it, for example by "
            f"make_column_transformer((OneHotEncoder(), [{column!r}]), remainder='passthrough') in a pipeline, give an "
            "estimator a data frame and kernel='auto', or leave it out."
        ) from error


def _holds_dates(X: Any, name: Any) -> bool:
    """Return whether a column of pandas or polars has a type for dates or times."""
    return str(getattr(X[name], "dtype", "")).lower().startswith(DATE_DTYPES)


def _first_text(X: Any) -> tuple[Any, str] | None:
    """Return the name or number of the first column with text that is not a number, and that text."""
    values = np.empty((0, 0)) if issparse(X) else np.asarray(X, dtype=object)
    names = getattr(X, "columns", None)
    for i, column in enumerate(values.T if values.ndim == 2 else ()):
        for value in column:
            if isinstance(value, str) and not _is_number(value):
                return i if names is None else names[i], value
    return None


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
