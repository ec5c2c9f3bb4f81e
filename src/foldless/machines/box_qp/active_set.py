"""The box problem of :mod:`foldless.machines.box_qp.problem`, solved exactly by active sets.

*Primal-dual active sets* move all offending indices at once: they need few iterations from a good guess, but may not
end. The guess is the sets of a similar problem, of an approximate solution, or of problems with a larger diagonal, which have a
method that ends (:mod:`foldless.machines.box_qp.primal_newton`). If they do not end, a feasible active-set method with a
ratio test takes over: it moves one index at a time, and each step descends.
"""

import numpy as np
from numpy.typing import NDArray

from foldless.core.contracts import Vector
from foldless.core.errors import NotPositiveDefinite, Undefined
from foldless.machines.box_qp.initial_point import initial_point
from foldless.machines.box_qp.primal_newton import falling_ridge, primal_newton
from foldless.machines.box_qp.problem import FREE, LOWER, UPPER, BoxQP, BoxSolution, Sets

STALL_ITERATIONS = 5  # after so many, the offenders must be half as many as at first
WARM_ITERATIONS = 12  # from the sets of a similar problem
COLD_ITERATIONS = 20  # from those of an approximate solution
INITIAL_VIOLATION = 1e-4  # of an approximate solution
ROUNDED_VIOLATION = 1e-6  # of margins, where rounding hides the descent
DESCENT_STEPS_PER_ROW, DESCENT_MIN_STEPS = 50, 1000


def active_sets(qp: BoxQP, sets: Sets, max_iterations: int) -> BoxSolution | None:
    """Return the solution by primal-dual active sets from a guess, or None if they do not end.

    As long as the number of offenders falls all of them move; when it does not, only the worse half of them, then a
    quarter: this ends most of the cycles that moving all of them runs into. If they do not get fewer it ends early.
    """
    fraction, fewest, first, bounded = 1.0, np.inf, None, None
    for iteration in range(max_iterations):
        bounded = qp.bounded(sets, bounded)
        alpha, b, g = qp.on(sets, bounded)
        new = qp.offended(sets, alpha, g)
        moved = np.flatnonzero(new != sets)
        if not moved.size:
            return BoxSolution(alpha, b, sets) if qp.is_balanced(sets, alpha) else None
        first = moved.size if first is None else first
        if iteration == STALL_ITERATIONS and fewest > first / 2:
            return None
        fraction = min(1.0, 2 * fraction) if moved.size < fewest else fraction / 2
        fewest = min(fewest, moved.size)
        by_violation = moved[np.argsort(-qp.violation(sets, alpha, g)[moved])]
        worst = by_violation[: max(1, int(np.ceil(fraction * moved.size)))]
        sets = sets.copy()
        sets[worst] = new[worst]
    return None


def descend(qp: BoxQP, alpha: Vector) -> BoxSolution:
    """Return the solution by a feasible active-set method with a ratio test, from any alpha.

    Each step descends, so the minimum over the same sets is never reached twice, unless rounding hides the descent; then
    the method would go in circles. It ends there, with the solution if what offends is rounding against margins of 1.
    """
    alpha = qp.feasible(alpha)
    sets, bounded, minimised = qp.split(alpha), None, set[bytes]()
    for _ in range(DESCENT_STEPS_PER_ROW * len(alpha) + DESCENT_MIN_STEPS):
        bounded = qp.bounded(sets, bounded)
        target, b, g = qp.on(sets, bounded)
        free = np.flatnonzero(sets == FREE)
        step, blocking = _ratio(alpha[free], target[free], qp.upper[free])
        if blocking is not None:
            alpha = alpha.copy()
            alpha[free] += step * (target[free] - alpha[free])
            i = free[blocking]
            sets = sets.copy()
            sets[i] = LOWER if target[i] < alpha[i] else UPPER
            alpha[i] = 0.0 if sets[i] == LOWER else qp.upper[i]
            continue
        alpha, new = target, qp.offended(sets, target, g)
        moved = np.flatnonzero(new != sets)
        if not moved.size:
            return BoxSolution(alpha, b, sets)
        if sets.tobytes() in minimised:
            if np.max(np.abs(g[moved])) <= ROUNDED_VIOLATION:
                return BoxSolution(alpha, b, sets)
            break
        minimised.add(sets.tobytes())
        sets = sets.copy()
        sets[_to_release(qp, g, moved, free.size)] = FREE
    raise Undefined(
        "the active-set method of the support vector machine did not end; the problem is degenerate."
    )


