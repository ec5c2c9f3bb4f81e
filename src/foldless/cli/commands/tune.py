"""``foldless tune``: one machine on one table."""

import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

from foldless.cli.console import EXIT_INTERRUPTED, console, print_message, table
from foldless.cli.experiment import Experiment, run_experiment
from foldless.cli.files.model_file import save_model
from foldless.cli.options import Task, parse_kernels
from foldless.cli.report import (
    Findings,
    cautions,
    facts,
    headline,
    plain_verdict,
    score_rows,
    score_text,
    to_plain_data,
)
from foldless.cli.report.baselines import BOOSTING
from foldless.cli.terminal import (
    check_names,
    check_writable,
    command_line,
    judged,
    print_json,
    print_notes,
    progress_verbosity,
    save_report,
    source_name,
    training_table,
    waiting,
)
from foldless.core.contracts import Stop
from foldless.core.errors import (
    BoundWarning,
    ConstantPredictionWarning,
    ManyParametersWarning,
    NoGainWarning,
)
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
    gram: str | None,
    cell_size: int | None,
    task: Task,
    holdout: float,
    scale: bool,
    compare_criteria: bool,
    baselines: bool,
    **reading: Any,
) -> int:
    """Tune a kernel machine on a table and return the exit code; ``reading`` are options of ``read_table``."""
    check_writable(report, save)
    check_names(machine=machine, kernel=kernel, criterion=criterion, search=search, gram=gram)
    experts = (machine, kernel, criterion, search, gram, cell_size)
    nothing_chosen = all(option is None for option in experts)
    # They are among the cautions that are printed below.
    for said_below in (BoundWarning, ManyParametersWarning, ConstantPredictionWarning, NoGainWarning):
        warnings.simplefilter("ignore", said_below)
    experiment = run_experiment(
        training_table(data, target, task.value, machine, **reading),
        "auto" if nothing_chosen and not compare_criteria else machine,
        holdout=holdout,
        scale=scale,
        random_state=seed,
        source=source_name(data),
        command=command_line(),
        kernel=parse_kernels(kernel),
        criterion=criterion,
        search=search,
        gram=gram,
        cell_size=cell_size,
        n_jobs=jobs,
        time_budget=time_budget,
        verbose=progress_verbosity(),
        on_interrupt="keep",
    )
    if compare_criteria:
        experiment = replace(experiment, comparison=_compare_criteria(experiment))
    interrupted = experiment.estimator.selection_.outcome.stop is Stop.INTERRUPTED
    findings = judged(experiment, baselines and not interrupted, quick=report is None)
    _print(findings, as_json)
    if report is not None:
        save_report(findings, report)
    if save is not None:
        _save_model(experiment, save)
    return EXIT_INTERRUPTED if interrupted else 0


def _print(findings: Findings, as_json: bool) -> None:
    experiment = findings.experiment
    if as_json:
        print_json({**to_plain_data(experiment), **plain_verdict(findings)})
        return
    print_notes([*experiment.table.notes, *_summary(experiment.table.verdicts)])
    title = f"{experiment.source}: {experiment.table.target_name}"
    console().print(table(title, facts(experiment)))
    _print_verdict(findings)
    for caution in cautions(findings):
        print_message(f"caution: {caution}")


def _print_verdict(findings: Findings) -> None:
    """Print the scores of the model and of simple ones on the same rows, and what follows from them."""
    names, found = score_rows(findings)
    if found:
        title = f"On rows that {'the model has' if len(names) == 1 else 'the models have'} not seen"
        rows = [(name, *map(score_text, line)) for name, line in zip(names, found)]
        console().print(table(title, rows, ("", *(score.name for score in found[0]))))
    if len(names) > 1 and BOOSTING not in names:
        print_notes([f"{BOOSTING} would take long on this table and were not fitted; --report fits them"])
    console().print(headline(findings), soft_wrap=True, markup=False)


def _summary(verdicts: dict[str, str]) -> list[str]:
    """Return a line about the columns that are not used, if there are any."""
    used = [name for name, verdict in verdicts.items() if verdict.startswith(("number", "category", "date"))]
    return [f"used {len(used)} of {len(verdicts)} columns"] if len(used) < len(verdicts) else []


def _save_model(experiment: Experiment, path: Path) -> None:
    classes = getattr(experiment.estimator, "classes_", None)
    save_model(path, experiment.model, experiment.table.encoder, classes)
    print_message(f"wrote {path}")


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
