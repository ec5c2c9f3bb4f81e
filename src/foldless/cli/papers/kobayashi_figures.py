"""Figure 3 of Kobayashi and Komaki: KRIC and the test error against C on Ripley's synthetic data, Gaussian width 0.1."""

from pathlib import Path

import numpy as np

from foldless.cli.papers.figure import Curve, Panel, PaperFigure
from foldless.cli.papers.kobayashi import GRID, Problem, fit_klr, fit_svm, load
from foldless.core.contracts import Vector
from foldless.criteria.kric import kric_at_outputs

WIDTH, TRAINING_ROWS = 0.1, 250
FITTERS = {"SVM": fit_svm, "KLR": fit_klr}


def kric_and_errors(problem: Problem, machine: str, grid: Vector) -> tuple[Vector, Vector]:
    """Return KRIC per row and the test error in percent at every C of the grid."""
    fits = [FITTERS[machine](problem.K.K, problem.y, C) for C in grid]
    values = [
        kric_at_outputs(problem.low_rank, problem.y, fit.f, C, bias=False).value
        for fit, C in zip(fits, grid, strict=True)
    ]
    errors = [100 * problem.split.error(problem.cross @ fit.beta + fit.b) for fit in fits]
    return np.array(values), np.array(errors)


def figure_3(data: Path, rows: int = TRAINING_ROWS, grid: Vector = GRID, seed: int = 0) -> PaperFigure:
    """Return the curves for a support vector machine and for kernel logistic regression.

    Parameters
    ----------
    data : path
        Directory with ``ripley_synth.npz``.
    rows : int
        Training rows.
    grid : array
        Values of C.
    seed : int
    """
    problem = Problem.draw(*load(data, "rsy"), seed, rows, WIDTH)
    panels = []
    for machine in FITTERS:
        values, errors = kric_and_errors(problem, machine, grid)
        panels.append(
            Panel(
                machine,
                (Curve(grid, values, "KRIC"),),
                "C",
                "KRIC",
                "x",
                (Curve(grid, errors, "test error", "--", colour="tab:orange"),),
                "test error (%)",
            )
        )
    paper = (
        "KRIC (solid) and the test error (dashed) against C on the set rsy with a Gaussian width of 0.1, an example of tuning "
        "by KRIC. The text does not name the machine, and says nothing more about the curves."
    )
    remarks = (f"{rows} rows to train, {len(problem.split.y_test)} to test, seed {seed}.",)
    return PaperFigure("kobayashi-fig3", "tuning C by KRIC", paper, tuple(panels), 2, remarks)
