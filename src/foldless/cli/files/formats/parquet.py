"""Parquet, by pyarrow: numbers, texts, booleans and dictionaries of these."""

import io
from collections.abc import Callable
from typing import Any

import numpy as np

from foldless.cli.files.sheet import Column, PathLike, Sheet, check_size, present, show
from foldless.core.errors import DataError, reason
from foldless.core.optional_imports import import_extra


def read_parquet(path: PathLike, raw: bytes) -> Sheet:
    """Read the columns of a Parquet file."""
    pa, pq = import_extra("pyarrow", "cli"), import_extra("pyarrow.parquet", "cli")
    try:
        file = pq.ParquetFile(io.BytesIO(raw))
        check_size(path, file.metadata.num_rows, file.metadata.num_columns)
        table = file.read(use_threads=False)
        columns = tuple(_column(path, pa, *item) for item in zip(table.column_names, table.columns))
    except DataError:
        raise
    except Exception as error:  # a damaged file fails in many ways inside pyarrow
        raise DataError(f"{path}: not a readable Parquet file ({reason(error)}).") from None
    return Sheet(str(path), columns)


def _column(path: PathLike, pa: Any, name: str, array: Any) -> Column:
    kind = array.type
    if pa.types.is_dictionary(kind):
        array, kind = array.cast(kind.value_type), kind.value_type
    reader = next((read for is_kind, read in _readers(pa) if is_kind(kind)), None)
    if reader is None:
        raise DataError(
            f"{path}: column {show(name)} holds {kind}, expected numbers, texts or booleans. Use --drop."
        )
    return reader(name, array)


def _readers(pa: Any) -> tuple[tuple[Callable[[Any], bool], Callable[[str, Any], Column]], ...]:
    """Return pairs (is this type, how to read it)."""
    types, float64 = pa.types, pa.float64()

    def numbers(name: str, array: Any) -> Column:
        return Column(name, array.cast(float64, safe=False).to_numpy().astype(np.float64))

    def texts(name: str, array: Any) -> Column:
        return Column(name, list(map(present, array.cast(pa.string()).to_pylist())))

    def booleans(name: str, array: Any) -> Column:
        cells = [None if value is None else str(value) for value in array.to_pylist()]
        return Column(name, cells, ("False", "True"))

    def is_number(kind: Any) -> bool:
        return types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind)

    def is_text(kind: Any) -> bool:
        strings = (types.is_string, types.is_large_string, types.is_string_view, types.is_null)
        return any(is_kind(kind) for is_kind in strings)

    return (is_number, numbers), (types.is_boolean, booleans), (is_text, texts)
