r"""From the derivative of a criterion in the smoother to its derivatives in the Gram and in the ridge parameter.

A criterion of a linear fit is a function :math:`\Phi(H)` of the smoother; with :math:`M = d\Phi/dH` symmetric (a
:class:`Sensitivity`) its adjoint is

.. math:: G = \lambda^{-1} D R M R D \quad (\text{penalty } K), \qquad
          G = X M R D + (X M R D)' \quad (\text{a fixed penalty}),  \tag{1}

where :math:`\alpha = X D y`, in the whitened coordinates of :mod:`foldless.machines.least_squares.eigenbasis`. Along the
ridge parameter

.. math:: \frac{dH}{d\ln\lambda} = -H R, \qquad \frac{d\Phi}{d\ln\lambda} = -\operatorname{tr}(M H R).  \tag{2}
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from foldless.core.contracts import Gram, Matrix, Vector
from foldless.core.linalg import add_thin, self_product, weighted_square
from foldless.grams.adjoints import FeatureProducts, Operator, RowTerm, symmetric_operator
from foldless.grams.features import Features
from foldless.machines.base import LinearMachine
from foldless.machines.least_squares.eigenbasis import scale


@dataclass(frozen=True, eq=False)
class Sensitivity:
    r""":math:`M = \operatorname{diag}(d) + \beta I + \kappa R^{+} + P Q' + Q P'`, symmetric, the derivative in H."""

    diag: Vector | None = None
    identity: float = 0.0
    inverse: float = 0.0
    P: Matrix | None = None
    Q: Matrix | None = None

    def __add__(self, other: "Sensitivity") -> "Sensitivity":
        """Return the sum; a sum of criteria has the sum of their sensitivities."""
        diag = [d for d in (self.diag, other.diag) if d is not None]
        P = [p for p in (self.P, other.P) if p is not None]
        Q = [q for q in (self.Q, other.Q) if q is not None]
        return Sensitivity(
            sum(diag[1:], diag[0]) if diag else None,
            self.identity + other.identity,
            self.inverse + other.inverse,
            np.hstack(P) if P else None,
            np.hstack(Q) if Q else None,
        )

    def __rmul__(self, factor: float) -> "Sensitivity":
        """Return a multiple."""
        return Sensitivity(
            None if self.diag is None else factor * self.diag,
            factor * self.identity,
            factor * self.inverse,
            None if self.P is None else factor * self.P,
            self.Q,
        )

    def times(self, V: Matrix) -> Matrix:
        """Return M V without the term of :math:`R^{+}`."""
        out = self.identity * V
        if self.diag is not None:
            out = out + scale(self.diag, V)
        if self.P is not None and self.Q is not None:
            out = out + self.P @ (self.Q.T @ V) + self.Q @ (self.P.T @ V)
        return out


class LinearFit(Protocol):
    """What the derivatives need of a fit."""

    @property
    def gram(self) -> Gram:
        """The Gram."""

    @property
    def machine(self) -> LinearMachine:
        """The machine."""

    @property
    def smoother(self) -> Any:
        """A SpectralSmoother or a DenseSmoother."""

    @property
    def n(self) -> int:
        """Number of rows."""

    @property
    def penalised(self) -> float:
        """Number of directions under the penalty."""

    @property
    def residual_df(self) -> float:
        """Trace of R."""


def slope_in_log_alpha(fit: LinearFit, M: Sensitivity) -> float:
    """Return the derivative in ln lambda; eq. (2)."""
    s = fit.smoother
    value = -M.identity * s.trace_slope() - M.inverse * (fit.penalised - fit.residual_df)
    if M.diag is not None:
        value -= M.diag @ s.diag_slope()
    if M.P is not None:
        value -= 2 * np.vdot(M.P, s.H_R_times(M.Q))
    return value


def adjoint(fit: LinearFit, M: Sensitivity) -> Any:
    """Return dvalue/dK, eq. (1): an array on a dense Gram, else an operator."""
    if fit.gram.dense:
        return (
            _dense_kernel_penalty(fit, M) if fit.machine.penalty_is_kernel else _dense_fixed_penalty(fit, M)
        )
    if fit.machine.penalty_is_kernel:
        return Operator(fit.n, [(1.0, KernelPenaltyAdjoint(fit, M))])
    return symmetric_operator(fit.n, _fixed_penalty_product(fit, M))


def _whiten(fit: LinearFit, V: Matrix) -> Matrix:
    return V if fit.smoother.root is None else scale(fit.smoother.root, V)


def _dense_kernel_penalty(fit: LinearFit, M: Sensitivity) -> Matrix:
    s = fit.smoother
    G = s.combine(M.identity, M.inverse)
    if M.diag is not None:
        G += _congruence(s.R, M.diag)
    if M.P is not None:
        add_thin(G, s.apply(M.P), s.apply(M.Q))
    if s.root is not None:
        G *= s.root[:, None]
        G *= s.root
    G /= s.lam
    return G


def _congruence(R: Matrix, d: Vector) -> Matrix:
    """Return ``R diag(d) R``; a non-negative d costs half."""
    return self_product(R * np.sqrt(d)) if np.all(d >= 0) else (R * d) @ R


def _dense_fixed_penalty(fit: LinearFit, M: Sensitivity) -> Matrix:
    s, b = fit.smoother, fit.smoother.basis
    X = s.X_times(np.eye(fit.n))
    XMR = M.identity * (X @ s.R) + M.inverse * (b.coef_map / (b.s + s.lam)) @ b.Q.T
    if M.diag is not None:
        XMR += (X * M.diag) @ s.R
    if M.P is not None:
        XMR += (X @ M.P) @ s.apply(M.Q).T + (X @ M.Q) @ s.apply(M.P).T
    if s.root is not None:
        XMR *= s.root
    return XMR + XMR.T


def _fixed_penalty_product(fit: LinearFit, M: Sensitivity) -> Callable[[Matrix], Matrix]:
    s, b = fit.smoother, fit.smoother.basis
    shrink = M.inverse / (b.s + s.lam)

    def apply(V: Matrix) -> Matrix:
        DV = _whiten(fit, V)
        left = s.X_times(M.times(s.apply(DV))) + b.coef_map @ scale(shrink, b.Q.T @ DV)
        right = s.apply(M.times(s.X_transposed_times(V))) + b.Q @ scale(shrink, b.coef_map.T @ V)
        return left + _whiten(fit, right)

    return apply


@dataclass(frozen=True, eq=False)
class KernelPenaltyAdjoint:
    r"""The adjoint (1) for the penalty K on a low-rank Gram K = F F'.

    D F has no part outside Q and the free directions, so that :math:`R D F = Q U` with :math:`U = g \circ Q' D F`.
    """

    fit: LinearFit
    M: Sensitivity

    def apply(self, V: Matrix) -> Matrix:
        """Return the product with a block."""
        s = self.fit.smoother
        RV = s.apply(_whiten(self.fit, V))
        return _whiten(self.fit, s.apply(self.M.times(RV)) + self.M.inverse * RV) / s.lam

    def times_features(self, F: Any) -> FeatureProducts:
        """Return the products with F, a strip at a time."""
        s, M, b = self.fit.smoother, self.M, self.fit.smoother.basis
        Q, root = Features(b.Q), np.ones(b.n) if b.root is None else b.root
        B = Q.total(lambda Q, d, F: Q.T @ (d[:, None] * F), root, F.whole())
        U = scale(s.g, B)
        e = M.identity + (np.zeros(b.n) if M.diag is None else M.diag)
        P, P2 = (np.zeros((b.n, 0)) if T is None else T for T in (M.P, M.Q))
        PU, P2U = Q.transpose_times(P).T @ U, Q.transpose_times(P2).T @ U
        # Q' M Q U and free' M Q U
        inner = Q.total(weighted_square, e) @ U + Q.transpose_times(P) @ P2U + Q.transpose_times(P2) @ PU
        outer = Q.transpose_times(scale(e, b.free)).T @ U + b.free.T @ P @ P2U + b.free.T @ P2 @ PU
        kept, complete = scale(s.g, inner) + M.inverse * U, b.complete

        def compute(Q: Matrix, d: Vector, e: Vector, P: Matrix, P2: Matrix, free: Matrix) -> Matrix:
            T = Q @ kept
            if not complete:
                T += scale(e, Q @ U)
                # One product at a time: a sum of them would hold several strips at once.
                T += P @ P2U
                T += P2 @ PU
                T -= free @ outer
                T -= Q @ inner
            return scale(d, T)

        part = RowTerm(compute, (root / s.lam, e, P, P2, b.free), Q)
        return FeatureProducts([part], (U.T @ inner + M.inverse * B.T @ U) / s.lam)
