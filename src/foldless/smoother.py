r"""Linear smoothers: fits that are a matrix times the targets, :math:`\hat y = H y`.

Weights and free directions are taken out first. With :math:`D = \operatorname{diag}(\sqrt v)` everything below lives in
*whitened* coordinates, :math:`y \to D y`; an orthonormal basis ``free`` (n, p) holds the directions that are fitted
without penalty (an intercept: :math:`\sqrt v / \|\sqrt v\|`). On its complement

.. math:: S = Q \operatorname{diag}(s)\, Q', \qquad h = \frac{s}{s + \lambda}, \qquad g = \frac{\lambda}{s + \lambda},
          \qquad R = I - H = N + Q \operatorname{diag}(g)\, Q',  \tag{1}

with :math:`N` the projector on what neither ``free`` nor ``Q`` spans (there :math:`g = 1`). ``g`` is never computed as
:math:`1 - h`, and when ``Q`` is complete N is exactly zero, so nothing cancels for small :math:`\lambda`.

A criterion is a function :math:`\Phi(H)`; with :math:`M = d\Phi/dH` symmetric (a :class:`Sensitivity`) its adjoint is

.. math:: G = \lambda^{-1} D R M R D \quad (\text{penalty } K), \qquad
          G = X M R D + (X M R D)' \quad (\text{a fixed penalty}),  \tag{2}

where :math:`\alpha = X D y`; along the ridge parameter :math:`dH/d\ln\lambda = -H R`.

References
----------
.. [1] Sugiyama and Müller, *The subspace information criterion for infinite dimensional hypothesis spaces*,
   JMLR 3 (2002), (5)-(8).
"""

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from scipy.linalg import blas

from foldless.contracts import Gram, Matrix, Vector
from foldless.errors import Undefined
from foldless.linalg import symmetric_operator

EPS = np.finfo(float).eps


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
class Targets:
    """Whitened targets and their coordinates in a basis."""

    Y: Matrix
    c: Matrix  # Q'Y
    rest: Matrix | None  # N Y; None when N = 0
    rest2: Vector  # squared norms of its columns


@dataclass(frozen=True, eq=False)
class Basis:
    """Eigenpairs of S beside the free directions: all ridge parameters of one Gram share it.

    ``lift`` (n, q) and ``lift_free`` (n, p) turn coordinates into coefficients for a fixed penalty,
    ``X M = lift @ (Q'M / (s + lam)) + lift_free @ (free'M)``; they are None for the penalty K.
    """

    Q: Matrix
    s: Vector
    free: Matrix
    complete: bool
    root: Vector | None = None  # sqrt(v)
    lift: Matrix | None = None
    lift_free: Matrix | None = None
    memo: dict = field(default_factory=dict)

    @property
    def n(self):
        """Number of rows."""
        return len(self.Q)

    @property
    def null(self):
        """Dimension of what neither ``free`` nor ``Q`` spans."""
        return 0 if self.complete else self.n - self.free.shape[1] - len(self.s)

    @cached_property
    def Q2(self):
        """Squares of ``Q``."""
        return self.Q**2

    @cached_property
    def null_diag(self):
        """Diagonal of ``N``."""
        if self.complete:
            return np.zeros(self.n)
        return np.maximum(1 - (self.free**2).sum(1) - self.Q2.sum(1), 0)

    def outside(self, M):
        """Return ``N M``."""
        if self.complete:
            return np.zeros_like(M)
        M = M - self.free @ (self.free.T @ M)
        return M - self.Q @ (self.Q.T @ M)

    def whiten(self, M):
        """Return ``D M``."""
        return M if self.root is None else scale(self.root, M)

    def targets(self, Y):
        """Return the targets in this basis, remembered for the next ridge parameter."""
        known = self.memo.get("targets", (None, None))
        if not same_array(known[0], Y):
            known = (Y, self._targets(self.whiten(Y)))
            self.memo["targets"] = known
        return known[1]

    def _targets(self, Y):
        rest = None if self.complete else self.outside(Y)
        rest2 = np.zeros(Y.shape[1]) if rest is None else (rest**2).sum(0)
        return Targets(Y, self.Q.T @ Y, rest, rest2)


def same_array(A, B):
    """Tell whether two arrays are views of the same numbers; A must be alive, None is none."""
    return A is B or (A is not None and A.__array_interface__ == B.__array_interface__)


