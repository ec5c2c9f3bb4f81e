"""The box problem of :mod:`foldless.machines.box_qp.problem`, solved exactly by active sets.

*Primal-dual active sets* move all offending indices at once: a few rounds from a good guess, no guarantee. The guess is
the sets of a neighbouring problem, or a rough start. Where they do not end, a feasible active-set method with a
ratio test takes over: one index at a time, each step descends, so it ends.
"""

import numpy as np

from foldless.core.errors import NotPositiveDefinite, Undefined
from foldless.machines.box_qp.initial_point import rough
from foldless.machines.box_qp.problem import FREE, LOWER, UPPER

PATIENCE = 5  # rounds after which the offenders must be half as many as at first
WARM, COLD = 12, 20  # rounds from the sets of a neighbour, and from a rough start
ROUGH = (1e-4, 1e-6)  # violations of a rough start: first, and where the sets were still wrong


def active_sets(qp, sets, rounds):
    """Primal-dual active sets from a guess: (alpha, b, sets), or None when the rounds are spent.

    As long as the number of offenders falls all of them move; when it does not, only the worse half of them, then a
    quarter: this ends most of the cycles that moving all of them runs into. Offenders that do not get fewer end it early.
    """
    share, fewest, first, bounded = 1.0, np.inf, None, None
    for done in range(rounds):
        bounded = qp.bounded(sets, bounded)
        alpha, b, g = qp.on(sets, bounded)
        new = qp.offended(sets, alpha, g)
        moved = np.flatnonzero(new != sets)
        if not moved.size:
            balanced = (
                not qp.bias or np.any(sets == FREE) or abs(qp.y @ alpha - qp.total) <= qp.tolerance(alpha)
            )
            return (alpha, b, sets) if balanced else None
        first = moved.size if first is None else first
        if done == PATIENCE and fewest > first / 2:
            return None
        share = min(1.0, 2 * share) if moved.size < fewest else share / 2
        fewest = min(fewest, moved.size)
        worst = moved[
            np.argsort(-qp.violation(sets, alpha, g)[moved])[: max(1, int(np.ceil(share * moved.size)))]
        ]
        sets = sets.copy()
        sets[worst] = new[worst]
    return None


def descend(qp, alpha):
    """Feasible active-set method with a ratio test from any alpha: (alpha, b, sets)."""
    alpha = qp.feasible(alpha)
    sets, bounded = qp.split(alpha), None
    for _ in range(50 * len(alpha) + 1000):
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
            return alpha, b, sets
        sets = sets.copy()
        for i in _worst(qp, g, moved, free.size):
            sets[i] = FREE
    raise Undefined(
        "the active-set method of the support vector machine did not end; the problem is degenerate."
    )


def _ratio(alpha, target, upper):
    """Return how far towards ``target`` the box allows, and which index stops it (None: none does)."""
    move = target - alpha
    with np.errstate(divide="ignore", invalid="ignore"):
        room = np.where(target < 0, alpha / -move, np.where(target > upper, (upper - alpha) / move, np.inf))
    if not room.size or np.min(room) > 1:
        return 1.0, None
    return float(np.min(room)), int(np.argmin(room))


def _worst(qp, g, moved, n_free):
    """Return the index to release; with a bias and an empty free set the pair that disagrees most on b."""
    if not qp.bias or n_free:
        return moved[[np.argmax(np.abs(g[moved]))]]
    e = qp.y[moved] * g[moved]
    return moved[np.unique([np.argmin(e), np.argmax(e)])]


def solve_box(qp, start=None):
    """Solve problem (1) to rounding.

    Parameters
    ----------
    qp : BoxQP
    start : array of shape (n,), optional
        Sets of a neighbouring problem.

    Returns
    -------
    alpha : array of shape (n,)
    b : float
    sets : array of shape (n,)

    Raises
    ------
    NotPositiveDefinite
        If the matrix of eq. (2) is singular on the way or at the solution: add a ridge.
    """
    if start is not None:
        found = _from_neighbour(qp, start)
        if found is not None:
            return found
    if np.all(np.isinf(qp.upper) | (qp.upper == 0)):
        sets, alpha = np.where(qp.upper > 0, FREE, LOWER).astype(np.int8), np.zeros(len(qp.y))
        found = active_sets(qp, sets, COLD)
        return found if found is not None else descend(qp, alpha)
    for violation in ROUGH:
        alpha = rough(qp.gram, qp, violation)
        found = active_sets(qp, qp.split(alpha), COLD)
        if found is not None:
            return found
    return descend(qp, alpha)


def _from_neighbour(qp, start):
    """Active sets from those of a neighbour; None too if they run into a singular block, which says little about K."""
    try:
        return active_sets(qp, np.where(qp.upper > 0, start, LOWER).astype(np.int8), WARM)
    except NotPositiveDefinite:
        return None
