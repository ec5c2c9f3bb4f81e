"""``foldless tune``: one machine on one table."""

import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

from foldless.cli.console import EXIT_INTERRUPTED, console, print_message, table
from foldless.cli.experiment import Experiment, run_experiment
from foldless.cli.files.model_file import save_model
from foldless.cli.options import Task, parse_kernels
from foldless.cli.report import Findings, cautions, facts, headline, to_plain_data
from foldless.cli.terminal import (
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
    data: Path,
    target: str | None,
    report: Path | None,
    save: Path | None,
    as_json: bool,
    seed: int,
    jobs: int | None,
    time_budget: float | None,
    criterion: str | None,
    machine: str | None,
    kernel: str | None,
    search: str | None,
    task: Task,
    holdout: float,
    scale: bool,
    compare_criteria: bool,
    baselines: bool,
    **reading: Any,
) -> int:
    """Tune a kernel machine on a table and return the exit code; ``reading`` are options of ``read_table``."""
    check_writable(report, save)
    nothing_chosen = machine is None and kernel is None and criterion is None and search is None
    # They are among the cautions that are printed below.
    for said_below in (BoundWarning, ManyParametersWarning):
        warnings.simplefilter("ignore", said_below)
    experiment = run_experiment(
        training_table(data, target, task.value, machine, **reading),
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
    return EXIT_INTERRUPTED if experiment.estimator.selection_.outcome.stop is Stop.INTERRUPTED else 0


def _print(experiment: Experiment, as_json: bool) -> None:
    if as_json:
        print_json(to_plain_data(experiment))
        return
    print_notes([*experiment.table.notes, *_summary(experiment.table.verdicts)])
    title = f"{experiment.source}: {experiment.table.target_name}"
    console().print(table(title, facts(experiment)))
    for caution in cautions(Findings(experiment)):
        print_message(f"caution: {caution}")


def _summary(verdicts: dict[str, str]) -> list[str]:
    """Return a line about the columns that are not used, if there are any."""
    used = [name for name, verdict in verdicts.items() if verdict.startswith(("number", "category", "date"))]
    return [f"used {len(used)} of {len(verdicts)} columns"] if len(used) < len(verdicts) else []


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
