"""``foldless compare``: every machine by every criterion on the same splits."""

from math import isfinite, isnan

from foldless.cli.demo_data import HOLDOUT
from foldless.cli.experiment import split
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
    names,
)
from foldless.cli.report import PARAMETER_TITLES, console, number, percent, table
from foldless.cli.terminal import print_json, tell, training_table, waiting
from foldless.inspection.compare import compare as compare_all

COLUMNS = ("machine", "criterion", "chosen", "value", "held-out error", "seconds")
TOLD = {"machine", "criterion", "value", "error", "sd", "rank", "p_t", "p_wilcoxon", "seconds", "note"}


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
    holdout: Holdout = HOLDOUT,
    repeats: Repeats = 5,
    scale: Scale = True,
):
    """Tune every machine by every criterion and measure the error on rows held out."""
    rows = training_table(data, target, drop, impute, task.value, machine)
    split(rows, holdout, seed)  # complains before the work does
    kernels = names(kernel)
    with waiting(f"{repeats} splits of every machine and criterion"):
        found = compare_all(
            rows.X,
            rows.y,
            "auto" if machine is None else names(machine),
            "all" if criterion is None else names(criterion),
            holdout=holdout,
            repeats=repeats,
            scale=scale,
            task=rows.task,
            random_state=seed,
            n_jobs=jobs,
            **({} if search is None else {"search": search}),
            kernel=kernels[0] if len(kernels) == 1 else kernels,
        )
    lines = sorted(found.lines(), key=lambda line: (isnan(line["error"]), line["error"]))
    if as_json:
        print_json([_jsonable(line) for line in lines])
        return
    tell(rows.notes)
    title = f"{data.name}: {rows.target_name}, mean of {repeats} splits"
    console().print(table(title, [_compared(line, rows.task) for line in lines], COLUMNS))
    tell(f"{line['machine']} {line['criterion']}: {line['note']}" for line in lines if line["note"])


def _compared(line, task):
    """One line of the table."""
    told = percent if task == "classification" else number
    chosen = ", ".join(
        f"{PARAMETER_TITLES.get(name, name)} {number(v)}"
        for name, v in line.items()
        if name not in TOLD and not isnan(v)
    )
    error = f"{told(line['error'])} ± {told(line['sd'])}" if not isnan(line["sd"]) else told(line["error"])
    return line["machine"], line["criterion"], chosen, number(line["value"]), error, f"{line['seconds']:.2f}"


def _jsonable(line):
    return {name: None if isinstance(v, float) and not isfinite(v) else v for name, v in line.items()}
