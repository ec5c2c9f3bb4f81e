"""Arguments and options of the command line, with their help texts; one line each, so that all commands mean the same."""

from enum import Enum
from pathlib import Path
from typing import Annotated

from foldless import criteria, searches
from foldless.core.optional_imports import import_extra
from foldless.estimators.registry import MACHINES, TASKS
from foldless.kernels.by_name import NAMED

typer = import_extra("typer", "cli")
Task = Enum("Task", {name: name for name in ("auto", *TASKS)}, type=str)


def listed(names):
    """Complete a name on the command line."""
    return lambda incomplete: [name for name in sorted(names) if name.startswith(incomplete)]


def names(text):
    """Names with commas between."""
    return [name.strip() for name in text.split(",") if name.strip()]


Data = Annotated[Path, typer.Argument(help="CSV, TSV, Parquet, ARFF, LIBSVM or npz.", show_default=False)]
Target = Annotated[
    str | None, typer.Option(help="The column to predict. LIBSVM and npz files bring their own.")
]
Report = Annotated[Path | None, typer.Option(help="Write a page that opens in any browser.")]
Save = Annotated[Path | None, typer.Option(help="Write the model for `foldless predict`.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")]
Seed = Annotated[int, typer.Option(help="Seed of everything random.", min=0)]
Jobs = Annotated[int | None, typer.Option(help="Processes to use where there is something to share out.")]
Budget = Annotated[float | None, typer.Option(help="Seconds after which the best so far is taken.", min=0.0)]
CriterionName = Annotated[
    str | None, typer.Option(help="What is minimised.", autocompletion=listed(criteria.BY_NAME))
]
CriterionNames = Annotated[str | None, typer.Option(help="Criteria with commas between; by default all.")]
MachineName = Annotated[
    str | None, typer.Option(help=f"One of {', '.join(MACHINES)}.", autocompletion=listed(MACHINES))
]
MachineNames = Annotated[str | None, typer.Option(help="Machines with commas between; by default all.")]
KernelNames = Annotated[
    str, typer.Option(help="A kernel, or several with commas between.", autocompletion=listed(NAMED))
]
SearchName = Annotated[
    str | None, typer.Option(help="How it is minimised.", autocompletion=listed(searches.BY_NAME))
]
Impute = Annotated[bool, typer.Option("--impute", help="Fill missing values: mean, or commonest level.")]
Drop = Annotated[list[str] | None, typer.Option(help="A column to leave out; may be given several times.")]
TaskName = Annotated[Task, typer.Option(help="Whether the target is classes or numbers.")]
Holdout = Annotated[float, typer.Option(help="Share of the rows to set aside for measuring the error.")]
Scale = Annotated[bool, typer.Option(help="Bring the features to mean 0 and variance 1 first.")]
Repeats = Annotated[int, typer.Option(help="Random splits, the same for all.", min=1)]
Compared = Annotated[
    bool, typer.Option("--compare", help="Show in the report what other criteria would have given.")
]
