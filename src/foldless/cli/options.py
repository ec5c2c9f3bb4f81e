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
SEARCH_NAMES = ("lbfgs", "nelder-mead", "grid", "hierarchical-grid", "random-walk", "hmc-ascent")
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
Target = Annotated[
    str | None, typer.Option(help="The column to predict. LIBSVM and npz files bring their own.")
]
Report = Annotated[Path | None, typer.Option(help="Write a page that opens in any browser.")]
Baselines = Annotated[
    bool,
    typer.Option(
        "--baselines/--no-baselines",
        help="Fit simple models to the same rows, to compare with.",
    ),
]
Save = Annotated[Path | None, typer.Option(help="Write the model for `foldless predict`.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")]
Seed = Annotated[int, typer.Option(help="Seed of everything random.", min=0)]
Jobs = Annotated[int | None, typer.Option(help="Threads for work that can be done in parallel.")]
Budget = Annotated[float | None, typer.Option(help="Seconds after which the best so far is taken.", min=0.0)]
CriterionName = Annotated[
    str | None,
    typer.Option(
        help=f"Criterion to minimise: {', '.join(CRITERION_NAMES)}.",
        autocompletion=completing(CRITERION_NAMES),
    ),
]
CriterionNames = Annotated[
    str | None,
    typer.Option(
        help=f"Criteria with commas between; by default all that are cheap: {', '.join(CRITERION_NAMES)}."
    ),
]
MachineName = Annotated[
    str | None,
    typer.Option(
        help=f"One of {', '.join(MACHINE_NAMES)}, or auto: machine and kernel by leave-one-out, the default if neither "
        "kernel nor criterion nor search is given.",
        autocompletion=completing([*MACHINE_NAMES, "auto"]),
    ),
]
MachineNames = Annotated[
    str | None,
    typer.Option(help=f"Machines with commas between; by default all: {', '.join(MACHINE_NAMES)}."),
]
KernelNames = Annotated[
    str | None,
    typer.Option(
        help=f"A kernel, several with commas between, or auto: {', '.join(KERNEL_NAMES)}.",
        autocompletion=completing([*KERNEL_NAMES, "auto"]),
    ),
]
SearchName = Annotated[
    str | None,
    typer.Option(
        help=f"Search that minimises it: {', '.join(SEARCH_NAMES)}.", autocompletion=completing(SEARCH_NAMES)
    ),
]
Impute = Annotated[
    bool, typer.Option("--impute", help="Fill missing values: the mean, or the most frequent category.")
]
Drop = Annotated[list[str] | None, typer.Option(help="A column to leave out; may be given several times.")]
DropUnusable = Annotated[
    bool, typer.Option("--drop-unusable", help="Leave out columns that cannot be used, instead of stopping.")
]
DropMissingTarget = Annotated[
    bool,
    typer.Option("--drop-missing-target", help="Leave out rows without a target, instead of stopping."),
]
Id = Annotated[
    str | None,
    typer.Option(
        "--id", help="The column that names the rows: no input, but repeated beside the predictions."
    ),
]
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
