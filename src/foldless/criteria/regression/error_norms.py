r"""The norm in which the error of a regression is measured: :math:`\|f - z\|_W^2`, W symmetric and positive semi-definite.

All norms act in whitened coordinates; there a matrix W given by the user is :math:`D^{-1} W D^{-1}`.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from foldless.core.contracts import Gram, Matrix, Vector
from foldless.core.linalg import check_eigenvalues, check_symmetric
from foldless.core.memo import cached_property
from foldless.machines.least_squares.eigenbasis import EPS, Basis, kernel_basis, scale
from foldless.machines.least_squares.sensitivity import Sensitivity

# Default gamma of the stabilised norm, as a fraction of the largest eigenvalue of K.
GAMMA_FRACTION = 1e-2


@dataclass(frozen=True, eq=False)
class KernelNorm:
    r""":math:`W = Q \operatorname{diag}(\omega) Q' + \omega_0 N` in the basis of K: a function norm.

    An intercept costs nothing in it.
    """

    basis: Basis
    omega: Vector
    outside: float = 0.0
    gamma_rate: float = 0.0  # d gamma / d mu_1
    n_extra_rows: float = 0.0  # directions within equal rows, which the basis leaves out

    depends_on_kernel = True

    def apply(self, M: Matrix) -> Matrix:
        """Return W M."""
        inside = self.basis.Q @ scale(self.omega, self.basis.Q.T @ M)
        return inside + self.outside * self.basis.outside(M) if self.outside else inside

    @property
    def trace(self) -> float:
        """Tr W."""
        return float(self.omega.sum()) + self.outside * (self.basis.null + self.n_extra_rows)

    @property
    def square(self) -> float:
        """Tr W^2."""
        return float(self.omega @ self.omega) + self.outside**2 * (self.basis.null + self.n_extra_rows)

    @property
    def outside_trace(self) -> float:
        """The part of tr W^2 that belongs to directions within repeated rows."""
        return self.outside**2 * self.n_extra_rows

    def sensitivity(self, s2: float) -> Sensitivity:
        """Return ``2 s2 W`` as a sensitivity."""
        Q, free, w = self.basis.Q, self.basis.free, s2 * self.outside
        P = np.column_stack([Q * (s2 * self.omega - w), -w * free])
        return Sensitivity(identity=2 * w, P=P, Q=np.column_stack([Q, free]))


@dataclass(frozen=True, eq=False)
class FixedNorm:
    r""":math:`W = \operatorname{diag}(d) + B \operatorname{diag}(e) B'`, the same for every candidate."""

    diag: Vector
    B: Matrix
    e: Vector

    depends_on_kernel = False
    outside_trace = 0.0

    def apply(self, M: Matrix) -> Matrix:
        """Return W M."""
        return scale(self.diag, M) + self.B @ scale(self.e, self.B.T @ M)

    @cached_property
    def trace(self) -> float:
        """Tr W."""
        return float(self.diag.sum() + (self.B**2).sum(0) @ self.e)

    @cached_property
    def square(self) -> float:
        """Tr W^2."""
        C = self.B.T @ self.B
        cross = 2 * self.e @ ((self.B**2).T @ self.diag)
        return float(self.diag @ self.diag + cross + self.e @ (C**2) @ self.e)

    def sensitivity(self, s2: float) -> Sensitivity:
        """Return ``2 s2 W`` as a sensitivity."""
        return Sensitivity(2 * s2 * self.diag, P=self.B * (s2 * self.e), Q=self.B)


def stabilised(metric: Basis, gamma: float | None = None, n_extra_rows: float = 0.0) -> KernelNorm:
    r"""Return the norm of :math:`(K + \gamma I)^{-1}`; by default :math:`\gamma = 10^{-2} \mu_1`."""
    rate = GAMMA_FRACTION if gamma is None else 0.0
    gamma = GAMMA_FRACTION * metric.s[0] if gamma is None else gamma
    return KernelNorm(metric, 1 / (metric.s + gamma), 1 / gamma, rate, n_extra_rows)


def pseudo_inverse(metric: Basis) -> KernelNorm:
    """Return the norm of ``K^+``: eigenvalues below ``n eps mu_1`` do not count."""
    used = metric.s > metric.n * EPS * metric.s[0]
    return KernelNorm(metric, np.divide(1.0, metric.s, out=np.zeros_like(metric.s), where=used))


def fixed(reference: ArrayLike | Gram, weights: Vector | None = None) -> FixedNorm:
    r"""Return the norm of a matrix W, or of :math:`(K_{ref} + 10^{-2} \mu_1 I)^{-1}` for a Gram."""
    if isinstance(reference, Gram):
        return _of_gram(reference, _root(weights, reference.n))
    W = check_symmetric(reference, "the reference matrix")
    e, B = np.linalg.eigh(W)
    check_eigenvalues(e, "the reference matrix")
    used = e > 0
    return FixedNorm(np.zeros(len(W)), scale(1 / _root(weights, len(W)), B[:, used]), e[used])


def _root(weights: Vector | None, n: int) -> Vector:
    """Return the diagonal of D."""
    return np.ones(n) if weights is None else np.sqrt(weights)


def _of_gram(gram: Gram, root: Vector) -> FixedNorm:
    norm = stabilised(kernel_basis(gram, False, None))
    B = scale(1 / root, norm.basis.Q)
    return FixedNorm(norm.outside / root**2, B, norm.omega - norm.outside)


@dataclass(frozen=True, eq=False)
class NormInBasis:
    """A norm W in the coordinates of a basis Q: enough for the traces of products of W with functions of R."""

    p: int  # number of free directions
    diag: Vector  # q'Wq
    S2: Matrix  # squares of Q'WQ
    row_norms2: Vector  # |Wq|^2
    norm2: float  # tr W^2

    def square(self, f: Vector) -> float:
        """Return ``tr (W F)^2`` for F = Q diag(f) Q' + N."""
        outside_trace = self.row_norms2 - self.S2.sum(1)
        rest = self.norm2 - 2 * self.row_norms2.sum() + self.S2.sum()
        return f @ self.S2 @ f + 2 * f @ outside_trace + rest


def norm_in_basis(basis: Basis, W: KernelNorm | FixedNorm) -> NormInBasis:
    """Return W in the coordinates of a basis, which keeps the latest."""
    key = (W.outside, W.omega.tobytes()) if isinstance(W, KernelNorm) else W
    return basis.latest_norm.get(key, lambda: _in_coordinates(basis, W))


def _in_coordinates(basis: Basis, W: KernelNorm | FixedNorm) -> NormInBasis:
    Q = np.column_stack([basis.free, basis.Q])
    WQ = W.apply(Q)
    S = Q.T @ WQ
    # A complete basis leaves nothing out but the directions within repeated rows.
    complete = Q.shape[1] >= basis.n
    row_norms2 = (S**2).sum(1) if complete else (WQ**2).sum(0)
    norm2 = row_norms2.sum() + W.outside_trace if complete else W.square
    return NormInBasis(basis.free.shape[1], np.diag(S).copy(), S**2, row_norms2, float(norm2))
