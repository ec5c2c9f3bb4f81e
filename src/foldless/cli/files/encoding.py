"""Columns -> numbers: the kind of each column of a table, and how it becomes columns of X, as plain data.

A column is *numeric* when at least 80 % of its values are numbers; a stray text in it is then an error, not a
level. Otherwise it is a *category*. Two levels become one 0/1 column named ``column=level``; more become one
such column each; a single level carries no information and is left out. Texts that all differ, or of which there are
more than 20 and more than half the rows, are identifiers and not categories.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from types import NoneType
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from foldless.cli.files.sheet import Column, Sheet, is_number, show
from foldless.core.contracts import Matrix, Vector
from foldless.core.errors import DataError

# A column is numeric if at least this fraction of its values are numbers.
NUMERIC_MIN_FRACTION = 0.8
# Above this many levels, a text column with more levels than half the rows is an identifier.
CATEGORY_MAX_LEVELS = 20
STRAY_TEXT_ADVICE = "Correct it, or empty it and use --impute."


@dataclass(frozen=True)
class Code:
    """How one column is encoded: its kind ("number" or "category"), its levels, and the value that replaces a missing one."""

    name: str
    kind: str
    levels: tuple[str, ...] = ()
    fill: float | str | None = None

    @property
    def feature_names(self) -> list[str]:
        """Names of the columns of X this column becomes."""
        return [self.name] if self.kind == "number" else [f"{self.name}={level}" for level in self.shown]

    @property
    def shown(self) -> tuple[str, ...]:
        """The levels with a column of their own: the second of two, each of more, none of one."""
        return self.levels[1:] if len(self.levels) <= 2 else self.levels

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> Self:
        """Return the code of a dictionary that may come from anywhere; raise ValueError if it is none."""
        name, kind, levels, fill = (plain[key] for key in ("name", "kind", "levels", "fill"))
        texts = isinstance(name, str) and all(isinstance(level, str) for level in levels)
        fits = {"number": (float, int, NoneType), "category": (str, NoneType)}
        if not texts or kind not in fits or not isinstance(fill, fits[kind]):
            raise ValueError(f"a column of the encoder is {show(plain)}")
        return cls(name, kind, tuple(levels), fill)


@dataclass(frozen=True)
class Encoder:
    """How a table became X, as plain data, so that new files are encoded in the same way."""

    codes: tuple[Code, ...]
    target_name: str | None = None
    task: str | None = None

    @property
    def feature_names(self) -> list[str]:
        """Names of the columns of X."""
        return [name for code in self.codes for name in code.feature_names]

    def to_dict(self) -> dict[str, Any]:
        """Return plain data: dictionaries, lists, texts, numbers."""
        columns = [{**asdict(code), "levels": list(code.levels)} for code in self.codes]
        return {"columns": columns, "target_name": self.target_name, "task": self.task}

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> Self:
        """Return the encoder of a dictionary of ``to_dict``; raise ValueError if it is none."""
        codes = tuple(Code.from_dict(column) for column in plain["columns"])
        return cls(codes, _optional_text(plain["target_name"]), _optional_text(plain["task"]))


def _optional_text(value: object) -> str | None:
    if value is not None and not isinstance(value, str):
        raise ValueError(f"expected a text, got {show(value)}")
    return value


def number_mask(column: Column) -> NDArray[np.bool_]:
    """Return which cells are numbers."""
    if isinstance(column.cells, np.ndarray):
        return ~np.isnan(column.cells)
    return np.array([cell is not None and is_number(cell) for cell in column.cells], dtype=bool)


def missing_mask(column: Column) -> NDArray[np.bool_]:
    """Return which cells are missing."""
    if isinstance(column.cells, np.ndarray):
        return np.isnan(column.cells)
    return np.array([cell is None for cell in column.cells], dtype=bool)


def is_numeric(column: Column) -> bool:
    """Return True by the 80 % rule; a column whose levels the file declares is never numeric."""
    n_present = np.sum(~missing_mask(column))
    return column.levels is None and number_mask(column).sum() >= NUMERIC_MIN_FRACTION * n_present


def parsed(column: Column) -> Column:
    """Return a column of numbers as a float array, any other as it is."""
    if column.levels is not None or not np.all(number_mask(column) | missing_mask(column)):
        return column
    return replace(column, cells=_floats(column))


def _floats(column: Column) -> Vector:
    if isinstance(column.cells, np.ndarray):
        return column.cells
    return np.array([np.nan if cell is None else float(cell) for cell in column.cells], dtype=np.float64)


def learn_code(sheet: Sheet, column: Column, impute: bool) -> Code:
    """Return how to encode a column; raise if its kind is unclear or a value is missing."""
    missing = missing_mask(column)
    if missing.all():
        raise DataError(
            f"{sheet.path}: column {show(column.name)} is empty. Leave it out: --drop {show(column.name)}."
        )
    if missing.any() and not impute:
        raise _missing(
            sheet, column, missing, "Fill them with --impute, or leave the column out with --drop."
        )
    if is_numeric(column):
        values = numbers(sheet, column)
        return Code(column.name, "number", fill=_mean(values[~missing]) if impute else None)
    return _learn_category(sheet, column, impute)


def _mean(values: Vector) -> float:
    # The sum of values near 1e308 would overflow.
    scale = np.abs(values).max() or 1.0
    return float(scale * np.mean(values / scale))


def _learn_category(sheet: Sheet, column: Column, impute: bool) -> Code:
    counts = Counter(cell for cell in texts(column) if cell is not None)
    n = counts.total()
    if column.levels is None and (len(counts) == n or len(counts) > max(CATEGORY_MAX_LEVELS, n / 2)):
        raise DataError(
            f"{sheet.path}: column {show(column.name)} has {len(counts)} different texts in {n} rows: "
            f"identifiers, not categories. Leave it out: --drop {show(column.name)}."
        )
    levels = tuple(sorted(counts)) if column.levels is None else column.levels
    most_frequent = max(levels, key=counts.__getitem__)
    return Code(column.name, "category", levels, most_frequent if impute else None)


def numbers(sheet: Sheet, column: Column, advice: str = STRAY_TEXT_ADVICE) -> Vector:
    """Return a column as floats, nan if missing; raise at the first text or infinity."""
    if not isinstance(column.cells, np.ndarray):
        _check_no_text(sheet, column, advice)
    values = _floats(column)
    if np.isinf(values).any():
        place = sheet.where(int(np.argmax(np.isinf(values))))
        raise DataError(
            f"{sheet.path}: {place}, column {show(column.name)}: the value is infinite, or too large."
        )
    return values


def _check_no_text(sheet: Sheet, column: Column, advice: str) -> None:
    stray = ~number_mask(column) & ~missing_mask(column)
    if stray.any():
        row = int(np.argmax(stray))
        raise DataError(
            f"{sheet.path}: {sheet.where(row)}, column {show(column.name)}: expected a number "
            f"like the others, got {show(column.cells[row])}. {advice}"
        )


def texts(column: Column) -> list[str | None]:
    """Return a column as texts, None if missing; the number 3.0 becomes "3"."""
    if not isinstance(column.cells, np.ndarray):
        return list(column.cells)
    return [None if np.isnan(value) else repr(value).removesuffix(".0") for value in column.cells.tolist()]


def encode(sheet: Sheet, column: Column, code: Code) -> Matrix:
    """Return the columns of X that a column becomes, shape (n_rows, len(code.feature_names))."""
    missing = missing_mask(column)
    if missing.any() and code.fill is None:
        raise _missing(sheet, column, missing, "The model was tuned without --impute: fill them first.")
    if code.kind == "number":
        values = numbers(sheet, column)
        return (np.where(missing, float(code.fill), values) if code.fill is not None else values)[:, None]
    cells = np.array([code.fill if cell is None else cell for cell in texts(column)], dtype=object)
    return hstack((np.equal(cells, level).astype(np.float64)[:, None] for level in code.shown), len(cells))


def unknown_levels(column: Column, code: Code) -> list[str]:
    """Return the texts of a column that its code has no level for."""
    if code.kind == "number":
        return []
    return sorted({cell for cell in texts(column) if cell is not None} - set(code.levels))


def hstack(blocks: Iterable[Matrix], n_rows: int) -> Matrix:
    """Return blocks side by side, also if there are none."""
    return np.hstack([np.empty((n_rows, 0)), *blocks])


def _missing(sheet: Sheet, column: Column, missing: NDArray[np.bool_], advice: str) -> DataError:
    n, place = int(missing.sum()), sheet.where(int(np.argmax(missing)))
    values = "value" if n == 1 else "values"
    return DataError(
        f"{sheet.path}: column {show(column.name)} has {n} missing {values} (first: {place}). {advice}"
    )
