r"""The quadratic programme behind a support vector machine, solved exactly by active sets.

With signs y, signed coefficients :math:`\beta = y \circ \alpha` and a diagonal :math:`D \ge 0`,

.. math:: \min_\beta\; \tfrac12 \beta'(K + D)\beta - c'\beta, \qquad 0 \le y_i \beta_i \le u_i, \qquad
          1'\beta = t,  \tag{1}

the last condition only with a free bias b, its multiplier. Support vector machines have :math:`c = y`,
:math:`t = 0`; the smallest ball around points has :math:`c = \operatorname{diag}(K)/2`, :math:`t = 1`.
Every index is *lower* (:math:`\alpha_i = 0`), *upper*
(:math:`\alpha_i = u_i`) or *free*; on the free set F

.. math:: (K + D)_{FF}\, \beta_F + b 1 = c_F - K_{FU}\, \beta_U,  \tag{2}

and the gradient :math:`g_i = y_i(K\beta + b - c)_i + D_i \alpha_i` is :math:`\ge 0` on the lower set and
:math:`\le 0` on the upper one. *Primal-dual active sets* move all offending indices at once: a few rounds from a good
guess, no guarantee. Where they do not end, a feasible active-set method with a ratio test takes over: one index at a time,
each step descends, so it ends.
"""

from dataclasses import dataclass
from functools import cached_property, singledispatch

import numpy as np
from sklearn.svm import SVC

from foldless.contracts import Gram, Vector
from foldless.errors import NotPositiveDefinite, Undefined
from foldless.grams import DenseGram
from foldless.linalg import centre, cholesky, inverse_lower, solve_cholesky

LOWER, FREE, UPPER = -1, 0, 1
TOLERANCE = 1e-10  # on the gradient, whose natural size is 1
PATIENCE = 5  # rounds after which the offenders must be half as many as at first
WARM, COLD = 12, 20  # rounds from the sets of a neighbour, and from a rough start
ROUGH = (
    1e-4,
    1e-6,
)  # violations at which a rough start hands over: first, and where the sets were still wrong
CENTRED = 1e-3  # complementarity, relative to the bounds, per violation allowed in the interior-point start
BALANCED = 1e-10  # sum of beta, relative to that of the bounds, at which it is rounding there
DOUBLED = 4000  # largest n for which the symmetrised problem of 2n points is worth its memory
DOMINANT = 1e-6  # a ridge above this fraction of the diagonal may be divided by


@dataclass(frozen=True, eq=False)
class Block:
    """The bordered matrix of eq. (2) on the rows ``free``: ``[[K + D, 1], [1', 0]]``, or ``K + D`` without a bias."""

    gram: Gram  # of the free rows
    ridge: Vector
    bias: bool

    @cached_property
    def _factor(self):
        weak = np.min(self.ridge) <= DOMINANT * np.mean(self.gram.diag())
        return None if weak else self.gram.factor(1 / self.ridge, self.bias)

    @cached_property
    def _root(self):
        """Cholesky factor of the array: without a ridge to divide by there is no way around it."""
        rows = np.arange(self.gram.n)
        K = self.gram.block(rows, rows)
        if self.bias:  # the border makes constants invisible: put a harmless one back
            K = centre(K)
            K += np.trace(K) / len(K) if len(K) > 1 else 1.0
        K.flat[:: len(K) + 1] += self.ridge
        return _safe_cholesky(K)

    @cached_property
    def _ones(self):
        return self._plain(np.ones(self.gram.n))

    def _plain(self, r):
        return solve_cholesky(self._root, r)

    def solve(self, r):
        """Return the first rows of the inverse times ``(r, 0)``."""
        if self._factor is not None:
            return self._factor.solve(r)
        v = self._plain(r)
        return v - np.multiply.outer(self._ones, (self._ones @ r) / self._ones.sum()) if self.bias else v

    def matmul(self, v):
        """Return ``(K + D) v``."""
        return self.gram.matmul(v) + self.ridge * v

    def border(self, r, v):
        """Return the multiplier that belongs to ``v = solve(r)``."""
        return float(np.mean(r - self.matmul(v))) if self.bias else 0.0

    def inverse_diag(self):
        """Return the diagonal of the leading block of the inverse."""
        if self._factor is not None:
            return self._factor.w * self._factor.inverse_diag()
        Linv = inverse_lower(self._root)
        diag = np.einsum("ij,ij->j", Linv, Linv)
        return diag - self._ones**2 / self._ones.sum() if self.bias else diag

    def quadratic_diag(self, M):
        """Return ``diag(M' A M)``, A the leading block of the inverse."""
        return np.einsum("ij,ij->j", M, self.solve(M))


