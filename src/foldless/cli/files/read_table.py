"""Files -> arrays, for the command line: ``read_table`` to train on, ``read_new`` to predict."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from typing import Any

import numpy as np
from numpy.typing import NDArray

from foldless.cli.files.columns import learn_codes, reason, verdicts
from foldless.cli.files.encoding import (
    Code,
    Encoder,
    encode,
    hstack,
    missing_mask,
    numbers,
    texts,
    unseen_levels,
)
from foldless.cli.files.formats import read_sheet, read_sheets
from foldless.cli.files.sheet import Column, PathLike, Sheet, check_size, count, numbered, show
from foldless.cli.files.target import MissingTargets, read_target, rows_with_target, target_notes
from foldless.cli.files.written_numbers import parsed
from foldless.cli.numbers import number
from foldless.core.contracts import Matrix, Vector
from foldless.core.errors import DataError
from foldless.core.memo import cached_property
from foldless.core.targets import MIN_ROWS
from foldless.estimators.registry import TASKS

__all__ = ["Encoder", "Table", "read_new", "read_table"]

# Encoded cells of the rows that are predicted at once.
PART_MAX_CELLS = 10_000_000
# Columns that are named in a message.
LISTED_MAX_NAMES = 8


@dataclass(frozen=True)
class Table:
    """A file as arrays, with its encoding and, as notes, the decisions that were made while reading it.

    ``reading_notes`` are all notes but those on missing values, which follow from ``missing`` and the encoder.

    ``values`` are numbers, parts of dates and codes of categories, with NaN where they are missing: what ``KernelClassifier`` and
    ``KernelRegressor`` take, with ``categorical_features=table.encoder.categorical``. ``X``, whose columns are ``feature_names``, is
    for everything else: categories are columns of 0 and 1, and missing values are filled; see :mod:`foldless.cli.files.encoding`.
    ``missing`` counts the missing values of the columns that have any; ``dropped`` names columns that were left out on request,
    or because they cannot be used. ``verdicts`` has a line for every column of the file. ``ids`` are the names of the rows and
    ``rows`` their numbers in the file, from 0; None if all rows were read. ``unseen`` counts, for rows to predict, the rows of each level
    that did not occur in training, by column.
    """

    values: Matrix
    y: NDArray[Any] | None
    feature_names: list[str]
    target_name: str | None
    task: str | None
    encoder: Encoder
    reading_notes: list[str] = field(default_factory=list)
    missing: dict[str, int] = field(default_factory=dict)
    dropped: tuple[str, ...] = ()
    verdicts: dict[str, str] = field(default_factory=dict)
    ids: list[str] | None = None
    rows: Sequence[int] | None = None
    unseen: dict[str, Counter[str]] = field(default_factory=dict)

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return self.values.shape[0]

    @cached_property
    def X(self) -> Matrix:
        """The rows for machines that read numbers only: 0/1 columns for categories, no missing values."""
        return self.encoder.indicators(self.values)

    @property
    def places(self) -> NDArray[np.intp]:
        """The numbers of the rows in the file, from 0."""
        return np.arange(self.n_rows) if self.rows is None else np.asarray(self.rows, dtype=np.intp)

    @property
    def notes(self) -> list[str]:
        """Decisions that were made while reading the file, one line each."""
        filled = (
            _gap_note(code, self.missing[code.name])
            for code in self.encoder.codes
            if code.name in self.missing
        )
        return [*filled, *self.reading_notes]

    def filled_from(self, rows: NDArray[np.intp]) -> "Table":
        """Return the table whose missing values are filled with what is usual in some rows, those to train on."""
        return replace(self, encoder=self.encoder.filled_from(self.values[rows]))

    def target(self) -> tuple[NDArray[Any], str]:
        """Return the target and the task; raise if the table has no target."""
        if self.y is None or self.task is None:
            raise DataError("which column is to be predicted? Name it: --target COLUMN.")
        return self.y, self.task


def read_table(
    path: PathLike,
    target: str | None = None,
    *,
    drop: Sequence[str] = (),
    impute: bool = True,
    task: str = "auto",
    delimiter: str | None = None,
    header: bool | None = None,
    max_rows: int | None = None,
    max_memory: float | None = None,
    id_column: str | None = None,
    drop_unusable: bool = False,
    drop_missing_target: bool = False,
    needs_target: bool = False,
) -> Table:
    """Read a training file: CSV and relatives, JSON lines, Parquet (also a directory of files), Excel, ARFF, LIBSVM or npz.

    Parameters
    ----------
    path : str or path-like
        The file.
    target : str, optional
        The column to predict. LIBSVM and npz files bring their own, named ``y``; without any, ``y`` is None.
    drop : sequence of str
        Columns to leave out.
    impute : bool
        Take missing values, the default; if False, a missing value is an error. In ``X`` they are filled with the mean of a numeric column
        and the most frequent level of a category, and a further column tells where they were missing. The target is never filled.
    task : {"auto", "classification", "regression"}
        Under ``"auto"`` texts and booleans are classes, and so are integers of which there are two different
        ones, or at most 20 and at most a tenth of the rows. Other numbers are regression.
    delimiter, header : optional
        For delimited text; recognised when not given.
    max_rows : int, optional
        Rows of Parquet files to keep, drawn at random and noted; by default as many as ``max_memory`` allows.
    max_memory : float, optional
        Gigabytes that reading Parquet files and fitting their rows may take at most; by default 8.
    id_column : str, optional
        The column that names the rows; it is no input and comes back beside the predictions.
    drop_unusable : bool
        Leave out columns that cannot be used, with a note, instead of raising.
    drop_missing_target : bool
        Leave out rows without a target, with a note, instead of raising.
    needs_target : bool
        Raise if no target was named and the file brings none.

    Raises
    ------
    DataError
        With one line: what was expected, what came, and what to do.
    """
    if task not in ("auto", *TASKS):
        raise DataError(f"task must be one of auto, {', '.join(TASKS)}; got {show(task)}.")
    wanted = [name for name in (target, id_column, *drop) if name is not None]
    sheet = read_sheet(
        path, delimiter=delimiter, header=header, max_rows=max_rows, max_memory=max_memory, wanted=wanted
    )
    ids = None if id_column is None else _ids(sheet, id_column)
    sheet = _without(sheet, [*drop, *([] if id_column is None else [id_column])])
    sheet = replace(sheet, columns=tuple(parsed(sheet, column) for column in sheet.columns))
    target = sheet.target if target is None else target
    if target is None and needs_target:
        raise DataError(
            f"{path}: which column is to be predicted? Name it: --target COLUMN. {_listed(sheet.names)}"
        )
    n_read, target_errors = sheet.n_rows, dict[str, MissingTargets]()
    if target is not None:
        try:
            sheet = rows_with_target(sheet, _column(sheet, target), drop_missing_target)
        except MissingTargets as error:
            target_errors[target] = error
    if sheet.n_rows < MIN_ROWS:
        raise DataError(
            f"{path}: {count(sheet.n_rows, 'row')}; a machine needs at least {MIN_ROWS}. Is the header right?"
        )
    features = [column for column in sheet.columns if column.name != target]
    codes, unusable = learn_codes(sheet, features, impute, drop_unusable, target_errors)
    y, task_found = (None, None) if target is None else read_target(sheet, _column(sheet, target), task)
    features = [column for column in features if column.name not in unusable]
    encoder = Encoder(tuple(codes), target, task_found, id_column)
    values = _encoded(sheet, features, encoder)
    if not values.shape[1]:
        raise DataError(f"{path}: no column is left to learn from. Check --target, --drop and the delimiter.")
    notes = [sheet.note] if sheet.note else []
    if sheet.n_rows < n_read:
        notes.append(
            f"left out {n_read - sheet.n_rows} of {n_read} rows, which lack the target {show(target)}"
        )
    notes += [f"left out: {reason(complaint)}" for complaint in unusable.values()]
    notes += _notes(sheet, features, encoder.codes)
    if target is not None and y is not None and task_found is not None:
        notes += target_notes(_column(sheet, target), y, task_found, task)
    return Table(
        values,
        y,
        encoder.feature_names,
        target,
        task_found,
        encoder,
        notes,
        missing={column.name: n for column in features if (n := int(missing_mask(column).sum()))},
        dropped=(*drop, *unusable),
        verdicts=verdicts(codes, unusable, drop, id_column),
        ids=ids if ids is None or sheet.rows is None else [ids[i] for i in sheet.rows],
        rows=sheet.rows,
    )


def _ids(sheet: Sheet, name: str) -> list[str]:
    return [cell or "" for cell in texts(_column(sheet, name))]


def read_new(path: PathLike, encoder: Encoder) -> Iterator[Table]:
    """Yield the rows of a file to predict, encoded as the training file was; ``y`` is None even if the target is there.

    Parquet files come in parts of limited size, others as one table. Columns are found by name, in any order; other columns
    are ignored with a note. A level that did not occur in training is no level, and is counted in ``unseen``.
    """
    n_rows = 0
    wanted = [code.name for code in encoder.codes if code.value_names]
    for sheet in read_sheets(path, PART_MAX_CELLS // max(1, len(encoder.feature_names)), wanted):
        if sheet.n_rows:
            n_rows += sheet.n_rows
            yield _new_rows(sheet, encoder)
    if not n_rows:
        raise DataError(f"{path}: no rows. Expected at least one row below the header.")


def _new_rows(sheet: Sheet, encoder: Encoder) -> Table:
    columns = [like_training(sheet, *pair) for pair in zip(_matching(sheet, encoder), encoder.codes)]
    pairs = list(zip(columns, encoder.codes))
    notes = [note for pair in pairs for note in _filled_notes(*pair)]
    unseen = {code.name: found for column, code in pairs if (found := unseen_levels(column, code))}
    values = _encoded(sheet, columns, encoder)
    ids = None if encoder.id_name is None else _ids(sheet, encoder.id_name)
    names = {code.name for code in encoder.codes} | {encoder.target_name, encoder.id_name}
    ignored = [show(name) for name in sheet.names if name not in names]
    if ignored:
        notes.append(f"not used, because the model does not know them: {', '.join(ignored)}")
    return Table(
        values,
        None,
        encoder.feature_names,
        encoder.target_name,
        encoder.task,
        encoder,
        notes,
        ids=ids,
        unseen=unseen,
    )


def like_training(sheet: Sheet, column: Column, code: Code) -> Column:
    """Return a new column, its numbers read as they were in training; raise if it cannot be."""
    if column.problem:
        raise DataError(f"{sheet.path}: column {show(column.name)} {column.problem}")
    if code.kind != "number":
        return column
    column = parsed(sheet, column, code.form)
    ours, theirs = (form.partition(" ")[2] for form in (code.form, column.form))
    if ours and theirs and ours != theirs:
        raise DataError(
            f"{sheet.path}: column {show(column.name)} is in {theirs}, and was in {ours} in training. Convert it."
        )
    return column


def _encoded(sheet: Sheet, columns: Sequence[Column], encoder: Encoder) -> Matrix:
    check_size(sheet.path, sheet.n_rows, len(encoder.feature_names))
    return hstack((encode(sheet, *pair) for pair in zip(columns, encoder.codes)), sheet.n_rows)


def _column(sheet: Sheet, name: str) -> Column:
    for column in sheet.columns:
        if column.name == name:
            return column
    raise DataError(f"{sheet.path}: no column {show(name)}. {_suggestion(name, sheet.names)}")


def _suggestion(name: str, names: list[str]) -> str:
    lower = {known.lower(): known for known in names}
    near = [lower[match] for match in get_close_matches(name.lower(), lower, n=3)]
    if near:
        return f"Did you mean {' or '.join(map(show, near))}?"
    return _listed(names)


def _listed(names: list[str]) -> str:
    more = f" and {len(names) - LISTED_MAX_NAMES} more" if len(names) > LISTED_MAX_NAMES else ""
    return f"The columns are {', '.join(map(show, names[:LISTED_MAX_NAMES]))}{more}."


def _without(sheet: Sheet, drop: Sequence[str]) -> Sheet:
    dropped = {_column(sheet, name).name for name in drop}
    return replace(sheet, columns=tuple(column for column in sheet.columns if column.name not in dropped))


def _matching(sheet: Sheet, encoder: Encoder) -> list[Column]:
    by_name = {column.name: column for column in sheet.columns}
    absent = [code.name for code in encoder.codes if code.value_names and code.name not in by_name]
    if absent and not sheet.absent_is_zero:
        listed = ", ".join(map(show, absent[:5])) + (
            f" and {len(absent) - 5} more" if len(absent) > 5 else ""
        )
        columns = "column" if len(absent) == 1 else "columns"
        there = "which is" if len(absent) == 1 else "which are"
        raise DataError(f"{sheet.path}: the model needs the {columns} {listed}, {there} not there.")
    zeros = np.zeros(sheet.n_rows)
    return [by_name.get(code.name, Column(code.name, zeros)) for code in encoder.codes]


def _notes(sheet: Sheet, features: list[Column], codes: Sequence[Code]) -> list[str]:
    notes = []
    if sheet.lines and sheet.lines[0] == 1 and sheet.names == numbered(len(sheet.names)):
        notes.append("no header was recognised; the columns are named x1, x2, ...")
    for column, code in zip(features, codes):
        notes += _column_notes(sheet, column, code)
    return notes


def _column_notes(sheet: Sheet, column: Column, code: Code) -> Iterator[str]:
    what = f"column {show(code.name)}"
    if not code.value_names:
        yield f"{what} is always {show(code.levels[0])} and was left out"
    if column.note:
        yield f"{what} {column.note}"
    if code.kind == "date":
        yield f"{what} holds dates, which became {', '.join(code.parts)}"
    if code.kind == "number":
        rows = np.arange(sheet.n_rows) if sheet.rows is None else np.asarray(sheet.rows)
        yield from _number_notes(what, numbers(sheet, column), rows)


def _gap_note(code: Code, n_missing: int) -> str:
    """Return a note on a column of the training file with missing values."""
    done = "; the model is told where" if code.kind == "category" else f" filled with {_fill(code)}"
    return f"column {show(code.name)}: {count(n_missing, 'missing value')}{done}"


def _filled_notes(column: Column, code: Code) -> list[str]:
    """Return a note on a new column with gaps; without a count, so that parts of a file repeat no note."""
    if not code.value_names or not missing_mask(column).any():
        return []
    unusual = "" if code.has_gaps else "; none was missing in training"
    done = (
        "values are missing" if code.kind == "category" else f"missing values were filled with {_fill(code)}"
    )
    return [f"column {show(code.name)}: {done}{unusual}"]


def _fill(code: Code) -> str:
    return number(code.fill) if isinstance(code.fill, float) else "a date in the middle"


def _number_notes(what: str, values: Vector, rows: NDArray[np.intp]) -> Iterator[str]:
    """Yield what is odd about a column of numbers."""
    known = values[~np.isnan(values)]
    if np.all(known == known[0]):
        yield f"{what} is always {known[0]:g} and has no influence"
    if _counts_rows(values, rows):
        yield f"{what} only counts the rows; leave it out with --drop if it is an index"


def _counts_rows(values: Vector, rows: NDArray[np.intp]) -> bool:
    """Return True for the numbers of the rows in the file, from 0 or from 1."""
    return values.size > MIN_ROWS and any(np.array_equal(values, rows + first) for first in (0, 1))
