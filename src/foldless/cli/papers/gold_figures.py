r"""Figures 1, 5 and 6 of Gold and Sollich: the paths of the parameters on Twonorm.

The data are drawn anew from the distribution of Twonorm. Figure 1 follows the random walk on the Laplace evidence.
Figures 5 and 6 follow an ascent of the evidence from equal length scales: the paper samples the gradients by hybrid Monte
Carlo; here they are those of expectation propagation, without noise, and the steps those of L-BFGS.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from foldless.cli.papers.figure import Curve, Panel, PaperFigure
from foldless.cli.papers.gold_methods import METHODS, Method, errors, problem_of
from foldless.cli.papers.split import Split
from foldless.core.contracts import Matrix, Step, Vector
from foldless.criteria import GACV
from foldless.datasets import make_twonorm
from foldless.tuning.objective import Objective
from foldless.tuning.validation_split import improvements

TRAINING_ROWS, TEST_ROWS, INPUTS = 300, 2000, 20
WALK_EVALUATIONS, ASCENT_EVALUATIONS = 1500, 60
# Places of the other parameters beside the length scales.
SCALARS = {"amplitude": 0, "offset": -2, "C": -1}
# Length scales at the start. The walk's is the paper's, which does not give that of the ascent. An L-BFGS ascent from 1 ends on
# the plateau of short length scales; from 1.5 or more it reaches one optimum.
WALK_LENGTH, ASCENT_LENGTH = 1.0, 1.5
# At most so many points of a path are measured on the test rows.
PATH_POINTS = 60


@dataclass(frozen=True, eq=False)
class SearchPath:
    """The steps of a search that improved the criterion, with natural values of the parameters and the test error."""

    problem: Objective
    numbers: Vector
    steps: Sequence[Step]
    test_error: Vector

    @property
    def natural(self) -> Matrix:
        """Amplitude, length scales, offset and C, one row per step."""
        return np.exp([step.theta for step in self.steps])

    @property
    def gradient(self) -> Matrix:
        """Derivatives of the log evidence of all rows in the logarithms of the parameters."""
        return -len(self.problem.Y) * np.array([step.gradient for step in self.steps])


def twonorm(rows: int = TRAINING_ROWS, inputs: int = INPUTS, seed: int = 0) -> Split:
    """Return training and test rows, standardised over all."""
    X, y = make_twonorm(rows + TEST_ROWS, n_features=inputs, random_state=seed)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    return Split.of_rows(X, 2.0 * y - 1, np.arange(rows), np.arange(rows, len(y)))


def search_path(method: Method, split: Split, evaluations: int, length: float, seed: int = 0) -> SearchPath:
    """Return the path from length scales that all equal ``length``, and otherwise from where the random walks begin."""
    problem, box = problem_of(method, split, seed)
    start = problem_of(METHODS["LE1"], split, seed)[0].theta
    start[1:-2] = np.log(length)
    trace = method.search_of(seed)(problem, box, [start], max_evaluations=evaluations).trace
    better = improvements(trace)
    chosen = np.unique(np.linspace(0, len(better) - 1, min(PATH_POINTS, len(better))).astype(int))
    steps = [better[i] for i in chosen]
    place = {id(step): number for number, step in enumerate(trace)}
    measured = [errors(split, problem, [step], np.ones(1), False)[0] for step in steps]
    return SearchPath(problem, np.array([place[id(step)] for step in steps]), steps, np.array(measured))


def _values_panel(title: str, path: SearchPath, columns: Sequence[int]) -> Panel:
    """Return natural values along the path, on a logarithmic scale if they span more than a decade."""
    values = path.natural[:, columns]
    log = "y" if values.max() > 10 * values.min() else ""
    return Panel(title, tuple(Curve(path.numbers, column) for column in values.T), "step", log=log)


def _lengths_panel(path: SearchPath, count: int) -> Panel:
    return _values_panel(f"{count} of the length scales", path, range(1, 1 + count))


def _scalar_panels(path: SearchPath) -> list[Panel]:
    return [_values_panel(name, path, [i]) for name, i in SCALARS.items()]


def figure_1(
    data: Path | None = None,
    rows: int = TRAINING_ROWS,
    inputs: int = INPUTS,
    evaluations: int = WALK_EVALUATIONS,
    seed: int = 0,
) -> PaperFigure:
    """Return the path of the random walk on the Laplace evidence with the hinge loss."""
    path = search_path(METHODS["LE1"], twonorm(rows, inputs, seed), evaluations, WALK_LENGTH, seed)
    gacv = replace(path.problem, criterion=GACV())
    panels = (
        _lengths_panel(path, min(5, inputs)),
        *_scalar_panels(path),
        Panel("Laplace evidence", (Curve(path.numbers, np.array([-s.value for s in path.steps])),), "step"),
        Panel("GACV", (Curve(path.numbers, np.array([gacv(s.theta).value for s in path.steps])),), "step"),
        Panel("test error (%)", (Curve(path.numbers, path.test_error),), "step"),
    )
    paper = (
        "length scales, amplitude, offset and C along the search, with the Laplace evidence, GACV and the test error. The "
        "parameters move at random to stable values; as the evidence grows, GACV and the test error fall, not strictly."
    )
    return PaperFigure(
        "gold-fig1", "tuning by the Laplace evidence", paper, panels, 4, _settings(path, rows, inputs, seed)
    )


def _settings(path: SearchPath, rows: int, inputs: int, seed: int) -> tuple[str, ...]:
    ends = f"Test error {path.test_error[0]:.1f} % at the start, {path.test_error.min():.1f} % at best"
    return (
        f"{rows} rows of {inputs} inputs, {TEST_ROWS} test rows, seed {seed}; {path.numbers[-1] + 1} evaluations, "
        f"length scales {path.natural[0, 1]:.3g} at the start.",
        f"{ends}, {path.test_error[-1]:.1f} % at the end.",
    )


def figure_5(
    data: Path | None = None,
    rows: int = TRAINING_ROWS,
    inputs: int = INPUTS,
    evaluations: int = ASCENT_EVALUATIONS,
    length: float = ASCENT_LENGTH,
    seed: int = 0,
) -> PaperFigure:
    """Return the length scales along an ascent of the evidence, their gradients, and the test error."""
    path = search_path(METHODS["EP"], twonorm(rows, inputs, seed), evaluations, length, seed)
    count = min(6, inputs)
    slopes = tuple(Curve(path.numbers, path.gradient[:, 1 + i]) for i in range(count))
    panels = (
        _lengths_panel(path, count),
        Panel("their gradients", slopes, "step"),
        Panel("test error (%)", (Curve(path.numbers, path.test_error),), "step"),
    )
    paper = (
        "six length scales, the gradients of the evidence in them, and the test error along an ascent. Gradients start small, "
        "rise to a peak and decline; most parameters settle; the test error falls."
    )
    return PaperFigure(
        "gold-fig5",
        "length scales along an ascent of the evidence",
        paper,
        panels,
        3,
        _settings(path, rows, inputs, seed),
    )


def figure_6(
    data: Path | None = None,
    rows: int = TRAINING_ROWS,
    inputs: int = INPUTS,
    evaluations: int = ASCENT_EVALUATIONS,
    length: float = ASCENT_LENGTH,
    seed: int = 0,
) -> PaperFigure:
    """Return amplitude, offset and C along an ascent of the evidence, their gradients, and the test error."""
    path = search_path(METHODS["EP"], twonorm(rows, inputs, seed), evaluations, length, seed)
    gradients = [
        Panel(f"gradient, {name}", (Curve(path.numbers, path.gradient[:, i]),), "step")
        for name, i in SCALARS.items()
    ]
    low = path.test_error <= 2 * path.test_error.min()
    panels = (
        *_scalar_panels(path),
        *gradients,
        Panel("test error (%)", (Curve(path.numbers, path.test_error),), "step"),
        Panel("small test errors (%)", (Curve(path.numbers[low], path.test_error[low], style="o-"),), "step"),
    )
    paper = (
        "amplitude, offset and C, the gradients in them, and the test error, the small ones enlarged. The test error goes "
        "through a shallow minimum and rises a little to its final value."
    )
    return PaperFigure(
        "gold-fig6",
        "amplitude, offset and C along an ascent of the evidence",
        paper,
        panels,
        3,
        _settings(path, rows, inputs, seed),
    )
