r"""Linear smoothers: fits that are a matrix times the targets, :math:`\hat y = H y`.

Weights and free directions are taken out first, see :mod:`foldless.machines.least_squares.eigenbasis`. On the complement of the free directions

.. math:: S = Q \operatorname{diag}(s)\, Q', \qquad h = \frac{s}{s + \lambda}, \qquad g = \frac{\lambda}{s + \lambda},
          \qquad R = I - H = N + Q \operatorname{diag}(g)\, Q',  \tag{1}

with :math:`N` the projector on what neither ``free`` nor ``Q`` spans (there :math:`g = 1`). ``g`` is never computed as
:math:`1 - h`, and when ``Q`` is complete N is exactly zero, so nothing cancels for small :math:`\lambda`.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from foldless.core.contracts import Matrix, Vector
from foldless.core.linalg import self_product
from foldless.core.memo import cached_property
from foldless.machines.least_squares.eigenbasis import Basis, Targets, scale


@dataclass(frozen=True, eq=False)
class SpectralSmoother:
    """R through the eigenpairs of a basis, eq. (1): traces and norms cost O(n) per ridge parameter."""

    basis: Basis
    lam: float

    @property
    def root(self) -> Vector | None:
        """Square roots of the weights; None without weights."""
        return self.basis.root

    @cached_property
    def g(self) -> Vector:
        """Factors of the coordinates in the residuals."""
        return self.lam / (self.basis.s + self.lam)

    @cached_property
    def h(self) -> Vector:
        """Factors of the coordinates in the fit."""
        return self.basis.s / (self.basis.s + self.lam)

    @property
    def penalised(self) -> int:
        """Number of directions under the penalty."""
        return self.basis.n - self.basis.free.shape[1]

    def trace(self) -> float:
        """Return tr R = n - df."""
        return float(self.g.sum()) + self.basis.null

    def trace2(self) -> float:
        """Return tr R^2."""
        return float(self.g @ self.g) + self.basis.null

    def trace_slope(self) -> float:
        """Return d tr R / d ln lam."""
        return float(self.g @ self.h)

    def logdet(self) -> float:
        """Return -ln det R over the penalised directions."""
        return float(np.log1p(self.basis.s / self.lam).sum())

    def quadratic(self, t: Targets) -> Vector:
        """Return y'Ry per column."""
        return self.g @ t.c**2 + t.rest2

    def quadratic_slope(self, t: Targets) -> Vector:
        """Return d y'Ry / d ln lam."""
        return (self.g * self.h) @ t.c**2

    def rss(self, t: Targets) -> Vector:
        """Return y'R^2y per column."""
        return self.g**2 @ t.c**2 + t.rest2

    def rss_slope(self, t: Targets) -> Vector:
        """Return d y'R^2y / d ln lam."""
        return 2 * (self.g**2 * self.h) @ t.c**2

    def residual(self, t: Targets) -> Matrix:
        """Return R y."""
        fitted = self.basis.Q @ scale(self.g, t.c)
        return fitted if t.rest is None else fitted + t.rest

    def residual_slope(self, t: Targets) -> Matrix:
        """Return d R y / d ln lam."""
        return self.basis.Q @ scale(self.g * self.h, t.c)

    def diag(self) -> Vector:
        """Return the diagonal of R."""
        return self.basis.null_diag + self.basis.squares(self.g)

    def diag_slope(self) -> Vector:
        """Return d diag(R) / d ln lam."""
        return self.basis.squares(self.g * self.h)

    def apply(self, M: Matrix) -> Matrix:
        """Return R M."""
        return self._function(self.g, M)

    def form(self, M: Matrix) -> Matrix:
        """Return M'R M. The part of the projector N is computed as a square, so that nothing cancels where N M is small."""
        c, rest = self.basis.Q.T @ M, self.basis.outside(M)
        return c.T @ scale(self.g, c) + rest.T @ rest

    def form_diag(self, M: Matrix) -> Vector:
        """Return the diagonal of M'R M."""
        return self.g @ (self.basis.Q.T @ M) ** 2 + (self.basis.outside(M) ** 2).sum(0)

    def H_R_times(self, M: Matrix) -> Matrix:
        """Return H R M = -d(H M)/d ln lam."""
        return self.basis.Q @ scale(self.g * self.h, self.basis.Q.T @ M)

    def _function(self, f: Vector, M: Matrix) -> Matrix:
        return self.basis.outside(M) + self.basis.Q @ scale(f, self.basis.Q.T @ M)

    def block(self, rows: NDArray[np.intp]) -> Matrix:
        """Return R on some rows and columns."""
        b = self.basis
        if b.complete:
            return (b.Q[rows] * self.g) @ b.Q[rows].T
        block = -(b.Q[rows] * self.h) @ b.Q[rows].T - b.free[rows] @ b.free[rows].T
        block.flat[:: len(block) + 1] += 1
        return block

    def combine(self, identity: float, inverse: float) -> Matrix:
        """Return ``identity R^2 + inverse R`` as an array."""
        b = self.basis
        f = identity * self.g**2 + inverse * self.g
        if b.complete:
            return (b.Q * f) @ b.Q.T
        whole = identity + inverse
        T = (b.Q * (f - whole)) @ b.Q.T - whole * (b.free @ b.free.T)
        T.flat[:: b.n + 1] += whole
        return T

    @cached_property
    def R(self) -> Matrix:
        """R as an array."""
        return self.combine(0.0, 1.0)

    def coefficients(self, t: Targets) -> Matrix:
        """Return alpha (n, k)."""
        b = self.basis
        if b.coef_map is not None:
            return self.X_times(t.Y)
        beta = scale(1 / (b.s + self.lam), t.c)
        alpha = b.Q @ beta if t.rest is None else b.Q @ beta + t.rest / self.lam
        return b.whiten(alpha)

    def target_weights(self, M: Matrix) -> Matrix:
        """Return B'M where alpha = B y: the weights of the targets (n, p) in p linear forms M (n, p) of alpha."""
        b = self.basis
        if b.coef_map is not None:
            return b.whiten(self.X_transposed_times(M))
        # The projector N would add functions that are zero everywhere.
        return b.whiten(b.Q @ scale(1 / (b.s + self.lam), b.Q.T @ b.whiten(M)))

    def target_weight_matrix(self) -> Matrix:
        """Return B' (n, n) where alpha = B y."""
        return self.target_weights(np.eye(self.basis.n))

    def X_times(self, M: Matrix) -> Matrix:
        """Return X M for a fixed penalty, where alpha = X D y."""
        b = self.basis
        assert b.coef_map is not None and b.free_coef_map is not None  # noqa: PT018 - for the type checker
        return b.coef_map @ scale(1 / (b.s + self.lam), b.Q.T @ M) + b.free_coef_map @ (b.free.T @ M)

    def X_transposed_times(self, M: Matrix) -> Matrix:
        """Return X'M for a fixed penalty."""
        b = self.basis
        assert b.coef_map is not None and b.free_coef_map is not None  # noqa: PT018 - for the type checker
        return b.Q @ scale(1 / (b.s + self.lam), b.coef_map.T @ M) + b.free @ (b.free_coef_map.T @ M)


