"""``foldless tune``: one machine on one table."""

import warnings
from dataclasses import replace
from pathlib import Path

from foldless.cli.experiment import Experiment, run_experiment
from foldless.cli.files.model_file import save_model
from foldless.cli.options import (
    Baselines,
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
    MaxRows,
    Report,
    Save,
    Scale,
    SearchName,
    Seed,
    Target,
    Task,
    TaskName,
    parse_kernels,
    typer,
)
from foldless.cli.report import (
    Findings,
    cautions,
    console,
    facts,
    headline,
    print_message,
    table,
    to_plain_data,
)
from foldless.cli.terminal import (
    EXIT_INTERRUPTED,
    check_writable,
    command_line,
    print_json,
    print_notes,
    progress_verbosity,
    save_report,
    training_table,
    waiting,
)
from foldless.core.contracts import Stop
from foldless.core.errors import BoundWarning, ManyParametersWarning
from foldless.estimators.registry import name_of
from foldless.inspection.compare import compare
from foldless.inspection.comparison import Comparison

COMPARISON_REPEATS = 5


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
    task: TaskName = Task.auto,
    holdout: Holdout = 0.0,
    scale: Scale = True,
    compare_criteria: Compared = False,
    max_rows: MaxRows = None,
    baselines: Baselines = True,
) -> None:
    """Tune a kernel machine on a table, without folds."""
    check_writable(report, save)
    nothing_chosen = machine is None and kernel is None and criterion is None and search is None
    # They are among the cautions that are printed below.
    for said_below in (BoundWarning, ManyParametersWarning):
        warnings.simplefilter("ignore", said_below)
    experiment = run_experiment(
        training_table(data, target, drop, impute, task.value, machine, max_rows),
        "auto" if nothing_chosen and not compare_criteria else machine,
        holdout=holdout,
        scale=scale,
        random_state=seed,
        source=data.name,
        command=command_line(),
        kernel=parse_kernels(kernel),
        criterion=criterion,
        search=search,
        n_jobs=jobs,
        time_budget=time_budget,
        verbose=progress_verbosity(),
        on_interrupt="keep",
    )
    if compare_criteria:
        experiment = replace(experiment, comparison=_compare_criteria(experiment))
    _print(experiment, as_json)
    _save(experiment, report, save, baselines, as_json)
    if experiment.estimator.selection_.outcome.stop is Stop.INTERRUPTED:
        raise typer.Exit(EXIT_INTERRUPTED)


def _print(experiment: Experiment, as_json: bool) -> None:
    if as_json:
        print_json(to_plain_data(experiment))
        return
    print_notes(experiment.table.notes)
    title = f"{experiment.source}: {experiment.table.target_name}"
    console().print(table(title, facts(experiment)))
    for caution in cautions(Findings(experiment)):
        print_message(f"caution: {caution}")


def _save(
    experiment: Experiment, report: Path | None, save: Path | None, baselines: bool, as_json: bool
) -> None:
    if report is not None:
        findings = save_report(experiment, report, baselines)
        if not as_json:
            console().print(headline(findings), soft_wrap=True, markup=False)
    if save is not None:
        classes = getattr(experiment.estimator, "classes_", None)
        save_model(save, experiment.model, experiment.table.encoder, classes)
        print_message(f"wrote {save}")


def _compare_criteria(experiment: Experiment) -> Comparison:
    """Tune the machine of an experiment by every criterion it can read."""
    estimator, (y, task) = experiment.estimator, experiment.table.target()
    with waiting("tuning by every criterion"):
        return compare(
            experiment.table.X,
            y,
            [name_of(estimator)],
            task=task,
            repeats=COMPARISON_REPEATS,
            scale=experiment.is_scaled,
            random_state=estimator.random_state,
            n_jobs=estimator.n_jobs,
            kernel=estimator.kernel,
        )
