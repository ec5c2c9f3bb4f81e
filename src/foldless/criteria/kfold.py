r"""Leave a block out: k-fold cross-validation in closed form, without refits."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import singledispatchmethod
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from foldless.contracts import LazyReading, Reading
from foldless.criterion import Criterion
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
    folds : int or sequence of index arrays
        A number of folds, assigned at random, or the blocks themselves: disjoint, and together all rows.
    seed : int
        Of the assignment.
    """

    folds: int | Sequence[NDArray[np.intp]] = 10
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
        blocks = assign_folds(self.folds, n, self.seed)
        r = np.empty_like(alpha)
        for rows in blocks:
            r[rows] = np.linalg.solve(factor.block(rows), alpha[rows])
        value = float(np.mean(r**2))

        def derive():
            t = np.empty_like(r)
            for rows in blocks:
                t[rows] = np.linalg.solve(factor.block(rows), r[rows])
            P = factor.solve(_spread(t, blocks))
            Q = np.tile(alpha, len(blocks)) - factor.solve(_spread(r, blocks))
            adjoint = gram.adjoint(-2 / (n * k) * P, Q)  # eq. (1)
            return adjoint, np.array([gram.inner(adjoint)])

        parts = {"kfold": value}
        if are_labels(solution.Y):
            parts["kfold_error"] = error_fraction(solution.Y, solution.Y - r)
        return LazyReading(value, derive, parts)


def _spread(x, blocks):
    """Give every block its own copy of the columns of ``x``, zero outside the block: (n, k * blocks)."""
    n, k = x.shape
    out = np.zeros((n, len(blocks), k))
    for j, rows in enumerate(blocks):
        out[rows, j] = x[rows]
    return out.reshape(n, -1)


def assign_folds(folds, n, seed=0):
    """Return index arrays: the given blocks, checked, or ``folds`` random ones of nearly equal size."""
    if isinstance(folds, (int, np.integer)):
        if not 2 <= folds <= n:
            raise ValueError(f"folds must lie between 2 and the number of rows ({n}), got {folds}.")
        return np.array_split(np.random.default_rng(seed).permutation(n), folds)
    blocks = [np.asarray(rows, dtype=np.intp) for rows in folds]
    if not np.array_equal(np.sort(np.concatenate(blocks)), np.arange(n)):
        raise ValueError(f"folds must be disjoint index arrays that together hold each of the {n} rows once.")
    return blocks
