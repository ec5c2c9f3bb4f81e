r"""Parquet, by pyarrow: one file, or a directory of files as one table.

Rows are read in batches. A table with more rows than may be held is sampled while it is read, each row with the same
probability: of a batch of b rows, with k rows still to draw out of the R that are left, the number taken is
hypergeometric,

.. math:: m \sim H(b, R - b, k).  \tag{1}
"""

import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from foldless.cli.files.formats.arrow import arrow_column, takes_little
from foldless.cli.files.memory import (
    GIGABYTE,
    NUMBER_BYTES,
    TEXT_BYTES,
    USUAL_BYTES,
    affordable_rows,
    as_text,
    memory_at_most,
)
from foldless.cli.files.sheet import TABLE_MAX_CELLS, Column, Part, PathLike, Sheet, check_size, show
from foldless.core.errors import DataError, reason
from foldless.core.optional_imports import import_extra
from foldless.core.targets import MIN_ROWS

BATCH_MAX_ROWS, BATCH_MAX_CELLS, BUFFER_BYTES = 65_536, 4_000_000, 2**16
# The largest number of rows that NumPy can draw from.
SAMPLED_MAX_ROWS = 10**9

# A path, or the content of a file.
Source = Path | bytes


def parquet_files(directory: Path) -> list[Path]:
    """Return the Parquet files below a directory, in the order of their names."""
    found = sorted(
        path for path in directory.rglob("*.parquet") if path.is_file() and path.name[0] not in "._"
    )
    if not found:
        raise DataError(
            f"{directory}: no file *.parquet in this directory. Name a file, or another directory."
        )
    return found