def _ratio(alpha: Vector, target: Vector, upper: Vector) -> tuple[float, int | None]:
    """Return how far towards ``target`` the box allows, and the index that stops it (None if none does)."""
    move = target - alpha
    with np.errstate(divide="ignore", invalid="ignore"):
        room = np.where(target < 0, alpha / -move, np.where(target > upper, (upper - alpha) / move, np.inf))
    if not room.size or np.min(room) > 1:
        return 1.0, None
    return float(np.min(room)), int(np.argmin(room))


def _to_release(qp: BoxQP, g: Vector, moved: NDArray[np.intp], n_free: int) -> NDArray[np.intp]:
    """Return the index to release; with a bias and no free index, the pair that disagrees most on b."""
    if not qp.bias or n_free:
        return moved[[np.argmax(np.abs(g[moved]))]]
    e = qp.y[moved] * g[moved]
    return moved[np.unique([np.argmin(e), np.argmax(e)])]


def solve_box(qp: BoxQP, start: Sets | None = None) -> BoxSolution:
    """Solve problem (1) to rounding.

    Parameters
    ----------
    qp : BoxQP
    start : array of shape (n,), optional
        Sets of a similar problem.

    Raises
    ------
    NotPositiveDefinite
        If the matrix of eq. (2) is singular on the way or at the solution: add a ridge.
    """
    found = None if start is None else _from_neighbour(qp, start)
    if found is not None:
        return found
    found = _from_libsvm(qp) if np.any(np.isfinite(qp.upper) & (qp.upper > 0)) else _from_all_free(qp)
    return _from_larger_ridges(qp) if found is None else found


def _from_libsvm(qp: BoxQP) -> BoxSolution | None:
    """Return the solution from an approximate one; None if that is not to be had or too far away."""
    alpha = initial_point(qp, INITIAL_VIOLATION)
    return None if alpha is None else active_sets(qp, qp.split(alpha), COLD_ITERATIONS)


def _from_all_free(qp: BoxQP) -> BoxSolution | None:
    """Return the solution of a problem without upper bounds by full steps from all rows; None if they do not end."""
    sets = np.where(qp.upper > 0, FREE, LOWER).astype(np.int8)
    return active_sets(qp, sets, COLD_ITERATIONS) if qp.has_ridge else None


def _from_larger_ridges(qp: BoxQP) -> BoxSolution:
    """Return the solution from those with larger ridges, as soon as a smaller ridge changes nothing."""
    sets, alpha = np.where(qp.upper > 0, FREE, LOWER).astype(np.int8), np.zeros(len(qp.y))
    for larger, settled in falling_ridge(qp):
        sets, alpha = larger.sets, larger.alpha
        found = _finished(qp, sets) if settled else None
        if found is not None:
            return found
    found = _finished(qp, sets)
    return descend(qp, alpha) if found is None else found


def _finished(qp: BoxQP, sets: Sets) -> BoxSolution | None:
    """Return the solution from the sets of a larger ridge; None if they do not end."""
    return primal_newton(qp, sets) if qp.has_ridge else active_sets(qp, sets, COLD_ITERATIONS)


def _from_neighbour(qp: BoxQP, start: Sets) -> BoxSolution | None:
    """Return the solution from the sets of a similar problem; None if they do not end or meet a singular block."""
    try:
        return active_sets(qp, np.where(qp.upper > 0, start, LOWER).astype(np.int8), WARM_ITERATIONS)
    except NotPositiveDefinite:
        # Sets of another problem may make a block singular although those of the solution do not.
        return None
