"""What can be typed: the commands and their options. A command imports the module that does its work when it is called."""

from importlib import import_module
from pathlib import Path
from typing import Annotated, Any

from foldless import __version__
from foldless.cli.console import say_interrupted
from foldless.cli.options import (
    FLAG,
    HOLDOUT_FRACTION,
    REPRODUCED_NAMES,
    Baselines,
    Budget,
    CellSize,
    Compared,
    CriterionName,
    CriterionNames,
    Data,
    Drop,
    DropMissingTarget,
    DropUnusable,
    GramName,
    Holdout,
    Id,
    Impute,
    Jobs,
    Json,
    KernelNames,
    MachineName,
    MachineNames,
    MaxMemory,
    MaxRows,
    Repeats,
    Report,
    Save,
    Scale,
    SearchName,
    Seed,
    Target,
    Task,
    TaskName,
    completing,
    typer,
)

__all__ = ["app"]

app = typer.Typer(
    help="Fit kernel machines to tables, tuned without cross-validation folds.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)


def _version(asked: bool) -> None:
    if asked:
        print(f"foldless {__version__}")
        raise typer.Exit()


@app.callback()
def foldless(
    version: Annotated[
        bool,
        typer.Option("--version", metavar=FLAG, callback=_version, is_eager=True, help="Print the version."),
    ] = False,
) -> None:
    """Fit kernel machines to tables, tuned without cross-validation folds."""


def _do(command: str, arguments: dict[str, Any]) -> None:
    """Call the function of the module that are both named after a command; leave with the exit code it returns."""
    try:
        code = getattr(import_module(f"foldless.cli.commands.{command}"), command)(**arguments)
    except KeyboardInterrupt:  # typer would end without a word
        code = say_interrupted()
    if code:
        raise typer.Exit(code)


@app.command()
def demo(
    report: Annotated[Path, typer.Option(metavar="FILE", help="The report to write.")] = Path("report.html"),
    as_json: Json = False,
    seed: Seed = 0,
) -> None:
    """Fit two tables that come with scikit-learn, beside a grid search, a linear model and boosting, and write a report."""
    _do("demo", locals())


@app.command()
def tune(
    data: Data,
    target: Target = None,
    report: Report = None,
    save: Save = None,
    as_json: Json = False,
    time_budget: Budget = None,
    jobs: Jobs = None,
    seed: Seed = 0,
    task: TaskName = Task.auto,
    id_column: Id = None,
    drop: Drop = None,
    drop_unusable: DropUnusable = False,
    drop_missing_target: DropMissingTarget = False,
    impute: Impute = True,
    max_rows: MaxRows = None,
    max_memory: MaxMemory = None,
    holdout: Holdout = 0.0,
    baselines: Baselines = True,
    compare_criteria: Compared = False,
    machine: MachineName = None,
    kernel: KernelNames = None,
    criterion: CriterionName = None,
    search: SearchName = None,
    gram: GramName = None,
    cell_size: CellSize = None,
    scale: Scale = True,
) -> None:
    """Fit a kernel machine to a table and choose everything about it, without folds."""
    _do("tune", locals())


@app.command()
def compare(
    data: Data,
    target: Target = None,
    machine: MachineNames = None,
    criterion: CriterionNames = None,
    kernel: KernelNames = "rbf",
    search: SearchName = None,
    as_json: Json = False,
    jobs: Jobs = None,
    seed: Seed = 0,
    task: TaskName = Task.auto,
    drop: Drop = None,
    drop_unusable: DropUnusable = False,
    drop_missing_target: DropMissingTarget = False,
    impute: Impute = True,
    holdout: Holdout = HOLDOUT_FRACTION,
    repeats: Repeats = 5,
    baselines: Baselines = True,
    scale: Scale = True,
) -> None:
    """Tune several machines by several criteria, and measure the errors on rows held out."""
    _do("compare", locals())


@app.command()
def predict(
    model: Annotated[
        Path, typer.Argument(help="A file written by `foldless tune --save`.", show_default=False)
    ],
    data: Annotated[
        Path, typer.Argument(help="Rows to predict; columns are found by name.", show_default=False)
    ],
    output: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write the predictions to this CSV file instead of printing them."),
    ] = None,
    interval: Annotated[
        float | None,
        typer.Option(
            metavar="LEVEL",
            help="Add the columns lower and upper: prediction intervals of this level, such as 0.9.",
            show_default=False,
        ),
    ] = None,
    sets: Annotated[
        float | None,
        typer.Option(
            metavar="LEVEL",
            help="Add the column set: the classes that cannot be ruled out at this level, such as 0.9, separated by |.",
            show_default=False,
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Predict the rows of a table with a saved model: one line for each, with probabilities of classes."""
    _do("predict", locals())


@app.command()
def reproduce(
    name: Annotated[
        str,
        typer.Argument(
            metavar="NAME",
            help=f"A table or a figure: {', '.join(REPRODUCED_NAMES)}.",
            autocompletion=completing(REPRODUCED_NAMES),
        ),
    ],
    data: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER", help="Folder with the data sets as .npz files; not needed for simulated data."
        ),
    ] = None,
    splits: Annotated[
        int | None,
        typer.Option(metavar="N", help="Use fewer splits than the paper, for a quick check.", min=1),
    ] = None,
    figure: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="The .png, .svg or .pdf file to draw; NAME.svg by default if NAME is a figure. Some tables have box plots in their paper.",
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """For researchers: print a table of a paper, ours beside theirs, or draw one of its figures."""
    _do("reproduce", locals())
