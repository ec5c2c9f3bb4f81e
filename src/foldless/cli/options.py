"""Arguments and options of the command line with their help texts, shared so that they mean the same everywhere."""

from collections.abc import Callable, Iterable
from enum import StrEnum
from pathlib import Path
from typing import Annotated

from foldless import criteria, searches
from foldless.core.optional_imports import import_extra
from foldless.estimators.registry import MACHINES
from foldless.kernels.by_name import NAMED

typer = import_extra("typer", "cli")


class Task(StrEnum):
    """What the target is; ``auto`` recognises it."""

    auto = "auto"
    classification = "classification"
    regression = "regression"


def completing(names: Iterable[str]) -> Callable[[str], list[str]]:
    """Return the function that completes one of ``names`` in a shell."""
    return lambda incomplete: [name for name in sorted(names) if name.startswith(incomplete)]


def split_names(text: str) -> list[str]:
    """Return the names in a text with commas between them."""
    return [name.strip() for name in text.split(",") if name.strip()]


def parse_kernels(text: str | None) -> str | list[str] | None:
    """Return the ``kernel`` of estimators: one name, a list of candidates, or None if nothing was given."""
    if text is None:
        return None
    kernels = split_names(text)
    return kernels[0] if len(kernels) == 1 else kernels


Data = Annotated[
    Path,
    typer.Argument(
        help="CSV, TSV, Parquet, ARFF, LIBSVM or npz; or a directory of Parquet files.", show_default=False
    ),
]
Target = Annotated[
    str | None, typer.Option(help="The column to predict. LIBSVM and npz files bring their own.")
]
Report = Annotated[Path | None, typer.Option(help="Write a page that opens in any browser.")]
Baselines = Annotated[
    bool,
    typer.Option(
        "--baselines/--no-baselines",
        help="Fit simple models to the same rows, for the verdict of the report.",
    ),
]
Save = Annotated[Path | None, typer.Option(help="Write the model for `foldless predict`.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")]
Seed = Annotated[int, typer.Option(help="Seed of everything random.", min=0)]
Jobs = Annotated[int | None, typer.Option(help="Threads for work that can be done in parallel.")]
Budget = Annotated[float | None, typer.Option(help="Seconds after which the best so far is taken.", min=0.0)]
CriterionName = Annotated[
    str | None, typer.Option(help="Criterion to minimise.", autocompletion=completing(criteria.BY_NAME))
]
CriterionNames = Annotated[str | None, typer.Option(help="Criteria with commas between; by default all.")]
MachineName = Annotated[
    str | None,
    typer.Option(
        help=f"One of {', '.join(MACHINES)}, or auto: machine and kernel by leave-one-out, the default if neither "
        "kernel nor criterion nor search is given.",
        autocompletion=completing([*MACHINES, "auto"]),
    ),
]
MachineNames = Annotated[str | None, typer.Option(help="Machines with commas between; by default all.")]
KernelNames = Annotated[
    str | None,
    typer.Option(
        help="A kernel, several with commas between, or auto.", autocompletion=completing([*NAMED, "auto"])
    ),
]
SearchName = Annotated[
    str | None, typer.Option(help="Search that minimises it.", autocompletion=completing(searches.BY_NAME))
]
Impute = Annotated[
    bool, typer.Option("--impute", help="Fill missing values: the mean, or the most frequent category.")
]
Drop = Annotated[list[str] | None, typer.Option(help="A column to leave out; may be given several times.")]
MaxRows = Annotated[
    int | None,
    typer.Option(
        help="Rows of Parquet files to keep, drawn at random; by default as many as make 200 million cells.",
        min=4,
        show_default=False,
    ),
]
TaskName = Annotated[Task, typer.Option(help="Whether the target is classes or numbers.")]
Holdout = Annotated[float, typer.Option(help="Fraction of the rows to hold out for measuring the error.")]
Scale = Annotated[bool, typer.Option(help="Scale the features to mean 0 and variance 1 first.")]
Repeats = Annotated[int, typer.Option(help="Number of random splits, the same for all pairs.", min=1)]
Compared = Annotated[
    bool, typer.Option("--compare", help="Show in the report what other criteria would have given.")
]
