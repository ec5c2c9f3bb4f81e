r"""Leave a block out: k-fold cross-validation in closed form, without refits."""

from dataclasses import dataclass
from functools import singledispatchmethod
from typing import Any, ClassVar

import numpy as np

from foldless.contracts import LazyReading, Reading
from foldless.criterion import Criterion
from foldless.folds import assign
from foldless.labels import are_labels, error_fraction
from foldless.machines import LSSVMSolution


@dataclass(frozen=True)
class KFold(Criterion):
    r"""Mean squared residual of the machines that did not see the point's block.

    *LS-SVM*: for a block B the residual of the machine trained without it is
    :math:`r_B = (\tilde A_{BB})^{-1} \alpha_B`. With :math:`p_B = \tilde A_{:B} (\tilde A_{BB})^{-1} r_B` and the dual vector without
    B, :math:`q_B = \alpha - \tilde A_{:B} r_B`,

    .. math:: \frac1n \sum_B \|r_B\|^2, \qquad \frac{d}{dK} = -\frac1n \sum_B (p_B q_B' + q_B p_B').  \tag{1}

    Parameters
    ----------
    folds : int or list of index arrays
        A number gives a seeded permutation cut into that many parts.
    seed : int
        Of that permutation.
    """

    folds: Any = 10
    seed: int = 0
    name: ClassVar[str] = "kfold"

    @singledispatchmethod
    def read(self, solution) -> Reading:
        """Read one solution."""
        raise self.unreadable(solution)

    @read.register
    def _(self, solution: LSSVMSolution) -> Reading:
        factor, alpha, gram = solution.factor, solution.alpha, solution.gram
        n, k = alpha.shape
        blocks = assign(self.folds, n, self.seed)
        r = np.empty_like(alpha)
        for rows in blocks:
            r[rows] = np.linalg.solve(factor.block(rows), alpha[rows])
        count = solution.copies * solution.costs
        size = count.sum() * k
        value = float(count @ np.sum(r**2, axis=1) / size)

        def derive():
            t = np.empty_like(r)
            for rows in blocks:
                t[rows] = np.linalg.solve(factor.block(rows), count[rows, None] * r[rows])
            P = factor.solve(_spread(t, blocks))
            Q = np.tile(alpha, len(blocks)) - factor.solve(_spread(r, blocks))
            adjoint = gram.adjoint(-2 / size * P, Q)  # eq. (1)
            return adjoint, np.array([gram.inner(adjoint)])

        parts = {"kfold": value}
        if are_labels(solution.Y):
            parts["kfold_error"] = error_fraction(solution.Y, solution.Y - r, solution.copies)
        return LazyReading(value, derive, parts)


def _spread(x, blocks):
    """Give every block its own copy of the columns of ``x``, zero outside the block: (n, k * blocks)."""
    n, k = x.shape
    out = np.zeros((n, len(blocks), k))
    for j, rows in enumerate(blocks):
        out[rows, j] = x[rows]
    return out.reshape(n, -1)

