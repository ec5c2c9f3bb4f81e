"""``foldless compare``: every machine by every criterion on the same splits."""

from math import isfinite, isnan
from typing import Any

from foldless.cli.demo_data import HOLDOUT_FRACTION
from foldless.cli.experiment import check_holdout
from foldless.cli.options import (
    CriterionNames,
    Data,
    Drop,
    Holdout,
    Impute,
    Jobs,
    Json,
    KernelNames,
    MachineNames,
    Repeats,
    Scale,
    SearchName,
    Seed,
    Target,
    Task,
    TaskName,
    parse_kernels,
    split_names,
)
from foldless.cli.report import PARAMETER_TITLES, console, number, percent, table
from foldless.cli.terminal import print_json, print_notes, training_table, waiting
from foldless.inspection.compare import compare as compare_all

COLUMNS = ("machine", "criterion", "chosen", "value", "held-out error", "seconds")
# Entries of a line of the comparison that are not chosen parameters.
MEASURED = {
    *("machine", "criterion", "title", "value", "unit", "error", "sd"),
    *("rank", "p_t", "p_wilcoxon", "seconds", "note"),
}


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
    task: TaskName = Task.auto,
    holdout: Holdout = HOLDOUT_FRACTION,
    repeats: Repeats = 5,
    scale: Scale = True,
) -> None:
    """Tune every machine by every criterion and measure the error on rows held out."""
    rows = training_table(data, target, drop, impute, task.value, machine)
    check_holdout(rows, holdout)
    y, kind = rows.target()
    with waiting(f"{repeats} splits of every machine and criterion"):
        found = compare_all(
            rows.X,
            y,
            "auto" if machine is None else split_names(machine),
            "all" if criterion is None else split_names(criterion),
            holdout=holdout,
            repeats=repeats,
            scale=scale,
            task=kind,
            random_state=seed,
            n_jobs=jobs,
            **({} if search is None else {"search": search}),
            kernel=parse_kernels(kernel),
        )
    lines = found.sorted_lines()
    if as_json:
        print_json([_without_infinities(line) for line in lines])
        return
    print_notes(rows.notes)
    title = f"{data.name}: {rows.target_name}, mean of {repeats} splits"
    console().print(table(title, [_cells(line, kind == "classification") for line in lines], COLUMNS))
    print_notes(f"{line['machine']} {line['criterion']}: {line['note']}" for line in lines if line["note"])


def _cells(line: dict[str, Any], is_classification: bool) -> tuple[str, ...]:
    """Return the texts of one line of the table."""
    show = percent if is_classification else number
    chosen = ", ".join(
        f"{PARAMETER_TITLES.get(name, name)} {number(value)}"
        for name, value in line.items()
        if name not in MEASURED and not isnan(value)
    )
    error = show(line["error"]) + ("" if isnan(line["sd"]) else f" ± {show(line['sd'])}")
    value = f"{number(line['value'])} {line['unit']}"
    return line["machine"], line["criterion"], chosen, value, error, f"{line['seconds']:.2f}"


def _without_infinities(line: dict[str, Any]) -> dict[str, Any]:
    return {name: None if isinstance(v, float) and not isfinite(v) else v for name, v in line.items()}
