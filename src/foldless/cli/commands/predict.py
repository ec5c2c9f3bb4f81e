"""``foldless predict``: a saved model on new rows."""

import csv
import sys
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, TextIO

import numpy as np
from sklearn.pipeline import Pipeline

from foldless.cli.files.model_file import ModelFile, load_model
from foldless.cli.files.read_table import Table, read_new
from foldless.cli.report.text import promise
from foldless.cli.terminal import check_writable, print_json, print_notes
from foldless.core.atomic_write import written_whole
from foldless.core.contracts import Matrix
from foldless.core.errors import DataError, LeverageWarning, UncertaintyWarning, UnseenLevelWarning
from foldless.estimators.uncertainty.interval_mixin import IntervalMixin
from foldless.estimators.uncertainty.set_mixin import SetMixin

# Columns beside the prediction: name -> one value per row.
Columns = dict[str, list[Any]]


def predict(
    model: Path, data: Path, output: Path | None, interval: float | None, sets: float | None, as_json: bool
) -> None:
    """Predict the rows of a table: one line each, with probabilities where the machine has them."""
    check_writable(output)
    loaded = load_model(model)
    parts = _answers(loaded, read_new(data, loaded.encoder), interval, sets)
    write = partial(_write, loaded.encoder.target_name, parts, as_json)
    if output is None:
        write(sys.stdout)
        return
    with written_whole(output) as temporary, temporary.open("w", newline="", encoding="utf-8") as file:
        write(file)


@dataclass(frozen=True)
class Answers:
    """What is written about some rows: their names, predictions, probabilities of the classes, and further columns."""

    names: Columns
    predicted: list[Any]
    probabilities: dict[Any, list[float]]
    sure: Columns


def _answers(
    loaded: ModelFile, parts: Iterable[Table], interval: float | None, sets: float | None
) -> Iterator[Answers]:
    """Yield the answers for parts of the rows, and print each note once; at the end those that count rows."""
    printed: set[str] = set()
    unseen: dict[str, Counter[str]] = {}
    for table in parts:
        predicted, probabilities = predictions(loaded.model, table.values)
        sure, warned = uncertainty(loaded.model, table.values, interval, sets)
        notes = [*([loaded.note] if loaded.note else []), *table.notes, *warned]
        print_notes([note for note in notes if note not in printed])
        printed.update(notes)
        names = {} if table.ids is None else {str(loaded.encoder.id_name): table.ids}
        for column, rows in table.unseen.items():
            unseen[column] = unseen.get(column, Counter()) + rows
        yield Answers(names, predicted, probabilities, sure)
    print_notes(str(UnseenLevelWarning(column, rows)) for column, rows in unseen.items())


def _write(target: str | None, parts: Iterable[Answers], as_json: bool, file: TextIO) -> None:
    if as_json:
        print_json([row for answers in parts for row in _objects(answers)], file)
    else:
        _write_csv(file, target, parts)


def predictions(model: Pipeline, X: Matrix) -> tuple[list[Any], dict[Any, list[float]]]:
    """Return the predictions, and for each class its probabilities if there are any."""
    predicted = model.predict(X).tolist()
    if not hasattr(model[-1], "predict_proba"):
        return predicted, {}
    return predicted, dict(zip(model[-1].classes_.tolist(), model.predict_proba(X).T.tolist()))


def uncertainty(
    model: Pipeline, X: Matrix, interval: float | None, sets: float | None
) -> tuple[Columns, list[str]]:
    """Return the columns of intervals and sets that were asked for, and what there is to say about them."""
    if interval is None and sets is None:
        return {}, []
    machine, points = model[-1], model[:-1].transform(X)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UncertaintyWarning)
        found: Columns = {}
        said = []
        if interval is not None:
            if not isinstance(machine, IntervalMixin):
                raise DataError("--interval is for numbers, and this model predicts classes. Use --sets.")
            found |= _interval_columns(machine, points, interval)
            said.append(promise(machine, interval))
        if sets is not None:
            if not isinstance(machine, SetMixin):
                raise DataError("--sets is for classes, and this model predicts numbers. Use --interval.")
            found |= {"set": _classes_of(machine, points, sets)}
            said.append(promise(machine, sets))
    return found, [*(_in_words(warning.message) for warning in caught), *said]


def _in_words(warning: Warning | str) -> str:
    """Return what a warning says, without advice that is a line of Python."""
    if not isinstance(warning, LeverageWarning):
        return str(warning)
    return (
        f"for {warning.share:.0%} of the training rows the fit without them is known only roughly, so that intervals and sets may hold "
        "less than they say."
    )


def _interval_columns(machine: IntervalMixin, points: Any, level: float) -> Columns:
    lower, upper = machine.predict_interval(points, level).T
    return {"lower": lower.tolist(), "upper": upper.tolist()}


def _classes_of(machine: SetMixin, points: Any, level: float) -> list[list[Any]]:
    """Return the classes in the set of every row."""
    members = machine.predict_set(points, level)
    return [machine.classes_[np.flatnonzero(row)].tolist() for row in members]


def _write_csv(file: TextIO, target: str | None, parts: Iterable[Answers]) -> None:
    writer = csv.writer(file, lineterminator="\n")
    for i, answers in enumerate(parts):
        if i == 0:
            named = [f"probability of {label}" for label in answers.probabilities]
            writer.writerow([*answers.names, target, *named, *answers.sure])
        columns = [[_cell(value) for value in values] for values in answers.sure.values()]
        writer.writerows(
            zip(*answers.names.values(), answers.predicted, *answers.probabilities.values(), *columns)
        )


def _cell(value: Any) -> Any:
    return "|".join(map(str, value)) if isinstance(value, list) else value


def _objects(answers: Answers) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = [{"prediction": value} for value in answers.predicted]
    for ids in answers.names.values():
        rows = [{"id": name, **row} for name, row in zip(ids, rows)]
    if answers.probabilities:
        for row, p in zip(rows, zip(*answers.probabilities.values())):
            row["probabilities"] = dict(zip(map(str, answers.probabilities), p))
    for name, values in answers.sure.items():
        for row, value in zip(rows, values):
            # JSON has no infinity.
            row[name] = None if isinstance(value, float) and not np.isfinite(value) else value
    return rows
