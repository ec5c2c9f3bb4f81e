"""``foldless demo``: two embedded tables, with the default of foldless and with what people would use."""

from pathlib import Path
from typing import Any

import numpy as np

from foldless.cli.console import console, table
from foldless.cli.demo_data import Scores, breast_cancer, diabetes, measure, verdict
from foldless.cli.experiment import run_experiment
from foldless.cli.files.read_table import Table
from foldless.cli.options import HOLDOUT_FRACTION
from foldless.cli.report import number, percent, to_plain_data
from foldless.cli.terminal import (
    check_writable,
    command_line,
    print_json,
    progress_verbosity,
    save_report,
    waiting,
)
from foldless.core.contracts import Vector


def demo(report: Path, as_json: bool, seed: int) -> None:
    """Fit two embedded tables beside a grid search, a linear model and boosting, and write a report."""
    check_writable(report)
    results: dict[str, Any] = {}
    for data in (breast_cancer(), diabetes()):
        with waiting(f"{data.target_name}: four models on random splits"):
            found = measure(data, seed)
        if not as_json:
            _print(data, found)
        results[str(data.target_name)] = _plain(data, found)
    experiment = run_experiment(
        breast_cancer(),
        "auto",
        holdout=HOLDOUT_FRACTION,
        random_state=seed,
        source="scikit-learn's breast cancer data",
        command=command_line(),
        verbose=progress_verbosity(),
        on_interrupt="keep",
    )
    if as_json:
        print_json({"foldless": to_plain_data(experiment), "tables": results})
    save_report(experiment, report)


def _print(data: Table, found: list[Scores]) -> None:
    _, task = data.target()
    title = f"{data.target_name}: {data.n_rows} rows, {len(data.feature_names)} features, mean of {len(found[0].error)} splits"
    headings = ("", "error", "log loss") if task == "classification" else ("", "RMSE", "R2")
    console().print(table(title, [_cells(one, task) for one in found], (*headings, "seconds")))
    console().print(verdict(found, task), soft_wrap=True)
    console().print()


def _cells(scores: Scores, task: str) -> tuple[str, ...]:
    error = _with_spread(scores.error, percent if task == "classification" else number)
    return (
        scores.name,
        error,
        _with_spread(scores.score, lambda x: f"{x:.3f}"),
        f"{np.mean(scores.seconds):.2f}",
    )


def _with_spread(values: Vector, show: Any) -> str:
    """Return the mean and its standard error over the splits."""
    return f"{show(float(np.mean(values)))} ± {show(float(np.std(values, ddof=1) / np.sqrt(len(values))))}"


def _plain(data: Table, found: list[Scores]) -> dict[str, Any]:
    """Return the scores as lists, one number per split."""
    _, task = data.target()
    score = "log_loss" if task == "classification" else "r2"
    models = {
        one.name: {"error": one.error.tolist(), score: one.score.tolist(), "seconds": one.seconds.tolist()}
        for one in found
    }
    return {"task": task, "rows": data.n_rows, "models": models, "verdict": verdict(found, task)}
