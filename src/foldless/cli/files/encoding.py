"""Columns -> numbers: what each column of a table is, and how it becomes columns of X, as plain data.

A column is *numeric* when at least 80 % of its values are numbers; a stray text in it is then an error, not a
level. Otherwise it is a *category*. Two levels become one 0/1 column named ``column=level``; more become one
such column each; a single level carries nothing and is left out. Texts that all differ, or of which there are
more than 20 and more than half the rows, are names and not categories.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, replace

import numpy as np

from foldless.cli.files.sheet import Column, Sheet, is_number, show
from foldless.core.errors import DataError

NUMERIC_SHARE = 0.8  # of the values present, for a column to be numeric
STRAY = "Correct it, or empty it and use --impute."
MANY_LEVELS = 20  # beyond which more levels than half the rows is a name


@dataclass(frozen=True)
class Code:
    """How one column is encoded: its kind, its levels, and what stands in for a missing value."""

    name: str
    kind: str  # "number" or "category"
    levels: tuple[str, ...] = ()
    fill: float | str | None = None

    @property
    def feature_names(self) -> list[str]:
        """Names of the columns of X this column becomes."""
        return [self.name] if self.kind == "number" else [f"{self.name}={level}" for level in self.shown]

    @property
    def shown(self) -> tuple[str, ...]:
        """The levels that have a column of their own: the second of two, each of more, none of one."""
        return self.levels[1:] if len(self.levels) <= 2 else self.levels


@dataclass(frozen=True)
class Encoder:
    """How a table was turned into X, as plain data, so that new files are turned the same way."""

    codes: tuple[Code, ...]
    target_name: str | None = None
    task: str | None = None

    @property
    def feature_names(self) -> list[str]:
        """Names of the columns of X."""
        return [name for code in self.codes for name in code.feature_names]

    def to_dict(self) -> dict:
        """Return plain data: dictionaries, lists, texts, numbers."""
        columns = [{**asdict(code), "levels": list(code.levels)} for code in self.codes]
        return {"columns": columns, "target_name": self.target_name, "task": self.task}

    @classmethod
    def from_dict(cls, plain: Mapping) -> "Encoder":
        """Rebuild an encoder from what ``to_dict`` gave."""
        codes = (Code(**{**column, "levels": tuple(column["levels"])}) for column in plain["columns"])
        return cls(tuple(codes), plain["target_name"], plain["task"])


def number_mask(column: Column) -> np.ndarray:
    """Tell which cells are numbers."""
    if isinstance(column.cells, np.ndarray):
        return ~np.isnan(column.cells)
    return np.array([cell is not None and is_number(cell) for cell in column.cells], dtype=bool)


def missing_mask(column: Column) -> np.ndarray:
    """Tell which cells are missing."""
    if isinstance(column.cells, np.ndarray):
        return np.isnan(column.cells)
    return np.array([cell is None for cell in column.cells], dtype=bool)


def is_numeric(column: Column) -> bool:
    """Apply the 80 % rule; a column whose levels the file declares is never numeric."""
    n_present = np.sum(~missing_mask(column))
    return column.levels is None and number_mask(column).sum() >= NUMERIC_SHARE * n_present


def parsed(column: Column) -> Column:
    """Parse a column of numbers once and for all; return any other as it is."""
    if column.levels is not None or not np.all(number_mask(column) | missing_mask(column)):
        return column
    return replace(column, cells=_floats(column))


def _floats(column: Column) -> np.ndarray:
    if isinstance(column.cells, np.ndarray):
        return column.cells
    return np.array([np.nan if cell is None else float(cell) for cell in column.cells], dtype=np.float64)


def learn_code(sheet: Sheet, column: Column, impute: bool) -> Code:
    """Decide what a column is; raise where that cannot be told or a value is missing."""
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


def _mean(values: np.ndarray) -> float:
    scale = np.abs(values).max() or 1.0  # a sum of values near 1e308 would overflow
    return float(scale * np.mean(values / scale))


def _learn_category(sheet: Sheet, column: Column, impute: bool) -> Code:
    counts = Counter(cell for cell in texts(column) if cell is not None)
    n = counts.total()
    if column.levels is None and (len(counts) == n or len(counts) > max(MANY_LEVELS, n / 2)):
        raise DataError(
            f"{sheet.path}: column {show(column.name)} has {len(counts)} different texts in {n} rows: "
            f"names, not categories. Leave it out: --drop {show(column.name)}."
        )
    levels = tuple(sorted(counts)) if column.levels is None else column.levels
    commonest = max(levels, key=counts.__getitem__)  # the first of equals
    return Code(column.name, "category", levels, commonest if impute else None)


def numbers(sheet: Sheet, column: Column, advice: str = STRAY) -> np.ndarray:
    """Return a column as floats, nan where missing; raise at the first text or infinity."""
    if not isinstance(column.cells, np.ndarray):
        _refuse_text(sheet, column, advice)
    values = _floats(column)
    if np.isinf(values).any():
        place = sheet.where(int(np.argmax(np.isinf(values))))
        raise DataError(
            f"{sheet.path}: {place}, column {show(column.name)}: the value is infinite, or too large."
        )
    return values


def _refuse_text(sheet: Sheet, column: Column, advice: str) -> None:
    stray = ~number_mask(column) & ~missing_mask(column)
    if stray.any():
        row = int(np.argmax(stray))
        raise DataError(
            f"{sheet.path}: {sheet.where(row)}, column {show(column.name)}: expected a number "
            f"like the others, got {show(column.cells[row])}. {advice}"
        )


def texts(column: Column) -> list[str | None]:
    """Return a column as texts, None where missing; 3.0 reads "3"."""
    if not isinstance(column.cells, np.ndarray):
        return list(column.cells)
    return [None if np.isnan(value) else repr(value).removesuffix(".0") for value in column.cells.tolist()]


def encode(sheet: Sheet, column: Column, code: Code) -> np.ndarray:
    """Turn a column into its columns of X, shape (n_rows, len(code.feature_names))."""
    missing = missing_mask(column)
    if missing.any() and code.fill is None:
        raise _missing(sheet, column, missing, "The model was tuned without --impute: fill them first.")
    if code.kind == "number":
        values = numbers(sheet, column)
        return (np.where(missing, float(code.fill), values) if code.fill is not None else values)[:, None]
    cells = np.array([code.fill if cell is None else cell for cell in texts(column)], dtype=object)
    return hstack((np.equal(cells, level).astype(np.float64)[:, None] for level in code.shown), len(cells))


def unknown_levels(column: Column, code: Code) -> list[str]:
    """List the texts of a column that its code has no level for."""
    if code.kind == "number":
        return []
    return sorted({cell for cell in texts(column) if cell is not None} - set(code.levels))


def hstack(blocks: Iterable[np.ndarray], n_rows: int) -> np.ndarray:
    """Put blocks side by side, also when there are none."""
    return np.hstack([np.empty((n_rows, 0)), *blocks])


def _missing(sheet: Sheet, column: Column, missing: np.ndarray, advice: str) -> DataError:
    n, place = int(missing.sum()), sheet.where(int(np.argmax(missing)))
    values = "value" if n == 1 else "values"
    return DataError(
        f"{sheet.path}: column {show(column.name)} has {n} missing {values} (first: {place}). {advice}"
    )