def read_parquet(
    path: PathLike, sources: Sequence[Source], max_rows: int | None = None, max_memory: float | None = None
) -> Sheet:
    """Read the columns of a Parquet file or of several, in turn, with a note on rows and memory.

    Parameters
    ----------
    path : str or path-like
        The file or the directory.
    sources : sequence of path or bytes
        Its files.
    max_rows : int, optional
        How many rows to keep, drawn at random.
    max_memory : float, optional
        Gigabytes that a fit to the rows may take; it limits their number too.
    """
    parts = _Parts(path, sources)
    n, row_bytes = parts.n_rows, parts.row_bytes()
    memory = USUAL_BYTES if max_memory is None else max_memory * GIGABYTE
    affordable = affordable_rows(memory, parts.n_columns, row_bytes)
    if affordable < min(n, MIN_ROWS):
        least = as_text(memory_at_most(MIN_ROWS, parts.n_columns, row_bytes))
        raise DataError(
            f"{path}: a fit may take {as_text(memory)} of memory, and needs at least {least}. Raise --max-memory."
        )
    limit = min(affordable, TABLE_MAX_CELLS // max(1, parts.n_columns), n if max_rows is None else max_rows)
    memory = memory_at_most(min(n, limit), parts.n_columns, row_bytes)
    batch_rows = max(1, min(BATCH_MAX_ROWS, BATCH_MAX_CELLS // max(1, parts.n_columns)))
    if n <= limit:
        return parts.sheet(
            parts.batches(batch_rows), n, f"used all {n} rows, and at most {as_text(memory)} of memory"
        )
    if n > SAMPLED_MAX_ROWS:
        raise DataError(f"{path}: {n} rows, expected at most {SAMPLED_MAX_ROWS}. Name some of the files.")
    note = (
        f"used {limit} of {n} rows, drawn at random, and at most {as_text(memory)} of memory; --max-rows and --max-memory "
        "change that"
    )
    return parts.sheet(_sampled(parts.batches(batch_rows), n, limit), limit, note)


def parquet_sheets(path: PathLike, sources: Sequence[Source], rows: int) -> Iterator[Sheet]:
    """Yield all rows, in turn and at most ``rows`` at a time."""
    parts = _Parts(path, sources)
    for batch in parts.batches(rows):
        yield parts.sheet([batch], batch.rows.num_rows)


@dataclass(frozen=True, eq=False)
class _Batch:
    """Some rows of a file, its name, and the rows before them; None if the rows are drawn at random."""

    rows: Any
    name: str
    skipped: int | None


def _sampled(batches: Iterator[_Batch], n_rows: int, n_drawn: int) -> Iterator[_Batch]:
    """Yield ``n_drawn`` rows of batches that have ``n_rows`` together; eq. (1)."""
    rng = np.random.default_rng(0)
    for batch in batches:
        size = batch.rows.num_rows
        m = int(rng.hypergeometric(size, n_rows - size, n_drawn))
        n_rows, n_drawn = n_rows - size, n_drawn - m
        drawn = batch.rows.take(np.sort(rng.choice(size, m, replace=False)))
        yield _Batch(drawn, batch.name, None)


class _Parts:
    """Parquet files of one schema; whatever is wrong with one of them is a :class:`DataError` with its name."""

    def __init__(self, path: PathLike, sources: Sequence[Source]) -> None:
        self.path, self._pa = path, import_extra("pyarrow", "cli")
        pq = import_extra("pyarrow.parquet", "cli")
        self._sources = [(str(s) if isinstance(s, Path) else str(path), s) for s in sources]
        self._reader = pq.ParquetFile
        self.n_rows, self.n_columns = 0, 0
        self._schema: Any = None
        for name, source in self._sources:
            with _readable(name):
                file = self._opened(source)
                self._check_schema(name, file.schema_arrow)
                self.n_rows += file.metadata.num_rows
        check_size(path, 1, self.n_columns)

    def row_bytes(self) -> int:
        """Return how much memory a row takes."""
        kinds = self._schema.types
        return sum(NUMBER_BYTES if takes_little(self._pa, kind) else TEXT_BYTES for kind in kinds)

    def _opened(self, source: Source) -> Any:
        where = source if isinstance(source, Path) else self._pa.BufferReader(source)
        # Otherwise the columns of a whole row group, often a million rows, would be in memory.
        return self._reader(where, buffer_size=BUFFER_BYTES, pre_buffer=False)

    def _check_schema(self, name: str, schema: Any) -> None:
        if self._schema is None:
            self._schema, self.n_columns, self._first = schema, len(schema), name
            return
        ours, theirs = (dict(zip(s.names, s.types)) for s in (self._schema, schema))
        for column in [*ours, *theirs]:
            if ours.get(column) != theirs.get(column):
                kinds = [str(kinds.get(column, "missing")) for kinds in (theirs, ours)]
                raise DataError(
                    f"{name}: column {show(column)} is {kinds[0]} here and {kinds[1]} in {self._first}. "
                    "Write the files again with the same columns, or name one of them."
                )

    def batches(self, rows: int) -> Iterator[_Batch]:
        """Yield the rows in batches, with the columns of the first file in its order."""
        several = len(self._sources) > 1
        for name, source in self._sources:
            skipped = 0
            with _readable(name):
                for batch in self._opened(source).iter_batches(rows, use_threads=False):
                    table = self._pa.Table.from_batches([batch])
                    table = table.select(self._schema.names) if several else table
                    yield _Batch(table, os.path.relpath(name, self.path) if several else "", skipped)
                    skipped += table.num_rows

    def sheet(self, batches: Iterable[_Batch], n_rows: int, note: str = "") -> Sheet:
        """Return the ``n_rows`` rows of some batches, of which one at a time is in memory."""
        with _readable(str(self.path)):
            empty = self._columns(self._schema.empty_table())
            gathered = [_Gathered(column, n_rows) for column in empty]
            files, filled = list[Part](), 0
            for batch in batches:
                if not files or files[-1].name != batch.name:
                    files.append(Part(filled, batch.name, batch.skipped))
                filled += batch.rows.num_rows
                for part, column in zip(gathered, self._columns(batch.rows), strict=True):
                    part.add(column)
            columns = tuple(part.column() for part in gathered)
            return Sheet(str(self.path), columns, note=note, files=files)

    def _columns(self, table: Any) -> list[Column]:
        return [arrow_column(self._pa, *item) for item in zip(table.column_names, table.columns)]


class _Gathered:
    """A column that grows batch by batch: numbers in an array that is there from the start, texts in a list."""

    def __init__(self, empty: Column, n_rows: int) -> None:
        self._like, self._filled = empty, 0
        self._cells: Any = np.empty(n_rows) if isinstance(empty.cells, np.ndarray) else []

    def add(self, column: Column) -> None:
        """Add the next rows."""
        if isinstance(self._cells, list):
            self._cells.extend(column.cells)
            return
        end = self._filled + len(column.cells)
        self._cells[self._filled : end] = column.cells
        self._filled = end

    def column(self) -> Column:
        """Return the whole column."""
        cells = self._cells if isinstance(self._cells, list) else self._cells[: self._filled]
        return replace(self._like, cells=cells)


@contextmanager
def _readable(name: str) -> Iterator[None]:
    try:
        yield
    except DataError:
        raise
    except Exception as error:  # a damaged file fails in many ways inside pyarrow
        raise DataError(f"{name}: not a readable Parquet file ({reason(error)}).") from None
