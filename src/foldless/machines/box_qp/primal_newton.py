r"""The box problem without upper bounds, as of the squared hinge loss, solved exactly by Newton's method on its primal.

With a positive diagonal D and no upper bounds, problem (1) of :mod:`foldless.machines.box_qp.problem` is the dual of

.. math:: \min_{\beta, b}\; P = \tfrac12 \beta'K\beta + t b + \tfrac12 \sum_i \frac{\max(r_i, 0)^2}{D_i}, \qquad
          r = y \circ (c - K\beta - b).  \tag{1}

P is convex and piecewise quadratic. The minimum of the piece that a point lies on is eq. (2) of the problem with
:math:`\{r_i > 0\}` as free set. Along the line towards it, :math:`P'` is continuous, increasing and piecewise linear, so
that the lowest point of the line is found exactly, by sorting the places where an :math:`r_i` changes its sign. Every step
descends, hence no piece comes twice, and the method ends at the solution. Full steps alone may go in circles.

A small D makes (1) stiff and the steps short: hundreds where a machine with a large C separates the classes. D therefore begins
at the size of K and falls to its own value; few indices change their sets in between, and a few steps suffice for each.

References
----------
.. [1] Keerthi and DeCoste (2005), *A modified finite Newton method for fast solution of large scale linear SVMs*.
"""

import math
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from foldless.core.contracts import Vector
from foldless.machines.box_qp.problem import FREE, LOWER, BoxQP, BoxSolution, Sets

# Of one D; from the sets of the larger D before, most take fewer than ten.
MAX_STEPS = 100
# By which D falls from one problem to the next.
RIDGE_FALL = 100.0


class Point(NamedTuple):
    """A point of the primal: beta, K beta, and the bias."""

    beta: Vector
    f: Vector
    b: float

    def towards(self, other: "Point", h: float) -> "Point":
        """Return the point at the fraction h of the way to another."""
        mean = [(1 - h) * a + h * b for a, b in zip(self, other, strict=True)]
        return Point(*mean)


def falling_ridge(qp: BoxQP) -> BoxSolution | None:
    """Return the solution by :func:`primal_newton`, with D falling from the size of K; None if that fails.

    Parameters
    ----------
    qp : BoxQP
        Its upper bounds are infinite, or 0 for rows that take no part; its ridge is positive.
    """
    active = qp.upper > 0
    ratio = float(np.mean(qp.gram.diag()) / np.min(qp.ridge[active], initial=np.inf))
    n_falls = max(0, math.ceil(math.log(ratio, RIDGE_FALL))) if ratio > 0 else 0
    found, sets = None, np.where(active, FREE, LOWER).astype(np.int8)
    for i in range(n_falls, -1, -1):
        found = primal_newton(replace(qp, ridge=qp.ridge * RIDGE_FALL**i), sets)
        if found is None:
            return None
        sets = found.sets
    return found


def primal_newton(qp: BoxQP, sets: Sets) -> BoxSolution | None:
    """Return the solution, or None if rounding hides the descent before it is found.

    Parameters
    ----------
    qp : BoxQP
        Its upper bounds are infinite, or 0 for rows that take no part; its ridge is positive.
    sets : array of shape (n,)
        The sets to begin with, of which none is ``UPPER``.
    """
    point = None
    for _ in range(MAX_STEPS):
        alpha, b, g = qp.on(sets)
        if np.array_equal(qp.offended(sets, alpha, g), sets):
            return BoxSolution(alpha, b, sets)
        target = Point(qp.y * alpha, qp.c + qp.y * (g - qp.ridge * alpha) - b, b)
        if point is None:
            point = target
        else:
            h = lowest(qp, point, target)
            if not h > 0:
                return None
            point = point.towards(target, h)
        new = np.where(_residuals(qp, point) > 0, FREE, LOWER).astype(np.int8)
        if np.array_equal(new, sets):
            return None
        sets = new
    return None


def _residuals(qp: BoxQP, point: Point) -> Vector:
    """Return r of eq. (1); not positive for rows that take no part."""
    r = qp.y * (qp.c - point.f - point.b)
    return np.where(qp.upper > 0, r, -1.0)


def lowest(qp: BoxQP, point: Point, target: Point) -> float:
    """Return where P is lowest on the line from ``point`` (0) to ``target`` (1) and beyond; 0 if it does not descend."""
    r = _residuals(qp, point)
    dr = _residuals(qp, target) - r
    dbeta = target.beta - point.beta
    # P'(h) = intercept + slope h, between changes of sign.
    active = (r > 0) | ((r == 0) & (dr > 0))
    slope = dbeta @ (target.f - point.f) + np.sum((dr**2 / qp.ridge)[active])
    intercept = dbeta @ point.f + qp.total * (target.b - point.b) + np.sum((r * dr / qp.ridge)[active])
    if not intercept < 0:
        return 0.0
    with np.errstate(divide="ignore", invalid="ignore"):
        place = -r / dr
    changes = np.flatnonzero((place > 0) & np.isfinite(place) & (dr != 0))
    changes = changes[np.argsort(place[changes], kind="stable")]
    sign = np.where(r[changes] > 0, -1.0, 1.0)
    slopes = slope + np.r_[0.0, np.cumsum(sign * (dr**2 / qp.ridge)[changes])]
    intercepts = intercept + np.r_[0.0, np.cumsum(sign * (r * dr / qp.ridge)[changes])]
    ends = np.r_[place[changes], np.inf]
    with np.errstate(divide="ignore", invalid="ignore"):
        root = np.where(slopes > 0, -intercepts / slopes, np.inf)
    return float(root[np.argmax(root <= ends)])
