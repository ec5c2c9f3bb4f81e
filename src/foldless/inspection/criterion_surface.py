"""The tuned parameters by name, and the criterion around the optimum on a coarse grid of two of them."""

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from foldless.core.contracts import Matrix, Outcome, Step, Vector
from foldless.core.parallel import one_blas_thread
from foldless.grams.builders import DenseBuilder, NystromBuilder
from foldless.grams.landmarks import spread_landmarks
from foldless.kernels.algebra import has_noise
from foldless.kernels.precomputed import is_precomputed
from foldless.tuning.objective import Objective
from foldless.tuning.result import Selection
from foldless.tuning.trace import parameter_names, regularisation_name

SKETCH_LANDMARKS = 96
SKETCH_DENSE_MAX_ROWS = 200
# The window of the grid, in log units: this far beyond the evaluated points, and at least this far around the best.
WINDOW_MARGIN_LOG, WINDOW_MIN_REACH_LOG = 0.7, 2.5
# Evaluations farther than this from the best, in log units, do not widen the window.
WINDOW_MAX_REACH_LOG = 16.0
GRID_MIN_POINTS, GRID_MAX_POINTS = 9, 25
GRID_SECONDS = 4.0
# Two evaluations farther apart than this, in log units, belong to different descents.
DESCENT_MAX_STEP_LOG = 3.0
BOUND_TOLERANCE_LOG = 1e-3
PARAMETER_TITLES = {"length_scale": "width"}


@dataclass(frozen=True)
class Parameter:
    """One tuned parameter: its name, value and bounds, in natural units."""

    name: str
    value: float
    low: float = 0.0
    high: float = np.inf

    @property
    def on_bound(self) -> str:
        """``"lower"`` or ``"upper"`` if the value is at that bound, else empty."""
        if self.low > 0 and np.log(self.value / self.low) < BOUND_TOLERANCE_LOG:
            return "lower"
        at_upper = np.isfinite(self.high) and np.log(self.high / self.value) < BOUND_TOLERANCE_LOG
        return "upper" if at_upper else ""


def parameters(selection: Selection) -> list[Parameter]:
    """Return the tuned parameters of a selection in the order of ``theta``."""
    kernel, problem = selection.kernel, selection.objective
    found = [
        Parameter(n, *np.exp([t, *b]))
        for n, t, b in zip(parameter_names(kernel), kernel.theta, kernel.bounds)
    ]
    machine = selection.machine.theta if problem.tune_machine else ()
    return found + [Parameter(regularisation_name(selection.machine), float(np.exp(t))) for t in machine]


@dataclass(frozen=True, eq=False)
class Surface:
    """The criterion on a grid.

    Attributes
    ----------
    x, y : arrays
        Values of the two parameters, in natural units.
    value : array of shape (len(y), len(x))
    names : tuple of two str
        Names of the parameters.
    landmarks : int or None
        Landmarks of the approximated kernel matrix; None if the whole matrix was used.
    """

    x: Vector
    y: Vector
    value: Matrix
    names: tuple[str, str]
    landmarks: int | None


def evaluate_surface(selection: Selection, seconds: float = GRID_SECONDS) -> Surface | None:
    """Evaluate the criterion around the optimum of a selection with two tuned parameters.

    Parameters
    ----------
    selection : Selection
        For instance ``model.selection_``.
    seconds : float, default=4.0
        About how long it may take; decides how fine the grid is.

    Returns
    -------
    surface : Surface or None
        None unless exactly two parameters were tuned.
    """
    named = parameters(selection)
    if len(named) != 2:
        return None
    problem = sketch(selection.objective)
    landmarks = len(problem.builder.landmarks) if isinstance(problem.builder, NystromBuilder) else None
    # The grid is many small fits, which several BLAS threads only slow down.
    with one_blas_thread():
        x, y = _axes(problem, selection.outcome, seconds)
        value = _grid(problem, x, y)
    return Surface(np.exp(x), np.exp(y), value, (named[0].name, named[1].name), landmarks)


def descents(trace: Sequence[Step]) -> list[Matrix]:
    """Return the paths of a search, one array (evaluations, p) in log units each.

    A new path begins at a start of the search, or after a leap of more than ``DESCENT_MAX_STEP_LOG``.

    Examples
    --------
    >>> from foldless.core.contracts import Step
    >>> evaluations = [
    ...     (0.0, "start"),
    ...     (4.0, "start"),
    ...     (4.0, "descent"),
    ...     (3.0, "descent"),
    ...     (0.0, "descent"),
    ...     (0.5, "descent"),
    ... ]
    >>> trace = [Step(np.array([t]), 1.0, 0.0, why) for t, why in evaluations]
    >>> [path.ravel().tolist() for path in descents(trace)]
    [[4.0, 3.0], [0.0, 0.5]]
    """
    starts = {tuple(step.theta) for step in trace if step.why == "start"}
    paths: list[list[Vector]] = []
    for step in trace:
        if step.why in ("start", "grid") or not np.isfinite(step.value):
            continue
        leaps = not paths or np.max(np.abs(step.theta - paths[-1][-1])) > DESCENT_MAX_STEP_LOG
        if leaps or tuple(step.theta) in starts:
            paths.append([])
        paths[-1].append(step.theta)
    return [np.array(path) for path in paths]


def _axes(problem: Objective, outcome: Outcome, seconds: float) -> Iterable[Vector]:
    """Points along both axes, as many as the time of one evaluation allows."""
    begun = time.perf_counter()
    problem(outcome.best.theta)
    cost = time.perf_counter() - begun
    side = int(np.clip(np.sqrt(seconds / max(cost, 1e-6)), GRID_MIN_POINTS, GRID_MAX_POINTS))
    return (np.linspace(low, high, side) for low, high in window(outcome))


def sketch(problem: Objective) -> Objective:
    """Return the problem on few landmarks and at the accuracy of a search: cheap, and close enough for a figure."""
    X: Any = problem.builder.X
    builder: DenseBuilder | NystromBuilder = DenseBuilder(X)
    if not (
        X.shape[0] <= SKETCH_DENSE_MAX_ROWS or has_noise(problem.kernel) or is_precomputed(problem.kernel)
    ):
        builder = NystromBuilder(X, spread_landmarks(X, SKETCH_LANDMARKS, np.random.default_rng(0)))
    return replace(problem, machine=problem.machine.with_search_accuracy, builder=builder)


def window(outcome: Outcome) -> Matrix:
    """Return bounds (p, 2) in log units that hold the evaluations near the best, with a margin around them."""
    best = outcome.best.theta
    near = [step.theta for step in outcome.trace if np.all(np.abs(step.theta - best) < WINDOW_MAX_REACH_LOG)]
    low = np.minimum(np.min(near, axis=0) - WINDOW_MARGIN_LOG, best - WINDOW_MIN_REACH_LOG)
    high = np.maximum(np.max(near, axis=0) + WINDOW_MARGIN_LOG, best + WINDOW_MIN_REACH_LOG)
    return np.column_stack([low, high])


def _grid(problem: Objective, x: Vector, y: Vector) -> Matrix:
    """Evaluate column by column, so that each fit starts from the solution of its neighbour."""
    value = np.full((len(y), len(x)), np.inf)
    for j in range(len(x)):
        warm_start = None
        for i in range(len(y)):
            evaluation = problem(np.array([x[j], y[i]]), warm_start)
            value[i, j], warm_start = evaluation.value, evaluation.warm_start
    return value
