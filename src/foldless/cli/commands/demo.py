"""``foldless demo``: embedded data, tuned without folds and by a grid search."""

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

from foldless.cli.demo_data import HOLDOUT_FRACTION, Baseline, breast_cancer, grid_search
from foldless.cli.experiment import Experiment, HeldOut, run_experiment
from foldless.cli.options import Json, Seed, typer
from foldless.cli.report import console, cross_entropy, number, percent, table, to_plain_data
from foldless.cli.terminal import (
    check_writable,
    command_line,
    print_json,
    progress_verbosity,
    save_report,
    waiting,
)


def demo(
    report: Annotated[Path, typer.Option(help="The page to write.")] = Path("report.html"),
    as_json: Json = False,
    seed: Seed = 0,
) -> None:
    """Tune a classifier on embedded data, compare it with a grid search, and write a report."""
    check_writable(report)
    data = breast_cancer()
    experiment = run_experiment(
        data,
        holdout=HOLDOUT_FRACTION,
        random_state=seed,
        source="scikit-learn's breast cancer data",
        command=command_line(),
        verbose=progress_verbosity(),
    )
    with waiting("the same by GridSearchCV(SVC): 10 x 10 settings, 10 folds"):
        baseline = grid_search(data, seed)
    if as_json:
        print_json({"foldless": to_plain_data(experiment), "grid_search": asdict(baseline)})
    else:
        _print(experiment, baseline)
    save_report(experiment, report)


def _print(experiment: Experiment, baseline: Baseline) -> None:
    held_out = experiment.held_out or HeldOut(0, 0.0)
    title = f"{experiment.table.target_name}: {len(experiment.y)} rows to tune on, {held_out.rows} held out"
    rows = side_by_side(experiment, held_out, baseline)
    console().print(table(title, rows, ("", "foldless", "GridSearchCV(SVC)")))
    ratio = baseline.seconds / experiment.seconds
    console().print(f"the grid search took {number(ratio)} times as long as foldless in this run")


def side_by_side(experiment: Experiment, held_out: HeldOut, baseline: Baseline) -> list[tuple[str, str, str]]:
    """Return rows (label, foldless, grid search)."""
    estimator = experiment.estimator
    return [
        ("machine", "kernel logistic", "support vector"),
        ("C", number(estimator.C_), number(baseline.C)),
        ("width", number(estimator.kernel_.length_scale), number(baseline.width)),
        ("LOO cross-entropy per row", number(cross_entropy(experiment)), "-"),
        ("estimated error (LOO, 10 folds)", percent(experiment.loo_error), percent(baseline.folds_error)),
        ("held-out error", percent(held_out.error), percent(baseline.held_out_error)),
        ("evaluations (fits)", str(estimator.n_evaluations_), str(baseline.fits)),
        ("seconds", f"{experiment.seconds:.2f}", f"{baseline.seconds:.2f}"),
    ]