def scale(v, M):
    """Return ``diag(v) M`` for a vector or a matrix M."""
    return v * M if M.ndim == 1 else v[:, None] * M


def intercept(n, bias, weights):
    """Return the free direction of an intercept, (n, 1), or none, (n, 0)."""
    if not bias:
        return np.zeros((n, 0))
    root = np.ones(n) if weights is None else np.sqrt(weights)
    return (root / np.linalg.norm(root))[:, None]


def kernel_basis(gram, bias, weights):
    """Return the basis of K itself, whitened and beside the intercept; computed once per Gram.

    It is the basis of the penalty K, and what function norms are measured in for every other machine.
    """
    key = ("kernel basis", bias, id(weights))
    if key not in gram.memo:
        free = intercept(gram.n, bias, weights)
        root = None if weights is None else np.sqrt(weights)
        v = np.ones(gram.n) if weights is None else weights
        if weights is None and not bias:
            Q, s = gram.spectrum()
        else:
            pairs = gram.weighted_spectrum(v, bias)
            Q, s = pairs.Q, pairs.nu
        gram.memo[key] = (Basis(Q, s, free, Q.shape[1] + free.shape[1] >= gram.n, root), weights)
    return gram.memo[key][0]


def column_space(C):
    """Return an orthonormal basis U of the range of C, redundant columns recognised, and ``C^+ U``."""
    U, d, Vt = np.linalg.svd(C, full_matrices=False)
    rank = int(np.sum(d > max(C.shape) * EPS * d[0])) if len(d) else 0
    return U[:, :rank], Vt[:rank].T / d[:rank]


@dataclass(frozen=True, eq=False)
class SpectralSmoother:
    """R through the eigenpairs of a basis, eq. (1): O(n) per ridge parameter for what is a trace or a norm."""

    basis: Basis
    lam: float

    @cached_property
    def g(self):
        """What is left of each coordinate."""
        return self.lam / (self.basis.s + self.lam)

    @cached_property
    def h(self):
        """What is fitted of each coordinate."""
        return self.basis.s / (self.basis.s + self.lam)

    @property
    def penalised(self):
        """Number of directions under the penalty."""
        return self.basis.n - self.basis.free.shape[1]

    def trace(self):
        """Return tr R = n - df."""
        return float(self.g.sum()) + self.basis.null

    def trace2(self):
        """Return tr R^2."""
        return float(self.g @ self.g) + self.basis.null

    def trace_slope(self):
        """Return d tr R / d ln lam."""
        return float(self.g @ self.h)

    def logdet(self):
        """Return -ln det R over the penalised directions."""
        return float(np.log1p(self.basis.s / self.lam).sum())

    def quadratic(self, t):
        """Return y'Ry per column."""
        return self.g @ t.c**2 + t.rest2

    def quadratic_slope(self, t):
        """Return d y'Ry / d ln lam."""
        return (self.g * self.h) @ t.c**2

    def rss(self, t):
        """Return y'R^2y per column."""
        return self.g**2 @ t.c**2 + t.rest2

    def rss_slope(self, t):
        """Return d y'R^2y / d ln lam."""
        return 2 * (self.g**2 * self.h) @ t.c**2

    def residual(self, t):
        """Return R y."""
        fitted = self.basis.Q @ scale(self.g, t.c)
        return fitted if t.rest is None else fitted + t.rest

    def residual_slope(self, t):
        """Return d R y / d ln lam."""
        return self.basis.Q @ scale(self.g * self.h, t.c)

    def diag(self):
        """Return the diagonal of R."""
        return self.basis.null_diag + self.basis.Q2 @ self.g

    def diag_slope(self):
        """Return d diag(R) / d ln lam."""
        return self.basis.Q2 @ (self.g * self.h)

    def apply(self, M):
        """Return R M."""
        return self._function(self.g, M)

    def turn(self, M):
        """Return H R M = -d(H M)/d ln lam."""
        return self.basis.Q @ scale(self.g * self.h, self.basis.Q.T @ M)

    def _function(self, f, M):
        return self.basis.outside(M) + self.basis.Q @ scale(f, self.basis.Q.T @ M)

    def block(self, rows):
        """Return R on some rows and columns."""
        b = self.basis
        if b.complete:
            return (b.Q[rows] * self.g) @ b.Q[rows].T
        block = -(b.Q[rows] * self.h) @ b.Q[rows].T - b.free[rows] @ b.free[rows].T
        block.flat[:: len(block) + 1] += 1
        return block

    def combine(self, identity, inverse):
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
    def R(self):
        """R as an array."""
        return self.combine(0.0, 1.0)

    def coefficients(self, t):
        """Return alpha for a basis with a lift; D alpha-tilde for the penalty K."""
        b = self.basis
        beta = scale(1 / (b.s + self.lam), t.c)
        if b.lift is not None:
            return b.lift @ beta + b.lift_free @ (b.free.T @ t.Y)
        alpha = b.Q @ beta if t.rest is None else b.Q @ beta + t.rest / self.lam
        return b.whiten(alpha)

    def lifted(self, M):
        """Return X M (fixed penalty)."""
        b = self.basis
        return b.lift @ scale(1 / (b.s + self.lam), b.Q.T @ M) + b.lift_free @ (b.free.T @ M)

    def lowered(self, M):
        """Return X'M (fixed penalty)."""
        b = self.basis
        return b.Q @ scale(1 / (b.s + self.lam), b.lift.T @ M) + b.free @ (b.lift_free.T @ M)


