"""Columns -> numbers: the kind of each column of a table, and how it becomes numbers, as plain data.

A column is *numeric* when at least 80 % of its values are numbers; a stray text in it is then an error, not a
level. By the same rule it is a *date*, which becomes a few numbers; see :mod:`foldless.cli.files.dates`. Otherwise it is
a *category*. A single level, or a single date, carries no information and is left out. Texts that all differ, or of which there are
more than 20 and more than half the rows, are identifiers or free text and not categories.

There are two matrices of numbers. The *values* have a column for each number, for each part of a date and for each category, which
is the number of its level (-1 if it did not occur in training); a missing value is NaN. That is what ``KernelClassifier`` and
``KernelRegressor`` are fitted to, with the categories as ``categorical_features``: the same model as of a data frame.

The *indicators* are for machines whose kernel reads numbers only. Two levels become one 0/1 column named ``column=level``, and more
become one such column each. A level that did not occur in training is 0.5, halfway, in the one column, and 0 in each of several. A
missing value is filled, and a further column, 1 for the rows where it was missing and 0 elsewhere, lets the machine learn from the gap.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from types import NoneType
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin

from foldless.cli.files.dates import (
    DATE_FORMS,
    PARTS,
    Moments,
    date_forms,
    date_parts,
    moments,
    parse_date,
    varying_parts,
)
from foldless.cli.files.sheet import NUMERIC_MIN_FRACTION, Column, Sheet, is_number, show
from foldless.cli.files.written_numbers import is_form
from foldless.core.contracts import Matrix, Vector
from foldless.core.errors import DataError
from foldless.estimators.advice import CATEGORY_MAX_LEVELS
from foldless.estimators.columns import UNKNOWN_CODE

# Texts of at least this many words on average are free text.
FREE_TEXT_MIN_WORDS = 4
IDENTIFIERS = "identifiers"
STRAY_TEXT_ADVICE = "Correct it, or empty it and use --impute."


@dataclass(frozen=True)
class Code:
    """How one column is encoded.

    Attributes
    ----------
    name : str
    kind : {"number", "category", "date"}
    levels : tuple of str
        Those of a category.
    fill : float or str, optional
        What replaces a missing value.
    form : str
        How numbers or dates are written; empty for plain numbers.
    parts : tuple of str
        The numbers that a date becomes.
    has_gaps : bool
        Whether values were missing in training: a last indicator then tells where.
    """

    name: str
    kind: str
    levels: tuple[str, ...] = ()
    fill: float | str | None = None
    form: str = ""
    parts: tuple[str, ...] = ()
    has_gaps: bool = False

    @property
    def feature_names(self) -> list[str]:
        """Names of the indicators this column becomes, none if it carries no information."""
        found = (
            [f"{self.name}={level}" for level in self.shown] if self.kind == "category" else self._own_names
        )
        return [*found, *([f"{self.name} is missing"] if self.has_gaps else [])]

    @property
    def value_names(self) -> list[str]:
        """Names of the columns of values this column becomes, none if it carries no information."""
        return self._own_names if self.feature_names else []

    @property
    def _own_names(self) -> list[str]:
        return [f"{self.name}: {part}" for part in self.parts] if self.kind == "date" else [self.name]

    @property
    def shown(self) -> tuple[str, ...]:
        """The levels with a column of their own: the second of two, each of more, none of one."""
        return self.levels[1:] if len(self.levels) <= 2 else self.levels

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> Self:
        """Return the code of a dictionary that may come from anywhere; raise ValueError if it is none."""
        name, kind, levels, fill = (plain[key] for key in ("name", "kind", "levels", "fill"))
        form, parts, has_gaps = plain.get("form", ""), plain.get("parts", ()), plain.get("has_gaps", False)
        texts = all(isinstance(text, str) for text in (name, form, *levels, *parts))
        fits = {"number": (float, int, NoneType), "category": (str, NoneType), "date": (str, NoneType)}
        if (
            not texts
            or kind not in fits
            or not isinstance(fill, fits[kind])
            or not _fits(kind, form, parts, fill)
            or (kind == "category" and fill is not None and fill not in levels)
            or not isinstance(has_gaps, bool)
        ):
            raise ValueError(f"a column of the encoder is {show(plain)}")
        return cls(name, kind, tuple(levels), fill, form, tuple(parts), has_gaps)


def _fits(kind: str, form: str, parts: Sequence[str], fill: Any) -> bool:
    """Return True if form and parts belong to the kind of a column."""
    if kind != "date":
        return not parts and is_form(form)
    return (
        form in DATE_FORMS and set(parts) <= {*PARTS} and (fill is None or parse_date(fill, form) is not None)
    )


@dataclass(frozen=True)
class Encoder:
    """How a table became X, as plain data, so that new files are encoded in the same way.

    ``id_name`` is the column that names the rows; it is no input and comes back beside the predictions.
    """

    codes: tuple[Code, ...]
    target_name: str | None = None
    task: str | None = None
    id_name: str | None = None

    @property
    def feature_names(self) -> list[str]:
        """Names of the indicators."""
        return [name for code in self.codes for name in code.feature_names]

    @property
    def value_names(self) -> list[str]:
        """Names of the columns of values."""
        return [name for code in self.codes for name in code.value_names]

    @property
    def categorical(self) -> list[int]:
        """Numbers of the columns of values that hold categories."""
        kinds = [code.kind for code in self.codes for _ in code.value_names]
        return [place for place, kind in enumerate(kinds) if kind == "category"]

    def indicators(self, values: Matrix) -> Matrix:
        """Return the indicators of rows of values; these rows themselves if they are numbers without gaps."""
        if all(code.kind == "number" and not code.has_gaps for code in self.codes) and np.all(
            values == values
        ):
            return values
        blocks, start = [], 0
        for code in self.codes:
            end = start + len(code.value_names)
            blocks.append(_indicators(code, values[:, start:end]))
            start = end
        return hstack(blocks, len(values))

    def filled_from(self, values: Matrix) -> Self:
        """Return the encoder that fills missing numbers and categories with what is usual in these rows of values."""
        firsts = np.cumsum([0, *(len(code.value_names) for code in self.codes)])[:-1]
        codes = [
            replace(code, fill=_usual(code, values[:, first])) if code.value_names else code
            for code, first in zip(self.codes, firsts)
        ]
        return replace(self, codes=tuple(codes))

    def to_dict(self) -> dict[str, Any]:
        """Return plain data: dictionaries, lists, texts, numbers."""
        columns = [
            {**asdict(code), "levels": list(code.levels), "parts": list(code.parts)} for code in self.codes
        ]
        facts = {"target_name": self.target_name, "task": self.task, "id_name": self.id_name}
        return {"columns": columns, **facts}

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> Self:
        """Return the encoder of a dictionary of ``to_dict``; raise ValueError if it is none."""
        codes = tuple(Code.from_dict(column) for column in plain["columns"])
        facts = (plain["target_name"], plain["task"], plain.get("id_name"))
        return cls(codes, *map(_optional_text, facts))


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


def _floats(column: Column) -> Vector:
    if isinstance(column.cells, np.ndarray):
        return column.cells
    return np.array([np.nan if cell is None else float(cell) for cell in column.cells], dtype=np.float64)


DROP_ADVICE = " Leave it out:"
ID_ADVICE = " Or let it name the rows: --id"


class ColumnError(DataError):
    """Something is wrong with a column; ``remedy`` is the option that helps with all columns of this kind."""

    remedy = ""


class UnusableColumn(ColumnError):
    """A column that carries nothing to learn from, or nothing that can be read: it may be left out."""

    remedy = "--drop-unusable leaves out columns that cannot be used."


class MissingValues(ColumnError):
    """Values are missing and must not be filled."""

    remedy = "Without --no-impute, missing values are filled."


def learn_code(sheet: Sheet, column: Column, impute: bool) -> Code:
    """Return how to encode a column.

    Raises
    ------
    UnusableColumn
        If it cannot be used at all.
    MissingValues
        If there are any and ``impute`` is False.
    """
    missing = missing_mask(column)
    if column.problem:
        raise _unusable(sheet, column, column.problem)
    if missing.all():
        raise _unusable(sheet, column, "is empty.")
    learn = _learn_number if is_numeric(column) else _learn_date_or_category
    code = learn(sheet, column)
    if missing.any() and not impute:
        raise _missing(
            sheet,
            column,
            missing,
            "Fill them by leaving out --no-impute, or leave the column out with --drop.",
        )
    return replace(code, has_gaps=bool(missing.any())) if impute else replace(code, fill=None)


def _unusable(sheet: Sheet, column: Column, what: str, more: str = "") -> UnusableColumn:
    name = show(column.name)
    return UnusableColumn(f"{sheet.path}: column {name} {what}{DROP_ADVICE} --drop {name}.{more}")


def _learn_number(sheet: Sheet, column: Column) -> Code:
    try:
        values = numbers(sheet, column)
    except DataError as error:
        raise UnusableColumn(*error.args) from None
    values = values[~np.isnan(values)]
    return Code(column.name, "number", fill=_mean(values), form=column.form)


def _usual(code: Code, values: Vector) -> float | str | None:
    """Return the mean or the most frequent level of the present values; what was known before if there are none."""
    present = values[~np.isnan(values)]
    if code.fill is None or code.kind == "date" or not len(present):
        return code.fill
    if code.kind == "number":
        return _mean(present)
    return code.levels[np.bincount(present.astype(np.intp), minlength=len(code.levels)).argmax()]


def _mean(values: Vector) -> float:
    # The sum of values near 1e308 would overflow.
    scale = np.abs(values).max() or 1.0
    return float(scale * np.mean(values / scale))


def _learn_date_or_category(sheet: Sheet, column: Column) -> Code:
    forms = date_forms(texts(column)) if column.levels is None else []
    if not forms:
        return _learn_category(sheet, column)
    if len(forms) > 1:
        example = next(cell for cell in texts(column) if cell is not None)
        raise _unusable(
            sheet,
            column,
            f"holds dates whose day and month can be exchanged, such as {show(example)}: write YYYY-MM-DD.",
        )
    try:
        when = dates(sheet, column, forms[0])
    except DataError as error:
        raise UnusableColumn(*error.args) from None
    when = np.sort(when[~np.isnat(when)])
    parts, middle = varying_parts(when), str(when[(len(when) - 1) // 2])
    if not parts:
        only = next(cell for cell in texts(column) if cell is not None)
        return Code(column.name, "category", (only,), only)
    return Code(column.name, "date", (), middle, forms[0], parts)


def _learn_category(sheet: Sheet, column: Column) -> Code:
    counts = Counter(cell for cell in texts(column) if cell is not None)
    n = counts.total()
    if column.levels is None and (len(counts) == n or len(counts) > max(CATEGORY_MAX_LEVELS, n / 2)):
        kind = _kind_of_text(counts, n)
        what = f"has {len(counts)} different texts in {n} rows: {kind}, not categories."
        names_rows = kind == IDENTIFIERS and len(counts) == n
        raise _unusable(sheet, column, what, f"{ID_ADVICE} {show(column.name)}." if names_rows else "")
    levels = tuple(sorted(counts)) if column.levels is None else column.levels
    return Code(column.name, "category", levels, max(levels, key=counts.__getitem__))


def _kind_of_text(counts: Counter[str], n: int) -> str:
    """Return what texts that nearly all differ are."""
    if sum(len(text.split()) for text in counts) >= FREE_TEXT_MIN_WORDS * len(counts):
        return "free text"
    return IDENTIFIERS if len(counts) > 0.9 * n else "too many levels"


def dates(sheet: Sheet, column: Column, form: str) -> Moments:
    """Return a column as moments; raise at the first text that is no date."""
    cells = texts(column)
    when = moments(cells, form)
    wrong = np.isnat(when) & ~missing_mask(column)
    if wrong.any():
        row = int(np.argmax(wrong))
        like = "2024-01-31" if form == "ISO" else datetime(2024, 1, 31).strftime(form)
        raise DataError(
            f"{sheet.path}: {sheet.where(row)}, column {show(column.name)}: expected a date such as {like}, "
            f"got {show(cells[row])}. {STRAY_TEXT_ADVICE}"
        )
    return when


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
    """Return the columns of values that a column becomes, shape (n_rows, len(code.value_names))."""
    if not code.value_names:
        return np.empty((sheet.n_rows, 0))
    missing = missing_mask(column)
    if missing.any() and code.fill is None:
        raise _missing(sheet, column, missing, "The model was tuned with --no-impute: fill them first.")
    if code.kind == "number":
        return numbers(sheet, column)[:, None]
    if code.kind == "category":
        places = {level: float(place) for place, level in enumerate(code.levels)} | {None: np.nan}
        return np.array([places.get(cell, UNKNOWN_CODE) for cell in texts(column)])[:, None]
    when = dates(sheet, column, code.form)
    return _date_values(np.where(missing, _middle(code), when) if missing.any() else when, missing, code)


def _date_values(when: Moments, missing: NDArray[np.bool_], code: Code) -> Matrix:
    """Return the parts of dates. A missing one is NaN in the first part only: one sign of a gap is enough."""
    found = date_parts(when, code.parts)
    found[missing, 0] = np.nan
    return found


def _middle(code: Code) -> Moments:
    return moments([str(code.fill)], code.form)


def _indicators(code: Code, values: Matrix) -> Matrix:
    """Return the indicators of the columns of values that belong to a code."""
    if not code.value_names:
        return np.empty((len(values), 0))
    missing = np.isnan(values[:, 0])
    gaps = [missing[:, None].astype(np.float64)] if code.has_gaps else []
    first = np.where(missing, _filled_value(code), values[:, 0]) if missing.any() else values[:, 0]
    if code.kind != "category":
        return hstack([first[:, None], values[:, 1:], *gaps], len(values))
    if len(code.levels) == 2:
        return hstack([np.where(first == UNKNOWN_CODE, 0.5, first)[:, None], *gaps], len(values))
    shown = [np.equal(first, code.levels.index(level)).astype(np.float64)[:, None] for level in code.shown]
    return hstack([*shown, *gaps], len(values))


def _filled_value(code: Code) -> float:
    """Return what replaces a missing value in the first column of values."""
    if code.kind == "number":
        return float(code.fill) if code.fill is not None else np.nan
    if code.kind == "category":
        return float(code.levels.index(str(code.fill)))
    return float(date_parts(_middle(code), code.parts)[0, 0])


class IndicatorColumns(TransformerMixin, BaseEstimator):
    """The first step of a pipeline whose machine reads numbers only: values -> indicators."""

    def __init__(self, encoder: Encoder) -> None:
        self.encoder = encoder

    def __sklearn_is_fitted__(self) -> bool:
        """Nothing is learned here."""
        return True

    def fit(self, X: Matrix, y: Any = None) -> Self:
        """Return the step as it is."""
        return self

    def transform(self, X: Matrix) -> Matrix:
        """Return the indicators of rows of values."""
        return self.encoder.indicators(X)


def unseen_levels(column: Column, code: Code) -> Counter[str]:
    """Return how many rows have each text of a column that its code has no level for."""
    if code.kind != "category" or not code.value_names:
        return Counter()
    known = {None, *code.levels}
    return Counter(cell for cell in texts(column) if cell is not None and cell not in known)


def hstack(blocks: Iterable[Matrix], n_rows: int) -> Matrix:
    """Return blocks side by side, also if there are none."""
    return np.hstack([np.empty((n_rows, 0)), *blocks])


def _missing(sheet: Sheet, column: Column, missing: NDArray[np.bool_], advice: str) -> MissingValues:
    n, place = int(missing.sum()), sheet.where(int(np.argmax(missing)))
    values = "value" if n == 1 else "values"
    return MissingValues(
        f"{sheet.path}: column {show(column.name)} has {n} missing {values} (first: {place}). {advice}"
    )
