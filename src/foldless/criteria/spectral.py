r"""The spectral measure of a kernel: how much of the labels lies along its leading eigenvectors.

References
----------
.. [1] Li, Liu, Lin, Yue and Wang, *Efficient kernel selection via spectral analysis* (2017), definition 1 and (1).
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.special import logsumexp

from foldless.core.contracts import HasTargets, Reading
from foldless.core.errors import Undefined, UnknownName
from foldless.core.targets import check_labels
from foldless.criteria.base import Criterion, reads

NORMALISERS = ("trace", "sum", "frobenius")
CLOSE = 1e-5  # relative gap of eigenvalues below which a divided difference is taken as a derivative


@dataclass(frozen=True)
class Spectral(Criterion):
    r"""Minus the logarithm of the spectral measure, as a cost.

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
        centred kernels. It is here to reproduce the paper.
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

    def __post_init__(self):
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

    def _products(self, gram, T):
        """Return c, log SM and what computes the adjoint; eq. (2)."""
        r, half = int(self.r), int(self.r) // 2
        c, powers = self._powers(gram, T, r - half)
        (V, a), (W, b) = powers[half], powers[r - half]
        log = _log_sum(np.einsum("ik,ik->k", V, W), a + b, T)

        def derive():
            grown = _grow(gram, powers, c, r - 1)
            return self._adjoint(gram, c, *_pairs(grown, r, c, log - np.log(_share(T))))

        return c, log, derive

    def _eigenvalues(self, gram, T):
        """Return c, log SM and what computes the adjoint; eq. (3)."""
        c = self._normaliser(gram)
        U, mu = gram.spectrum()
        l, e = mu / c, U.T @ T
        phi = l**self.r if self.threshold is None else np.where(l > self.threshold, l, 0)
        log = _log_sum(phi @ e**2, np.zeros(T.shape[1]), T)

        def derive():
            if self.threshold is not None:
                return None
            P, Q = _divided(U, l, e, T - U @ e, self.r)
            return self._adjoint(gram, c, _share(T) / (len(T) * c) * np.exp(-log) * P, Q)

        return c, log, derive

    def warning_for(self, solution):
        """Warn of the printed normaliser."""
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
    def _by_products(self):
        return self.threshold is None and float(self.r).is_integer()

    def _targets(self, Y):
        if not self.weighted:
            return Y
        check_labels(Y, "spectral")
        positive = np.sum(Y > 0, axis=0)
        return np.where(Y > 0, len(Y) / positive, -len(Y) / (len(Y) - positive))

    def _normaliser(self, gram, row_sums=None):
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

    def _powers(self, gram, T, m):
        r"""Return c and the list of :math:`v_0 \dots v_m` as (unit vectors, logarithms of their norms)."""
        k = T.shape[1]
        first = gram.matmul(np.column_stack([T, np.ones(len(T))]) if self.normaliser == "sum" else T)
        c = self._normaliser(gram, first[:, k:] if self.normaliser == "sum" else None)
        return c, _grow(gram, [_unit(T, 0.0), _unit(first[:, :k] / c, 0.0)], c, m)

    def _adjoint(self, gram, c, P, Q):
        """Turn the first term of (2) or (3), divided by SM, into the derivative of -log SM."""
        if self.normaliser == "trace":
            return gram.adjoint(-P, Q, identity=self.r / c)
        if self.normaliser == "frobenius":
            return gram.adjoint(-P, Q, itself=self.r / c**2)
        one = np.ones(gram.n)
        return gram.adjoint(np.column_stack([-P, self.r / c * one]), np.column_stack([Q, one]))


def _share(T):
    return 1.0 if T.shape[1] == 1 else 0.5


def _grow(gram, powers, c, m):
    """Return the powers up to :math:`v_m`."""
    powers = list(powers)
    while len(powers) <= m:
        W, log = powers[-1]
        powers.append(_unit(gram.matmul(W) / c, log))
    return powers


def _unit(W, log):
    norm = np.linalg.norm(W, axis=0)
    if not np.all(np.isfinite(norm)):
        raise Undefined("the Gram matrix has entries that are not finite.")
    norm = np.maximum(norm, np.finfo(float).tiny)
    return W / norm, log + np.log(norm)


def _log_sum(each, logs, T):
    r"""Return the logarithm of the share of :math:`\frac1n \sum_k each_k e^{logs_k}`."""
    if not np.any(each > 0):
        raise Undefined("the spectral measure is zero: under this kernel the classes cannot be told apart.")
    log, sign = logsumexp(logs, b=each * _share(T) / len(T), return_sign=True)
    if sign <= 0:
        raise Undefined("the spectral measure is negative: the Gram matrix is indefinite.")
    return float(log)


def _pairs(powers, r, c, log):
    """Return P and Q of the first term of (2), divided by SM."""
    n = len(powers[0][0])
    P = [powers[j][0] * np.exp(powers[j][1] + powers[r - 1 - j][1] - log) / (n * c) for j in range(r)]
    return np.column_stack(P), np.column_stack([powers[r - 1 - j][0] for j in range(r)])


def _divided(U, l, e, rest, r):
    r"""Return P and Q with :math:`(PQ' + QP')/2 = U[\Phi \circ ee']U'`, null vectors that U lacks (in ``rest``) included."""
    gap, mid = l[:, None] - l, (l[:, None] + l) / 2
    far = np.abs(gap) > CLOSE * mid
    power = l**r
    phi = np.where(far, (power[:, None] - power) / np.where(far, gap, 1), r * mid ** (r - 1))
    return np.column_stack([U, U @ (l[:, None] ** (r - 1) * e)]), np.column_stack(
        [U @ (phi * (e @ e.T)), 2 * rest]
    )