@dataclass(frozen=True, eq=False)
class DenseSmoother:
    """R as an array, from one Cholesky factorisation: the cheaper route when one ridge parameter is asked for."""

    R: Matrix
    lam: float
    root: Vector | None
    minus_logdet: float
    free: int  # dimension of the free directions

    @property
    def penalised(self):
        """Number of directions under the penalty."""
        return len(self.R) - self.free

    def trace(self):
        """Return tr R = n - df."""
        return float(np.trace(self.R))

    def trace2(self):
        """Return tr R^2."""
        return float(np.vdot(self.R, self.R))

    def trace_slope(self):
        """Return d tr R / d ln lam = tr HR."""
        return self.trace() - self.trace2()

    def logdet(self):
        """Return -ln det R over the penalised directions."""
        return self.minus_logdet

    def targets(self, Y):
        """Return the whitened targets and R times them."""
        Y = Y if self.root is None else scale(self.root, Y)
        return Targets(Y, self.R @ Y, None, np.zeros(Y.shape[1]))

    def quadratic(self, t):
        """Return y'Ry per column."""
        return (t.Y * t.c).sum(0)

    def quadratic_slope(self, t):
        """Return d y'Ry / d ln lam."""
        return self.quadratic(t) - self.rss(t)

    def rss(self, t):
        """Return y'R^2y per column."""
        return (t.c**2).sum(0)

    def rss_slope(self, t):
        """Return d y'R^2y / d ln lam."""
        return 2 * (t.c * self.residual_slope(t)).sum(0)

    def residual(self, t):
        """Return R y."""
        return t.c

    def residual_slope(self, t):
        """Return d R y / d ln lam."""
        return t.c - self.R @ t.c

    def diag(self):
        """Return the diagonal of R."""
        return np.diag(self.R).copy()

    def diag_slope(self):
        """Return d diag(R) / d ln lam."""
        return np.diag(self.R) - np.einsum("ij,ij->i", self.R, self.R)

    def apply(self, M):
        """Return R M."""
        return self.R @ M

    def turn(self, M):
        """Return H R M."""
        RM = self.R @ M
        return RM - self.R @ RM

    def block(self, rows):
        """Return R on some rows and columns."""
        return self.R[np.ix_(rows, rows)]

    def combine(self, identity, inverse):
        """Return ``identity R^2 + inverse R`` as an array."""
        if identity == 0:
            return inverse * self.R
        return identity * _square(self.R) + inverse * self.R

    def coefficients(self, t):
        """Return alpha."""
        return t.c / self.lam if self.root is None else scale(self.root, t.c) / self.lam


