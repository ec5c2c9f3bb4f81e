"""What is wrong with a partition of a Dask collection, said with its file and its column before anything is fitted."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from foldless.core.errors import DataError
from foldless.estimators.columns import is_frame
from foldless.estimators.validation import check_weight_range

TARGET_WORD = "the target"


def places(X: Any, n: int) -> list[str]:
    """Return what errors call each of the n partitions: its number, and its file where every partition is one."""
    files = _files(X)
    named = [f" ({file})" for file in files] if len(files) == n else [""] * n
    return [f"partition {i} of the collection{name}" for i, name in enumerate(named)]


def _files(X: Any) -> Sequence[str]:
    """Return the Parquet files that a data frame is read from; none if Dask does not tell."""
    # Nothing but a file's name in an error depends on what Dask keeps for itself.
    with suppress(Exception):
        for step in X.expr.walk():
            found = getattr(step, "_dataset_info", None)
            if found is not None:
                return list(found["ds"].files)
    return []


class PartSize(NamedTuple):
    """Number of rows of a partition, and the sum of their weights."""

    rows: int
    weight: float


@dataclass(frozen=True)
class PartCheck:
    """Checks the rows of a partition.

    Attributes
    ----------
    numeric : dict
        Whether a column of the rows, or the target (``None``), holds numbers by what the collection says of itself; what it does
        not say is not checked.
    allow_nan : bool
        Whether rows may have missing numbers.
    """

    numeric: dict[Any, bool]
    allow_nan: bool

    @classmethod
    def of(cls, X: Any, y: Any, allow_nan: bool) -> "PartCheck":
        """Return the check for two collections."""
        dtypes = dict(X.dtypes) if hasattr(X, "dtypes") else {}
        if getattr(y, "ndim", 1) == 1:
            dtypes[None] = y.dtype
        return cls({name: _is_numeric(dtype) for name, dtype in dtypes.items()}, allow_nan)

    def __call__(self, place: str, X: Any, y: Any, weight: Any = None) -> PartSize:
        """Return the size; an error says what is wrong, and where."""
        n = int(X.shape[0])
        if n != len(y):
            raise DataError(f"{place} has {n} rows of X and {len(y)} of y.")
        if not n:
            return PartSize(0, 0.0)
        for name, values in _columns(X):
            self._check_column(f"{place}, column {name!r}", name, values)
        if not is_frame(y):
            self._check_target(f"{place}, {TARGET_WORD}", y)
        return PartSize(n, float(n) if weight is None else _checked_total(place, X, weight))

    def _check_column(self, place: str, name: Any, values: Any) -> None:
        _check_kind(place, self.numeric.get(name), values)
        if not _is_numeric(values.dtype):
            return
        numbers = np.asarray(values, dtype=np.float64)
        if not self.allow_nan and np.any(np.isnan(numbers)):
            raise DataError(
                f"{place} contains NaN in {_rows(np.isnan(numbers))}. Fill it, leave those rows out, or use KernelClassifier or "
                "KernelRegressor, which take missing numbers."
            )
        if np.any(np.isinf(numbers)):
            raise DataError(f"{place} contains infinity in {_rows(np.isinf(numbers))}.")

    def _check_target(self, place: str, y: Any) -> None:
        missing = _missing(y)
        if np.any(missing):
            raise DataError(f"{place} is missing (NaN or None) in {_rows(missing)}. Leave those rows out.")
        _check_kind(place, self.numeric.get(None), y)


def _checked_total(place: str, X: Any, weight: Any) -> float:
    """Return the sum of the weights of a partition, none of which may be negative, missing or extreme."""
    name = f"{place}, sample_weight"
    if len(weight) != X.shape[0]:
        raise DataError(f"{place} has {X.shape[0]} rows of X and {len(weight)} of sample_weight.")
    try:
        numbers = np.asarray(weight, dtype=float)
        check_weight_range(numbers, name)
    except (TypeError, ValueError) as error:
        raise DataError(str(error) if name in str(error) else f"{name}: {error}.") from error
    return float(numbers.sum())


def _columns(X: Any) -> list[tuple[Any, Any]]:
    """Return names, or numbers, and values of the columns; a sparse matrix is one column, all its entries."""
    if is_frame(X):
        return [(name, X[name]) for name in X.columns]
    if sp.issparse(X):
        return [("any", X.data)]
    return [] if X.ndim < 2 else [(i, X[:, i]) for i in range(X.shape[1])]


def _check_kind(place: str, numeric: bool | None, values: Any) -> None:
    """Raise if the others hold numbers and these do not, or the other way round; only missing values fit both."""
    kinds = {True: "numbers", False: "text or categories"}
    found = _is_numeric(values.dtype)
    if numeric is None or found == numeric or np.all(_missing(values)):
        return
    raise DataError(
        f"{place} holds {kinds[found]} ({values.dtype}), and the collection says that it holds {kinds[numeric]}. "
        "Write it as in the other files."
    )


def _is_numeric(dtype: Any) -> bool:
    return getattr(dtype, "kind", "O") in "biuf"


def _missing(values: Any) -> Any:
    """Return where values are missing: NaN, None or pandas' NA, none of which equals itself or is a number."""
    if hasattr(values, "isna"):
        return np.asarray(values.isna())
    array = np.asarray(values)
    return (
        np.isnan(array) if array.dtype.kind == "f" else np.array([v is None or v != v for v in array.ravel()])
    )


def _rows(wrong: Any) -> str:
    n = int(np.sum(wrong))
    return "one row" if n == 1 else f"{n} rows"
