"""Parquet, by pyarrow: numbers, texts, booleans and dictionaries of these."""

import io
from collections.abc import Callable

import numpy as np

from foldless.cli.files.sheet import Column, Sheet, present, show
from foldless.core.errors import DataError


def parquet(path, raw: bytes) -> Sheet:
    """Read the columns of a Parquet file."""
    try:
        import pyarrow as pa
        import pyarrow.parquet
    except ImportError:
        raise DataError(f"{path}: reading Parquet needs pyarrow: pip install 'foldless[cli]'.") from None
    try:
        table = pa.parquet.read_table(io.BytesIO(raw), use_threads=False)
    except (pa.ArrowException, OSError, ValueError) as error:
        raise DataError(f"{path}: not a readable Parquet file ({error}).") from None
    return Sheet(str(path), tuple(_column(path, *item) for item in zip(table.column_names, table.columns)))


def _column(path, name: str, array) -> Column:
    import pyarrow as pa

    kind = array.type
    if pa.types.is_dictionary(kind):
        array, kind = array.cast(kind.value_type), kind.value_type
    reader = next((read for is_kind, read in _arrow_readers(pa) if is_kind(kind)), None)
    if reader is None:
        raise DataError(
            f"{path}: column {show(name)} holds {kind}, expected numbers, texts or booleans. Use --drop."
        )
    return reader(name, array)


def _arrow_readers(pa) -> tuple[tuple[Callable, Callable], ...]:
    is_, float64 = pa.types, pa.float64()

    def numbers(name, array):
        return Column(name, array.cast(float64, safe=False).to_numpy().astype(np.float64))

    def texts(name, array):
        return Column(name, list(map(present, array.cast(pa.string()).to_pylist())))

    def booleans(name, array):
        return Column(
            name, [value if value is None else str(value) for value in array.to_pylist()], ("False", "True")
        )

    def is_text(kind):
        return (
            is_.is_string(kind) or is_.is_large_string(kind) or is_.is_string_view(kind) or is_.is_null(kind)
        )

    return (
        (lambda kind: is_.is_integer(kind) or is_.is_floating(kind) or is_.is_decimal(kind), numbers),
        (is_.is_boolean, booleans),
        (is_text, texts),
    )
