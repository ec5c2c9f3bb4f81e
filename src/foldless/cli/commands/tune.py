"""``foldless tune``: one machine on one table."""

from dataclasses import replace

from foldless.cli.experiment import TuneRequest, run_experiment
from foldless.cli.files.model_file import save_model
from foldless.cli.options import (
    Budget,
    Compared,
    CriterionName,
    Data,
    Drop,
    Holdout,
    Impute,
    Jobs,
    Json,
    KernelNames,
    MachineName,
    Report,
    Save,
    Scale,
    SearchName,
    Seed,
    Target,
    Task,
    TaskName,
    names,
    typer,
)
from foldless.cli.report import console, facts, plain, say, table
from foldless.cli.terminal import (
    bar,
    check_writable,
    command_line,
    keep_report,
    print_json,
    tell,
    training_table,
    waiting,
)
from foldless.core.contracts import Stop
from foldless.core.errors import INTERRUPTED
from foldless.estimators.registry import name_of
from foldless.inspection.compare import compare as compare_all

REPEATS = 5  # random splits of a comparison


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
    criteria_too: Compared = False,
):
    """Tune a kernel machine on a table, without folds."""
    check_writable(report, save)
    rows = training_table(data, target, drop, impute, task.value, machine)
    kernels = tuple(names(kernel))
    request = TuneRequest(
        machine, kernels, criterion, search, holdout, scale, seed, jobs, time_budget, verbose=bar()
    )
    study = run_experiment(rows, request, data.name, command_line())
    if criteria_too:
        study = replace(study, comparison=_criteria_of(study))
    _print(study, as_json)
    _keep(study, report, save)
    if study.estimator.selection_.outcome.stop is Stop.INTERRUPTED:
        raise typer.Exit(INTERRUPTED)


def _print(study, as_json):
    if as_json:
        print_json(plain(study))
        return
    tell(study.table.notes)
    console().print(table(f"{study.source}: {study.table.target_name}", facts(study)))


def _keep(study, report, save):
    if report is not None:
        keep_report(study, report)
    if save is not None:
        save_model(save, study.model, study.table.encoder, getattr(study.estimator, "classes_", None))
        say(f"wrote {save}")


def _criteria_of(study):
    """Tune the machine of a study by every criterion it can read."""
    with waiting("tuning by every criterion"):
        return compare_all(
            study.table.X,
            study.table.y,
            [name_of(study.estimator)],
            task=study.table.task,
            repeats=REPEATS,
            scale=study.request.scale,
            random_state=study.request.seed,
            n_jobs=study.request.jobs,
            kernel=study.request.options()["kernel"],
        )
