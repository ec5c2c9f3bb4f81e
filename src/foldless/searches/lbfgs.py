r"""Descent by a limited-memory quasi-Newton method in log space, inside a box, from the best of several starts.

Every two points with gradients that lie near each other tell the curvature between them: a step :math:`s` changes the gradient
by :math:`y`. The step from a point with gradient g is :math:`p = -H g`, where H maps every kept y to its s (the two-loop
recursion of L-BFGS [1]_) and leaves parameters alone that are held by a bound. A step that does not lower the objective is
not lost: its pair corrects H, and the next attempt is shorter.

The pairs of one search serve the next one on other rows of the same problem, so that it begins with full steps. The quadratic model
also tells when to stop: what is left to gain is :math:`g' H g / 2`.

References
----------
.. [1] Nocedal and Wright (2006), *Numerical Optimization*, algorithm 7.4.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import nnls

from foldless.core.contracts import Step, Stop, Vector
from foldless.searches.base import LocalSearch, Search
from foldless.searches.nelder_mead import descend_by_simplex
from foldless.searches.run import SearchRun

# Changes are compared with the value, or with this fraction of the first value where the value is smaller.
VALUE_FLOOR_FRACTION = 1e-3
# A gradient is small below this times the root of the tolerance: a gain goes with the square of the gradient.
GRADIENT_TOLERANCE_FACTOR = 0.1
# A descent whose gradient is not small ends after so many small gains, or so many steps that gain nothing, in a row.
MAX_SMALL_GAINS, MAX_REJECTED_STEPS = 3, 12
# On parts of the rows a descent ends when it can gain no more than so many nats in all, or this in units of the scale if that is less.
SEARCH_NATS, MAX_SEARCH_TOLERANCE = 1.0, 1e-2
# Longest step in log units.
MAX_STEP = 3.0
# A parameter counts as no flatter than this fraction of the steepest one.
FLATTEST = 1e-3
# Weight of zero for every second derivative that is fitted to a few values. The fit is then unique, and does not jump when a start
# moves by a rounding error; it is off by the square of the weight.
ZERO_WEIGHT = 1e-4
# Pairs that are kept, and the cosine between s and y below which a pair says nothing.
MAX_PAIRS, MIN_COSINE = 20, 1e-8
# A step is taken if it gains this fraction of what the slope promises.
SUFFICIENT_GAIN = 1e-4
# The next step may be longer by this factor, and is if this fraction of the slope or more was left after the last.
LENGTHEN, STEEP_FRACTION = 4.0, 0.9
# After a step that gains nothing, the next is shorter by a factor in this range.
SHORTEN_MIN, SHORTEN_MAX = 0.25, 0.5


@dataclass(frozen=True, eq=False)
class Curvature:
    """What is known about the second derivatives.

    Attributes
    ----------
    pairs : list of Pair
        The latest last.
    diagonal : array of shape (p,), optional
        Rough second derivatives in each parameter.
    """

    pairs: list["Pair"]
    diagonal: Vector | None = None

    @classmethod
    def between(cls, steps: Sequence[Step]) -> "Curvature":
        """Return what steps of an earlier search tell."""
        known = [step for step in steps if _is_defined(step)]
        pairs = [Pair(b.theta - a.theta, _slope(b) - _slope(a)) for a, b in pairwise(known)]
        near = [pair for pair in pairs if pair.is_convex and np.max(np.abs(pair.s)) <= MAX_STEP]
        best = min(known or steps, key=lambda step: step.value, default=None)
        # Values tell the curvatures where pairs are too few to do so.
        if best is None or len(near) >= len(best.theta):
            return cls(near[-MAX_PAIRS:])
        return cls(near, _diagonal(best, steps))

    def and_pair(self, pair: "Pair") -> "Curvature":
        """Return the curvature with another pair, if that says something."""
        return replace(self, pairs=[*self.pairs, pair][-MAX_PAIRS:]) if pair.is_convex else self

    def newton_step(self, g: Vector, free: NDArray[np.bool_]) -> Vector | None:
        """Return ``-H g`` of the free parameters; None if nothing is known about them."""
        pairs = self.pairs
        if not free.all():
            pairs = [pair for pair in (pair.on(free) for pair in pairs) if pair.is_convex]
        if not pairs and self.diagonal is None:
            return None
        scales = None if self.diagonal is None else 1 / self.diagonal[free]
        return -_two_loops(pairs, scales, g)


class Pair(NamedTuple):
    """A difference of two points, and that of their gradients."""

    s: Vector
    y: Vector

    def on(self, free: NDArray[np.bool_]) -> "Pair":
        """Return the pair of some of the parameters."""
        return Pair(self.s[free], self.y[free])

    @property
    def is_convex(self) -> bool:
        """Whether the slope grows along the step, so that the pair says something about a minimum."""
        size = np.max(np.abs(self.y), initial=0)
        # In units of its largest entry the square of y does not overflow.
        y = self.y / size if size else self.y
        return bool(self.s @ y > MIN_COSINE * np.linalg.norm(self.s) * np.linalg.norm(y))


@dataclass(frozen=True)
class LBFGS(LocalSearch):
    """Limited-memory quasi-Newton descent inside a box.

    All starts are evaluated, then a descent begins at each of the best ``n_starts``. A criterion without a gradient (a
    count of errors) is searched by Nelder and Mead's simplex from the same points.

    Parameters
    ----------
    n_starts : int, default=1
        Number of descents. Criteria have several local minima in the width: more descents find more of them.
    tolerance : float, default=5e-05
        A descent has converged if less than this is left to gain and the gradient is below a tenth of the root of it, both
        relative to the scale of the criterion: the value of a loss, one nat per row of a log likelihood. It has stalled
        if three steps in a row gained less than this and the gradient is larger. The default is 0.02 nats in all for 400 rows: a
        log likelihood cannot tell more closely which parameters are better.
    stride : float, default=1.0
        Length of the first step of a descent, in log units.
    curvature : Curvature, optional
        What is known from earlier steps.
    checkpoint : path, default=None
        File to which every step is appended, and from which a killed search continues.
    """

    tolerance: float = 5e-5
    stride: float = 1.0
    curvature: Curvature | None = field(default=None, kw_only=True, repr=False, compare=False)
    name: ClassVar[str] = "lbfgs"

    def with_search_accuracy(self, n_rows: int) -> Search:
        """Return the search with a tolerance that suits the sampling error of some rows."""
        loose = min(MAX_SEARCH_TOLERANCE, SEARCH_NATS / n_rows)
        return replace(self, tolerance=max(self.tolerance, loose))

    def near_optimum(self, steps: Sequence[Step]) -> Search:
        """Return the search that begins with the curvature between the steps of an earlier descent."""
        return replace(self, curvature=Curvature.between(steps))

    def descend(self, run: SearchRun, start: Vector, number: int) -> Stop:
        """Descend from one start."""
        first = run.evaluate(start, "descent")
        if first.gradient is None:
            return descend_by_simplex(run, first, self.tolerance)
        return _Descent(run, first, self).to_its_end()


class _Descent:
    """One descent: the point it has reached, the curvature it knows, and the longest step it dares.

    Parameters
    ----------
    run : SearchRun
    first : Step
        Where the descent begins, with a gradient.
    search : LBFGS
    """

    def __init__(self, run: SearchRun, first: Step, search: LBFGS) -> None:
        self.run, self.first, self.stride = run, first, search.stride
        self.tolerance = search.tolerance
        self.step, self.longest = first, search.stride
        self.curvature = search.curvature or Curvature([], _diagonal(first, run.trace))
        self._n_small_gains = self._n_rejected = 0
        self._known_direction: Vector | None = None
        # Factor of the model's steps, which are too short where the slope does not fall.
        self._stretch = 1.0

    def to_its_end(self) -> Stop:
        """Take steps until nothing more can be gained, and return why the descent ended."""
        while not self._is_over():
            direction = self._direction()
            fraction = min(self._stretch, self.longest / np.max(np.abs(direction)))
            theta = self.run.box.clip(self.step.theta + fraction * direction)
            self._learn(self.run.evaluate(theta, "descent"))
        self.run.keep_optimum(self.step.theta)
        return Stop.CONVERGED if self._has_small_gradient() else Stop.STALLED

    def _is_over(self) -> bool:
        if self._n_small_gains >= MAX_SMALL_GAINS or self._n_rejected >= MAX_REJECTED_STEPS:
            return True
        left = -float(_slope(self.step) @ self._direction()) / 2
        return not _is_defined(self.step) or (
            left <= self.tolerance * self._scale and self._has_small_gradient()
        )

    @property
    def _is_free(self) -> NDArray[np.bool_]:
        """Parameters that no bound holds."""
        theta, box, gradient = self.step.theta, self.run.box, _slope(self.step)
        return ~(((theta <= box.low) & (gradient > 0)) | ((theta >= box.high) & (gradient < 0)))

    def _direction(self) -> Vector:
        """Return the step of the quadratic model; without any known curvature, one down the slope."""
        if self._known_direction is None:
            self._known_direction = self._model_direction()
        return self._known_direction

    def _model_direction(self) -> Vector:
        free, p = self._is_free, np.zeros(len(self.step.theta))
        g = _slope(self.step)[free]
        if np.any(g):
            step = self.curvature.newton_step(g, free)
            p[free] = -self.stride * g / np.max(np.abs(g)) if step is None else step
        return p

    def _learn(self, new: Step) -> None:
        """Take a step if it gains enough, and keep what it tells about the curvature in any case."""
        self._known_direction = None
        s = new.theta - self.step.theta
        length, slope = np.max(np.abs(s)), float(_slope(self.step) @ s)
        gain = self.step.value - new.value
        if not _is_defined(new):
            self._reject(SHORTEN_MIN * length)
            return
        pair = Pair(s, _slope(new) - _slope(self.step))
        if gain >= -SUFFICIENT_GAIN * slope and length > 0:
            is_small = gain <= self.tolerance * self._scale
            self._n_small_gains, self._n_rejected = self._n_small_gains + 1 if is_small else 0, 0
            is_as_steep = float(_slope(new) @ s) < STEEP_FRACTION * slope
            self._stretch = LENGTHEN * self._stretch if is_as_steep else 1.0
            self.step, self.longest = new, min(max(self.longest, LENGTHEN * length), MAX_STEP)
        else:
            # The parabola through both values with this slope is lowest at this fraction of the step.
            fraction = slope / (2 * (gain + slope)) if gain + slope < 0 else SHORTEN_MAX
            self._reject(float(np.clip(fraction, SHORTEN_MIN, SHORTEN_MAX)) * length)
        self.curvature = self.curvature.and_pair(pair)

    def _reject(self, longest: float) -> None:
        self.longest, self._n_rejected, self._stretch = longest, self._n_rejected + 1, 1.0

    def _has_small_gradient(self) -> bool:
        """Return whether the gradient is small, except where it points out of the box."""
        limit = GRADIENT_TOLERANCE_FACTOR * np.sqrt(self.tolerance) * self._scale
        return _is_defined(self.step) and bool(np.all(np.abs(_slope(self.step)[self._is_free]) <= limit))

    @property
    def _scale(self) -> float:
        """Size of a large change of the objective."""
        scale = max(self.run.scale(self.step.value), VALUE_FLOOR_FRACTION * self.run.scale(self.first.value))
        return scale or 1.0


def _is_defined(step: Step) -> bool:
    return (
        bool(np.isfinite(step.value))
        and step.gradient is not None
        and bool(np.all(np.isfinite(step.gradient)))
    )


def _slope(step: Step) -> Vector:
    """Return the gradient at a step, zero where it is not known."""
    known = step.gradient if _is_defined(step) else None
    return np.zeros(len(step.theta)) if known is None else known


def _diagonal(centre: Step, steps: Iterable[Step]) -> Vector | None:
    """Return the second derivatives of the separable parabola that fits the values at nearby steps best, or None.

    It has the value and the gradient of the centre; an unknown gradient is taken to be zero. A derivative that comes out too small for the slope is raised.
    """
    others = [step for step in steps if np.isfinite(step.value)]
    moves = np.array([step.theta - centre.theta for step in others]).reshape(len(others), len(centre.theta))
    length = np.max(np.abs(moves), axis=1, initial=0)
    near = (length > 0) & (length <= MAX_STEP)
    if not np.any(near):
        return None
    slope = _slope(centre)
    g, rises = np.abs(slope), np.array([step.value for step in others]) - centre.value - moves @ slope
    unit = np.max(np.abs(rises[near])) or 1.0
    weights = length[near] ** -2
    squares, heights = moves[near] ** 2 / 2 * weights[:, None], np.maximum(rises[near] / unit, 0) * weights
    # With the rows of the zeros, parameters that always moved together share what was found for them.
    rows = np.vstack([squares, ZERO_WEIGHT * np.eye(len(slope))])
    h = unit * nnls(rows, np.r_[heights, np.zeros(len(slope))])[0]
    h = np.maximum(np.maximum(h, g / MAX_STEP), max(np.max(h), np.max(g)) * FLATTEST)
    return h if np.any(h) else None


def _two_loops(pairs: Sequence[Pair], scales: Vector | None, g: Vector) -> Vector:
    """Return ``H g`` by the two-loop recursion of L-BFGS.

    Before the pairs correct it, H is the diagonal ``scales`` or, where that is None, a multiple of one that suits the latest pair.
    """
    q, weights = g.copy(), []
    for s, y in reversed(pairs):
        weights.append(s @ q / (s @ y))
        q -= weights[-1] * y
    if scales is not None:
        q *= scales
    elif pairs:
        s, y = pairs[-1]
        size = np.max(np.abs(y))
        q *= (s @ (y / size)) / ((y / size) @ y)
    for (s, y), weight in zip(pairs, reversed(weights), strict=True):
        q += (weight - y @ q / (s @ y)) * s
    return q
