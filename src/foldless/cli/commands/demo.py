"""``foldless demo``: two embedded tables, with the default of foldless and with what people would use."""

from pathlib import Path
from typing import Any

import numpy as np

from foldless.cli.console import console, table
from foldless.cli.demo_data import Problem, Scores, digits, friedman, measure, verdict
from foldless.cli.experiment import run_experiment
from foldless.cli.options import HOLDOUT_FRACTION
from foldless.cli.report import percent, to_plain_data
from foldless.cli.terminal import (
    check_writable,
    command_line,
    judged,
    print_json,
    progress_verbosity,
    save_report,
    waiting,
)
from foldless.core.contracts import Vector

ADVICE = (
    "The grid search tunes the machine that foldless chose, with five folds. Both tables change smoothly with their columns, which suits "
    "kernel machines. Where a straight line is enough, a linear model is as good; where rules and thresholds decide, take boosting. The "
    "report below is about Friedman's function."
)


def demo(report: Path, as_json: bool, seed: int) -> None:
    """Fit two embedded tables beside a grid search, a linear model and boosting, and write a report."""
    check_writable(report)
    results: dict[str, Any] = {}
    for problem in (digits(), friedman()):
        with waiting(f"{problem.title}: four models on random splits"):
            found = measure(problem.table, seed)
        if not as_json:
            _print(problem, found)
        results[str(problem.table.target_name)] = _plain(problem, found)
    experiment = run_experiment(
        problem.table,
        "auto",
        holdout=HOLDOUT_FRACTION,
        random_state=seed,
        source=problem.source,
        command=command_line(),
        verbose=progress_verbosity(),
        on_interrupt="keep",
    )
    if as_json:
        print_json({"foldless": to_plain_data(experiment), "tables": results})
    else:
        console().print(ADVICE, soft_wrap=True)
    save_report(judged(experiment), report)


def _print(problem: Problem, found: list[Scores]) -> None:
    _, task = problem.table.target()
    headings = ("", "error", "log loss") if task == "classification" else ("", "RMSE", "R2")
    title = f"{problem.title}: mean and standard error of {len(found[0].error)} random splits"
    console().print(problem.question, end="\n\n")
    console().print(table(title, [_cells(one, task) for one in found], (*headings, "seconds")))
    console().print(verdict(found, task), soft_wrap=True)
    console().print()


def _cells(scores: Scores, task: str) -> tuple[str, ...]:
    error = _with_spread(scores.error, percent if task == "classification" else two_decimals)
    return (
        scores.name,
        error,
        _with_spread(scores.score, lambda x: f"{x:.3f}"),
        f"{np.mean(scores.seconds):.2f}",
    )


def two_decimals(value: float) -> str:
    """Return a number with two decimals, so that a mean and its standard error end at the same digit."""
    return f"{value:.2f}"


def _with_spread(values: Vector, show: Any) -> str:
    """Return the mean and its standard error over the splits."""
    return f"{show(float(np.mean(values)))} ± {show(float(np.std(values, ddof=1) / np.sqrt(len(values))))}"


def _plain(problem: Problem, found: list[Scores]) -> dict[str, Any]:
    """Return the scores as lists, one number per split."""
    _, task = problem.table.target()
    score = "log_loss" if task == "classification" else "r2"
    models = {
        one.name: {"error": one.error.tolist(), score: one.score.tolist(), "seconds": one.seconds.tolist()}
        for one in found
    }
    return {"task": task, "rows": problem.table.n_rows, "models": models, "verdict": verdict(found, task)}