@dataclass(frozen=True, eq=False)
class SmootherOnPath(SpectralSmoother):
    """One of several ridge parameters whose diagonals and residuals were computed together."""

    R_diag: Vector
    whitened_residuals: Matrix

    def diag(self) -> Vector:
        """Return the diagonal of R."""
        return self.R_diag

    def residual(self, t: Targets) -> Matrix:
        """Return R y for the targets of the path."""
        return self.whitened_residuals


def along_path(basis: Basis, t: Targets, lams: Sequence[float]) -> list[SmootherOnPath]:
    """Return a smoother for each ridge parameter; one product with Q and one with its squares serve them all."""
    column = np.asarray(lams, dtype=float)[:, None]
    G = column / (basis.s + column)  # (L, r)
    R_diags = basis.squares(G.T).T + basis.null_diag
    residuals = (np.einsum("lr,rk->lkr", G, t.c) @ basis.Q.T).transpose(0, 2, 1)
    if t.rest is not None:
        residuals = residuals + t.rest
    return [SmootherOnPath(basis, *each) for each in zip(lams, R_diags, residuals, strict=True)]


@dataclass(frozen=True, eq=False)
class DenseSmoother:
    """R as an array, from one Cholesky factorisation: the cheaper route for a single ridge parameter."""

    R: Matrix
    lam: float
    root: Vector | None  # square roots of the weights
    minus_logdet: float
    free: int  # dimension of the free directions

    @property
    def penalised(self) -> int:
        """Number of directions under the penalty."""
        return len(self.R) - self.free

    def trace(self) -> float:
        """Return tr R = n - df."""
        return float(np.trace(self.R))

    def trace2(self) -> float:
        """Return tr R^2."""
        return float(np.vdot(self.R, self.R))

    def trace_slope(self) -> float:
        """Return d tr R / d ln lam = tr HR."""
        return self.trace() - self.trace2()

    def logdet(self) -> float:
        """Return -ln det R over the penalised directions."""
        return self.minus_logdet

    def targets(self, Y: Matrix) -> Targets:
        """Return the whitened targets and R times them."""
        Y = Y if self.root is None else scale(self.root, Y)
        return Targets(Y, self.R @ Y, None, np.zeros(Y.shape[1]))

    def quadratic(self, t: Targets) -> Vector:
        """Return y'Ry per column."""
        return (t.Y * t.c).sum(0)

    def quadratic_slope(self, t: Targets) -> Vector:
        """Return d y'Ry / d ln lam."""
        return self.quadratic(t) - self.rss(t)

    def rss(self, t: Targets) -> Vector:
        """Return y'R^2y per column."""
        return (t.c**2).sum(0)

    def rss_slope(self, t: Targets) -> Vector:
        """Return d y'R^2y / d ln lam."""
        return 2 * (t.c * self.residual_slope(t)).sum(0)

    def residual(self, t: Targets) -> Matrix:
        """Return R y."""
        return t.c

    def residual_slope(self, t: Targets) -> Matrix:
        """Return d R y / d ln lam."""
        return t.c - self.R @ t.c

    def diag(self) -> Vector:
        """Return the diagonal of R."""
        return np.diag(self.R).copy()

    def diag_slope(self) -> Vector:
        """Return d diag(R) / d ln lam."""
        return np.diag(self.R) - np.einsum("ij,ij->i", self.R, self.R)

    def apply(self, M: Matrix) -> Matrix:
        """Return R M."""
        return self.R @ M

    def form(self, M: Matrix) -> Matrix:
        """Return M'R M."""
        return M.T @ (self.R @ M)

    def form_diag(self, M: Matrix) -> Vector:
        """Return the diagonal of M'R M."""
        return np.einsum("ij,ij->j", M, self.R @ M)

    def H_R_times(self, M: Matrix) -> Matrix:
        """Return H R M."""
        RM = self.R @ M
        return RM - self.R @ RM

    def block(self, rows: NDArray[np.intp]) -> Matrix:
        """Return R on some rows and columns."""
        return self.R[np.ix_(rows, rows)]

    def combine(self, identity: float, inverse: float) -> Matrix:
        """Return ``identity R^2 + inverse R`` as an array."""
        if identity == 0:
            return inverse * self.R
        G = self_product(self.R)
        G *= identity
        G += inverse * self.R
        return G

    def coefficients(self, t: Targets) -> Matrix:
        """Return alpha."""
        return t.c / self.lam if self.root is None else scale(self.root, t.c) / self.lam

    def target_weights(self, M: Matrix) -> Matrix:
        """Return B'M where alpha = B y: the weights of the targets (n, p) in p linear forms M (n, p) of alpha."""
        if self.root is None:
            return self.R @ M / self.lam
        return scale(self.root, self.R @ scale(self.root, M)) / self.lam

    def target_weight_matrix(self) -> Matrix:
        """Return B' (n, n) where alpha = B y."""
        R = self.R if self.root is None else scale(self.root, self.R) * self.root
        return R / self.lam
