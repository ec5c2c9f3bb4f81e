"""Files that the page offers: predictions, parameters, a script that fits the model again, a model card.

They are texts inside the page; its script makes a file of one when a button is pressed, without any network.
"""

import csv
import io
import json
from collections.abc import Iterator
from dataclasses import dataclass
from inspect import signature
from typing import Any

import numpy as np
from sklearn.gaussian_process.kernels import Kernel

import foldless.kernels
from foldless.cli.console import printable
from foldless.cli.experiment import Experiment
from foldless.cli.files.read_table import Table
from foldless.cli.files.sheet import count
from foldless.cli.report import text
from foldless.cli.report.cautions import cautions
from foldless.cli.report.scores import Unseen, scores
from foldless.cli.report.verdict import Findings, headline, interval_text, score_text, sentences
from foldless.kernels import Metric

# A page stays below 2 MB: larger tables of predictions are left to `foldless predict`.
PREDICTIONS_MAX_CHARACTERS = 1_000_000
# Parameters of estimators that decide about the search, which the script does not repeat.
SEARCH_PARAMETERS = {
    "kernel",
    "C",
    "alpha",
    "criterion",
    "search",
    "time_budget",
    "verbose",
    "n_jobs",
    "max_evaluations",
    "on_interrupt",
}


@dataclass(frozen=True)
class Download:
    """One file: its name, its type, its content, and what it is in words."""

    name: str
    kind: str
    content: str
    title: str


def downloads(findings: Findings) -> list[Download]:
    """Return the files of a page."""
    predictions = predictions_csv(findings)
    plain = text.to_plain_data(findings.experiment)
    del plain["trace"]
    found = [
        Download("parameters.json", "application/json", json.dumps(plain, indent=1), "Parameters (JSON)"),
        Download(
            "refit.py", "text/x-python", refit_script(findings.experiment), "Python script that fits it again"
        ),
        Download("model_card.md", "text/markdown", model_card(findings), "Model card (Markdown)"),
    ]
    if predictions and len(predictions) <= PREDICTIONS_MAX_CHARACTERS:
        found.insert(0, Download("predictions.csv", "text/csv", predictions, "Predictions (CSV)"))
    return found


def predictions_csv(findings: Findings) -> str:
    """Return the answers for unseen rows, left out or held out, in the order of the table; rows are counted from 1.

    The column that names the rows comes beside their numbers, if there is one.
    """
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    experiment = findings.experiment
    classes = experiment.estimator.classes_ if experiment.is_classification else ()
    parts: list[tuple[Unseen | None, Any, str]] = [(findings.left_out, experiment.places, "left out")]
    if findings.held_out is not None and experiment.held_out is not None:
        parts.append((findings.held_out, experiment.held_out.places, "held out"))
    lines: list[list[Any]] = [
        line for unseen, places, how in parts if unseen is not None for line in _lines(unseen, places, how)
    ]
    lines.sort(key=lambda line: int(line[0]))
    table = experiment.table
    names = {} if table.ids is None else dict(zip((table.places + 1).tolist(), table.ids))
    lines = [[*line[:1], *([names[line[0]]] if names else []), *line[1:]] for line in lines]
    shown = (
        classes
        if any(unseen is not None and unseen.probabilities is not None for unseen, _, _ in parts)
        else ()
    )
    writer.writerow(
        [
            "row",
            *([table.encoder.id_name] if names else []),
            table.target_name,
            "predicted",
            *(f"probability of {label}" for label in shown),
            "judged",
        ]
    )
    writer.writerows(lines)
    return file.getvalue() if lines else ""


def _lines(unseen: Unseen, places: Any, how: str) -> Iterator[list[Any]]:
    p = unseen.probabilities
    for i, place in enumerate(places.tolist()):
        answers = [] if p is None else [f"{value:.4g}" for value in p[i]]
        answer = unseen.predicted[i]
        shown = f"{answer:.6g}" if unseen.classes is None else answer
        yield [place + 1, unseen.y[i], shown, *answers, how]


def refit_script(experiment: Experiment) -> str:
    """Return a Python script that reads the file and fits the chosen model, without a search."""
    estimator, table = experiment.estimator, experiment.table
    parameters = estimator.params_at(_chosen_theta(estimator))
    options = ", ".join(
        [
            "kernel=kernel",
            *(f"{n}={_literal(v)}" for n, v in parameters.items() if n != "kernel"),
            *_options(estimator),
        ]
    )
    step, rows = _preparation(experiment)
    impute = any(code.fill is not None for code in table.encoder.codes)
    imports = sorted({*_imports(parameters["kernel"]), (_module(type(estimator)), type(estimator).__name__)})
    held = experiment.held_out
    note = [] if held is None else [f"# {held.rows} rows had been held out; this fits all rows of the file."]
    lines = [
        '"""Fit the model of a report of foldless again, with the parameters that were chosen."""',
        "",
        *(f"from {module} import {name}" for module, name in imports),
        "from sklearn.pipeline import make_pipeline",
        "",
        "from foldless.cli import read_table",
        *_step_import(step),
        "",
        f"PATH = {_literal(experiment.source)}",
        "",
        f"table = read_table(PATH, {_literal(table.target_name)}, drop={_literal(_left_out(table))}, "
        f"impute={impute}, task={_literal(table.task)}{', drop_missing_target=True' if table.rows is not None else ''})",
        *note,
        f"kernel = {_kernel(parameters['kernel'])}",
        f"model = make_pipeline({step}, {type(estimator).__name__}({options}))",
        f"model.fit({rows}, table.y)",
        f"print(model.predict({rows})[:10])",
    ]
    return "\n".join(lines) + "\n"


