"""Arguments and options of the command line with their help texts, shared so that they mean the same everywhere."""

from collections.abc import Callable, Iterable
from enum import StrEnum
from pathlib import Path
from typing import Annotated

from foldless.core.optional_imports import import_extra

typer = import_extra("typer", "cli")

# The names that options take, written out: to import what they name would take seconds, and help must not. Tests compare them.
MACHINE_NAMES = ("logistic", "svc", "lssvc", "ridge", "subset", "poisson")
CRITERION_NAMES = (
    *(
        "evidence",
        "abic",
        "alignment",
        "centered-alignment",
        "calibrated-loo",
        "loo",
        "cv",
        "effective-parameters",
    ),
    *(
        "aicd",
        "eigenvalue-ratio",
        "evidence-ep",
        "evidence-hmc",
        "fsm",
        "gacv",
        "gcv",
        "jaakkola-haussler",
        "kfold",
    ),
    *(
        "kric",
        "kric-sollich",
        "mallows",
        "radius-margin",
        "sic",
        "span",
        "smoothed-span",
        "spectral",
        "xi-alpha",
    ),
)
KERNEL_NAMES = (
    *(
        "rbf",
        "matern",
        "matern32",
        "matern52",
        "laplacian",
        "product-laplacian",
        "power-exponential",
        "rbf-metric",
    ),
    *(
        "laplacian-metric",
        "sinc",
        "poly",
        "linear",
        "affine",
        "additive",
        "additive2",
        "precomputed",
        "rbf-ard",
    ),
    *("rbf-ard-free", "matern-ard", "matern-ard-free", "laplacian-ard", "laplacian-ard-free"),
)
SEARCH_NAMES = ("lbfgs", "nelder-mead", "grid")
# Searches that only the reproduction of papers needs; they are accepted, and not advertised.
SEARCHES_OF_PAPERS = ("hierarchical-grid", "random-walk", "hmc-ascent")
REPRODUCED_NAMES = (
    *(
        "cawley-1",
        "cawley-2",
        "cawley-3",
        "cawley-fig1",
        "cawley-fig2",
        "cawley-fig3",
        "gold-2",
        "gold-3",
        "gold-4",
    ),
    *(
        "gold-fig1",
        "gold-fig5",
        "gold-fig6",
        "kobayashi-2",
        "kobayashi-3",
        "kobayashi-fig3",
        "li-2",
        "li-3",
        "li-fig1",
    ),
    *("sugiyama-2", "sugiyama-3", "sugiyama-fig4", "sugiyama-fig5", "sugiyama-fig6", "sugiyama-fig7"),
    *("sugiyama-fig8", "sugiyama-fig9", "sugiyama-fig10", "sugiyama-fig11"),
)
GRAM_NAMES = ("auto", "dense", "lowrank", "nystrom", "cells")
# Held out by ``compare`` and ``demo``.
HOLDOUT_FRACTION = 0.3


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
        help="CSV, TSV, JSON lines, Parquet, Excel, ARFF, LIBSVM or npz; a directory of Parquet files; or - for standard input.",
        show_default=False,
    ),
]
# Options are shown in groups, what a newcomer needs first.
READING, CHECKING, EXPERTS = "Reading the table", "Checking the result", "For experts"
# An option without a value; typer would write <bool> beside it.
FLAG = ""

Target = Annotated[
    str | None,
    typer.Option(metavar="COLUMN", help="The column to predict. LIBSVM and npz files bring their own."),
]
Report = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="Write a report that opens in any browser, such as report.html."),
]
Save = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="Write the model for `foldless predict`, such as model.skops."),
]
Json = Annotated[bool, typer.Option("--json", metavar=FLAG, help="Print JSON instead of a table.")]
Budget = Annotated[
    float | None,
    typer.Option(
        metavar="SECONDS", help="End the search after so many seconds and take the best so far.", min=0.0
    ),
]
Jobs = Annotated[int | None, typer.Option(metavar="N", help="Number of threads; -1 uses all cores.")]
Seed = Annotated[int, typer.Option(metavar="N", help="Seed of the random numbers.", min=0)]

