r"""Leave a block out: k-fold cross-validation in closed form, without refits."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from foldless.core.contracts import Adjoint, Matrix, Reading, Vector
from foldless.core.errors import Undefined
from foldless.core.linalg import cholesky, solve_lower, symmetric
from foldless.core.targets import error_fraction, is_pm1
from foldless.criteria.base import Criterion, reads
from foldless.criteria.derivatives.smooth import CovarianceAdjoint, differentiate
from foldless.criteria.folds import Folds, assign
from foldless.machines.least_squares.eigenbasis import EPS
from foldless.machines.least_squares.sensitivity import Sensitivity
from foldless.machines.least_squares.solution import LinearSolution
from foldless.machines.lssvm import LSSVMSolution
from foldless.machines.smooth import SmoothSolution


@dataclass(frozen=True)
class KFold(Criterion):
    r"""Loss of each point under the machine that did not see its block, per row.

    The values are means, or for smooth machines the sum (2) divided by the total weight: squared units of y for least
    squares, nats per row for a log likelihood.

    *LS-SVM*: for a block B the residual of the machine trained without it is
    :math:`r_B = (\tilde A_{BB})^{-1} \alpha_B`. With :math:`p_B = \tilde A_{:B} (\tilde A_{BB})^{-1} r_B` and the dual
    vector without B, :math:`q_B = \alpha - \tilde A_{:B} r_B`,

    .. math:: \frac1n \sum_B \|r_B\|^2, \qquad \frac{d}{dK} = -\frac1n \sum_B (p_B q_B' + q_B p_B').  \tag{1}

    *Smooth machines*: the loss after one Newton step of the problem without the block, started at the full fit.
    For a block I, with :math:`N = (I - V_{II} W_I)^{-1}` and :math:`T = N V_{II}`,

    .. math:: \sum_I \sum_{i \in I} v_i \ell(y_i, u_i), \qquad u_I = z_I - T a_I,  \tag{2}

    and with :math:`g_i = v_i \ell'(y_i, u_i)`, :math:`p = N'g_I`, :math:`q = N'a_I` the block's share of the
    derivatives is

    .. math:: \Phi_z = p - w' \circ (T g_I) \circ (T a_I), \qquad \Phi_V = -\tfrac12 (p q' + q p').  \tag{3}

    *Linear smoothers* (ridge, subset; weights :math:`v`, whitened, mean over outputs): for a block B
    :math:`z_B = R_{BB}^{-1} \rho_B` and :math:`w_B = R_{BB}^{-1} z_B` give

    .. math:: \sum_B \|z_B\|^2 \Big/ \sum_i v_i, \qquad
              M = -\sum_B (w_B u_B' + u_B w_B') \Big/ \sum_i v_i, \quad u_B = y - E_B z_B.  \tag{4}

    For the penalty K this is retraining without the block; for others the block's basis functions are kept.

    Blocks of one point give leave-one-out.

    Parameters
    ----------
    folds : int or list of index arrays, default=10
        A number gives a seeded permutation cut into that many parts.
    seed : int, default=0
        Seed of the permutation.
    """

    folds: Folds = 10
    seed: int = 0
    name: ClassVar[str] = "kfold"
    title: ClassVar[str] = "Leave-a-block-out loss"
    unit: ClassVar[str] = "loss per row"

    @reads(LSSVMSolution)
    def _read_lssvm(self, solution: LSSVMSolution) -> Reading:
        factor, alpha, gram = solution.factor, solution.alpha, solution.gram
        n, k = alpha.shape
        blocks = assign(self.folds, n, self.seed)
        r = np.empty_like(alpha)
        for rows in blocks:
            r[rows] = np.linalg.solve(factor.block(rows), alpha[rows])
        count = solution.row_counts * solution.costs
        size = count.sum() * k
        value = float(count @ np.sum(r**2, axis=1) / size)

        def derive() -> tuple[Adjoint, Vector]:
            t = np.empty_like(r)
            for rows in blocks:
                t[rows] = np.linalg.solve(factor.block(rows), count[rows, None] * r[rows])
            P = factor.solve(_columns_per_block(t, blocks))
            Q = np.tile(alpha, len(blocks)) - factor.solve(_columns_per_block(r, blocks))
            adjoint = gram.adjoint(-2 / size * P, Q)  # eq. (1)
            return adjoint, np.array([gram.inner(adjoint)])

        parts = {}
        if is_pm1(solution.Y):
            parts["kfold_error"] = error_fraction(solution.Y, solution.Y - r, solution.row_counts)
        return Reading.lazy(value, derive, parts)

    @reads(SmoothSolution)
    def _read_smooth(self, solution: SmoothSolution) -> Reading:
        blocks = assign(self.folds, solution.gram.n, self.seed)
        steps = [_BlockRemoval.of(solution, rows) for rows in blocks]
        u = np.empty(solution.gram.n)
        for step in steps:
            u[step.rows] = step.outputs
        value = float(solution.v @ solution.machine.loss.value(solution.y, u))
        parts = solution.wrong("kfold_error", u)
        return Reading.lazy(value, lambda: _differentiate_blocks(solution, steps, u), parts, solution.v.sum())

    @reads(LinearSolution)
    def _read_linear(self, solution: LinearSolution) -> Reading:
        blocks = assign(self.folds, solution.n, self.seed)
        Z, W = _block_residuals(solution, blocks)
        size = solution.total_weight * Z.shape[1]
        M = _sensitivity(solution.targets.Y, Z, W, blocks, size)
        value = float((Z**2).sum()) / size
        return Reading(
            value, lambda: solution.adjoint(M), lambda: solution.slope_along_alpha(solution.slope(M))
        )


@dataclass(frozen=True, eq=False)
class _BlockRemoval:
    """One Newton step without a block; eq. (2)."""

    rows: NDArray[np.intp]
    N: Matrix
    T: Matrix
    Ta: Vector
    outputs: Vector

    @classmethod
    def of(cls, solution: SmoothSolution, rows: NDArray[np.intp]) -> Self:
        """Compute the step."""
        s, V = np.sqrt(solution.w[rows]), solution.C * solution.factor.covariance_block(rows)
        L = cholesky(solution.factor.inverse_block(rows))  # I - S V S
        N = np.eye(len(rows)) + (V * s) @ solve_lower(L, solve_lower(L, np.diag(s)), transposed=True)
        T = symmetric(N @ V)
        Ta = T @ solution.a[rows]
        return cls(rows, N, T, Ta, solution.z[rows] - Ta)


def _differentiate_blocks(
    solution: SmoothSolution, steps: Sequence[_BlockRemoval], u: Vector
) -> tuple[Adjoint, Vector]:
    """Return adjoint and slope; eq. (3), with ``p q' + q p'`` as a difference of two squares."""
    n = solution.gram.n
    g = solution.v * solution.machine.loss.derivatives(solution.y, u)[0]
    phi_z, U = np.zeros(n), np.zeros((n, 2 * len(steps)))
    for j, step in enumerate(steps):
        rows, p, q = step.rows, step.N.T @ g[step.rows], step.N.T @ solution.a[step.rows]
        phi_z[rows] = p - solution.dw[rows] * (step.T @ g[rows]) * step.Ta
        balance = np.sqrt(_positive_norm(q) / _positive_norm(p))
        U[rows, 2 * j], U[rows, 2 * j + 1] = p * balance + q / balance, p * balance - q / balance
    return differentiate(solution, phi_z, CovarianceAdjoint(None, U, np.tile([-0.25, 0.25], len(steps))))


def _positive_norm(x: Vector) -> float:
    return max(float(np.linalg.norm(x)), float(np.finfo(float).tiny))


def _columns_per_block(x: Matrix, blocks: Sequence[NDArray[np.intp]]) -> Matrix:
    """Return one copy of the columns of ``x`` per block, zero outside the block: (n, k * blocks)."""
    n, k = x.shape
    out = np.zeros((n, len(blocks), k))
    for j, rows in enumerate(blocks):
        out[rows, j] = x[rows]
    return out.reshape(n, -1)


def _block_residuals(solution: LinearSolution, blocks: Sequence[NDArray[np.intp]]) -> tuple[Matrix, Matrix]:
    """Return z and w of eq. (4) for all blocks."""
    Z, W = np.empty_like(solution.whitened_residuals), np.empty_like(solution.whitened_residuals)
    for rows in blocks:
        R = solution.smoother.block(rows)
        if np.min(np.linalg.eigvalsh(R)) <= solution.n * EPS:
            raise Undefined(f"without the block of row {rows[0]} its values are not determined. Raise alpha.")
        Z[rows] = np.linalg.solve(R, solution.whitened_residuals[rows])
        W[rows] = np.linalg.solve(R, Z[rows])
    return Z, W


def _sensitivity(
    Y: Matrix, Z: Matrix, W: Matrix, blocks: Sequence[NDArray[np.intp]], size: float
) -> Sensitivity:
    """Return M of eq. (4)."""
    P, U = [], []
    for rows in blocks:
        w, u = np.zeros_like(Y), Y.copy()
        w[rows], u[rows] = W[rows], Y[rows] - Z[rows]
        P.append(w)
        U.append(u)
    return Sensitivity(P=-np.hstack(P) / size, Q=np.hstack(U))
