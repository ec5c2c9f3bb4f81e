"""What a file holds before anyone asks what it means: named columns, and how to speak about its rows."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

MISSING = {"", "na", "n/a", "nan", "null", "?"}  # compared in lower case

_NUMBER = re.compile(r"\s*[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\s*|\s*[+-]?(inf|infinity)\s*", re.IGNORECASE)


@dataclass(frozen=True)
class Column:
    """One column: text cells (None where missing) or a float array (nan where missing)."""

    name: str
    cells: Sequence[str | None] | np.ndarray
    levels: tuple[str, ...] | None = None  # declared by the file: ARFF nominal, Parquet dictionary, booleans


@dataclass(frozen=True)
class Sheet:
    """The columns of a file, and how to speak about its rows."""

    path: str
    columns: tuple[Column, ...]
    lines: Sequence[int] | None = None  # the line of each row in a text file
    target: str | None = None  # the column the format itself calls y
    absent_is_zero: bool = False  # LIBSVM: a column that is not there is zero

    @property
    def names(self) -> list[str]:
        """Column names, in the order of the file."""
        return [column.name for column in self.columns]

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.columns[0].cells) if self.columns else 0

    def where(self, row: int) -> str:
        """Name a row as the reader of the file would find it."""
        return f"row {row + 1}" if self.lines is None else f"line {self.lines[row]}"


def is_number(cell: str) -> bool:
    """Tell whether a cell is a decimal number (``inf`` is one, ``nan`` and ``1_000`` are not)."""
    return _NUMBER.fullmatch(cell) is not None


def show(value: object) -> str:
    """Quote a value from a file, on one line and short enough for a message."""
    text = repr(str(value))
    return text if len(text) <= 42 else text[:38] + "...'"


def present(text: str | None) -> str | None:
    """Strip a cell; None if it says that its value is missing."""
    text = (text or "").strip()
    return None if text.lower() in MISSING else text


def numbered(n_columns: int) -> list[str]:
    """Names for columns that have none: x1, x2, ..."""
    return [f"x{j}" for j in range(1, n_columns + 1)]
