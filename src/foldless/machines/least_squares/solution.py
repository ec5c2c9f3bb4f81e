r"""Fits that are linear in their targets: residuals, leave-one-out, and the way back to the Gram.

A criterion is a function :math:`\Phi(H)` of the smoother; with :math:`M = d\Phi/dH` symmetric (a :class:`Sensitivity`) its
adjoint is

.. math:: G = \lambda^{-1} D R M R D \quad (\text{penalty } K), \qquad
          G = X M R D + (X M R D)' \quad (\text{a fixed penalty}),  \tag{1}

where :math:`\alpha = X D y`, in the whitened coordinates of :mod:`foldless.machines.least_squares.eigenbasis`; along the ridge parameter
:math:`dH/d\ln\lambda = -H R`.

References
----------
.. [1] Sugiyama and Müller, *The subspace information criterion for infinite dimensional hypothesis spaces*,
   JMLR 3 (2002), (5)-(8).
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from foldless.core.contracts import Gram, Matrix, Vector
from foldless.core.errors import Undefined
from foldless.core.linalg import add_thin, self_product, weighted_square
from foldless.grams.adjoints import FeatureProducts, Operator, RowTerm, symmetric_operator
from foldless.grams.features import Features
from foldless.machines.least_squares.eigenbasis import EPS, Targets, kernel_basis, scale

SYMMETRIC = 1e-8  # of the largest entry: what K and its transpose may differ by


def checked_targets(gram, Y):
    """Return ``Y`` (n, k) as numbers; refuse what is not finite or does not fit, and a matrix that is no Gram matrix."""
    Y = np.asarray(Y, dtype=float)
    if Y.ndim != 2 or len(Y) != gram.n:
        raise ValueError(f"Y must have shape ({gram.n}, k), got {Y.shape}.")
    if not np.isfinite(Y).all():
        raise ValueError("Y contains NaN or infinity.")
    if "checked" not in gram.memo:
        _check_gram(gram)
        gram.memo["checked"] = True
    return Y


def _check_gram(gram):
    """Refuse NaN and a dense K that is not symmetric, seen from two random vectors: O(n^2)."""
    x, z = np.random.default_rng(0).normal(size=(2, gram.n))
    Kx = gram.matmul(x)
    if not np.isfinite(Kx).all():
        raise ValueError("the Gram matrix contains NaN or infinity.")
    largest = np.max(np.abs(gram.diag())) or max(map(abs, gram.extremes()))
    if gram.dense and abs(z @ Kx - x @ gram.matmul(z)) > SYMMETRIC * largest:
        raise ValueError("the Gram matrix is not symmetric: K and its transpose differ.")


@dataclass(frozen=True, eq=False)
class Sensitivity:
    r""":math:`M = \operatorname{diag}(d) + \beta I + \kappa R^{+} + P Q' + Q P'`, symmetric, the derivative in H."""

    diag: Vector | None = None
    identity: float = 0.0
    inverse: float = 0.0
    P: Matrix | None = None
    Q: Matrix | None = None

    def __add__(self, other):
        """Return the sum; a sum of criteria has the sum of their sensitivities."""
        diag = [d for d in (self.diag, other.diag) if d is not None]
        P = [p for p in (self.P, other.P) if p is not None]
        Q = [q for q in (self.Q, other.Q) if q is not None]
        return Sensitivity(
            sum(diag) if diag else None,
            self.identity + other.identity,
            self.inverse + other.inverse,
            np.hstack(P) if P else None,
            np.hstack(Q) if Q else None,
        )

    def __rmul__(self, factor):
        """Return a multiple."""
        return Sensitivity(
            None if self.diag is None else factor * self.diag,
            factor * self.identity,
            factor * self.inverse,
            None if self.P is None else factor * self.P,
            self.Q,
        )


@dataclass(frozen=True, eq=False)
class LinearSolution:
    """A fit that is linear in its targets: what ridge and subset regression return.

    Attributes
    ----------
    Y : array of shape (n, k)
        Targets as they came.
    smoother : SpectralSmoother or DenseSmoother
    targets : Targets
        Whitened.
    """

    gram: Gram
    machine: Any
    Y: Matrix
    smoother: Any
    targets: Targets

    start = None  # nothing is iterated

    @property
    def n(self):
        """Number of rows."""
        return len(self.Y)

    @property
    def total_weight(self):
        """Sum of the sample weights."""
        return float(self.n if self.machine.weights is None else np.sum(self.machine.weights))

    @cached_property
    def alpha(self):
        """Coefficients (n, k): ``f = K alpha + b``."""
        return self.smoother.coefficients(self.targets)

    @cached_property
    def b(self):
        """Intercepts, (k,)."""
        if not self.machine.bias:
            return np.zeros(self.Y.shape[1])
        return np.average(self.Y - self.gram.matmul(self.alpha), axis=0, weights=self.machine.weights)

    @cached_property
    def whitened_residuals(self):
        """Whitened residuals R y, (n, k)."""
        return self.smoother.residual(self.targets)

    @cached_property
    def n_extra_rows(self):
        """Rows that are copies of others: whitening leaves them out, counting does not."""
        return 0.0 if self.machine.row_counts is None else float(np.sum(self.machine.row_counts)) - self.n

    @property
    def size(self):
        """Number of rows, copies included."""
        return self.n + self.n_extra_rows

    @cached_property
    def fraction_of_one_row(self):
        """The part of a point that is one row: 1, or one over the number of its copies."""
        return (
            np.ones(self.n) if self.machine.row_counts is None else 1 / np.maximum(self.machine.row_counts, 1)
        )

    @cached_property
    def residual_df(self):
        """Tr R = n - df, copies included."""
        return self.smoother.trace() + self.n_extra_rows

    @cached_property
    def trace_R2(self):
        """Tr R^2, copies included."""
        return self.smoother.trace2() + self.n_extra_rows

    @property
    def penalised(self):
        """Number of directions under the penalty, copies included."""
        return self.smoother.penalised + self.n_extra_rows

    @property
    def df(self):
        """Degrees of freedom tr H, free directions included."""
        return self.size - self.residual_df

    @cached_property
    def rss(self):
        """Weighted residual sums of squares, (k,)."""
        return self.smoother.rss(self.targets)

    @cached_property
    def rss_slope(self):
        """Their derivatives in ln lam."""
        return self.smoother.rss_slope(self.targets)

    @cached_property
    def one_minus_leverage(self):
        """Diagonal of R, or what one copy leaves to the others where a point stands for several equal rows.

        Raises
        ------
        Undefined
            Where a leverage is 1: without that point its value is not determined.
        """
        keep = self.fraction_of_one_row * self.smoother.diag() + (1 - self.fraction_of_one_row)
        lowest = int(np.argmin(keep))
        if keep[lowest] <= self.n * EPS:
            raise Undefined(
                f"leave-one-out is undefined: point {lowest} has leverage 1 "
                f"(1 - leverage = {keep[lowest]:.1e}). Raise alpha or use fewer basis functions."
            )
        return keep

    @cached_property
    def loo_residuals(self):
        """Whitened leave-one-out residuals ``rho_i / R_ii``, (n, k)."""
        return scale(1 / self.one_minus_leverage, self.whitened_residuals)

    def press(self):
        """Return the weighted mean squared leave-one-out residual, averaged over outputs."""
        return float((self.loo_residuals**2).sum()) / (self.total_weight * self.Y.shape[1])

    def slope_along_alpha(self, slope):
        """Return d/d theta of the machine from d/d ln lam; empty when there is no ridge parameter."""
        return np.full(len(self.machine.theta), float(slope))

    def slope(self, M):
        r"""Return :math:`-\operatorname{tr}(M H R)` for a sensitivity: the derivative in ln lam, any criterion."""
        s = self.smoother
        value = -M.identity * s.trace_slope() - M.inverse * (self.penalised - self.residual_df)
        if M.diag is not None:
            value -= M.diag @ s.diag_slope()
        if M.P is not None:
            value -= 2 * np.vdot(M.P, s.turn(M.Q))
        return value

    def adjoint(self, M):
        """Return dvalue/dK for a sensitivity, eq. (1): an array on a dense Gram, else an operator."""
        if self.gram.dense:
            return self._moving(M) if self.machine.penalty_is_kernel else self._fixed(M)
        if self.machine.penalty_is_kernel:
            return Operator(self.n, [(1.0, _Moving(self, M))])
        return symmetric_operator(self.n, self._fixed_apply(M))

    def metric(self):
        """Return the basis of K itself, whitened and beside the intercept."""
        return kernel_basis(self.gram, self.machine.bias, self.machine.weights)

    @property
    def _root(self):
        return None if self.machine.weights is None else np.sqrt(self.machine.weights)

    def _moving(self, M):
        s = self.smoother
        G = s.combine(M.identity, M.inverse)
        if M.diag is not None:
            G += _congruence(s.R, M.diag)
        if M.P is not None:
            add_thin(G, s.apply(M.P), s.apply(M.Q))
        if self._root is not None:
            G *= self._root[:, None]
            G *= self._root
        G /= s.lam
        return G

    def _fixed(self, M):
        s, b = self.smoother, self.smoother.basis
        X = s.lifted(np.eye(self.n))
        XMR = M.identity * (X @ s.R) + M.inverse * (b.coef_map / (b.s + s.lam)) @ b.Q.T
        if M.diag is not None:
            XMR += (X * M.diag) @ s.R
        if M.P is not None:
            XMR += (X @ M.P) @ s.apply(M.Q).T + (X @ M.Q) @ s.apply(M.P).T
        if self._root is not None:
            XMR *= self._root
        return XMR + XMR.T

    def _times(self, M, V):
        """Return M V for a sensitivity, the inverse apart."""
        out = M.identity * V
        if M.diag is not None:
            out = out + scale(M.diag, V)
        if M.P is not None:
            out = out + M.P @ (M.Q.T @ V) + M.Q @ (M.P.T @ V)
        return out

    def _whiten(self, V):
        return V if self._root is None else scale(self._root, V)

    def _fixed_apply(self, M):
        s, b = self.smoother, self.smoother.basis

        def apply(V):
            RV, XV = s.apply(self._whiten(V)), s.lowered(V)
            pen = 1 / (b.s + s.lam)
            left = s.lifted(self._times(M, RV)) + M.inverse * (
                b.coef_map @ scale(pen, b.Q.T @ self._whiten(V))
            )
            right = s.apply(self._times(M, XV)) + M.inverse * (b.Q @ scale(pen, b.coef_map.T @ V))
            return left + self._whiten(right)

        return apply


@dataclass(frozen=True, eq=False)
class _Moving:
    r"""The adjoint (1) for the penalty K on a low-rank Gram K = F F'.

    D F has no part outside Q and the free directions, so that :math:`R D F = Q U` with :math:`U = g \circ Q' D F`.
    """

    solution: LinearSolution
    M: Sensitivity

    def apply(self, V):
        """Return the product with a block."""
        s, whiten = self.solution.smoother, self.solution._whiten
        RV = s.apply(whiten(V))
        return whiten(s.apply(self.solution._times(self.M, RV)) + self.M.inverse * RV) / s.lam

    def times_features(self, F):
        """Return the products with F, a strip at a time."""
        s, M, b = self.solution.smoother, self.M, self.solution.smoother.basis
        Q, root = Features(b.Q), np.ones(b.n) if b.root is None else b.root
        B = Q.total(lambda Q, d, F: Q.T @ (d[:, None] * F), root, F.whole())
        U = scale(s.g, B)
        e = M.identity + (np.zeros(b.n) if M.diag is None else M.diag)
        P, P2 = (np.zeros((b.n, 0)) if T is None else T for T in (M.P, M.Q))
        PU, P2U = Q.transpose_times(P).T @ U, Q.transpose_times(P2).T @ U
        inner = (
            Q.total(weighted_square, e) @ U + Q.transpose_times(P) @ P2U + Q.transpose_times(P2) @ PU
        )  # Q' M Q U
        outer = Q.transpose_times(scale(e, b.free)).T @ U + b.free.T @ P @ P2U + b.free.T @ P2 @ PU

        kept, complete = scale(s.g, inner) + M.inverse * U, b.complete

        def compute(Q, d, e, P, P2, free):
            T = Q @ kept
            if not complete:
                T += scale(e, Q @ U) + P @ P2U + P2 @ PU
                T -= free @ outer + Q @ inner
            return scale(d, T)

        part = RowTerm(compute, (root / s.lam, e, P, P2, b.free), Q)
        return FeatureProducts([part], (U.T @ inner + M.inverse * B.T @ U) / s.lam)


def _congruence(R, d):
    """Return ``R diag(d) R``; a non-negative d costs half."""
    return self_product(R * np.sqrt(d)) if np.all(d >= 0) else (R * d) @ R
