"""What can be typed: the commands and their options. A command imports the module that does its work when it is called."""

from importlib import import_module
from pathlib import Path
from typing import Annotated, Any

from foldless import __version__
from foldless.cli.options import (
    HOLDOUT_FRACTION,
    REPRODUCED_NAMES,
    Baselines,
    Budget,
    Compared,
    CriterionName,
    CriterionNames,
    Data,
    Drop,
    DropMissingTarget,
    DropUnusable,
    Holdout,
    Id,
    Impute,
    Jobs,
    Json,
    KernelNames,
    MachineName,
    MachineNames,
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
    help="Tune kernel machines without cross-validation folds.",
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
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Tune kernel machines without cross-validation folds."""


def _do(command: str, arguments: dict[str, Any]) -> None:
    """Call the function of the module that are both named after a command; leave with the exit code it returns."""
    code = getattr(import_module(f"foldless.cli.commands.{command}"), command)(**arguments)
    if code:
        raise typer.Exit(code)


@app.command()
def demo(
    report: Annotated[Path, typer.Option(help="The page to write.")] = Path("report.html"),
    as_json: Json = False,
    seed: Seed = 0,
) -> None:
    """Fit two embedded tables beside a grid search, a linear model and boosting, and write a report."""
    _do("demo", locals())


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
    kernel: KernelNames = None,
    search: SearchName = None,
    impute: Impute = False,
    drop: Drop = None,
    drop_unusable: DropUnusable = False,
    drop_missing_target: DropMissingTarget = False,
    id_column: Id = None,
    task: TaskName = Task.auto,
    holdout: Holdout = 0.0,
    scale: Scale = True,
    compare_criteria: Compared = False,
    max_rows: MaxRows = None,
    baselines: Baselines = True,
) -> None:
    """Tune a kernel machine on a table, without folds."""
    _do("tune", locals())


@app.command()
def compare(
    data: Data,
    target: Target = None,
    as_json: Json = False,
    seed: Seed = 0,
    jobs: Jobs = None,
    criterion: CriterionNames = None,
    machine: MachineNames = None,
    kernel: KernelNames = "rbf",
    search: SearchName = None,
    impute: Impute = False,
    drop: Drop = None,
    drop_unusable: DropUnusable = False,
    drop_missing_target: DropMissingTarget = False,
    task: TaskName = Task.auto,
    holdout: Holdout = HOLDOUT_FRACTION,
    repeats: Repeats = 5,
    scale: Scale = True,
    baselines: Baselines = True,
) -> None:
    """Tune every machine by every criterion and measure the error on rows held out."""
    _do("compare", locals())


@app.command()
def predict(
    model: Annotated[
        Path, typer.Argument(help="A file written by `foldless tune --save`.", show_default=False)
    ],
    data: Annotated[
        Path, typer.Argument(help="Rows to predict; columns are found by name.", show_default=False)
    ],
    output: Annotated[Path | None, typer.Option(help="Write the CSV there instead of printing it.")] = None,
    interval: Annotated[
        float | None,
        typer.Option(
            help="Level of prediction intervals such as 0.9: adds the columns lower and upper.",
            show_default=False,
        ),
    ] = None,
    sets: Annotated[
        float | None,
        typer.Option(
            help="Level of sets of classes such as 0.9: adds the column set, the classes, separated by |.",
            show_default=False,
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Predict the rows of a table: one line each, with probabilities where the machine has them."""
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
        typer.Option(help="Directory with the data sets as .npz files; not needed for simulated data."),
    ] = None,
    splits: Annotated[
        int | None, typer.Option(help="Fewer splits than the paper, for a quick check.", min=1)
    ] = None,
    figure: Annotated[
        Path | None,
        typer.Option(
            help="File to draw it to, .png, .svg or .pdf; for a figure NAME.svg if not given. "
            "Some tables have box plots in the paper."
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Print a table of a paper, ours beside theirs, or draw a figure of it."""
    _do("reproduce", locals())
