r"""Equal points of one class, which make the box problem singular, taken together as one point with the sum of their bounds.

If :math:`x_i = x_j` and :math:`y_i = y_j`, only :math:`\alpha_i + \alpha_j` matters, between 0 and :math:`u_i + u_j`.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from foldless.core.contracts import Gram, Vector
from foldless.machines.box_qp.active_set import active_sets, solve_box
from foldless.machines.box_qp.problem import FREE, BoxQP, BoxSolution, Sets

SQUARED_DISTANCE_ROUNDING = 8 * np.finfo(float).eps  # of equal points, relative to the diagonal of K
PROJECTION_TOLERANCE = 1e-6  # relative; rows of K whose random projections differ by more are not compared


@dataclass(frozen=True, eq=False)
class MergedRows:
    """A box problem with equal points merged.

    Attributes
    ----------
    whole : BoxQP
        The problem as it came.
    first : array of shape (m,)
        The first row of each group of equal points.
    group : array of shape (n,)
        The group of each row.
    """

    whole: BoxQP
    first: NDArray[np.intp]
    group: NDArray[np.intp]

    @classmethod
    def of(cls, qp: BoxQP) -> "MergedRows":
        """Return the problem with rows merged that have equal labels and equal rows of K."""
        leader = _leaders(qp.gram, qp.y)
        first, group = np.unique(leader, return_inverse=True)
        return cls(qp, first, group)

    @property
    def upper(self) -> Vector:
        """Bounds of the groups (m,)."""
        return np.bincount(self.group, self.whole.upper).astype(float)

    def solve(self, jitter: float, start: Sets | None) -> BoxSolution:
        """Return the solution of the merged problem for all rows; with a jitter on the diagonal of K, or 0."""
        qp, first = self.whole, self.first
        ridge = np.full(len(first), jitter)
        merged = BoxQP(qp.gram.subset(first), qp.y[first], self.upper, ridge, qp.bias)
        return self._expanded(solve_box(merged, None if start is None else start[first]))

    def confirmed(self, sets: Sets, max_iterations: int) -> BoxSolution | None:
        """Return the solution without a jitter, by active sets that start from those with it."""
        qp, first = self.whole, self.first
        merged = BoxQP(qp.gram.subset(first), qp.y[first], self.upper, np.zeros(len(first)), qp.bias)
        found = active_sets(merged, sets[first], max_iterations)
        return None if found is None else self._expanded(found)

    def _expanded(self, found: BoxSolution) -> BoxSolution:
        """Return the solution for all rows; equal points share in proportion to their bounds."""
        total = self.upper[self.group]
        share = np.divide(self.whole.upper, total, out=np.zeros_like(total), where=total > 0)
        return BoxSolution(share * found.alpha[self.group], found.b, found.sets[self.group])

    def has_free_copies(self, sets: Sets) -> bool:
        """Return True if a group of several rows is free: the matrix of the free set is then singular."""
        return bool(np.any(np.bincount(self.group)[self.group[sets == FREE]] > 1))


def _leaders(gram: Gram, y: Vector) -> NDArray[np.intp]:
    """Return for each row the number of the first row that is equal to it."""
    projection = gram.matmul(np.random.default_rng(0).normal(size=gram.n))
    order = np.lexsort((projection, y))
    near = np.abs(np.diff(projection[order])) <= PROJECTION_TOLERANCE * np.max(np.abs(projection))
    near &= np.diff(y[order]) == 0
    leader, diag = np.arange(gram.n), gram.diag()
    for position in np.flatnonzero(near):
        i, j = order[position : position + 2]
        distance2 = diag[i] + diag[j] - 2 * float(gram.block(np.array([i]), np.array([j]))[0, 0])
        if distance2 <= SQUARED_DISTANCE_ROUNDING * max(diag[i], diag[j]):
            leader[j] = leader[i]
    return leader
