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
:math:`\le 0` on the upper one. The sets are found in :mod:`foldless.machines.box_qp.active_set`.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from foldless.core.errors import NotPositiveDefinite
from foldless.core.gram import Factor, Gram, Matrix, Vector
from foldless.core.linalg import centre, cholesky, inverse_lower, solve_cholesky
from foldless.core.memo import cached_property

LOWER, FREE, UPPER = -1, 0, 1
GRADIENT_TOLERANCE = 1e-10  # the natural size of a gradient is 1
GRADIENT_ROUNDING = 64 * np.finfo(float).eps  # of a gradient, relative to its largest terms
DIVISIBLE_RIDGE = 1e-6  # fraction of the mean diagonal above which one may divide by the ridge
# From this fraction of the mean diagonal on, a ridge alone makes every system solvable to enough digits.
LEAST_RIDGE = 1e-8
PIVOT_ROUNDING = 10 * np.finfo(float).eps  # of a Cholesky pivot, per row and relative to the diagonal
BISECTIONS = 200  # of the multiplier in a projection; more than doubles can tell apart

Sets = NDArray[np.int8]


class BoxSolution(NamedTuple):
    """The solution of a box problem."""

    alpha: Vector
    b: float
    sets: Sets


@dataclass(frozen=True, eq=False)
class Block:
    """The bordered matrix of eq. (2) on the free rows: ``[[K + D, 1], [1', 0]]``, or ``K + D`` without a bias."""

    gram: Gram  # of the free rows
    ridge: Vector
    bias: bool

    @cached_property
    def _factor(self) -> Factor | None:
        """Factor of the Gram, where the ridge is large enough to divide by; on features any ridge is."""
        least = DIVISIBLE_RIDGE * np.mean(self.gram.diag()) if self.gram.dense else 0.0
        weak = np.min(self.ridge) <= least
        return None if weak else self.gram.factor(1 / self.ridge, self.bias)

    @cached_property
    def _root(self) -> Matrix:
        """Cholesky factor of the array, where the ridge is too small to divide by."""
        rows = np.arange(self.gram.n)
        K = self.gram.block(rows, rows)
        if self.bias:
            # The border hides constants, so centring changes nothing; a constant of K's size keeps it definite.
            K = centre(K)
            K += np.trace(K) / len(K) if len(K) > 1 else 1.0
        K.flat[:: len(K) + 1] += self.ridge
        return _safe_cholesky(K)

    @cached_property
    def _ones(self) -> Vector:
        return self._plain(np.ones(self.gram.n))

    def _plain(self, r: Matrix) -> Matrix:
        return solve_cholesky(self._root, r)

    def solve(self, r: Matrix) -> Matrix:
        """Return the first rows of the inverse times ``(r, 0)``."""
        if self._factor is not None:
            return self._factor.solve(r)
        v = self._plain(r)
        return v - np.multiply.outer(self._ones, (self._ones @ r) / self._ones.sum()) if self.bias else v

    def matmul(self, v: Vector) -> Vector:
        """Return ``(K + D) v``."""
        return self.gram.matmul(v) + self.ridge * v

    def border(self, r: Vector, v: Vector) -> float:
        """Return the multiplier that belongs to ``v = solve(r)``."""
        return float(np.mean(r - self.matmul(v))) if self.bias else 0.0

    def inverse_diag(self) -> Vector:
        """Return the diagonal of the leading block of the inverse."""
        if self._factor is not None:
            return self._factor.w * self._factor.inverse_diag()
        Linv = inverse_lower(self._root)
        diag = np.einsum("ij,ij->j", Linv, Linv)
        return diag - self._ones**2 / self._ones.sum() if self.bias else diag


