"""npz: arrays X and y, and optionally feature_names and class_names. Pickled objects are refused."""

import io

import numpy as np

from foldless.sheet import Column, DataError, Sheet, numbered, present, show


def npz(path, raw: bytes) -> Sheet:
    """Read an archive; ``class_names[k]`` replaces the label k."""
    try:
        with np.load(io.BytesIO(raw), allow_pickle=False) as archive:
            arrays = {
                name: archive[name] for name in ("X", "y", "feature_names", "class_names") if name in archive
            }
    except Exception as error:  # a damaged archive fails in many ways inside zipfile and numpy
        raise DataError(f"{path}: not a readable npz archive of plain arrays ({error}).") from None
    X, y = arrays.get("X"), arrays.get("y")
    if X is None or X.ndim != 2:
        raise DataError(
            f"{path}: an npz file needs a 2-d array 'X' (and 'y'); got {sorted(arrays) or 'neither'}."
        )
    names = [str(name) for name in arrays.get("feature_names", numbered(X.shape[1]))]
    if len(names) != X.shape[1]:
        raise DataError(f"{path}: feature_names has {len(names)} names for the {X.shape[1]} columns of X.")
    columns = [_array_column(path, name, x) for name, x in zip(names, X.T)]
    if y is None:
        return Sheet(str(path), tuple(columns))
    if y.shape != X.shape[:1]:
        raise DataError(f"{path}: y has shape {y.shape}, expected ({X.shape[0]},), one value per row of X.")
    y = _named_classes(y, arrays.get("class_names"))
    return Sheet(str(path), (*columns, _array_column(path, "y", y)), target="y")


def _named_classes(y: np.ndarray, names: np.ndarray | None) -> np.ndarray:
    counted = names is not None and y.dtype.kind in "iu" and y.size and y.min() >= 0 and y.max() < len(names)
    return np.asarray(names)[y].astype(str) if counted else y


def _array_column(path, name: str, values: np.ndarray) -> Column:
    if values.dtype.kind == "b":
        return Column(name, [str(bool(value)) for value in values], ("False", "True"))
    if values.dtype.kind in "iuf":
        return Column(name, values.astype(np.float64))
    if values.dtype.kind in "SU":
        return Column(name, list(map(present, values.astype(str).tolist())))
    raise DataError(f"{path}: column {show(name)} holds {values.dtype}, expected numbers, texts or booleans.")