def _safe_cholesky(K):
    largest = np.max(np.diag(K), initial=0.0)
    L = cholesky(K.T, overwrite=True)  # in place
    pivots = np.diag(L) ** 2
    if len(K) and np.min(pivots) < 10 * len(K) * np.finfo(float).eps * largest:
        raise NotPositiveDefinite("a block of the Gram matrix", np.min(pivots), "Are there duplicated rows?")
    return L


@dataclass(frozen=True, eq=False)
class BoxQP:
    """Problem (1).

    Parameters
    ----------
    gram : Gram
    y : array of shape (n,)
        Signs -1 and 1.
    upper : array of shape (n,)
        Bounds on alpha; ``inf`` for none, 0 for a point that takes no part.
    ridge : array of shape (n,)
        The diagonal D.
    bias : bool
        Whether the sum of beta is prescribed.
    linear : array of shape (n,), optional
        The linear term c; by default y.
    total : float
        The prescribed sum.
    """

    gram: Gram
    y: Vector
    upper: Vector
    ridge: Vector
    bias: bool
    linear: Vector | None = None
    total: float = 0.0

    @property
    def c(self):
        """The linear term."""
        return self.y if self.linear is None else self.linear

    def block(self, free):
        """Return the matrix of eq. (2)."""
        return Block(self.gram.subset(free), self.ridge[free], self.bias)

    def bounded(self, sets, before=None):
        """Return the signed coefficients at the upper bounds and ``K`` times them; ``before``: those of other sets."""
        beta = np.where(sets == UPPER, self.y * np.where(np.isfinite(self.upper), self.upper, 0), 0.0)
        old, theta = (0.0, 0.0) if before is None else before
        change = beta - old
        moved = np.flatnonzero(change)
        return beta, theta + self.gram.combine(moved, change[moved])

    def on(self, sets, bounded=None):
        """Solve eq. (2) for given sets; return alpha, b and the gradient."""
        beta, outer = self.bounded(sets) if bounded is None else bounded
        beta, theta = beta.copy(), outer
        free = np.flatnonzero(sets == FREE)
        if free.size:
            block, r, start = self.block(free), self.c[free] - theta[free], 0.0
            if self.bias:
                start = np.full(free.size, (self.total - beta.sum()) / free.size)
                r = r - block.matmul(start)
            step = block.solve(r)
            beta[free] = start + step
            theta, b = outer + self.gram.combine(free, beta[free]), block.border(r, step)
        else:
            b = self.middle(theta, sets) if self.bias else 0.0
        alpha = self.y * beta + 0.0  # no negative zeros
        return alpha, b, self.y * (theta + b - self.c) + self.ridge * alpha

    def interval(self, theta, sets):
        """Return the smallest and the largest bias that the bound indices admit."""
        edge, active = self.c - theta, self.upper > 0
        below = active & (sets * self.y < 0)  # lower and positive, or upper and negative: b >= edge
        above = active & (sets * self.y > 0)
        return np.max(edge[below], initial=-np.inf), np.min(edge[above], initial=np.inf)

    def middle(self, theta, sets):
        """Return the middle of :meth:`interval` (its finite end if it has only one)."""
        low, high = self.interval(theta, sets)
        if np.isfinite(low) and np.isfinite(high):
            return float((low + high) / 2)
        return float(low if np.isfinite(low) else high)

    def tolerance(self, alpha):
        """Return the size below which a gradient is rounding."""
        return TOLERANCE + 64 * np.finfo(float).eps * self._largest * np.sum(np.abs(alpha))

    @cached_property
    def _largest(self):
        return np.max(self.gram.diag())

    def offended(self, sets, alpha, g):
        """Return the sets after moving every index that breaks its conditions."""
        new, tol = sets.copy(), self.tolerance(alpha)
        free, active = sets == FREE, self.upper > 0
        new[free & (alpha < 0)] = LOWER
        new[free & (alpha > self.upper)] = UPPER
        new[active & (sets == LOWER) & (g < -tol)] = FREE
        new[active & (sets == UPPER) & (g > tol)] = FREE
        return new

    def violation(self, sets, alpha, g):
        """Return how far each index is from its condition: gradients, and distances from the box in units of it."""
        out = np.maximum(-alpha, alpha - self.upper)
        scale = np.where(np.isfinite(self.upper) & (self.upper > 0), self.upper, 1.0)
        return np.where(sets == FREE, out / scale, np.abs(g))

    def split(self, alpha):
        """Return the sets that alpha suggests."""
        return np.where(alpha <= 0, LOWER, np.where(alpha >= self.upper, UPPER, FREE)).astype(np.int8)

    def feasible(self, alpha):
        """Return the point of the box (and of ``y'alpha = t``) nearest to alpha."""
        if not self.bias:
            return np.clip(alpha, 0, self.upper)
        total = lambda t: float(self.y @ np.clip(alpha - t * self.y, 0, self.upper)) - self.total
        low = high = 0.0
        step = 1.0 + np.max(np.abs(alpha))
        while total(low) < 0:
            low -= step
            step *= 2
        while total(high) > 0:
            high += step
            step *= 2
        for _ in range(200):
            t = (low + high) / 2
            low, high = (t, high) if total(t) > 0 else (low, t)
        return np.clip(alpha - high * self.y, 0, self.upper)


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


