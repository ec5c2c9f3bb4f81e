r"""Parquet, by pyarrow: one file, or a directory of files as one table.

Rows are read in batches. A table with more rows than may be held is sampled while it is read, each row with the same
probability: of a batch of b rows, with k rows still to draw out of the R that are left, the number taken is
hypergeometric,

.. math:: m \sim H(b, R - b, k).  \tag{1}
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from foldless.cli.files.formats.arrow import arrow_column
from foldless.cli.files.sheet import TABLE_MAX_CELLS, PathLike, Sheet, check_size, show
from foldless.core.errors import DataError, reason
from foldless.core.optional_imports import import_extra

BATCH_ROWS = 65_536
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


def read_parquet(path: PathLike, sources: Sequence[Source], max_rows: int | None = None) -> Sheet:
    """Read the columns of a Parquet file or of several, in turn; at most ``max_rows`` rows, drawn at random."""
    parts = _Parts(path, sources)
    n, limit = parts.n_rows, TABLE_MAX_CELLS // max(1, parts.n_columns)
    limit = limit if max_rows is None else min(limit, max_rows)
    if n <= limit:
        return parts.sheet(list(parts.batches(BATCH_ROWS)))
    if n > SAMPLED_MAX_ROWS:
        raise DataError(f"{path}: {n} rows, expected at most {SAMPLED_MAX_ROWS}. Name some of the files.")
    note = f"used {limit} of {n} rows, drawn at random; --max-rows changes their number"
    return parts.sheet(list(_sampled(parts.batches(BATCH_ROWS), n, limit)), note)


def parquet_sheets(path: PathLike, sources: Sequence[Source], rows: int) -> Iterator[Sheet]:
    """Yield all rows, in turn and at most ``rows`` at a time."""
    parts = _Parts(path, sources)
    for batch in parts.batches(rows):
        yield parts.sheet([batch])


def _sampled(batches: Iterator[Any], n_rows: int, n_drawn: int) -> Iterator[Any]:
    """Yield ``n_drawn`` rows of batches that have ``n_rows`` together; eq. (1)."""
    rng = np.random.default_rng(0)
    for batch in batches:
        size = batch.num_rows
        m = int(rng.hypergeometric(size, n_rows - size, n_drawn))
        n_rows, n_drawn = n_rows - size, n_drawn - m
        yield batch.take(np.sort(rng.choice(size, m, replace=False)))


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

    def _opened(self, source: Source) -> Any:
        return self._reader(source if isinstance(source, Path) else self._pa.BufferReader(source))

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

    def batches(self, rows: int) -> Iterator[Any]:
        """Yield the rows in batches, with the columns of the first file in its order."""
        for name, source in self._sources:
            with _readable(name):
                file = self._opened(source)
                for batch in file.iter_batches(rows, use_threads=False):
                    table = self._pa.Table.from_batches([batch])
                    yield table.select(self._schema.names) if len(self._sources) > 1 else table

    def sheet(self, batches: Sequence[Any], note: str = "") -> Sheet:
        """Return the rows of some batches."""
        with _readable(str(self.path)):
            table = self._pa.concat_tables(batches) if batches else self._schema.empty_table()
            columns = zip(table.column_names, table.columns)
            return Sheet(str(self.path), tuple(arrow_column(self._pa, *item) for item in columns), note=note)


@contextmanager
def _readable(name: str) -> Iterator[None]:
    try:
        yield
    except DataError:
        raise
    except Exception as error:  # a damaged file fails in many ways inside pyarrow
        raise DataError(f"{name}: not a readable Parquet file ({reason(error)}).") from None
