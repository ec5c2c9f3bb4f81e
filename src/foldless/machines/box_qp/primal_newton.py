r"""The box problem with a positive diagonal, solved exactly by Newton's method on its primal.

With :math:`D > 0`, problem (1) of :mod:`foldless.machines.box_qp.problem` is the dual of

.. math:: \min_{\beta, b}\; P = \tfrac12 \beta'K\beta + t b + \sum_i h_i(r_i), \qquad r = y \circ (c - K\beta - b), \qquad
          h_i'(r) = \min(\max(r / D_i, 0), u_i).  \tag{1}

P is convex and piecewise quadratic: row i is lower where :math:`r_i \le 0`, upper where :math:`r_i \ge u_i D_i`, and free between. The
minimum of the piece that a point lies on is eq. (2) of the problem with these sets. Along the line towards it, :math:`P'` is
continuous, increasing and piecewise linear, so that the lowest point of the line is found exactly, by bisection of the places where
a row changes its set. Every step descends, hence no piece comes twice, and the method ends at the solution. Full steps alone may
go in circles.

A small D makes (1) stiff and the steps short. D therefore begins at the size of K and falls; few rows change their sets in
between, and a few steps suffice for each.

References
----------
.. [1] Keerthi and DeCoste (2005), *A modified finite Newton method for fast solution of large scale linear SVMs*.
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from foldless.core.contracts import Vector
from foldless.core.errors import NotPositiveDefinite
from foldless.machines.box_qp.problem import FREE, LEAST_RIDGE, LOWER, UPPER, BoxQP, BoxSolution, Sets

# Newton steps with one D. From the sets of the larger D before, most problems take fewer than ten.
MAX_STEPS = 100
# Where rounding hides the descent, margins may err by so many times the tolerance of a gradient.
ROUNDED_TOLERANCES = 100.0
# Rows outside the box are put at its bounds; others may leave it then, so this is repeated at most so often.
MAX_MOVES_INSIDE = 10
# D is divided by this from one problem to the next.
RIDGE_FALL = 10.0


class Point(NamedTuple):
    """A point of the primal: beta, K beta, and the bias."""

    beta: Vector
    f: Vector
    b: float

    def towards(self, other: "Point", h: float) -> "Point":
        """Return the point at the fraction h of the way to another."""
        beta, f = ((1 - h) * a + h * b for a, b in ((self.beta, other.beta), (self.f, other.f)))
        return Point(beta, f, (1 - h) * self.b + h * other.b)


def falling_ridge(qp: BoxQP) -> Iterator[tuple[BoxSolution, bool]]:
    """Yield solutions of problems with a larger D, which falls towards that of ``qp``, and whether the sets stay as they were before.

    It ends above the D of ``qp``, or where rounding allows no smaller one.
    """
    active = qp.upper > 0
    size = float(np.mean(qp.gram.diag()))
    least = max(float(np.min(qp.ridge[active], initial=np.inf)), LEAST_RIDGE * size)
    # Rows with a larger ridge than others keep it so many times as large.
    relative = np.maximum(qp.ridge / least, 1.0)
    sets, D = np.where(active, FREE, LOWER).astype(np.int8), size
    while least < D:
        try:
            found = primal_newton(replace(qp, ridge=D * relative), sets)
        except NotPositiveDefinite:
            return
        if found is None:
            return
        yield found, np.array_equal(found.sets, sets)
        sets, D = found.sets, D / RIDGE_FALL


def primal_newton(qp: BoxQP, sets: Sets) -> BoxSolution | None:
    """Return the solution, None if it is not found.

    With a small ridge rounding may hide the descent. The best of the sets that were tried then serve, if all margins are right up
    to rounding.

    Parameters
    ----------
    qp : BoxQP
        Its ridge is positive.
    sets : array of shape (n,)
        The sets to begin with.
    """
    point, bounded, nearest, least = None, None, None, np.inf
    for _ in range(MAX_STEPS):
        bounded = qp.bounded(sets, bounded)
        alpha, b, g = qp.on(sets, bounded)
        balanced, offends = qp.is_balanced(sets, alpha), qp.offended(sets, alpha, g) != sets
        if balanced and not offends.any():
            return BoxSolution(alpha, b, sets)
        error = _margin_errors(qp, sets, alpha, g)[offends].max(initial=0) / qp.tolerance(alpha)
        if balanced and error < least:
            nearest, least = sets, error
        target = Point(qp.y * alpha, qp.c + qp.y * (g - qp.ridge * alpha) - b, b)
        if point is None:
            point = target
        else:
            if not balanced:
                # Without a free row P is linear in b, and has no minimum on this piece.
                target = target._replace(b=point.b + np.sign(target.beta.sum() - qp.total))
            h = lowest(qp, sets, point, target)
            if not 0 < h < np.inf:
                break
            point = point.towards(target, h)
        sets = _sets(qp, point)
    return None if nearest is None else _inside(qp, nearest)


def _inside(qp: BoxQP, sets: Sets) -> BoxSolution | None:
    """Return the solution with the rows outside the box put at its bounds; None if a margin is then wrong by more than rounding."""
    for _ in range(MAX_MOVES_INSIDE):
        alpha, b, g = qp.on(sets)
        new = qp.offended(sets, alpha, g)
        outside = (sets == FREE) & (new != FREE)
        if not outside.any():
            errors = _margin_errors(qp, sets, alpha, g)[new != sets] / qp.tolerance(alpha)
            balanced = qp.is_balanced(sets, alpha) and errors.max(initial=0) <= ROUNDED_TOLERANCES
            return BoxSolution(alpha, b, sets) if balanced else None
        sets = np.where(outside, new, sets).astype(np.int8)
    return None


def _margin_errors(qp: BoxQP, sets: Sets, alpha: Vector, g: Vector) -> Vector:
    """Return by how much the margins of the rows are wrong: by their gradients or, if they are free, by what lies outside the box."""
    return np.where(sets == FREE, qp.ridge * np.maximum(-alpha, alpha - qp.upper), np.abs(g))


def _residuals(qp: BoxQP, point: Point) -> Vector:
    """Return r of eq. (1)."""
    return qp.y * (qp.c - point.f - point.b)


def _sets(qp: BoxQP, point: Point) -> Sets:
    """Return the sets of the piece that a point lies on; rows that take no part are lower."""
    r, active = _residuals(qp, point), qp.upper > 0
    free, upper = active & (r > 0), active & (r >= qp.upper * qp.ridge)
    return np.where(upper, UPPER, np.where(free, FREE, LOWER)).astype(np.int8)


def lowest(qp: BoxQP, sets: Sets, point: Point, target: Point) -> float:
    r"""Return where P is lowest on the line from ``point`` (0) to the minimum ``target`` (1) of its piece, and beyond; 0 if it does not descend.

    On the piece itself :math:`P'(h) = (h - 1) P''`, from which it differs by the rows that leave their sets on the way: nothing cancels.

    Parameters
    ----------
    qp : BoxQP
    sets : array of shape (n,)
        Those of ``point``.
    point, target : Point
    """
    r, free = _residuals(qp, point), sets == FREE
    dr = _residuals(qp, target) - r
    curvature = (target.beta - point.beta) @ (target.f - point.f) + np.sum(dr[free] ** 2 / qp.ridge[free])
    # Where no row is free P is linear in b.
    tilt = 0.0 if free.any() else (qp.total - target.beta.sum()) * (target.b - point.b)
    at_bound = np.where(sets == UPPER, qp.upper, 0.0)

    def derivative(h: float) -> float:
        slopes = (r + h * dr) / qp.ridge
        leave = np.clip(slopes, 0, qp.upper) - np.where(free, slopes, at_bound)
        return float((h - 1) * curvature + tilt + leave @ dr)

    if not derivative(0.0) < 0:
        return 0.0
    with np.errstate(divide="ignore", invalid="ignore"):
        places = np.r_[-r / dr, (qp.upper * qp.ridge - r) / dr]
    places = np.r_[0.0, np.sort(places[(places > 0) & np.isfinite(places)])]
    low, high = 0, len(places)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if derivative(places[middle]) < 0 else (low, middle)
    left = float(places[low])
    right = float(places[high]) if high < len(places) else left + 1
    below, above = derivative(left), derivative(right)
    return left - below * (right - left) / (above - below) if above > below else np.inf
