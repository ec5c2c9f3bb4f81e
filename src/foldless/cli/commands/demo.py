"""``foldless demo``: embedded data, tuned without folds and by a grid search, side by side."""

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

from foldless.cli.demo_data import HOLDOUT, breast_cancer, grid_search
from foldless.cli.experiment import TuneRequest, run_experiment
from foldless.cli.options import Json, Seed, typer
from foldless.cli.report import console, cross_entropy, number, percent, plain, table
from foldless.cli.terminal import bar, check_writable, command_line, keep_report, print_json, waiting


def demo(
    report: Annotated[Path, typer.Option(help="The page to write.")] = Path("report.html"),
    as_json: Json = False,
    seed: Seed = 0,
):
    """Tune a classifier on embedded data, beside a grid search, and write a report."""
    check_writable(report)
    data = breast_cancer()
    request = TuneRequest(holdout=HOLDOUT, seed=seed, verbose=bar())
    study = run_experiment(data, request, "scikit-learn's breast cancer data", command_line())
    with waiting("the same by GridSearchCV(SVC): 10 x 10 settings, 10 folds"):
        baseline = grid_search(data, seed)
    if as_json:
        print_json({"foldless": plain(study), "grid_search": asdict(baseline)})
    else:
        _print(study, baseline)
    keep_report(study, report)


def _print(study, baseline):
    title = f"{study.table.target_name}: {len(study.y)} rows to tune on, {study.held_out.rows} held out"
    console().print(table(title, side_by_side(study, baseline), ("", "foldless", "GridSearchCV(SVC)")))
    ratio = baseline.seconds / study.seconds
    console().print(f"time of the grid search over that of foldless in this run: {number(ratio)}")


def side_by_side(study, baseline):
    """Return rows (what, ours, grid search's)."""
    estimator = study.estimator
    return [
        ("machine", "kernel logistic", "support vector"),
        ("C", number(estimator.C_), number(baseline.C)),
        ("width", number(estimator.kernel_.length_scale), number(baseline.width)),
        ("LOO cross-entropy per row", number(cross_entropy(study)), "-"),
        ("estimated error (LOO, 10 folds)", percent(study.loo_error), percent(baseline.folds_error)),
        ("held-out error", percent(study.held_out.error), percent(baseline.held_out_error)),
        ("evaluations (fits)", str(estimator.n_evaluations_), str(baseline.fits)),
        ("seconds", f"{study.seconds:.2f}", f"{baseline.seconds:.2f}"),
    ]