def _preparation(experiment: Experiment) -> tuple[str, str]:
    """Return the step that prepares the columns, and the rows that it takes, as Python reads them."""
    if not experiment.sees_categories:
        return "ColumnScaler()" if experiment.is_scaled else '"passthrough"', "table.X"
    step = experiment.model[0]
    given = {name: value for name, value in step.get_params().items() if value not in (None, True, [])}
    if experiment.held_out is not None:
        # Among all rows other columns may change, or have gaps; the kernel counts those of the training rows.
        given["keep"] = step.get_feature_names_out().tolist()
    inside = ", ".join(f"{name}={_literal(value)}" for name, value in given.items())
    return f"PreparedColumns({inside})", "table.values"


def _step_import(step: str) -> list[str]:
    kind = step.partition("(")[0]
    modules = {"ColumnScaler": "preparation", "PreparedColumns": "prepared_columns"}
    return [f"from foldless.estimators.{modules[kind]} import {kind}"] if kind in modules else []


def _left_out(table: Table) -> list[str]:
    return [*table.dropped, *([] if table.encoder.id_name is None else [table.encoder.id_name])]


def _chosen_theta(estimator: Any) -> Any:
    selection = estimator.selection_
    machine = selection.machine.theta if selection.objective.tune_machine else ()
    return np.concatenate([np.asarray(selection.kernel.theta), np.asarray(machine)])


def _options(estimator: Any) -> Iterator[str]:
    """Yield the simple parameters of an estimator that differ from its defaults and are not about the search."""
    defaults = signature(type(estimator)).parameters
    for name, value in estimator.get_params(deep=False).items():
        simple = value is None or isinstance(value, (bool, int, float, str))
        if name not in SEARCH_PARAMETERS and simple and value != defaults[name].default:
            yield f"{name}={_literal(value)}"


def _literal(value: Any) -> str:
    """Return plain data as Python reads it."""
    if isinstance(value, np.ndarray):
        return repr(value.tolist())
    if isinstance(value, float) and np.isinf(value):  # the smoothness of a Gaussian kernel
        return f'float("{value}")'
    return repr(value.item() if isinstance(value, np.generic) else value)


def _kernel(kernel: Kernel) -> str:
    """Return a kernel as Python reads it, with all digits; a metric is not to be learned again."""
    given = kernel.get_params(deep=False) | ({"rounds": 0} if isinstance(kernel, Metric) else {})
    inner = (
        f"{name}={_kernel(value) if isinstance(value, Kernel) else _literal(value)}"
        for name, value in given.items()
    )
    return f"{type(kernel).__name__}({', '.join(inner)})"


def _imports(kernel: Kernel) -> Iterator[tuple[str, str]]:
    yield _module(type(kernel)), type(kernel).__name__
    for value in kernel.get_params(deep=False).values():
        if isinstance(value, Kernel):
            yield from _imports(value)


def _module(kind: type) -> str:
    """Return the public module of a class."""
    for module in (foldless, foldless.kernels):
        if getattr(module, kind.__name__, None) is kind:
            return module.__name__
    return kind.__module__


def model_card(findings: Findings) -> str:
    """Return a model card in Markdown: what it is for, how good it is, and what to be careful about."""
    experiment = findings.experiment
    name = _plain(experiment.table.target_name)
    lines = [f"# Model card: {name}", "", _plain(headline(findings)), ""]
    lines += ["## What it is", "", _plain(text.asked(experiment)), "", _plain(text.form(experiment)), ""]
    lines += ["## How good it is", "", *(_plain(sentence) + "\n" for sentence in sentences(findings))]
    for unseen in (findings.left_out, findings.held_out):
        if unseen is not None:
            lines += _score_table(unseen)
    lines += ["## Before you rely on it", ""]
    lines += [f"- {_plain(caution)}" for caution in cautions(findings)] or [
        "- Nothing was found to caution about."
    ]
    lines += ["- It knows only rows like those of this table.", "", "## Data", ""]
    lines += [f"- {_plain(note)}" for note in experiment.table.notes]
    lines += [
        f"- {count(len(experiment.y), 'row')} to fit, {_plain(text.target(experiment))}",
        "",
        "## Made with",
        "",
    ]
    lines += [f"- {package} {version}" for package, version in text.versions()]
    return "\n".join(lines) + "\n"


def _score_table(unseen: Unseen) -> list[str]:
    rows = [f"| {score.name} | {score_text(score)} | {interval_text(score)} |" for score in scores(unseen)]
    head = f"{count(len(unseen.y), 'row')}, {unseen.rows}:"
    return [head, "", "| score | value | 95 % interval |", "|---|---|---|", *rows, ""]


def _plain(words: object) -> str:
    """Return a text that Markdown shows letter by letter."""
    text = printable(words).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return "".join("\\" + c if c in "\\`*_[]|#" else c for c in text)
