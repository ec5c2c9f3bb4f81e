"""The target: classes or numbers, without missing values."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from foldless.cli.files.encoding import ColumnError, is_numeric, missing_mask, number_mask, numbers, texts
from foldless.cli.files.sheet import Column, Sheet, count, show
from foldless.core.contracts import Vector
from foldless.core.errors import DataError

# A target of at most this many different integers is recognised as classes.
TARGET_MAX_CLASSES = 20


class MissingTargets(ColumnError):
    """Rows lack the target, and must not be left out."""

    remedy = "--drop-missing-target leaves out rows without a target."


def rows_with_target(sheet: Sheet, column: Column, drop_missing: bool) -> Sheet:
    """Return a sheet without the rows that lack the target; raise if there are such rows and they must not be left out."""
    missing = missing_mask(column)
    if not missing.any():
        return sheet
    if not drop_missing:
        raise MissingTargets(
            f"{sheet.path}: the target {show(column.name)} has {count(int(missing.sum()), 'missing value')} "
            f"(first: {sheet.where(int(np.argmax(missing)))}). It is never imputed: leave those rows out with "
            "--drop-missing-target."
        )
    return sheet.kept(np.flatnonzero(~missing))


def read_target(sheet: Sheet, column: Column, task: str) -> tuple[NDArray[Any], str]:
    """Return the target, which has no missing values, and the task."""
    if column.problem:
        raise DataError(f"{sheet.path}: the target {show(column.name)} {column.problem}")
    values = _target_numbers(sheet, column, task)
    classes = task == "classification" or values is None or (task == "auto" and _are_classes(values))
    y = _labels(column, values) if classes or values is None else values
    task = "classification" if classes else "regression"
    _check_not_degenerate(sheet, column, y, task)
    return y, task


def _target_numbers(sheet: Sheet, column: Column, task: str) -> Vector | None:
    """Return the target as numbers, or None if it must be classes."""
    if task == "classification" and not number_mask(column).all():
        return None
    if task != "regression" and not is_numeric(column):
        return None
    return numbers(sheet, column, advice="Correct it, or say --task classification.")


def _are_classes(values: Vector) -> bool:
    n_different = len(np.unique(values))
    few = n_different <= 2 or n_different <= min(TARGET_MAX_CLASSES, values.size / 10)
    return bool(few and np.all(values == np.round(values)))


def _labels(column: Column, values: Vector | None) -> NDArray[Any]:
    if column.written is not None:
        return np.array(column.written, dtype=str)
    if values is not None and np.all(values == np.round(values)) and np.all(np.abs(values) < 2**53):
        return values.astype(np.int64)
    return np.array(texts(column), dtype=str)


def _check_not_degenerate(sheet: Sheet, column: Column, y: NDArray[Any], task: str) -> None:
    different = np.unique(y)
    what = f"{sheet.path}: the target {show(column.name)}"
    if len(different) == 1:
        kind = "class" if task == "classification" else "value"
        raise DataError(f"{what} has one {kind} only, {show(different[0])}; expected at least two.")
    if task == "classification" and len(different) > y.size / 2:
        raise DataError(
            f"{what} has {len(different)} classes in {y.size} rows. Is it numeric (--task regression)?"
        )


def target_notes(column: Column, y: NDArray[Any], found: str, asked: str) -> Iterator[str]:
    """Yield how the target was read, and as what it was recognised."""
    if column.note and (found == "regression" or column.written is None):
        yield f"the target {show(column.name)} {column.note}"
    if asked == "auto":
        what = f"{len(np.unique(y))} classes" if found == "classification" else "numbers"
        yield f"the target {show(column.name)} was recognised as {what} ({found}); --task overrides"
