"""What lies around the optimum: the tuned parameters by name, and the criterion on a coarse grid of two of them."""

import time
from dataclasses import dataclass, replace

import numpy as np

from foldless.core.parallel import one_blas_thread
from foldless.grams.builders import DenseBuilder, NystromBuilder
from foldless.grams.landmarks import spread_landmarks
from foldless.kernels.algebra import has_noise
from foldless.kernels.precomputed import is_precomputed

LANDMARKS = 96  # of the grid: the picture shows a landscape, the search saw more
ALL_ROWS = 200  # up to which the grid looks at the whole matrix
MARGIN, REACH = 0.7, 2.5  # log units beyond the visited points, and at least around the best
SIDES = (9, 25)  # fewest and most points along one axis
SECONDS = 4.0  # that the grid may take, about
FAR = 16.0  # log units from the best beyond which a look is not in the picture
LEAP = 3.0  # log units between two looks that do not belong to one descent
WORDS = {"length_scale": "width"}  # what people call a parameter
EDGE = 1e-3  # log units from a bound that count as being on it


@dataclass(frozen=True)
class Parameter:
    """One tuned parameter: its name, value and bounds, in natural units."""

    name: str
    value: float
    low: float = 0.0
    high: float = np.inf

    @property
    def on_bound(self) -> str:
        """``"lower"`` or ``"upper"`` if the value sits on that bound, else empty."""
        if self.low > 0 and np.log(self.value / self.low) < EDGE:
            return "lower"
        return "upper" if np.isfinite(self.high) and np.log(self.high / self.value) < EDGE else ""


def parameters(selection):
    """Return the tuned parameters of a selection in the order of ``theta``."""
    kernel, problem = selection.kernel, selection.problem
    free = [h for h in kernel.hyperparameters if not h.fixed]
    names = [name for h in free for name in _names(h)]
    found = [Parameter(n, *np.exp([t, *b])) for n, t, b in zip(names, kernel.theta, kernel.bounds)]
    machine = selection.machine.theta if problem.tune_machine else ()
    return found + [Parameter(_letter(selection.machine), float(np.exp(t))) for t in machine]


def _letter(machine):
    return "C" if machine.sign > 0 else "alpha"


def _names(hyperparameter):
    name = hyperparameter.name.rpartition("__")[2]
    count = hyperparameter.n_elements
    return [name] if count == 1 else [f"{name}[{i}]" for i in range(count)]


@dataclass(frozen=True, eq=False)
class Surface:
    """The criterion on a grid: ``value[i, j]`` at ``y[i]``, ``x[j]``, all in natural units."""

    x: np.ndarray
    y: np.ndarray
    value: np.ndarray
    names: tuple[str, str]
    landmarks: int | None  # None if the whole matrix was looked at


def surface(selection, seconds=SECONDS):
    """Evaluate the criterion around the optimum of a selection with two tuned parameters.

    Parameters
    ----------
    selection : Selection
    seconds : float
        About as long as it may take; decides how fine the grid is.

    Returns
    -------
    surface : Surface or None
        None unless exactly two parameters were tuned.
    """
    named = parameters(selection)
    if len(named) != 2:
        return None
    problem = sketch(selection.problem)
    landmarks = getattr(problem.builder, "landmarks", None)
    count = None if landmarks is None else len(landmarks)
    with one_blas_thread():  # many small fits
        x, y = _axes(problem, selection.outcome, seconds)
        value = _grid(problem, x, y)
    return Surface(np.exp(x), np.exp(y), value, tuple(p.name for p in named), count)


def descents(trace):
    """Return the paths of a search, one array (looks, p) in log units each: a new one begins at a start or after a leap.

    Examples
    --------
    >>> from foldless.core.contracts import Step
    >>> looks = [
    ...     (0.0, "start"),
    ...     (4.0, "start"),
    ...     (4.0, "descent"),
    ...     (3.0, "descent"),
    ...     (0.0, "descent"),
    ...     (0.5, "descent"),
    ... ]
    >>> [path.ravel().tolist() for path in descents([Step(np.array([t]), 1.0, 0.0, why) for t, why in looks])]
    [[4.0, 3.0], [0.0, 0.5]]
    """
    starts = {tuple(step.theta) for step in trace if step.why == "start"}
    paths = []
    for step in trace:
        if step.why in ("start", "grid") or not np.isfinite(step.value):
            continue
        leaps = not paths or np.max(np.abs(step.theta - paths[-1][-1])) > LEAP
        if leaps or tuple(step.theta) in starts:
            paths.append([])
        paths[-1].append(step.theta)
    return [np.array(path) for path in paths]


def _axes(problem, outcome, seconds):
    """Points along both axes: as many as one evaluation lets us afford."""
    begun = time.perf_counter()
    problem(outcome.best.theta)
    cost = time.perf_counter() - begun
    side = int(np.clip(np.sqrt(seconds / max(cost, 1e-6)), *SIDES))
    return (np.linspace(low, high, side) for low, high in window(outcome))


def sketch(problem):
    """Return the same problem on few landmarks and at the accuracy of a picture."""
    X, machine = problem.builder.X, problem.machine.with_search_accuracy
    whole = X.shape[0] <= ALL_ROWS or has_noise(problem.kernel) or is_precomputed(problem.kernel)
    landmarks = None if whole else spread_landmarks(X, min(LANDMARKS, X.shape[0]), np.random.default_rng(0))
    return replace(
        problem, machine=machine, builder=DenseBuilder(X) if whole else NystromBuilder(X, landmarks)
    )


def window(outcome):
    """Return bounds (p, 2) in log units: what was visited near the best, and some way around."""
    best = outcome.best.theta
    visited = np.array([step.theta for step in outcome.trace if np.all(np.abs(step.theta - best) < FAR)])
    low = np.minimum(visited.min(axis=0) - MARGIN, best - REACH)
    high = np.maximum(visited.max(axis=0) + MARGIN, best + REACH)
    return np.column_stack([low, high])


def _grid(problem, x, y):
    """Walk up and down the columns, so that each fit starts at its neighbour's."""
    value = np.full((len(y), len(x)), np.inf)
    for j in range(len(x)):
        warm_start = None
        for i in range(len(y)):
            evaluation = problem(np.array([x[j], y[i]]), warm_start)
            value[i, j], warm_start = evaluation.value, evaluation.warm_start
    return value
