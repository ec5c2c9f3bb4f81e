r"""Leave a block out: k-fold cross-validation without refitting."""

from dataclasses import dataclass
from functools import singledispatchmethod
from typing import Any, ClassVar

import numpy as np

from foldless.contracts import PathReading, Reading
from foldless.criterion import Criterion
from foldless.errors import Undefined
from foldless.folds import assign
from foldless.machines import LinearSolution
from foldless.smoother import EPS, Sensitivity


@dataclass(frozen=True)
class KFold(Criterion):
    r"""Mean squared residual of each block predicted without it.

    *Linear smoothers* (weights :math:`v`, whitened): for a block B

    .. math:: z_B = R_{BB}^{-1} \rho_B, \qquad \text{value} = \sum_B \|z_B\|^2 \Big/ \sum_i v_i.  \tag{1}

    For the penalty K this is retraining without the block; for others the basis functions of the block are kept. With
    :math:`w_B = R_{BB}^{-1} z_B` the sensitivity is

    .. math:: M = -\sum_B (w_B u_B' + u_B w_B') \Big/ \sum_i v_i, \qquad u_B = y - E_B z_B.  \tag{2}

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
    def _(self, solution: LinearSolution) -> Reading:
        blocks = assign(self.folds, solution.n, self.seed)
        Z, W = _left_out(solution, blocks)
        size = solution.mass * Z.shape[1]
        M = _sensitivity(solution.targets.Y, Z, W, blocks, size)
        slope = solution.along(solution.slope(M))
        return PathReading(float((Z**2).sum()) / size, lambda: solution.adjoint(M), slope)


def _left_out(solution, blocks):
    """Return z and w of eqs. (1) and (2) for all blocks."""
    Z, W = np.empty_like(solution.rho), np.empty_like(solution.rho)
    for rows in blocks:
        R = solution.smoother.block(rows)
        if np.min(np.linalg.eigvalsh(R)) <= solution.n * EPS:
            raise Undefined(f"without the block of row {rows[0]} its values are not determined. Raise alpha.")
        Z[rows] = np.linalg.solve(R, solution.rho[rows])
        W[rows] = np.linalg.solve(R, Z[rows])
    return Z, W


def _sensitivity(Y, Z, W, blocks, size):
    P, U = [], []
    for rows in blocks:
        w, u = np.zeros_like(Y), Y.copy()
        w[rows], u[rows] = W[rows], Y[rows] - Z[rows]
        P.append(w)
        U.append(u)
    return Sensitivity(P=-np.hstack(P) / size, Q=np.hstack(U))
