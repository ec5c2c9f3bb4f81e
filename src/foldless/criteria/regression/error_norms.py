r"""The norm in which the error of a regression is measured: :math:`\|f - z\|_W^2`, W symmetric and positive semi-definite.

All norms act in whitened coordinates; there a matrix W given by the user is :math:`D^{-1} W D^{-1}`.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from foldless.core.contracts import Gram, Matrix, Vector
from foldless.core.linalg import check_eigenvalues, check_symmetric
from foldless.machines.least_squares.eigenbasis import EPS, Basis, kernel_basis, scale
from foldless.machines.least_squares.sensitivity import Sensitivity

STABILISER = 1e-2  # gamma, relative to the largest eigenvalue


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

    moves = True  # with K

    def apply(self, M):
        """Return W M."""
        inside = self.basis.Q @ scale(self.omega, self.basis.Q.T @ M)
        return inside + self.outside * self.basis.outside(M) if self.outside else inside

    @property
    def trace(self):
        """Tr W."""
        return float(self.omega.sum()) + self.outside * (self.basis.null + self.n_extra_rows)

    @property
    def square(self):
        """Tr W^2."""
        return float(self.omega @ self.omega) + self.outside**2 * (self.basis.null + self.n_extra_rows)

    @property
    def outside_trace(self):
        """What repeated rows contribute to tr W^2."""
        return self.outside**2 * self.n_extra_rows

    def sensitivity(self, s2):
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

    moves = False
    outside_trace = 0.0

    def apply(self, M):
        """Return W M."""
        return scale(self.diag, M) + self.B @ scale(self.e, self.B.T @ M)

    @cached_property
    def trace(self):
        """Tr W."""
        return float(self.diag.sum() + (self.B**2).sum(0) @ self.e)

    @cached_property
    def square(self):
        """Tr W^2."""
        C = self.B.T @ self.B
        cross = 2 * self.e @ ((self.B**2).T @ self.diag)
        return float(self.diag @ self.diag + cross + self.e @ (C**2) @ self.e)

    def sensitivity(self, s2):
        """Return ``2 s2 W`` as a sensitivity."""
        return Sensitivity(2 * s2 * self.diag, P=self.B * (s2 * self.e), Q=self.B)


def stabilised(metric, gamma=None, n_extra_rows=0.0):
    r"""Return the norm of :math:`(K + \gamma I)^{-1}`; by default :math:`\gamma = 10^{-2} \mu_1`."""
    rate = STABILISER if gamma is None else 0.0
    gamma = STABILISER * metric.s[0] if gamma is None else gamma
    return KernelNorm(metric, 1 / (metric.s + gamma), 1 / gamma, rate, n_extra_rows)


def pseudo_inverse(metric):
    """Return the norm of ``K^+``: eigenvalues below ``n eps mu_1`` do not count."""
    used = metric.s > metric.n * EPS * metric.s[0]
    return KernelNorm(metric, np.divide(1.0, metric.s, out=np.zeros_like(metric.s), where=used))


def fixed(reference, weights=None):
    r"""Return the norm of a matrix W, or of :math:`(K_{ref} + 10^{-2} \mu_1 I)^{-1}` for a Gram."""
    root = 1.0 if weights is None else np.sqrt(weights)
    if isinstance(reference, Gram):
        return _of_gram(reference, root)
    W = check_symmetric(reference, "the reference matrix")
    e, B = np.linalg.eigh(W)
    check_eigenvalues(e, "the reference matrix")
    used = e > 0
    return FixedNorm(np.zeros(len(W)), scale(np.broadcast_to(1 / root, len(W)), B[:, used]), e[used])


def _of_gram(gram, root):
    norm = stabilised(kernel_basis(gram, False, None))
    root = np.broadcast_to(root, gram.n)
    B = scale(1 / root, norm.basis.Q)
    return FixedNorm(norm.outside / root**2, B, norm.omega - norm.outside)


@dataclass(frozen=True, eq=False)
class Sight:
    """A norm seen from a basis: all that traces of W with functions of R need."""

    p: int  # free directions
    diag: Vector  # q'Wq
    S2: Matrix  # squares of Q'WQ
    row_norms2: Vector  # |Wq|^2
    norm2: float  # tr W^2

    def square(self, f):
        """Return ``tr (W F)^2`` for F = Q diag(f) Q' + N."""
        outside_trace = self.row_norms2 - self.S2.sum(1)
        rest = self.norm2 - 2 * self.row_norms2.sum() + self.S2.sum()
        return f @ self.S2 @ f + 2 * f @ outside_trace + rest


def norm_in_basis(basis, W):
    """Return W seen from a basis, which remembers the latest."""
    key = (W.outside, W.omega.tobytes()) if W.moves else W
    return basis.latest_norm.get(key, lambda: _look(basis, W))


def _look(basis, W):
    Q = np.column_stack([basis.free, basis.Q])
    WQ = W.apply(Q)
    S = Q.T @ WQ
    complete = Q.shape[1] >= basis.n  # then nothing lies beyond it but repeated rows
    row_norms2 = (S**2).sum(1) if complete else (WQ**2).sum(0)
    norm2 = row_norms2.sum() + W.outside_trace if complete else W.square
    return Sight(basis.free.shape[1], np.diag(S).copy(), S**2, row_norms2, float(norm2))
