r"""The spectral measure of a kernel: how much of the labels lies along its leading eigenvectors.

References
----------
.. [1] Li, Liu, Lin, Yue and Wang, *Efficient kernel selection via spectral analysis* (2017), definition 1 and (1).
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy.special import logsumexp

from foldless.core.contracts import Adjoint, Gram, HasTargets, Matrix, Reading, Vector
from foldless.core.errors import Undefined, UnknownName
from foldless.core.targets import check_labels
from foldless.criteria.base import Criterion, reads

# Powers of K/c times the labels, as (unit vectors, logarithms of their norms).
Powers = list[tuple[Matrix, Vector]]

NORMALISERS = ("trace", "sum", "frobenius")
# Relative gap of two eigenvalues below which their divided difference is replaced by the derivative between them.
DIVIDED_DIFFERENCE_MIN_GAP = 1e-5


@dataclass(frozen=True)
class Spectral(Criterion):
    r"""Minus the logarithm of the spectral measure, in nats.

    .. math:: SM = \frac1n\, \bar y' (K / c)^r\, \bar y, \qquad \bar y_i = n / n_+ \text{ or } -n / n_-,  \tag{1}

    with :math:`c` the trace of K (the default), the sum of its entries (as printed in [1]_) or its Frobenius norm. For more
    than two classes: half the sum over classes of the one-versus-rest measures, which for two is the binary value.

    For integer r everything comes from products :math:`v_j = (K/c)^j \bar y`, in O(r n^2) and without a copy of K:

    .. math:: \frac{dSM}{dK} = \frac{1}{2nc} \sum_{j=0}^{r-1} (v_j v_{r-1-j}' + v_{r-1-j} v_j')
              - \frac{r\,SM}{c} \frac{dc}{dK}.  \tag{2}

    Other r and the threshold form need eigenvalues, :math:`K/c = U \operatorname{diag}(l) U'` and :math:`e = U'\bar y`:

    .. math:: SM = \frac1n \sum_i \varphi(l_i)\, e_i^2, \qquad
              \frac{dSM}{dK} = \frac{1}{nc} U [\Phi \circ e e'] U' - \frac{r\,SM}{c}\frac{dc}{dK}, \qquad
              \Phi_{ij} = \frac{l_i^r - l_j^r}{l_i - l_j}.  \tag{3}

    Parameters
    ----------
    normaliser : {"trace", "sum", "frobenius"}, default="trace"
        The sum, as printed, prefers the narrowest kernel for r = 1 and uneven row sums otherwise; it vanishes for
        centred kernels. It serves to reproduce the paper.
    r : float, default=2
        The power, at least 1.
    weighted : bool, default=True
        Whether classes count alike, as in (1); otherwise :math:`\bar y = y`.
    threshold : float, optional
        The hinge form of [1]_ in place of the power: :math:`\varphi(l) = l` above it, else 0. It has no derivative.
    """

    normaliser: str = "trace"
    r: float = 2
    weighted: bool = True
    threshold: float | None = None
    value_scale: ClassVar[float | None] = 1.0
    name: ClassVar[str] = "spectral"
    title: ClassVar[str] = "Minus the log spectral measure"
    unit: ClassVar[str] = "nats"
    ignores_machine: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if self.normaliser not in NORMALISERS:
            raise UnknownName("normaliser", self.normaliser, NORMALISERS)
        if not self.r >= 1:
            raise ValueError(
                f"r must be at least 1, got {self.r!r}: the bound needs phi(l) <= l for l in [0, 1]."
            )
        if self.threshold is not None and not self.threshold >= 0:
            raise ValueError(f"threshold must not be negative, got {self.threshold!r}.")

    @reads(HasTargets)
    def _read_targets(self, solution: HasTargets) -> Reading:
        gram, T = solution.gram, self._targets(solution.Y)
        c, log, derive = (self._products if self._by_products else self._eigenvalues)(gram, T)
        slope = np.zeros_like(solution.machine.theta)
        parts = {"spectral": float(np.exp(log)), "normaliser": float(c)}
        return Reading.lazy(-log, lambda: (derive(), slope), parts)

    def _products(self, gram: Gram, T: Matrix) -> tuple[float, float, Callable[[], Adjoint | None]]:
        """Return c, log SM and a function that computes the adjoint; eq. (2)."""
        r, half = int(self.r), int(self.r) // 2
        c, powers = self._powers(gram, T, r - half)
        (V, a), (W, b) = powers[half], powers[r - half]
        log = _log_sum(np.einsum("ik,ik->k", V, W), a + b, T)

        def derive() -> Adjoint:
            all_powers = _with_powers(gram, powers, c, r - 1)
            return self._adjoint(gram, c, *_pairs(all_powers, r, c, log - np.log(_class_factor(T))))

        return c, log, derive

    def _eigenvalues(self, gram: Gram, T: Matrix) -> tuple[float, float, Callable[[], Adjoint | None]]:
        """Return c, log SM and a function that computes the adjoint; eq. (3)."""
        c = self._normaliser(gram)
        U, mu = gram.spectrum()
        l, e = mu / c, U.T @ T
        phi = l**self.r if self.threshold is None else np.where(l > self.threshold, l, 0)
        log = _log_sum(phi @ e**2, np.zeros(T.shape[1]), T)

        def derive() -> Adjoint | None:
            if self.threshold is not None:
                return None
            P, Q = _divided(U, l, e, T - U @ e, self.r)
            return self._adjoint(gram, c, _class_factor(T) / (len(T) * c) * np.exp(-log) * P, Q)

        return c, log, derive

    def warning_for(self, solution: Any) -> str:
        """Return a warning about the normaliser as printed."""
        if self.normaliser != "sum":
            return ""
        message = (
            "spectral with normaliser='sum' (as printed by Li et al.) rewards narrow kernels and uneven row sums, not "
            "separation; its choices are far worse than those of normaliser='trace'."
        )
        K, T = solution.gram, self._targets(solution.Y)
        if np.linalg.norm(K.matmul(T)) > self._normaliser(K) * np.linalg.norm(T):
            message += (
                " Here the sum is even smaller than the largest eigenvalue, so that powers amplify noise."
            )
        return message

    @property
    def _by_products(self) -> bool:
        return self.threshold is None and float(self.r).is_integer()

    def _targets(self, Y: Matrix) -> Matrix:
        """Return the weighted labels of eq. (1)."""
        if not self.weighted:
            return Y
        check_labels(Y, "spectral")
        positive = np.sum(Y > 0, axis=0)
        return np.where(Y > 0, len(Y) / positive, -len(Y) / (len(Y) - positive))

    def _normaliser(self, gram: Gram, row_sums: Matrix | None = None) -> float:
        """Return c; the row sums of K are computed unless they are given."""
        trace = float(gram.diag().sum())
        if self.normaliser == "trace":
            c = trace
        elif self.normaliser == "frobenius":
            c = gram.norm()
        else:
            c = float(np.sum(gram.matmul(np.ones(gram.n)) if row_sums is None else row_sums))
        if not c > gram.n * np.finfo(float).eps * trace:
            raise Undefined(
                f"the {self.normaliser} of the Gram matrix is {c:.1e}: it cannot normalise the spectral measure. "
                "Kernels that are centred or have negative entries need normaliser='trace'."
            )
        return c

    def _powers(self, gram: Gram, T: Matrix, m: int) -> tuple[float, Powers]:
        r"""Return c and the list of :math:`v_0 \dots v_m` as (unit vectors, logarithms of their norms)."""
        k = T.shape[1]
        first = gram.matmul(np.column_stack([T, np.ones(len(T))]) if self.normaliser == "sum" else T)
        c = self._normaliser(gram, first[:, k:] if self.normaliser == "sum" else None)
        return c, _with_powers(gram, [_unit(T, 0.0), _unit(first[:, :k] / c, 0.0)], c, m)

    def _adjoint(self, gram: Gram, c: float, P: Matrix, Q: Matrix) -> Adjoint:
        """Return the derivative of -log SM from the first term of (2) or (3), divided by SM."""
        if self.normaliser == "trace":
            return gram.adjoint(-P, Q, identity=self.r / c)
        if self.normaliser == "frobenius":
            return gram.adjoint(-P, Q, itself=self.r / c**2)
        one = np.ones(gram.n)
        return gram.adjoint(np.column_stack([-P, self.r / c * one]), np.column_stack([Q, one]))


def _class_factor(T: Matrix) -> float:
    """Return what the sum over the columns is multiplied by: one half if each class has its own column."""
    return 1.0 if T.shape[1] == 1 else 0.5


def _with_powers(gram: Gram, powers: Powers, c: float, m: int) -> Powers:
    """Return the powers up to :math:`v_m`."""
    powers = list(powers)
    while len(powers) <= m:
        W, log = powers[-1]
        powers.append(_unit(gram.matmul(W) / c, log))
    return powers


def _unit(W: Matrix, log: Vector | float) -> tuple[Matrix, Vector]:
    """Return columns of length one, and their logarithmic lengths added to ``log``."""
    norm = np.linalg.norm(W, axis=0)
    if not np.all(np.isfinite(norm)):
        raise Undefined("the Gram matrix has entries that are not finite.")
    norm = np.maximum(norm, np.finfo(float).tiny)
    return W / norm, log + np.log(norm)


def _log_sum(each: Vector, logs: Vector, T: Matrix) -> float:
    r"""Return the logarithm of :math:`\frac1n \sum_k each_k e^{logs_k}`, times the class factor."""
    if not np.any(each > 0):
        raise Undefined("the spectral measure is zero: under this kernel the classes cannot be told apart.")
    log, sign = logsumexp(logs, b=each * _class_factor(T) / len(T), return_sign=True)
    if sign <= 0:
        raise Undefined("the spectral measure is negative: the Gram matrix is indefinite.")
    return float(log)


def _pairs(powers: Powers, r: int, c: float, log: float) -> tuple[Matrix, Matrix]:
    """Return P and Q of the first term of (2), divided by SM."""
    n = len(powers[0][0])
    P = [powers[j][0] * np.exp(powers[j][1] + powers[r - 1 - j][1] - log) / (n * c) for j in range(r)]
    return np.column_stack(P), np.column_stack([powers[r - 1 - j][0] for j in range(r)])


def _divided(U: Matrix, l: Vector, e: Matrix, rest: Matrix, r: float) -> tuple[Matrix, Matrix]:
    r"""Return P and Q with :math:`(PQ' + QP')/2 = U[\Phi \circ ee']U'`; ``rest`` is the part of the labels outside U."""
    gap, mid = l[:, None] - l, (l[:, None] + l) / 2
    far = np.abs(gap) > DIVIDED_DIFFERENCE_MIN_GAP * mid
    power = l**r
    phi = np.where(far, (power[:, None] - power) / np.where(far, gap, 1), r * mid ** (r - 1))
    P = np.column_stack([U, U @ (l[:, None] ** (r - 1) * e)])
    return P, np.column_stack([U @ (phi * (e @ e.T)), 2 * rest])
