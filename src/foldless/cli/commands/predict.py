"""``foldless predict``: a saved model on new rows."""

import csv
import sys
from functools import partial
from pathlib import Path
from typing import Annotated, Any, TextIO

from sklearn.pipeline import Pipeline

from foldless.cli.files.atomic import written_whole
from foldless.cli.files.model_file import load_model
from foldless.cli.files.read_table import read_new
from foldless.cli.options import Json, typer
from foldless.cli.terminal import check_writable, print_json, print_notes
from foldless.core.contracts import Matrix


def predict(
    model: Annotated[
        Path, typer.Argument(help="A file written by `foldless tune --save`.", show_default=False)
    ],
    data: Annotated[
        Path, typer.Argument(help="Rows to predict; columns are found by name.", show_default=False)
    ],
    output: Annotated[Path | None, typer.Option(help="Write the CSV there instead of printing it.")] = None,
    as_json: Json = False,
) -> None:
    """Predict the rows of a table: one line each, with probabilities where the machine has them."""
    check_writable(output)
    loaded = load_model(model)
    table = read_new(data, loaded.encoder)
    print_notes([*([loaded.note] if loaded.note else []), *table.notes])
    predicted, probabilities = predictions(loaded.model, table.X)
    write = partial(_write, loaded.encoder.target_name, predicted, probabilities, as_json)
    if output is None:
        write(sys.stdout)
        return
    with written_whole(output) as temporary, temporary.open("w", newline="", encoding="utf-8") as file:
        write(file)


def _write(
    target: str | None,
    predicted: list[Any],
    probabilities: dict[Any, list[float]],
    as_json: bool,
    file: TextIO,
) -> None:
    if as_json:
        print_json(_objects(predicted, probabilities), file)
    else:
        _write_csv(file, target, predicted, probabilities)


def predictions(model: Pipeline, X: Matrix) -> tuple[list[Any], dict[Any, list[float]]]:
    """Return the predictions, and for each class its probabilities if there are any."""
    predicted = model.predict(X).tolist()
    if not hasattr(model[-1], "predict_proba"):
        return predicted, {}
    return predicted, dict(zip(model[-1].classes_.tolist(), model.predict_proba(X).T.tolist()))


def _write_csv(
    file: TextIO, target: str | None, predicted: list[Any], probabilities: dict[Any, list[float]]
) -> None:
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow([target, *(f"probability of {label}" for label in probabilities)])
    writer.writerows(zip(predicted, *probabilities.values()))


def _objects(predicted: list[Any], probabilities: dict[Any, list[float]]) -> list[dict[str, Any]]:
    if not probabilities:
        return [{"prediction": value} for value in predicted]
    rows = zip(predicted, zip(*probabilities.values()))
    return [
        {"prediction": value, "probabilities": dict(zip(map(str, probabilities), p))} for value, p in rows
    ]
