"""Columns of pyarrow -> columns of a sheet: numbers, texts, booleans, dates, and dictionaries of these."""

from collections.abc import Callable
from typing import Any

import numpy as np

from foldless.cli.files.sheet import Column, present


def arrow_column(pa: Any, name: str, array: Any) -> Column:
    """Return a column; one of another type, such as a list, comes with its problem and without values."""
    kind = array.type
    if pa.types.is_dictionary(kind):
        array, kind = array.cast(kind.value_type), kind.value_type
    reader = next((read for is_kind, read in _readers(pa) if is_kind(kind)), None)
    if reader is None:
        return Column(
            name, [None] * len(array), problem=f"holds {kind}, expected numbers, texts, dates or booleans."
        )
    return reader(name, array)


def takes_little(pa: Any, kind: Any) -> bool:
    """Return whether a cell of this type takes as much memory as a number."""
    types = pa.types
    numbers = (types.is_integer, types.is_floating, types.is_decimal, types.is_boolean, types.is_null)
    return any(is_kind(kind) for is_kind in numbers)


def _readers(pa: Any) -> tuple[tuple[Callable[[Any], bool], Callable[[str, Any], Column]], ...]:
    """Return pairs (is this type, how to read it)."""
    types, float64 = pa.types, pa.float64()

    def numbers(name: str, array: Any) -> Column:
        return Column(name, array.cast(float64, safe=False).to_numpy().astype(np.float64))

    def texts(name: str, array: Any) -> Column:
        cells: list[str | None] = []
        for chunk in array.cast(pa.string()).chunks:
            # Equal texts are one object: a category takes no more memory than numbers do.
            encoded = chunk.dictionary_encode()
            levels = [*map(present, encoded.dictionary.to_pylist()), None]
            cells += [levels[-1 if i is None else i] for i in encoded.indices.to_pylist()]
        return Column(name, cells)

    def booleans(name: str, array: Any) -> Column:
        cells = [None if value is None else str(value) for value in array.to_pylist()]
        return Column(name, cells, ("False", "True"))

    def dates(name: str, array: Any) -> Column:
        moments = array.cast(pa.timestamp("s"), safe=False).to_numpy()
        cells = np.datetime_as_string(moments.astype("datetime64[s]")).tolist()
        return Column(name, [None if cell == "NaT" else cell for cell in cells])

    def is_number(kind: Any) -> bool:
        return types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind)

    def is_text(kind: Any) -> bool:
        strings = (types.is_string, types.is_large_string, types.is_string_view, types.is_null)
        return any(is_kind(kind) for is_kind in strings)

    def is_date(kind: Any) -> bool:
        return types.is_date(kind) or types.is_timestamp(kind)

    return (is_number, numbers), (types.is_boolean, booleans), (is_text, texts), (is_date, dates)
