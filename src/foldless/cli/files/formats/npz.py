"""npz: arrays X and y, and optionally feature_names and class_names. Pickled objects are refused."""

import io

import numpy as np

from foldless.cli.files.sheet import Column, Sheet, numbered, present, show
from foldless.core.errors import DataError

KEYS = ("X", "y", "feature_names", "class_names")


def npz(path, raw: bytes) -> Sheet:
    """Read an archive; ``class_names[k]`` replaces the label k."""
    arrays = _arrays(path, raw)
    X, y = arrays.get("X"), arrays.get("y")
    if X is None or X.ndim != 2:
        raise DataError(
            f"{path}: an npz file needs a 2-d array 'X' (and 'y'); got {', '.join(arrays) or 'neither'}."
        )
    names = np.ravel(arrays.get("feature_names", numbered(X.shape[1]))).astype(str).tolist()
    if len(names) != X.shape[1]:
        raise DataError(f"{path}: feature_names has {len(names)} names for the {X.shape[1]} columns of X.")
    columns = tuple(_array_column(path, name, x) for name, x in zip(names, X.T))
    if y is None:
        return Sheet(str(path), columns)
    if y.shape != X.shape[:1]:
        raise DataError(f"{path}: y has shape {y.shape}, expected ({X.shape[0]},), one value per row of X.")
    return Sheet(str(path), (*columns, _label_column(path, y, arrays.get("class_names"))), target="y")


def _arrays(path, raw: bytes) -> dict[str, np.ndarray]:
    try:
        with np.load(io.BytesIO(raw), allow_pickle=False) as archive:
            return {name: archive[name] for name in KEYS if name in archive}
    except Exception as error:  # a damaged archive fails in many ways inside zipfile and numpy
        raise DataError(f"{path}: not a readable npz archive of plain arrays ({error}).") from None


def _label_column(path, y: np.ndarray, class_names: np.ndarray | None) -> Column:
    if class_names is None or y.dtype.kind not in "iu":
        return _array_column(path, "y", y)
    words = np.ravel(class_names).astype(str)
    if y.size and not 0 <= y.min() <= y.max() < words.size:
        raise DataError(
            f"{path}: y counts from {y.min()} to {y.max()}, but class_names has {words.size} words."
        )
    return Column("y", words[y].tolist(), tuple(words.tolist()))


def _array_column(path, name: str, values: np.ndarray) -> Column:
    if values.dtype.kind == "b":
        return Column(name, [str(bool(value)) for value in values], ("False", "True"))
    if values.dtype.kind in "iuf":
        return Column(name, values.astype(np.float64))
    if values.dtype.kind in "SU":
        return Column(name, list(map(present, values.astype(str).tolist())))
    raise DataError(f"{path}: column {show(name)} holds {values.dtype}, expected numbers, texts or booleans.")