def _square(B):
    """Return ``B B'`` by half the multiplications."""
    lower = blas.dsyrk(1.0, B.T, trans=1, lower=1)
    return np.tril(lower) + np.tril(lower, -1).T


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
    def mass(self):
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
    def rho(self):
        """Whitened residuals R y, (n, k)."""
        return self.smoother.residual(self.targets)

    @cached_property
    def repeats(self):
        """Rows that are copies of others: whitening leaves them out, counting does not."""
        return 0.0 if self.machine.copies is None else float(np.sum(self.machine.copies)) - self.n

    @property
    def size(self):
        """Number of rows, copies included."""
        return self.n + self.repeats

    @cached_property
    def share(self):
        """The part of a point that is one row: 1, or one over the number of its copies."""
        return np.ones(self.n) if self.machine.copies is None else 1 / np.maximum(self.machine.copies, 1)

    @cached_property
    def freedom(self):
        """Tr R = n - df, copies included."""
        return self.smoother.trace() + self.repeats

    @cached_property
    def freedom2(self):
        """Tr R^2, copies included."""
        return self.smoother.trace2() + self.repeats

    @property
    def penalised(self):
        """Number of directions under the penalty, copies included."""
        return self.smoother.penalised + self.repeats

    @property
    def df(self):
        """Degrees of freedom tr H, free directions included."""
        return self.size - self.freedom

    @cached_property
    def rss(self):
        """Weighted residual sums of squares, (k,)."""
        return self.smoother.rss(self.targets)

    @cached_property
    def rss_slope(self):
        """Their derivatives in ln lam."""
        return self.smoother.rss_slope(self.targets)

    @cached_property
    def keep(self):
        """Diagonal of R, or what one copy leaves to the others where a point stands for several equal rows.

        Raises
        ------
        Undefined
            Where a leverage is 1: without that point its value is not determined.
        """
        keep = self.share * self.smoother.diag() + (1 - self.share)
        lowest = int(np.argmin(keep))
        if keep[lowest] <= self.n * EPS:
            raise Undefined(
                f"leave-one-out is undefined: point {lowest} has leverage 1 "
                f"(1 - leverage = {keep[lowest]:.1e}). Raise alpha or use fewer basis functions."
            )
        return keep

    @cached_property
    def left(self):
        """Whitened leave-one-out residuals ``rho_i / R_ii``, (n, k)."""
        return scale(1 / self.keep, self.rho)

    def press(self):
        """Return the weighted mean squared leave-one-out residual, averaged over outputs."""
        return float((self.left**2).sum()) / (self.mass * self.Y.shape[1])

    def along(self, slope):
        """Return d/d theta of the machine from d/d ln lam; empty when there is no ridge parameter."""
        return np.full(len(self.machine.theta), float(slope))

    def slope(self, M):
        r"""Return :math:`-\operatorname{tr}(M H R)` for a sensitivity: the derivative in ln lam, any criterion."""
        s = self.smoother
        value = -M.identity * s.trace_slope() - M.inverse * (self.penalised - self.freedom)
        if M.diag is not None:
            value -= M.diag @ s.diag_slope()
        if M.P is not None:
            value -= 2 * np.vdot(M.P, s.turn(M.Q))
        return value

    def adjoint(self, M):
        """Return dvalue/dK for a sensitivity, eq. (2): an array on a dense Gram, else an operator."""
        if self.gram.dense:
            return self._moving(M) if self.machine.moving else self._fixed(M)
        apply = self._moving_apply(M) if self.machine.moving else self._fixed_apply(M)
        return symmetric_operator(self.n, apply)

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
            G += twice_symmetric(s.apply(M.P), s.apply(M.Q))
        if self._root is not None:
            G *= np.multiply.outer(self._root, self._root)
        G /= s.lam
        return G

    def _fixed(self, M):
        s, b = self.smoother, self.smoother.basis
        X = s.lifted(np.eye(self.n))
        XMR = M.identity * (X @ s.R) + M.inverse * (b.lift / (b.s + s.lam)) @ b.Q.T
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

    def _moving_apply(self, M):
        s = self.smoother

        def apply(V):
            RV = s.apply(self._whiten(V))
            return self._whiten(s.apply(self._times(M, RV)) + M.inverse * RV) / s.lam

        return apply

    def _fixed_apply(self, M):
        s, b = self.smoother, self.smoother.basis

        def apply(V):
            RV, XV = s.apply(self._whiten(V)), s.lowered(V)
            pen = 1 / (b.s + s.lam)
            left = s.lifted(self._times(M, RV)) + M.inverse * (b.lift @ scale(pen, b.Q.T @ self._whiten(V)))
            right = s.apply(self._times(M, XV)) + M.inverse * (b.Q @ scale(pen, b.lift.T @ V))
            return left + self._whiten(right)

        return apply


def twice_symmetric(P, Q):
    """Return ``P Q' + Q P'``."""
    T = P @ Q.T
    return T + T.T


def _congruence(R, d):
    """Return ``R diag(d) R``; a non-negative d costs half."""
    return _square(R * np.sqrt(d)) if np.all(d >= 0) else (R * d) @ R