def _safe_cholesky(K: Matrix) -> Matrix:
    """Return the Cholesky factor, which overwrites K; raise if K is singular to rounding."""
    largest = np.max(np.diag(K), initial=0.0)
    L = cholesky(K.T, overwrite=True)
    pivots = np.diag(L) ** 2
    if len(K) and np.min(pivots) < PIVOT_ROUNDING * len(K) * largest:
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
    def c(self) -> Vector:
        """The linear term."""
        return self.y if self.linear is None else self.linear

    @property
    def has_ridge(self) -> bool:
        """Whether D is large enough to solve eq. (2) to enough digits for any free set."""
        least = np.min(self.ridge[self.upper > 0], initial=np.inf)
        return bool(least >= LEAST_RIDGE * np.mean(self.gram.diag()))

    def embedded(self, rows: NDArray[np.intp], values: Vector) -> Vector:
        """Return a vector (n,) with ``values`` at ``rows`` and zero elsewhere."""
        out = np.zeros(len(self.y))
        out[rows] = values
        return out

    def block(self, free: NDArray[np.intp]) -> Block:
        """Return the matrix of eq. (2)."""
        return Block(self.gram.subset(free), self.ridge[free], self.bias)

    def bounded(self, sets: Sets, before: tuple[Vector, Vector] | None = None) -> tuple[Vector, Vector]:
        """Return the signed coefficients at the upper bounds and ``K`` times them.

        ``before`` is the result for other sets; only the differences from it are then multiplied.
        """
        beta = np.where(sets == UPPER, self.y * np.where(np.isfinite(self.upper), self.upper, 0), 0.0)
        old, theta = (np.zeros_like(beta), np.zeros_like(beta)) if before is None else before
        change = beta - old
        moved = np.flatnonzero(change)
        return beta, theta + self.gram.combine(moved, change[moved])

    def on(self, sets: Sets, bounded: tuple[Vector, Vector] | None = None) -> tuple[Vector, float, Vector]:
        """Return alpha, b and the gradient that solve eq. (2) for given sets."""
        beta, outer = self.bounded(sets) if bounded is None else bounded
        beta, theta = beta.copy(), outer
        free = np.flatnonzero(sets == FREE)
        if free.size:
            block, r = self.block(free), self.c[free] - theta[free]
            # With a bias, start at equal coefficients that have the prescribed sum; the step then sums to zero.
            start = np.full(free.size, (self.total - beta.sum()) / free.size if self.bias else 0.0)
            if self.bias:
                r = r - block.matmul(start)
            step = block.solve(r)
            beta[free] = start + step
            theta, b = outer + self.gram.combine(free, beta[free]), block.border(r, step)
        else:
            b = self.middle(theta, sets) if self.bias else 0.0
        alpha = self.y * beta + 0.0  # turns negative zeros into zeros
        return alpha, b, self.y * (theta + b - self.c) + self.ridge * alpha

    def interval(self, theta: Vector, sets: Sets) -> tuple[float, float]:
        """Return the smallest and the largest bias that the indices at bounds admit."""
        edge, active = self.c - theta, self.upper > 0
        # b >= edge for lower positive and upper negative points, b <= edge for the others.
        below = active & (sets * self.y < 0)
        above = active & (sets * self.y > 0)
        return np.max(edge[below], initial=-np.inf), np.min(edge[above], initial=np.inf)

    def middle(self, theta: Vector, sets: Sets) -> float:
        """Return the middle of :meth:`interval` (its finite end if it has only one)."""
        low, high = self.interval(theta, sets)
        if np.isfinite(low) and np.isfinite(high):
            return float((low + high) / 2)
        return float(low if np.isfinite(low) else high)

    def tolerance(self, alpha: Vector) -> float:
        """Return the size below which a gradient is rounding."""
        return float(GRADIENT_TOLERANCE + GRADIENT_ROUNDING * self._largest * np.sum(np.abs(alpha)))

    @cached_property
    def _largest(self) -> float:
        return float(np.max(self.gram.diag()))

    def offended(self, sets: Sets, alpha: Vector, g: Vector) -> Sets:
        """Return the sets after moving every index that breaks its conditions."""
        new, tol = sets.copy(), self.tolerance(alpha)
        free, active = sets == FREE, self.upper > 0
        new[free & (alpha < 0)] = LOWER
        new[free & (alpha > self.upper)] = UPPER
        new[active & (sets == LOWER) & (g < -tol)] = FREE
        new[active & (sets == UPPER) & (g > tol)] = FREE
        return new

    def is_balanced(self, sets: Sets, alpha: Vector) -> bool:
        """Return True if beta has the prescribed sum; without a free index nothing else ensures that."""
        if not self.bias or np.any(sets == FREE):
            return True
        return bool(abs(self.y @ alpha - self.total) <= self.tolerance(alpha))

    def violation(self, sets: Sets, alpha: Vector, g: Vector) -> Vector:
        """Return how far each index is from its condition: its gradient, or its distance from the box relative to the box."""
        out = np.maximum(-alpha, alpha - self.upper)
        scale = np.where(np.isfinite(self.upper) & (self.upper > 0), self.upper, 1.0)
        return np.where(sets == FREE, out / scale, np.abs(g))

    def split(self, alpha: Vector) -> Sets:
        """Return the sets of alpha: at the lower bound, at the upper bound, or between."""
        return np.where(alpha <= 0, LOWER, np.where(alpha >= self.upper, UPPER, FREE)).astype(np.int8)

    def feasible(self, alpha: Vector) -> Vector:
        """Return the point of the box (and of ``y'alpha = t``) nearest to alpha."""
        if not self.bias:
            return np.clip(alpha, 0, self.upper)

        def excess(shift: float) -> float:
            return float(self.y @ np.clip(alpha - shift * self.y, 0, self.upper)) - self.total

        low = high = 0.0
        step = 1.0 + float(np.max(np.abs(alpha)))
        while excess(low) < 0:
            low -= step
            step *= 2
        while excess(high) > 0:
            high += step
            step *= 2
        for _ in range(BISECTIONS):
            middle = (low + high) / 2
            low, high = (middle, high) if excess(middle) > 0 else (low, middle)
        return np.clip(alpha - high * self.y, 0, self.upper)
