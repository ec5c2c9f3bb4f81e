r"""The subspace information criterion.

A linear smoother is judged by an unbiased estimate of its squared error in a norm W,

.. math:: E\, \|H y - z\|_W^2 = E \bigl[ \rho' W \rho + 2\sigma^2 \operatorname{tr}(W H) \bigr] - \sigma^2 \operatorname{tr} W,
          \tag{1}

z being the noiseless values. In the basis of K, for a penalty that commutes with it, with :math:`\omega` the eigenvalues
of W,

.. math:: \sum_i \omega_i \bigl[ (c_i^2 - \sigma^2) g_i^2 + \sigma^2 h_i^2 \bigr], \qquad
          \frac{d}{d\ln\lambda} = \sum_i 2\, \omega_i h_i g_i (c_i^2 g_i - \sigma^2).  \tag{2}

It is a quadratic form :math:`y'My` plus a constant; for Gaussian noise its variance is estimated without bias by

.. math:: \widehat{\operatorname{Var}} = 4 \sigma^2 \|M y\|^2 - 2 \sigma^4 \operatorname{tr} M^2, \qquad M = R W R.  \tag{3}

References
----------
.. [1] Sugiyama and Müller, *The subspace information criterion for infinite dimensional hypothesis spaces*,
   JMLR 3 (2002), (15), (21), (22).
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np

from foldless.core.contracts import Adjoint, Gram, Machine, Matrix, Reading, Vector
from foldless.core.errors import Undefined, UnknownName
from foldless.criteria.base import Criterion, reads
from foldless.criteria.regression import noise_variance as noise
from foldless.criteria.regression.error_norms import (
    FixedNorm,
    KernelNorm,
    fixed,
    norm_in_basis,
    pseudo_inverse,
    stabilised,
)
from foldless.grams.adjoints import symmetric_operator
from foldless.machines.least_squares.eigenbasis import EPS, Basis, scale
from foldless.machines.least_squares.sensitivity import Sensitivity
from foldless.machines.least_squares.smoother import DenseSmoother
from foldless.machines.least_squares.solution import LinearSolution
from foldless.machines.ridge import RidgeSolution

NORMS = ("gamma", "paper", "e", "fixed")


@dataclass(frozen=True)
class SIC(Criterion):
    r"""Subspace information criterion; the mean over outputs.

    The value is a squared norm of the error, not a mean over rows: its unit depends on W, which ``norm`` chooses in (1):

    * ``"gamma"``: :math:`(K + \gamma I)^{-1}`. Smooth in K, needs no decision about the rank, and its error bar stays
      finite where that of the paper's grows like :math:`1/\lambda^2`. The default.
    * ``"paper"``: :math:`K^+`, [1] (15) with (21): the error in the norm of the function space.
    * ``"e"``: the part of the former that depends on the fit, [1] (22), rank aware: without
      :math:`y'K^+y - \sigma^2 \operatorname{tr} K^+`. (The remark after (22) that :math:`K^+` must stay when K is
      singular is too pessimistic: only the projector :math:`K K^+` is needed.)
    * ``"fixed"``: any matrix W, the same for all candidates.

    Scaling K and :math:`\lambda` together leaves the fit alone and divides the first two by the scale; the third lacks a
    constant that depends on the kernel. Only ``"fixed"`` may compare kernels.

    Parameters
    ----------
    norm : {"gamma", "paper", "e", "fixed"}, default="gamma"
    sigma2 : float, array of shape (k,), or str, default="ml"
        Noise variance, or the name of an estimate of :mod:`foldless.criteria.regression.noise_variance`.
        ``"per-model"`` reproduces the paper: [1] (12) at the candidate's own ridge parameter.
    gamma : float, optional
        By default 1e-2 times the largest eigenvalue of K.
    reference : array of shape (n, n) or Gram, optional
        For ``norm="fixed"``: W itself, or the Gram of a reference kernel, which stands for
        :math:`W = (K_{ref} + 10^{-2} \mu_1 I)^{-1}`.

    Notes
    -----
    ``parts`` holds ``variance``, the unbiased estimate (3), which may be negative; ``sd``, its square root with
    :math:`2\sigma^4 \operatorname{tr} M^2`, what noise alone contributes, as a lower bound; ``sd_path``,
    the same for the part that depends on the fit (M = R W R - W); ``df`` and ``sigma2``.
    There is no adjoint for ``"paper"`` and ``"e"`` on a singular K: they jump where the rank changes.
    """

    norm: str = "gamma"
    sigma2: noise.Sigma2 = "ml"
    gamma: float | None = None
    reference: Matrix | Gram | None = None
    name: ClassVar[str] = "sic"
    title: ClassVar[str] = "Subspace information criterion"
    may_be_negative: ClassVar[bool] = True
    unit: ClassVar[str] = "squared norm of the error"

    def __post_init__(self) -> None:
        noise.check_sigma2(self.sigma2)
        if self.norm not in NORMS:
            raise UnknownName("norm", self.norm, NORMS)
        if self.gamma is not None and not self.gamma > 0:
            raise ValueError(f"gamma must be positive, got {self.gamma!r}.")
        if (self.norm == "fixed") != (self.reference is not None):
            raise ValueError("reference goes with norm='fixed', and norm='fixed' needs a reference.")

    @property
    def tunes_kernel(self) -> bool:
        """Whether values for two kernels can be compared."""
        return self.norm == "fixed"

    @property
    def reason_against(self) -> str:
        """Why it must not choose a kernel, and what to do instead."""
        if self.tunes_kernel:
            return ""
        return (
            f"with norm={self.norm!r} it measures each kernel by a norm of its own, so that values for two kernels cannot "
            "be compared (SIC(norm='fixed', reference=...) has one norm for all; loo, mallows, abic and evidence may "
            "choose kernels)"
        )

    def with_data_estimates(self, machine: Machine, grams: Iterable[Gram], Y: Matrix) -> Self:
        """Return the criterion with its noise variance fixed."""
        return replace(self, sigma2=noise.once(self.sigma2, machine, grams, Y))

    @reads(LinearSolution)
    def _read_linear(self, solution: LinearSolution) -> Reading:
        s2 = noise.noise_of(self.sigma2, solution)
        per_model = noise.is_per_model(self.sigma2)
        if isinstance(solution, RidgeSolution) and isinstance(solution.smoother, DenseSmoother):
            solution = solution.at(solution.machine.alpha)
        terms = self._terms(solution, s2)
        parts = {
            "sd": terms.error_bar.sd,
            "sd_path": terms.path_error_bar.sd,
            "variance": float(terms.error_bar.variance.sum()) / len(s2) ** 2,
            "df": solution.df,
            "sigma2": float(s2.mean()),
        }
        adjoint = (lambda: _adjoint(solution, terms, s2, per_model)) if terms.smooth else None

        def slope() -> Vector:
            through_s2 = terms.by_s2 * noise.residual_variance_slope(solution) if per_model else 0.0
            return solution.slope_along_alpha((terms.slope + through_s2).mean())

        return Reading(float(terms.value.mean()), adjoint, slope, parts)

    def _terms(self, solution: Any, s2: Vector) -> "_Terms":
        W = self._error_norm(solution)
        part = self.norm == "e"
        if isinstance(W, KernelNorm) and solution.smoother.basis.Q is W.basis.Q:
            return _commuting(solution, W, s2, part)
        return _general(solution, W, s2, part)

    def _error_norm(self, solution: Any) -> KernelNorm | FixedNorm:
        """Return W of (1)."""
        if self.norm == "fixed":
            return _reference_norm(solution, self.reference)
        metric = _metric(solution)
        if self.norm == "gamma":
            return stabilised(metric, self.gamma, solution.n_extra_rows)
        return pseudo_inverse(metric)


@dataclass(frozen=True, eq=False)
class _ErrorBar:
    """Equation (3) per output: the unbiased estimate of the variance, and the contribution of noise alone."""

    variance: Vector
    floor: Vector

    @classmethod
    def of(cls, s2: Vector, squared: Vector, trace: float) -> Self:
        """Return it from ``|M y|^2`` and ``tr M^2``."""
        # These are fourth powers of the targets, which may overflow where the criterion itself does not.
        with np.errstate(over="ignore"):
            return cls(s2 * (4 * squared - 2 * s2 * trace), 2 * s2**2 * trace)

    @property
    def sd(self) -> float:
        """Standard deviation of the mean over outputs."""
        return float(np.sqrt(np.maximum(self.variance, self.floor).sum())) / len(self.floor)


@dataclass(frozen=True, eq=False)
class _Terms:
    """Value, slope and error bars per output, and the norm, from which the adjoint is computed."""

    W: KernelNorm | FixedNorm
    part: bool  # only the part that depends on the fit, without the constant of K
    value: Vector
    slope: Vector
    error_bar: "_ErrorBar"
    path_error_bar: "_ErrorBar"  # for the part that depends on the fit
    by_s2: Vector  # derivative of the value in the noise variance
    row_norms2: float  # tr W^2 H

    @property
    def smooth(self) -> bool:
        """Whether a derivative in K exists: not if W depends on the rank of K, and K is singular."""
        W = self.W
        if isinstance(W, FixedNorm) or W.outside > 0:
            return True
        return W.basis.null == 0 and bool(np.all(W.omega > 0))


def _commuting(solution: Any, W: KernelNorm, s2: Vector, part: bool) -> _Terms:
    """Return equations (2) and (3) for R and W with the same eigenvectors, in O(n)."""
    s, t = solution.smoother, solution.targets
    g, h, c2, w, w0 = s.g, s.h, t.c**2, W.omega, W.outside
    null, inside = s.basis.null + solution.n_extra_rows, (w > 0)[:, None]
    m = w * (h * (h - 2) if part else g**2)  # h (h - 2) = g^2 - 1
    by_s2 = 2 * (w @ h) if part else w @ (h**2 - g**2) - w0 * null
    value = m @ c2 + s2 * by_s2 + w0 * t.rest2
    slope = 2 * (w * h * g) @ (c2 * g[:, None] - s2 * inside)
    whole = _ErrorBar.of(s2, m**2 @ c2 + w0**2 * t.rest2, m @ m + w0**2 * null)
    m = w * h * (h - 2)
    path = _ErrorBar.of(s2, m**2 @ c2, m @ m)
    by_s2 = np.full_like(s2, by_s2)
    return _Terms(W, part, value, slope, path if part else whole, path, by_s2, float(w**2 @ h))


def _general(solution: Any, W: KernelNorm | FixedNorm, s2: Vector, part: bool) -> _Terms:
    """Return equations (1) and (3) for any W, in O(n^2) per ridge parameter after one product with the basis."""
    s, t = solution.smoother, solution.targets
    coordinates = norm_in_basis(s.basis, W)
    p = coordinates.p
    h, gh = np.r_[np.ones(p), s.h], np.r_[np.zeros(p), s.g * s.h]
    Wrho = W.apply(solution.whitened_residuals)
    by_s2 = 2 * h @ coordinates.diag - (0.0 if part else W.trace)
    quadratic, My = (solution.whitened_residuals * Wrho).sum(0), s.apply(Wrho)
    if part:
        f = t.Y - solution.whitened_residuals
        quadratic = (f * W.apply(f - 2 * t.Y)).sum(0)
    slope = 2 * (Wrho * s.residual_slope(t)).sum(0) - 2 * s2 * (gh @ coordinates.diag)
    g = np.r_[np.zeros(p), s.g]
    square, Wy = coordinates.square(g**2), W.apply(t.Y)
    whole = _ErrorBar.of(s2, (My**2).sum(0), square)
    path_square = square + coordinates.norm2 - 2 * coordinates.square(g)
    path = _ErrorBar.of(s2, ((My - Wy) ** 2).sum(0), path_square)
    by_s2, row_norms2 = np.full_like(s2, by_s2), float(coordinates.row_norms2 @ h)
    return _Terms(W, part, quadratic + s2 * by_s2, slope, path if part else whole, path, by_s2, row_norms2)


def _metric(solution: Any) -> Basis:
    """Return the basis of K beside the intercept; raise if nothing but rounding is left of K there."""
    metric, weights = solution.metric(), solution.machine.weights
    trace = solution.gram.diag() @ (np.ones(solution.n) if weights is None else weights)
    if metric.s.max(initial=0.0) <= solution.n * EPS * trace:
        raise Undefined("sic is undefined: beside the intercept the kernel is zero on these points.")
    return metric


def _reference_norm(solution: Any, reference: Any) -> FixedNorm:
    """Return the norm of a reference, decomposed once per Gram."""
    weights = solution.machine.weights

    def compute() -> FixedNorm:
        _check_reference(reference, solution.n)
        return fixed(reference, weights)

    return solution.gram.memo.get("reference", reference, weights, compute=compute)


def _check_reference(reference: Any, n: int) -> None:
    shape = (reference.n, reference.n) if isinstance(reference, Gram) else np.shape(reference)
    if shape != (n, n):
        raise ValueError(f"reference must have shape ({n}, {n}), got {shape}.")


def _adjoint(solution: Any, terms: _Terms, s2: Vector, per_model: bool) -> Adjoint:
    """Return dvalue/dK: through H (a sensitivity), and through W itself if it depends on K."""
    W, Y, k = terms.W, solution.targets.Y, len(s2)
    if terms.part and _has_closed_form(solution):
        G = _part_adjoint(solution, s2)
    else:
        M = Sensitivity(P=-W.apply(solution.whitened_residuals) / k, Q=Y) + W.sensitivity(s2.mean())
        G = solution.adjoint(M)
        if isinstance(W, KernelNorm):
            G = G + _unwhitened(solution, _through_norm(solution, W, terms, s2))
    if per_model:
        G = G + solution.adjoint(noise.residual_variance_sensitivity(solution, terms.by_s2 / k))
    return G


def _has_closed_form(solution: Any) -> bool:
    """Return whether the derivative of the part has a closed form without ``K^{-1}``."""
    return solution.smoother.basis.Q is solution.metric().Q


def _part_adjoint(solution: Any, s2: Vector) -> Adjoint:
    r"""Return the derivative of the part alone: eq. (6) for the penalty K, eq. (7) for the penalty I.

    .. math:: a a' + \lambda (a b' + b a') - 2\sigma^2 A^2, \quad A = (K + \lambda I)^{-1}, \; a = A y, \; b = A a;  \tag{6}

    .. math:: e\rho' + \rho e' - (K e)\alpha' - \alpha (K e)' + \alpha\alpha' + 2\sigma^2 (S - 2 K S K S), \quad
              S = (K^2 + \lambda I)^{-1}, \; e = -S\rho.  \tag{7}
    """
    s, c, mean_s2 = solution.smoother, solution.targets.c, s2.mean()
    x = 1 / (s.basis.s + s.lam)
    if solution.machine.penalty_is_kernel:
        a, b = scale(x, c), scale(x**2, c)
        left, right, f = [a / 2, s.lam * a], [a, b], -2 * mean_s2 * x**2
    else:
        mu = np.sqrt(s.basis.s)
        e, alpha = -scale(x * s.g, c), scale(x * mu, c)
        left, right = [e, -scale(mu, e), alpha / 2], [scale(s.g, c), alpha, alpha]
        f = 2 * mean_s2 * x * (1 - 2 * s.h)
    P, Q = np.hstack(left) / len(s2), np.hstack(right)

    def apply(V: Matrix) -> Matrix:
        u = s.basis.Q.T @ V
        return s.basis.Q @ (scale(f, u) + P @ (Q.T @ u) + Q @ (P.T @ u))

    return _unwhitened(solution, apply)


def _unwhitened(solution: Any, apply: Callable[[Matrix], Matrix]) -> Adjoint:
    """Return ``D E D`` for E given by its products: the derivative in K from the one in the whitened K."""
    root = np.ones(solution.n) if solution.machine.weights is None else np.sqrt(solution.machine.weights)

    def times(V: Matrix) -> Matrix:
        return scale(root, apply(scale(root, V)))

    return times(np.eye(solution.n)) if solution.gram.dense else symmetric_operator(solution.n, times)


def _through_norm(solution: Any, W: KernelNorm, terms: _Terms, s2: Vector) -> Callable[[Matrix], Matrix]:
    r"""Return the derivative through W = (K + gamma I)^{-1} at fixed H, as products.

    .. math:: -(W\rho)(W\rho)' - 2\sigma^2 W H W + \sigma^2 W^2, \quad
              \text{for the part alone also} \quad (Wy)(Wy)' - \sigma^2 W^2.
    """
    k, mean_s2 = len(s2), float(s2.mean())
    a, b = W.apply(solution.whitened_residuals), W.apply(solution.targets.Y)

    def apply(V: Matrix) -> Matrix:
        WV = W.apply(V)
        HWV = WV - solution.smoother.apply(WV)
        out = -a @ (a.T @ V) / k - 2 * mean_s2 * W.apply(HWV)
        return out + (b @ (b.T @ V) / k if terms.part else mean_s2 * W.apply(WV))

    if not W.gamma_rate:
        return apply
    # The derivative in gamma is the trace of the operator above.
    by_gamma = -float((a**2).sum()) / k - 2 * mean_s2 * terms.row_norms2 + mean_s2 * W.square
    rate, q = W.gamma_rate * by_gamma, W.basis.Q[:, :1]
    return lambda V: apply(V) + rate * (q @ (q.T @ V))
