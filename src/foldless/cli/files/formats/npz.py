"""npz: arrays X and y, and optionally feature_names and class_names. Pickled objects are refused."""

import io
import zipfile
from typing import Any

import numpy as np
from numpy.typing import NDArray

from foldless.cli.files.raw_bytes import UNPACKED_MAX_BYTES
from foldless.cli.files.sheet import Column, PathLike, Sheet, check_size, numbered, present, show
from foldless.core.errors import DataError, reason

KEYS = ("X", "y", "feature_names", "class_names")


def read_npz(path: PathLike, raw: bytes) -> Sheet:
    """Read an archive; ``class_names[k]`` replaces the label k."""
    arrays = _arrays(path, raw)
    X, y = arrays.get("X"), arrays.get("y")
    if X is None or X.ndim != 2:
        raise DataError(
            f"{path}: an npz file needs a 2-d array 'X' (and 'y'); got {', '.join(arrays) or 'neither'}."
        )
    check_size(path, *X.shape)
    names = _texts(path, "feature_names", arrays.get("feature_names", np.array(numbered(X.shape[1]))))
    if len(names) != X.shape[1]:
        raise DataError(f"{path}: feature_names has {len(names)} names for the {X.shape[1]} columns of X.")
    columns = tuple(_column(path, name, x) for name, x in zip(names, X.T))
    if y is None:
        return Sheet(str(path), columns)
    if y.shape != X.shape[:1]:
        raise DataError(f"{path}: y has shape {y.shape}, expected ({X.shape[0]},), one value per row of X.")
    return Sheet(str(path), (*columns, _label_column(path, y, arrays.get("class_names"))), target="y")


def _arrays(path: PathLike, raw: bytes) -> dict[str, NDArray[Any]]:
    try:
        with zipfile.ZipFile(io.BytesIO(raw)) as archive:
            size = sum(member.file_size for member in archive.infolist())
        if size > UNPACKED_MAX_BYTES:
            raise ValueError(f"it would unpack to {size / 2**30:.0f} GiB")
        with np.load(io.BytesIO(raw), allow_pickle=False) as archive:
            arrays = {name: archive[name] for name in KEYS if name in archive}
    except Exception as error:  # a damaged archive fails in many ways inside zipfile and numpy
        raise DataError(f"{path}: not a readable npz archive of plain arrays ({reason(error)}).") from None
    for name, array in arrays.items():
        if not isinstance(array, np.ndarray):
            raise DataError(
                f"{path}: the member {name} of the archive is not an array. Write it with np.savez."
            )
    return arrays


def _texts(path: PathLike, name: str, array: NDArray[Any]) -> list[str]:
    """Return the entries of an array as texts that can be printed and saved."""
    try:
        texts = [str(text) for text in np.ravel(array).astype(str)]
        "".join(texts).encode("utf-8")
    except ValueError as error:
        raise DataError(f"{path}: {name} holds a text that is not Unicode ({reason(error)}).") from None
    return texts


def _label_column(path: PathLike, y: NDArray[Any], class_names: NDArray[Any] | None) -> Column:
    if class_names is None or y.dtype.kind not in "iu":
        return _column(path, "y", y)
    words = _texts(path, "class_names", class_names)
    if y.size and not 0 <= y.min() <= y.max() < len(words):
        raise DataError(
            f"{path}: y counts from {y.min()} to {y.max()}, but class_names has {len(words)} words."
        )
    return Column("y", [words[k] for k in y], tuple(dict.fromkeys(words)))


def _column(path: PathLike, name: str, values: NDArray[Any]) -> Column:
    if values.dtype.kind == "b":
        return Column(name, [str(bool(value)) for value in values], ("False", "True"))
    if values.dtype.kind in "iuf":
        with np.errstate(over="ignore"):  # a long double beyond the range becomes inf, which is refused later
            return Column(name, values.astype(np.float64))
    if values.dtype.kind in "SU":
        return Column(name, list(map(present, _texts(path, name, values))))
    raise DataError(f"{path}: column {show(name)} holds {values.dtype}, expected numbers, texts or booleans.")