TaskName = Annotated[
    Task,
    typer.Option(
        metavar="TASK",
        help=f"What the target is: {', '.join(Task)}.",
        rich_help_panel=READING,
    ),
]
Id = Annotated[
    str | None,
    typer.Option(
        "--id",
        metavar="COLUMN",
        help="The column that names the rows. It is not used to predict, and is repeated beside the predictions.",
        rich_help_panel=READING,
    ),
]
Drop = Annotated[
    list[str] | None,
    typer.Option(
        metavar="COLUMN", help="A column to leave out; may be given several times.", rich_help_panel=READING
    ),
]
DropUnusable = Annotated[
    bool,
    typer.Option(
        "--drop-unusable",
        metavar=FLAG,
        help="Leave out columns that cannot be used, instead of stopping.",
        rich_help_panel=READING,
    ),
]
DropMissingTarget = Annotated[
    bool,
    typer.Option(
        "--drop-missing-target",
        metavar=FLAG,
        help="Leave out rows without a target, instead of stopping.",
        rich_help_panel=READING,
    ),
]
Impute = Annotated[
    bool,
    typer.Option(
        "--impute/--no-impute",
        metavar=FLAG,
        help="Fill missing values with the mean of the column, or with its most frequent category; or stop at the first.",
        rich_help_panel=READING,
    ),
]
MaxRows = Annotated[
    int | None,
    typer.Option(
        metavar="N",
        help="How many rows of Parquet files to keep, drawn at random; by default as many as --max-memory allows.",
        min=4,
        show_default=False,
        rich_help_panel=READING,
    ),
]

MaxMemory = Annotated[
    float | None,
    typer.Option(
        metavar="GB",
        help="Gigabytes of memory to take at most for Parquet files, by default 8; of larger tables rows are drawn at random.",
        min=0.0,
        show_default=False,
        rich_help_panel=READING,
    ),
]

Holdout = Annotated[
    float,
    typer.Option(
        metavar="FRACTION",
        help="Share of the rows to hold out for measuring the error, such as 0.25.",
        rich_help_panel=CHECKING,
    ),
]
Repeats = Annotated[
    int, typer.Option(metavar="N", help="Number of random splits.", min=1, rich_help_panel=CHECKING)
]
Baselines = Annotated[
    bool,
    typer.Option(
        "--baselines/--no-baselines",
        metavar=FLAG,
        help="Fit simple models to the same rows, to compare with.",
        rich_help_panel=CHECKING,
    ),
]
Compared = Annotated[
    bool,
    typer.Option(
        "--compare",
        metavar=FLAG,
        help="Show in the report what other criteria would have chosen.",
        rich_help_panel=CHECKING,
    ),
]

MachineName = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help=f"One of {', '.join(MACHINE_NAMES)}; or auto, which chooses machine and kernel by leave-one-out. auto is the default unless "
        "a kernel, a criterion or a search is given.",
        autocompletion=completing([*MACHINE_NAMES, "auto"]),
        rich_help_panel=EXPERTS,
    ),
]
MachineNames = Annotated[
    str | None,
    typer.Option(
        metavar="NAMES",
        help=f"Machines, separated by commas; by default all: {', '.join(MACHINE_NAMES)}; and auto, what `foldless tune` chooses.",
        rich_help_panel=EXPERTS,
    ),
]
KernelNames = Annotated[
    str | None,
    typer.Option(
        metavar="NAMES",
        help=f"A kernel, several separated by commas, or auto: {', '.join(KERNEL_NAMES)}.",
        autocompletion=completing([*KERNEL_NAMES, "auto"]),
        rich_help_panel=EXPERTS,
    ),
]
CriterionName = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help=f"What to minimise: {', '.join(CRITERION_NAMES)}.",
        autocompletion=completing(CRITERION_NAMES),
        rich_help_panel=EXPERTS,
    ),
]
CriterionNames = Annotated[
    str | None,
    typer.Option(
        metavar="NAMES",
        help=f"Criteria, separated by commas: {', '.join(CRITERION_NAMES)}. By default all that are fast and that the machine can be tuned by.",
        rich_help_panel=EXPERTS,
    ),
]
SearchName = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help=f"How to search: {', '.join(SEARCH_NAMES)}. The default, lbfgs, follows the gradient.",
        autocompletion=completing(SEARCH_NAMES),
        rich_help_panel=EXPERTS,
    ),
]
GramName = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help=f"The form of the last fit: {', '.join(GRAM_NAMES)}. The default, auto, takes the best that fits.",
        autocompletion=completing(GRAM_NAMES),
        rich_help_panel=EXPERTS,
    ),
]
CellSize = Annotated[
    int | None,
    typer.Option(
        metavar="N",
        help="Rows of a cell at most, if the last fit has the form cells.",
        min=4,
        show_default=False,
        rich_help_panel=EXPERTS,
    ),
]
Scale = Annotated[
    bool,
    typer.Option(
        "--scale/--no-scale",
        metavar=FLAG,
        help="Scale columns to mean 0 and variance 1 first, those of two values to a distance of 2.",
        rich_help_panel=EXPERTS,
    ),
]
