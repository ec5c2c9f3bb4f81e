"""The commands: each reads its arguments, calls one function of the library and prints what came back."""

import csv
import json
import shlex
import sys
from contextlib import nullcontext
from dataclasses import replace
from enum import Enum
from importlib import import_module
from inspect import Parameter, signature
from math import isfinite, isnan
from pathlib import Path
from pkgutil import iter_modules
from typing import Annotated

from foldless import __version__, criteria, searches
from foldless import reproduce as foldless_reproduce
from foldless.catalogue import MACHINES, TASKS, name_of
from foldless.compare import compare as compare_all
from foldless.contracts import Stop
from foldless.data import DataError, read_new, read_table
from foldless.demo import HOLDOUT, breast_cancer, grid_search
from foldless.errors import INTERRUPTED, UnknownName
from foldless.extras import need
from foldless.model_file import load_model, save_model
from foldless.named import NAMED
from foldless.report import (
    WORDS,
    console,
    cross_entropy,
    facts,
    number,
    percent,
    plain,
    say,
    table,
    write_report,
)
from foldless.study import Request, conduct, split

typer = need("typer", "cli")
REPEATS = 5  # random splits of a comparison

app = typer.Typer(
    help="Tune kernel machines without cross-validation folds.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)
Task = Enum("Task", {name: name for name in ("auto", *TASKS)}, type=str)


def _listed(names):
    """Complete a name on the command line."""
    return lambda incomplete: [name for name in sorted(names) if name.startswith(incomplete)]


def tables():
    """Names of the tables that can be reproduced: ``li-2`` is ``table_2`` of ``foldless.reproduce.li``."""
    modules = [info.name for info in iter_modules(foldless_reproduce.__path__)]
    return [f"{module}-{number}" for module in modules for number in _numbers(module)]


def _numbers(module):
    functions = vars(import_module(f"foldless.reproduce.{module}"))
    return sorted(name.removeprefix("table_") for name in functions if name.startswith("table_"))


def table_function(name):
    """Return the function that computes a table."""
    module, _, number = name.rpartition("-")
    return getattr(import_module(f"foldless.reproduce.{module}"), f"table_{number}")


Data = Annotated[Path, typer.Argument(help="CSV, TSV, Parquet, ARFF, LIBSVM or npz.", show_default=False)]
Target = Annotated[
    str | None, typer.Option(help="The column to predict. LIBSVM and npz files bring their own.")
]
Report = Annotated[Path | None, typer.Option(help="Write a page that opens in any browser.")]
Save = Annotated[Path | None, typer.Option(help="Write the model for `foldless predict`.")]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object instead of a table.")]
Seed = Annotated[int, typer.Option(help="Seed of everything random.")]
Jobs = Annotated[int | None, typer.Option(help="Processes to use where there is something to share out.")]
Budget = Annotated[float | None, typer.Option(help="Seconds after which the best so far is taken.", min=0.0)]
CriterionName = Annotated[
    str | None, typer.Option(help="What is minimised.", autocompletion=_listed(criteria.BY_NAME))
]
MachineName = Annotated[
    str | None, typer.Option(help=f"One of {', '.join(MACHINES)}.", autocompletion=_listed(MACHINES))
]
KernelNames = Annotated[
    str, typer.Option(help="A kernel, or several with commas between.", autocompletion=_listed(NAMED))
]
SearchName = Annotated[
    str | None, typer.Option(help="How it is minimised.", autocompletion=_listed(searches.BY_NAME))
]
Impute = Annotated[bool, typer.Option("--impute", help="Fill missing values: mean, or commonest level.")]
Drop = Annotated[list[str] | None, typer.Option(help="A column to leave out; may be given several times.")]
TaskName = Annotated[Task, typer.Option(help="Whether the target is classes or numbers.")]
Holdout = Annotated[float, typer.Option(help="Share of the rows to set aside for measuring the error.")]
Scale = Annotated[bool, typer.Option(help="Bring the features to mean 0 and variance 1 first.")]


def _version(asked: bool):
    if asked:
        print(f"foldless {__version__}")
        raise typer.Exit()


@app.callback()
def foldless(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
):
    """Tune kernel machines without cross-validation folds."""


@app.command()
def demo(
    report: Annotated[Path, typer.Option(help="The page to write.")] = Path("report.html"), seed: Seed = 0
):
    """Tune a classifier on embedded data, beside a grid search, and write a report."""
    data = breast_cancer()
    request = Request(holdout=HOLDOUT, seed=seed, verbose=_bar())
    study = conduct(data, request, "scikit-learn's breast cancer data", command_line())
    with _waiting("the same by GridSearchCV(SVC): 10 x 10 settings, 10 folds"):
        baseline = grid_search(data, seed)
    title = f"{data.target_name}: {len(study.y)} rows to tune on, {study.held_out.rows} held out"
    console().print(table(title, side_by_side(study, baseline), ("", "foldless", "GridSearchCV(SVC)")))
    ratio = baseline.seconds / study.seconds
    console().print(f"time of the grid search over that of foldless in this run: {number(ratio)}")
    _write(study, report)


def side_by_side(study, baseline):
    """Return rows (what, ours, grid search's)."""
    estimator = study.estimator
    return [
        ("machine", "kernel logistic", "support vector"),
        ("C", number(estimator.C_), number(baseline.C)),
        ("width", number(estimator.kernel_.length_scale), number(baseline.width)),
        ("LOO cross-entropy per row", number(cross_entropy(study)), "-"),
        (
            "estimated error (LOO, 10 folds)",
            percent(study.loo_error),
            percent(baseline.folds_error),
        ),
        ("held-out error", percent(study.held_out.error), percent(baseline.held_out_error)),
        ("evaluations (fits)", str(estimator.n_evaluations_), str(baseline.fits)),
        ("seconds", f"{study.seconds:.2f}", f"{baseline.seconds:.2f}"),
    ]


@app.command()
def tune(
    data: Data,
    target: Target = None,
    report: Report = None,
    save: Save = None,
    as_json: Json = False,
    seed: Seed = 0,
    jobs: Jobs = None,
    time_budget: Budget = None,
    criterion: CriterionName = None,
    machine: MachineName = None,
    kernel: KernelNames = "rbf",
    search: SearchName = None,
    impute: Impute = False,
    drop: Drop = None,
    task: TaskName = Task.auto,
    holdout: Holdout = 0.0,
    scale: Scale = True,
    criteria_too: Annotated[
        bool, typer.Option("--compare", help="Show in the report what other criteria would have given.")
    ] = False,
):
    """Tune a kernel machine on a table, without folds."""
    rows = _table(data, target, drop, impute, task)
    request = Request(
        machine,
        tuple(_names(kernel)),
        criterion,
        search,
        holdout,
        scale,
        seed,
        jobs,
        time_budget,
        verbose=_bar(),
    )
    study = conduct(rows, request, data.name, command_line())
    if criteria_too:
        study = replace(study, comparison=_criteria_of(study))
    if as_json:
        print(json.dumps(plain(study), allow_nan=False))
    else:
        _tell(rows.notes)
        console().print(table(f"{data.name}: {rows.target_name}", facts(study), ("", "")))
    if report is not None:
        _write(study, report)
    if save is not None:
        save_model(save, study.model, rows.encoder, getattr(study.estimator, "classes_", None))
        say(f"wrote {save}")
    if study.estimator.selection_.outcome.stop is Stop.INTERRUPTED:
        raise typer.Exit(INTERRUPTED)


def _criteria_of(study):
    """Tune the machine of a study by every criterion it can read."""
    name = name_of(study.estimator)
    with _waiting("tuning by every criterion"):
        return compare_all(
            study.table.X,
            study.table.y,
            [name],
            task=study.table.task,
            repeats=REPEATS,
            scale=study.request.scale,
            random_state=study.request.seed,
            n_jobs=study.request.jobs,
            kernel=study.request.options()["kernel"],
        )


@app.command()
def compare(
    data: Data,
    target: Target = None,
    as_json: Json = False,
    seed: Seed = 0,
    jobs: Jobs = None,
    criterion: Annotated[
        str | None, typer.Option(help="Criteria with commas between; by default all.")
    ] = None,
    machine: Annotated[str | None, typer.Option(help="Machines with commas between; by default all.")] = None,
    kernel: KernelNames = "rbf",
    search: SearchName = None,
    impute: Impute = False,
    drop: Drop = None,
    task: TaskName = Task.auto,
    holdout: Holdout = HOLDOUT,
    repeats: Annotated[int, typer.Option(help="Random splits, the same for all.", min=1)] = REPEATS,
    scale: Scale = True,
):
    """Tune every machine by every criterion and measure the error on rows held out."""
    rows = _table(data, target, drop, impute, task)
    split(rows, holdout, seed)  # complains before the work does
    with _waiting(f"{repeats} splits of every machine and criterion"):
        found = compare_all(
            rows.X,
            rows.y,
            "auto" if machine is None else _names(machine),
            "all" if criterion is None else _names(criterion),
            holdout=holdout,
            repeats=repeats,
            scale=scale,
            task=rows.task,
            random_state=seed,
            n_jobs=jobs,
            **({} if search is None else {"search": search}),
            kernel=_names(kernel)[0] if len(_names(kernel)) == 1 else _names(kernel),
        )
    lines = sorted(found.lines(), key=lambda line: (isnan(line["error"]), line["error"]))
    if as_json:
        print(json.dumps([_jsonable(line) for line in lines], allow_nan=False))
        return
    _tell(rows.notes)
    title = f"{data.name}: {rows.target_name}, mean of {repeats} splits"
    console().print(table(title, [_compared(line, rows.task) for line in lines], COLUMNS))
    _tell(f"{line['machine']} {line['criterion']}: {line['note']}" for line in lines if line["note"])


COLUMNS = ("machine", "criterion", "chosen", "value", "held-out error", "seconds")


def _compared(line, task):
    """One line of the table."""
    told = percent if task == "classification" else number
    known = {"machine", "criterion", "value", "error", "sd", "rank", "p_t", "p_wilcoxon", "seconds", "note"}
    chosen = ", ".join(
        f"{WORDS.get(name, name)} {number(v)}"
        for name, v in line.items()
        if name not in known and not isnan(v)
    )
    error = f"{told(line['error'])} ± {told(line['sd'])}" if not isnan(line["sd"]) else told(line["error"])
    return line["machine"], line["criterion"], chosen, number(line["value"]), error, f"{line['seconds']:.2f}"


def _jsonable(line):
    return {name: None if isinstance(v, float) and not isfinite(v) else v for name, v in line.items()}


def _names(text):
    """Names with commas between."""
    return [name.strip() for name in text.split(",") if name.strip()]


@app.command()
def predict(
    model: Annotated[
        Path, typer.Argument(help="A file written by `foldless tune --save`.", show_default=False)
    ],
    data: Annotated[
        Path, typer.Argument(help="Rows to predict; columns are found by name.", show_default=False)
    ],
    output: Annotated[Path | None, typer.Option(help="Write the CSV there instead of printing it.")] = None,
):
    """Predict the rows of a table: one line each, with probabilities where the machine has them."""
    loaded = load_model(model)
    rows = read_new(data, loaded.encoder)
    _tell([*([loaded.note] if loaded.note else []), *rows.notes])
    header, lines = predictions(loaded.model, rows.X, loaded.encoder.target_name)
    with (
        nullcontext(sys.stdout) if output is None else output.open("w", newline="", encoding="utf-8") as file
    ):
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(header)
        writer.writerows(lines)


def predictions(model, X, target):
    """Return a header and rows: the prediction, then a probability per class if there are any."""
    predicted = model.predict(X).tolist()
    if not hasattr(model[-1], "predict_proba"):
        return [target], [[value] for value in predicted]
    header = [target, *(f"probability of {label}" for label in model[-1].classes_)]
    return header, [[value, *p] for value, p in zip(predicted, model.predict_proba(X).tolist())]


@app.command()
def reproduce(
    name: Annotated[
        str,
        typer.Argument(
            metavar="TABLE",
            help="For instance li-2.",
            autocompletion=lambda incomplete: _listed(tables())(incomplete),
        ),
    ],
    data: Annotated[
        Path | None,
        typer.Option(help="Directory with the data sets as .npz files; not for data that are drawn."),
    ] = None,
    splits: Annotated[
        int | None, typer.Option(help="Fewer splits than the paper, for a quick look.", min=1)
    ] = None,
    figure: Annotated[
        Path | None, typer.Option(help="Also draw it, where the paper does: a .png, .svg or .pdf file.")
    ] = None,
):
    """Print a table of a paper, ours beside theirs."""
    if name not in tables():
        raise UnknownName("TABLE", name, tables())
    function = table_function(name)
    if data is None and signature(function).parameters["data"].default is Parameter.empty:
        raise DataError(f"{name} needs data sets. Name their directory: --data DIR.")
    if data is not None and not data.is_dir():
        raise DataError(f"--data {data}: there is no such directory.")
    with _waiting(f"computing {name}"):
        found = function(data, **({} if splits is None else {"splits": splits}))
    print(found)
    if figure is not None:
        _draw(found, name, figure)


def _draw(found, name, path):
    if not hasattr(found, "draw"):
        raise DataError(f"--figure {path}: the paper draws no figure for {name}.")
    say(f"wrote {', '.join(map(str, found.draw(path)))}")


def command_line():
    """What the user typed, so that a shell reads it back the same."""
    return shlex.join(["foldless", *sys.argv[1:]])


def _table(path, target, drop, impute, task):
    rows = read_table(path, target, drop=drop or (), impute=impute, task=task.value)
    if rows.y is None:
        raise DataError(f"{path}: which column is to be predicted? Name it: --target COLUMN.")
    return rows


def _write(study, path):
    with _waiting(f"writing {path}"):
        write_report(study, path)
    say(f"wrote {path}")


def _tell(notes):
    for note in notes:
        say(f"note: {note}")


def _bar():
    """Progress is for people who look: only where stderr is a terminal."""
    return int(sys.stderr.isatty())


def _waiting(what):
    return console(stderr=True).status(what) if sys.stderr.isatty() else nullcontext()