@singledispatch
def rough(gram, qp, violation):
    r"""Return an alpha whose conditions are violated little, by a primal-dual interior-point method on any Gram.

    The barrier turns the box into a diagonal, :math:`d_i = D_i + z_i / \alpha_i + t_i / (u_i - \alpha_i)`, so that a step
    costs one ``gram.factor(1 / d)``. An index ends at a bound if its multiplier (z below, t above) outweighs its
    distance from it.
    """
    on = np.flatnonzero(qp.upper > 0)
    K, y, u, D = gram.subset(on), qp.y[on], qp.upper[on], qp.ridge[on]
    alpha, z, t, small = u / 2, np.ones(on.size), np.ones(on.size), CENTRED * violation
    room = alpha  # u - alpha, which would cancel
    for _ in range(100):
        beta, mu = y * alpha, (alpha @ z + room @ t) / (2 * on.size)
        if mu < small * np.mean(u) and (not qp.bias or abs(beta.sum()) < max(small, BALANCED) * u.sum()):
            break
        goal = 0.1 * max(mu, small * np.mean(u))  # never below: the steps that balance beta need a centre too
        d = D + z / alpha + t / room
        r = y - K.matmul(beta) - D * beta + goal * y * (1 / alpha - 1 / room)
        try:
            step = y * _balanced_solve(K, d, r, beta, qp.bias)
        except NotPositiveDefinite:  # as far as the digits go
            break
        dz, dt = (goal - z * step) / alpha - z, (goal + t * step) / room - t
        h, k = min(_stay(alpha, step), _stay(room, -step)), min(_stay(z, dz), _stay(t, dt))
        alpha, room, z, t = alpha + h * step, room - h * step, z + k * dz, t + k * dt
    full = np.zeros(len(qp.y))
    full[on] = np.where(alpha < u * z, 0.0, np.where(room < u * t, u, alpha))
    return full


def _balanced_solve(K, d, r, beta, bias):
    """Solve ``(K + diag(d)) step = r``; with a bias the step also removes what is left of ``1'beta``."""
    factor = K.factor(1 / d, bias)
    if not bias:
        return factor.solve(r)
    shift = -np.abs(beta) * (beta.sum() / np.abs(beta).sum())
    return factor.solve(r - K.matmul(shift) - d * shift) + shift


def _stay(x, dx):
    """Return the step along dx that keeps x positive, a little less than the longest, at most 1."""
    falls = dx < 0
    return min(1.0, 0.99 * np.min(-x[falls] / dx[falls], initial=np.inf))


@rough.register
def _(gram: DenseGram, qp, violation):
    r"""libsvm, which knows the free bias only.

    Without a bias the problem is made symmetric: Gram :math:`[[K, -K], [-K, K]]`, labels :math:`[y, -y]`, half the
    bounds, and :math:`\alpha_i = a_i + a_{n+i}`.
    """
    on = np.flatnonzero(qp.upper > 0)
    if not qp.bias and on.size > DOUBLED:
        return rough.dispatch(object)(gram, qp, violation)
    K, y, u = gram.K.copy() if on.size == gram.n else gram.K[np.ix_(on, on)], qp.y[on], qp.upper[on]
    K.flat[:: on.size + 1] += qp.ridge[on]
    alpha = np.zeros(len(qp.y))
    if qp.bias:
        alpha[on] = _libsvm(K, y, u, violation)
    else:
        alpha[on] = np.sum(
            np.split(_libsvm(np.block([[K, -K], [-K, K]]), np.r_[y, -y], np.r_[u, u] / 2, violation), 2),
            axis=0,
        )
    return alpha


def _libsvm(K, y, upper, violation):
    svc = SVC(C=1.0, kernel="precomputed", tol=violation, cache_size=500).fit(K, y, sample_weight=upper)
    alpha = np.zeros(len(y))
    alpha[svc.support_] = np.abs(svc.dual_coef_[0])
    return alpha
