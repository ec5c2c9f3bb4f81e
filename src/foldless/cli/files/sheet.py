"""The content of a file before it is interpreted: named columns, and how to name its rows in messages."""

import math
import os
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from foldless.core.contracts import Vector
from foldless.core.errors import DataError

# Texts of a missing value, in lower case.
MISSING = {"", "na", "n/a", "nan", "null", "?"}
# A column holds numbers, or dates, if at least this fraction of its values does; the others are then mistakes.
NUMERIC_MIN_FRACTION = 0.8
TABLE_MAX_COLUMNS = 100_000
# About 1.6 GB as float64.
TABLE_MAX_CELLS = 200_000_000
SHOWN_MAX_CHARACTERS = 42

PathLike = str | os.PathLike[str]


@dataclass(frozen=True)
class Column:
    """One column: text cells (None if missing) or a float array (nan if missing).

    ``levels`` are those that the file declares: ARFF nominal, Parquet dictionary, booleans. ``problem`` says why the column
    cannot be used, whatever its cells. ``form`` is the way its numbers were written, and ``note`` how they were understood;
    see :mod:`foldless.cli.files.written_numbers`. ``written`` are then the cells as they stand in the file.
    """

    name: str
    cells: Sequence[str | None] | Vector
    levels: tuple[str, ...] | None = None
    problem: str = ""
    form: str = ""
    note: str = ""
    written: Sequence[str | None] | None = None

    def kept(self, rows: NDArray[np.intp]) -> "Column":
        """Return the column with some of its rows."""
        cells = self.cells[rows] if isinstance(self.cells, np.ndarray) else [self.cells[i] for i in rows]
        written = None if self.written is None else [self.written[i] for i in rows]
        return replace(self, cells=cells, written=written)


@dataclass(frozen=True)
class Part:
    """Rows of a table that come from one file.

    Attributes
    ----------
    first : int
        The number of the first of them in the table, from 0.
    name : str
        The file; empty if it is the table itself.
    skipped : int or None
        Rows of the file before the first; None if rows were drawn at random, so that the others are unknown.
    """

    first: int
    name: str
    skipped: int | None

    def where(self, place: int) -> str:
        """Return the file and, if it is known, the row in it that a row of the table is."""
        row = "" if self.skipped is None else f"row {place - self.first + self.skipped + 1}"
        return ", ".join(filter(None, (self.name, row))) or "one of the rows"


@dataclass(frozen=True)
class Sheet:
    """The columns of a file.

    Attributes
    ----------
    path : str
    columns : tuple of Column
    lines : sequence of int, optional
        The line of each row in a text file.
    target : str, optional
        The column that the format itself calls y.
    absent_is_zero : bool
        True for LIBSVM: a column that is not in the file is zero.
    note : str
        What there is to say about the reading, if anything.
    decimal_commas : bool
        True if a text such as ``1,234`` is rather 1.234 than 1234, because fields are not separated by commas.
    rows : sequence of int, optional
        The numbers of the rows in the file, from 0, if some were left out.
    files : sequence of Part
        The files that the rows come from, if they are parts of a table.
    """

    path: str
    columns: tuple[Column, ...]
    lines: Sequence[int] | None = None
    target: str | None = None
    absent_is_zero: bool = False
    note: str = ""
    decimal_commas: bool = False
    rows: Sequence[int] | None = None
    files: Sequence[Part] = ()

    @property
    def names(self) -> list[str]:
        """Column names, in the order of the file."""
        return [column.name for column in self.columns]

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.columns[0].cells) if self.columns else 0

    def where(self, row: int) -> str:
        """Return the place of a row as the reader of the file would find it."""
        if self.lines is not None:
            return f"line {self.lines[row]}"
        place = row if self.rows is None else self.rows[row]
        part = (
            self.files[bisect_right(self.files, place, key=lambda part: part.first) - 1]
            if self.files
            else None
        )
        return f"row {place + 1}" if part is None else part.where(place)

    def named_by_first_row(self, wanted: Iterable[str]) -> "Sheet":
        """Return the sheet with names from its first row, if no header was recognised and that row holds all wanted names.

        A header with numbers in it, such as pandas writes for columns without names, is only recognised in this way.
        """
        if self.lines is None or not self.n_rows or self.names != numbered(len(self.names)):
            return self
        first = [column.cells[0] for column in self.columns]
        if not {*wanted} or not {*wanted} <= {*first}:
            return self
        columns = [
            replace(column, name=str(name or f"column {j}"), cells=column.cells[1:])
            for j, (name, column) in enumerate(zip(first, self.columns), 1)
        ]
        return replace(self, columns=tuple(columns), lines=self.lines[1:])

    def kept(self, rows: NDArray[np.intp]) -> "Sheet":
        """Return the sheet with some of its rows, which keep the numbers they have in the file."""
        lines = None if self.lines is None else [self.lines[i] for i in rows]
        columns = tuple(column.kept(rows) for column in self.columns)
        return replace(self, columns=columns, lines=lines, rows=rows.tolist())


def check_size(path: PathLike, n_rows: int, n_columns: int) -> None:
    """Raise if a table is too large to be held as a dense array."""
    if n_columns > TABLE_MAX_COLUMNS or n_rows * n_columns > TABLE_MAX_CELLS:
        raise DataError(
            f"{path}: {n_rows} rows by {n_columns} columns are too many to hold as a dense table. "
            "Leave columns out, or fit a sparse matrix from Python."
        )


def is_number(cell: str) -> bool:
    """Return True for a decimal number; ``inf`` is one, ``nan`` and ``1_000`` are not."""
    try:
        return "_" not in cell and not math.isnan(float(cell))
    except ValueError:
        return False


def show(value: object) -> str:
    """Return a value of a file in quotes, on one line and short enough for a message."""
    text = repr(str(value)[: SHOWN_MAX_CHARACTERS + 1])
    return text if len(text) <= SHOWN_MAX_CHARACTERS else text[: SHOWN_MAX_CHARACTERS - 4] + "...'"


def count(n: int, one: str, many: str = "") -> str:
    """Return a number and its noun.

    Examples
    --------
    >>> count(1, "value"), count(2, "value"), count(3, "class", "classes")
    ('1 value', '2 values', '3 classes')
    """
    return f"{n} {one if n == 1 else many or one + 's'}"


def present(text: str | None) -> str | None:
    """Return a cell without blanks around it; None if its value is missing."""
    text = (text or "").strip()
    return None if text.lower() in MISSING else text


def numbered(n_columns: int) -> list[str]:
    """Return names for columns without any: x1, x2, ..."""
    return [f"x{j}" for j in range(1, n_columns + 1)]
