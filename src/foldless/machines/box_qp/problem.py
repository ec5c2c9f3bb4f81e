r"""The quadratic programme behind a support vector machine, and its linear systems.

With signs y, signed coefficients :math:`\beta = y \circ \alpha` and a diagonal :math:`D \ge 0`,

.. math:: \min_\beta\; \tfrac12 \beta'(K + D)\beta - c'\beta, \qquad 0 \le y_i \beta_i \le u_i, \qquad
          1'\beta = t,  \tag{1}

the last condition only with a free bias b, its multiplier. Support vector machines have :math:`c = y`,
:math:`t = 0`; the smallest ball around points has :math:`c = \operatorname{diag}(K)/2`, :math:`t = 1`.
Every index is *lower* (:math:`\alpha_i = 0`), *upper*
(:math:`\alpha_i = u_i`) or *free*; on the free set F

.. math:: (K + D)_{FF}\, \beta_F + b 1 = c_F - K_{FU}\, \beta_U,  \tag{2}

and the gradient :math:`g_i = y_i(K\beta + b - c)_i + D_i \alpha_i` is :math:`\ge 0` on the lower set and
:math:`\le 0` on the upper one. How to find the sets is told in :mod:`foldless.machines.box_qp.active_set`.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from foldless.core.contracts import Gram, Vector
from foldless.core.errors import NotPositiveDefinite
from foldless.core.linalg import centre, cholesky, inverse_lower, solve_cholesky

LOWER, FREE, UPPER = -1, 0, 1
TOLERANCE = 1e-10  # on the gradient, whose natural size is 1
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
