"""``foldless compare``: every machine by every criterion on the same splits."""

import time
import warnings
from collections.abc import Iterable
from dataclasses import replace
from math import isfinite, isnan
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import clone

from foldless.cli.console import EXIT_INTERRUPTED, console, print_message, table
from foldless.cli.experiment import check_holdout
from foldless.cli.files.read_table import Table
from foldless.cli.files.sheet import count
from foldless.cli.numbers import with_spread
from foldless.cli.options import Task, parse_kernels, split_names
from foldless.cli.report import number, percent
from foldless.cli.report.baselines import simple_models
from foldless.cli.terminal import (
    check_names,
    counting,
    print_json,
    print_notes,
    source_name,
    training_table,
    waiting,
)
from foldless.core.contracts import Matrix
from foldless.estimators.registry import AUTOMATIC
from foldless.inspection.compare import compare as compare_all
from foldless.inspection.comparison import Comparison, Row
from foldless.inspection.metrics import prediction_error
from foldless.tuning.validation_split import split_rows

COLUMNS = ("machine and criterion", "chosen", "error", "seconds")
SHORT_TITLES = {"length_scale": "scale"}
SHORT_MAX_CHARACTERS = 6
BASELINE_NAMES = ("constant", "linear model", "boosted trees")
# What `foldless tune` does if nothing is chosen.
DEFAULT_NAME = "auto"
# A model with its name, and the rows as it needs them.
Other = tuple[str, Any, Matrix]
# Entries of a line of the comparison that are not chosen parameters.
MEASURED = {
    *("machine", "criterion", "title", "value", "unit", "error", "sd"),
    *("rank", "p_t", "p_wilcoxon", "seconds", "note"),
}


def compare(
    data: Path,
    target: str | None,
    as_json: bool,
    seed: int,
    jobs: int | None,
    criterion: str | None,
    machine: str | None,
    kernel: str | None,
    search: str | None,
    task: Task,
    holdout: float,
    repeats: int,
    scale: bool,
    baselines: bool,
    **reading: Any,
) -> int:
    """Print the errors of machines tuned by criteria on rows held out, also after Ctrl-C, and return the exit code."""
    check_names(machine=machine, kernel=kernel, criterion=criterion, search=search)
    rows = training_table(data, target, task.value, machine, **reading)
    check_holdout(rows, holdout)
    y, kind = rows.target()
    named = [] if machine is None else split_names(machine)
    machines = [name for name in named if name != DEFAULT_NAME]
    found, done = Comparison((), holdout / (1 - holdout)), repeats
    with counting() as progress:
        if machines or not named:
            found = compare_all(
                rows.X,
                y,
                machines or "auto",
                "all" if criterion is None else split_names(criterion),
                holdout=holdout,
                repeats=repeats,
                scale=scale,
                task=kind,
                random_state=seed,
                n_jobs=jobs,
                watch=progress,
                on_interrupt="keep",
                **({} if search is None else {"search": search}),
                kernel=parse_kernels(kernel),
            )
            done = found.errors.shape[0]
    others = _baselines(rows) if baselines else []
    if progress.is_complete and (DEFAULT_NAME in named or (baselines and machine is criterion is None)):
        others.append(_default(rows, scale=scale, random_state=seed, n_jobs=jobs))
    with waiting("fitting models to compare with"):
        found = replace(found, rows=(*found.rows, *_other_rows(others, rows, holdout, seed, done)))
    lines = found.sorted_lines()
    if as_json:
        print_json([_without_infinities(line) for line in lines])
    else:
        print_notes(rows.notes)
        title = f"{source_name(data)}: {rows.target_name}, held-out error over {count(done, 'split')}"
        console().print(table(title, [_cells(line, kind == "classification") for line in lines], COLUMNS))
        print_notes(
            f"{line['machine']} {line['criterion']}: {line['note']}" for line in lines if line["note"]
        )
    if not progress.is_complete:
        print_message(f"interrupted after {progress}; this is what was done.")
        return EXIT_INTERRUPTED
    return 0


def _baselines(rows: Table) -> list[Other]:
    models = simple_models(rows.task == "classification").values()
    return [(name, model, rows.X) for name, model in zip(BASELINE_NAMES, models)]


def _default(rows: Table, **options: Any) -> Other:
    """Return what `foldless tune` fits if nothing is chosen."""
    estimator = AUTOMATIC[rows.target()[1]]
    return DEFAULT_NAME, estimator(categorical_features=rows.encoder.categorical, **options), rows.values


def _other_rows(models: Iterable[Other], rows: Table, holdout: float, seed: int, repeats: int) -> list[Row]:
    """Return what other models, with their names and the rows as they need them, reach on the same splits."""
    y, task = rows.target()
    labels = y if task == "classification" else None
    splits = [split_rows(len(y), holdout, seed + r, labels) for r in range(repeats)]
    found = []
    for name, model, X in models:
        errors, seconds = np.empty(repeats), np.empty(repeats)
        for r, (train, test) in enumerate(splits):
            begun = time.perf_counter()
            with warnings.catch_warnings():
                # A linear model that has not converged is no concern of the reader.
                warnings.simplefilter("ignore")
                fitted: Any = clone(model).fit(X[train], y[train])
            seconds[r] = time.perf_counter() - begun
            errors[r] = prediction_error(y[test], fitted.predict(X[test]), task == "classification")
        found.append(Row(name, "", errors, np.full(repeats, np.nan), seconds, {}))
    return found


def _cells(line: dict[str, Any], is_classification: bool) -> tuple[str, ...]:
    """Return the texts of one line of the table."""
    chosen = ", ".join(
        f"{SHORT_TITLES.get(name, name)} {_short(value)}"
        for name, value in line.items()
        if name not in MEASURED and not isnan(value)
    )
    name = " ".join(filter(None, (line["machine"], line["criterion"])))
    return name, chosen, _error_text(line["error"], line["sd"], is_classification), f"{line['seconds']:.2f}"


def _short(value: float) -> str:
    """Return two digits of a chosen parameter, in at most six characters: ten million is 1e7."""
    text = number(float(f"{value:.2g}"))
    return (
        text
        if len(text) <= SHORT_MAX_CHARACTERS
        else f"{value:.1e}".replace(".0e", "e").replace("e+0", "e").replace("e-0", "e-")
    )


def _error_text(error: float, sd: float, is_classification: bool) -> str:
    """Return an error and its standard deviation over splits, if it has one; that of classes in percent."""
    if isnan(error):
        return "undefined"
    if is_classification:
        return percent(error) if isnan(sd) else f"{100 * error:.1f} ± {percent(sd)}"
    return number(error) if isnan(sd) else with_spread(error, sd)


def _without_infinities(line: dict[str, Any]) -> dict[str, Any]:
    return {name: None if isinstance(v, float) and not isfinite(v) else v for name, v in line.items()}
