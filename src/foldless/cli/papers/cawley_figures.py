r"""Figures 1 to 3 of Cawley and Talbot: kernel logistic regression on Ripley's synthetic data.

The paper's data are 250 training and 1000 test rows; here they are drawn anew from the same distribution, so that no file
is needed. Exact leave-one-out refits the machine once per row at every point of the grid.
"""

from pathlib import Path

import numpy as np
from sklearn.gaussian_process.kernels import RBF

from foldless.cli.papers.cawley import RefitLoss
from foldless.cli.papers.figure import Contours, Curve, Panel, PaperFigure, Regions
from foldless.cli.papers.split import Split
from foldless.core.contracts import Matrix, Vector
from foldless.criteria import LOO
from foldless.datasets import make_ripley
from foldless.estimators import KernelLogisticRegression
from foldless.grams import DenseGram
from foldless.machines import SmoothMachine
from foldless.machines.losses import Logistic

TRAINING_ROWS, TEST_ROWS = 250, 1000
GRID_POINTS = 11
WIDTH_RANGE, C_RANGE = (0.1, 3.0), (0.03, 300.0)
NAMES = ("approximate leave-one-out", "exact leave-one-out", "10-fold cross-validation", "test")


def ripley(rows: int = TRAINING_ROWS, seed: int = 0) -> Split:
    """Return training and test rows."""
    X, y = make_ripley(rows + TEST_ROWS, random_state=seed)
    return Split.of_rows(X, 2.0 * y - 1, np.arange(rows), np.arange(rows, len(y)))


def losses(split: Split, width: float, C: float) -> Vector:
    """Return the cross-entropy per row by the four estimates of ``NAMES``."""
    kernel = RBF(width)
    solution = SmoothMachine(Logistic(), C).solve(DenseGram(kernel(split.X)), split.y[:, None])
    column = solution.columns[0]
    outputs = kernel(split.X_test, split.X) @ column.alpha + column.b
    criteria = (LOO(), RefitLoss(folds=len(split.y)), RefitLoss(folds=10))
    test = np.mean(np.logaddexp(0, -split.y_test * outputs))
    return np.array([*(criterion(solution).value for criterion in criteria), test])


def surfaces(split: Split, widths: Vector, Cs: Vector) -> Matrix:
    """Return the losses over a grid, of shape (4, widths, values of C)."""
    return np.array([[losses(split, width, C) for C in Cs] for width in widths]).transpose(2, 0, 1)


def figure_1(
    data: Path | None = None, rows: int = TRAINING_ROWS, points: int = 60, seed: int = 0
) -> PaperFigure:
    """Return the fitted classifier: the points and the lines of equal probability."""
    split = ripley(rows, seed)
    model = KernelLogisticRegression().fit(split.X, split.y)
    x, y = (np.linspace(split.X[:, i].min(), split.X[:, i].max(), points) for i in (0, 1))
    plane = np.stack(np.meshgrid(x, y), axis=-1).reshape(-1, 2)
    probability = model.predict_proba(plane)[:, 1].reshape(points, points)
    chosen = {label: split.X[split.y == label] for label in (-1, 1)}
    classes = [
        Curve(own[:, 0], own[:, 1], f"class {label:+d}", style)
        for (label, own), style in zip(chosen.items(), "ox", strict=True)
    ]
    error = 100 * np.mean(model.predict(split.X_test) != split.y_test)
    paper = "the model chosen by approximate leave-one-out on Ripley's synthetic data, with lines of equal probability."
    remarks = (f"{rows} rows, seed {seed}; test error {error:.1f} % on {TEST_ROWS} rows.",)
    panel = Panel("", (*classes, Regions(x, y, probability)), "first input", "second input")
    return PaperFigure("cawley-fig1", "a model of Ripley's data", paper, (panel,), 1, remarks)


def figure_2(
    data: Path | None = None, rows: int = TRAINING_ROWS, points: int = GRID_POINTS, seed: int = 0
) -> PaperFigure:
    """Return the four losses over the grid of widths and values of C."""
    split, widths, Cs = ripley(rows, seed), np.geomspace(*WIDTH_RANGE, points), np.geomspace(*C_RANGE, points)
    found = surfaces(split, widths, Cs)
    panels = tuple(
        Panel(name, (Contours(Cs, widths, values),), "C", "width", "xy")
        for name, values in zip(NAMES, found, strict=True)
    )
    paper = (
        "contours of the loss by approximate leave-one-out, exact leave-one-out, 10-fold cross-validation and on test rows. The "
        "first behaves like the second without being identical, and the minima of all agree with that of the test loss."
    )
    places = [np.unravel_index(np.argmin(values), values.shape) for values in found]
    at = "; ".join(
        f"{name}: width {widths[i]:.2g}, C {Cs[j]:.2g}" for name, (i, j) in zip(NAMES, places, strict=True)
    )
    remarks = (f"{rows} rows, {points} x {points} points, seed {seed}. Minima: {at}.",)
    return PaperFigure("cawley-fig2", "the loss over both parameters", paper, panels, 2, remarks)


def figure_3(
    data: Path | None = None, rows: int = TRAINING_ROWS, points: int = GRID_POINTS, seed: int = 0
) -> PaperFigure:
    """Return approximate and exact leave-one-out along each parameter, the other at its chosen value."""
    split = ripley(rows, seed)
    model = KernelLogisticRegression().fit(split.X, split.y)
    width, chosen_C = float(model.kernel_.length_scale), float(model.C_)
    widths, Cs = np.geomspace(*WIDTH_RANGE, points), np.geomspace(*C_RANGE, points)
    along_C = np.array([losses(split, width, C)[:2] for C in Cs]).T
    along_width = np.array([losses(split, each, chosen_C)[:2] for each in widths]).T
    panels = tuple(
        Panel(
            title, (Curve(x, y[0], "approximate"), Curve(x, y[1], "exact", "--")), label, "loss per row", "x"
        )
        for title, label, x, y in (
            (f"width {width:.2g}", "C", Cs, along_C),
            (f"C = {chosen_C:.2g}", "width", widths, along_width),
        )
    )
    paper = (
        "approximate and exact leave-one-out loss along each parameter, the other held at its best value. The approximation "
        "is accurate enough to choose a model, but not to measure its performance unless the model is well tuned."
    )
    return PaperFigure(
        "cawley-fig3", "both leave-one-out losses", paper, panels, 2, (f"{rows} rows, seed {seed}.",)
    )
