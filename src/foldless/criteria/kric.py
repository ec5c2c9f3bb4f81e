r"""Kobayashi and Komaki's information criterion for kernel machines, for a logistic model and for Sollich's.

References
----------
.. [1] Kobayashi and Komaki, *Information criteria for kernel machines* (2005), (9), (22), (23) and section 6.
"""

from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from scipy.special import expit, logsumexp, softmax

from foldless.core.contracts import Adjoint, Gram, Reading, Vector
from foldless.core.errors import Undefined
from foldless.core.gram import Factor
from foldless.criteria.base import Criterion, reads
from foldless.criteria.derivatives.smooth import CovarianceAdjoint, differentiate
from foldless.criteria.derivatives.svm import total_derivative_from_outputs
from foldless.grams.adjoints import add_symmetric
from foldless.machines.smooth import SmoothSolution
from foldless.machines.svm import SquaredHingeSolution, SupportSolution, SVMSolution

# Leverage above which a linearised leave-one-out is too inaccurate.
LEVERAGE_MAX = 0.5
REASON_AGAINST_KERNELS = (
    "it falls to zero as C grows for every kernel that can separate the points, soonest for narrow ones, "
    "so that its minimum over widths or over an unbounded C means nothing"
)


class _TracePenalised(Criterion):
    """What KRIC and its variant share: a penalty that vanishes as C grows, and what that forbids."""

    bias_in_penalty: bool
    eta: float
    tune_kernel: bool
    unit: ClassVar[str] = "nats per row"
    may_diverge_in_C: ClassVar[bool] = True

    @property
    def tunes_kernel(self) -> bool:
        """Whether it may choose a kernel: only if ``tune_kernel`` says so."""
        return self.tune_kernel

    @property
    def reason_against(self) -> str:
        """Why it must not choose a kernel."""
        return REASON_AGAINST_KERNELS

    def warning_for(self, solution: Any) -> str:
        """Return a warning if a point determines most of its own output: the criterion is then far too small."""
        leverage = self(solution).parts["leverage"]
        if not leverage > LEVERAGE_MAX:
            return ""
        return (
            f"{self.name} chose a fit in which a point has leverage {leverage:.2f} (above {LEVERAGE_MAX}). There it is too "
            "small: it falls to zero as C grows. Bound C, widen the kernel, or use criterion='loo'."
        )

    def _output_penalty(self, solution: SupportSolution) -> "OutputPenalty":
        """Return the penalty at the outputs of a support vector machine."""
        bias = solution.bias and self.bias_in_penalty
        return OutputPenalty.of(solution.gram, solution.y, solution.theta, solution.machine.C, self.eta, bias)


@dataclass(frozen=True)
class KRIC(_TracePenalised):
    r"""Twice the loss plus the trace penalty of Kobayashi and Komaki, for choosing C with a smooth, wide kernel.

    .. math::
        2 \Bigl[ \sum_i v_i \ell_i + \operatorname{pen} \Bigr], \qquad
        \operatorname{pen} = \operatorname{tr}(J^{-1} I) = \sum_i a_i m_i V_{ii} - \tfrac1n a'V a,  \tag{1}

    with :math:`a_i = v_i m_i` and n the total weight. The value is (1) divided by 2 n: nats per row. Without its 1/n term
    the penalty is the first-order expansion of the leave-one-out loss in :math:`V_{ii}`. The paper sends the scale of the bias to zero and loses
    the bias; the trace does not depend on that scale, so V here has the bias in it.

    .. math:: \Phi_z = 2 [-a - 2 w \circ m \circ V_{ii} + \tfrac2n w \circ V a], \qquad
              \Phi_V = 2 [\operatorname{diag}(a \circ m) - \tfrac1n a a'].  \tag{2}

    *It collapses.* With a strictly positive definite kernel the criterion goes to 0 as C grows, whatever the
    width: residuals vanish like log(C)/C and nothing penalises certainty. Its global minimum is useless. Use
    it for C alone, in a bounded range, with a kernel of few effective dimensions. You are warned if a point
    determines more than half of its own output.

    Parameters
    ----------
    bias_in_penalty : bool, default=True
        ``False`` is the paper's (22): the covariance of the model without a bias, at the outputs of the one with.
    eta : float, default=1.0
        Slope of the logistic model at the outputs of a machine that is not logistic (:func:`kric_at_outputs`).
    tune_kernel : bool, default=False
        Let it choose kernel parameters in spite of the above.
    """

    bias_in_penalty: bool = True
    eta: float = 1.0
    tune_kernel: bool = False
    name: ClassVar[str] = "kric"
    title: ClassVar[str] = "Information criterion of Kobayashi and Komaki"

    @reads(SmoothSolution)
    def _read_smooth(self, solution: SmoothSolution) -> Reading:
        penalty = _Penalty.of(solution, self.bias_in_penalty)
        value = 2 * (solution.loss + penalty.value)

        def derive() -> tuple[Adjoint, Vector]:  # eq. (2)
            return penalty.differentiate(-2 * solution.a + 2 * penalty.phi_z, 2.0)

        return Reading.lazy(value, derive, penalty.parts(solution.loss), 2 * penalty.n)

    @reads(SVMSolution, SquaredHingeSolution)
    def _read_svm(self, solution: SVMSolution | SquaredHingeSolution) -> Reading:
        penalty = self._output_penalty(solution)
        loss = logistic_loss(solution.y, solution.theta, self.eta)
        return penalty.reading(solution, loss, -penalty.m, 0.0)


@dataclass(frozen=True)
class KRICSollich(_TracePenalised):
    r"""KRIC with the likelihood of Sollich's model of a support vector machine.

    The value, in nats per row, is the mean over the rows of the penalty of :class:`KRIC` plus, up to the unknown density of
    the inputs,

    .. math::
        -\log p_S = C \sum_i v_i \xi_i + n \log \frac1n \sum_i v_i
        \bigl[ e^{-C [1 - f_i]_+} + e^{-C [1 + f_i]_+} \bigr], \qquad \xi_i = [1 - y_i f_i]_+.  \tag{3}

    The paper's own tables take the logistic loss for the first sum and the normaliser
    :math:`\nu = \tau(C) [\dots]`, :math:`\tau = 1/(1 + e^{-2C})`, of its (6) in the second: ``form="hybrid"``.

    Parameters
    ----------
    form : {"consistent", "hybrid"}, default="consistent"
        ``"hybrid"`` mixes two likelihoods, as the paper does, and serves to reproduce it.
    bias_in_penalty, eta, tune_kernel
        As in :class:`KRIC`.
    """

    form: str = "consistent"
    bias_in_penalty: bool = True
    eta: float = 1.0
    tune_kernel: bool = False
    name: ClassVar[str] = "kric-sollich"
    title: ClassVar[str] = "Information criterion of Kobayashi and Komaki with Sollich's likelihood"
    value_scale: ClassVar[float | None] = 1.0

    def __post_init__(self) -> None:
        if self.form not in ("consistent", "hybrid"):
            raise ValueError(f"form must be 'consistent' or 'hybrid', got {self.form!r}.")

    @reads(SmoothSolution)
    def _read_smooth(self, solution: SmoothSolution) -> Reading:
        if not solution.machine.loss.labels:
            raise Undefined("kric-sollich is a model of classes; this loss has none. Use criterion='loo'.")
        penalty = _Penalty.of(solution, self.bias_in_penalty)
        cost = sollich(solution.y, solution.z, solution.C, solution.v)
        loss, by_z, by_C = cost.value, cost.by_z, cost.by_C
        if self.form == "hybrid":
            loss, by_z = solution.loss + cost.normaliser, cost.normaliser_z - solution.a
            by_C = cost.normaliser_C

        def derive() -> tuple[Adjoint, Vector]:
            adjoint, slope = penalty.differentiate(2 * by_z + 2 * penalty.phi_z, 2.0)
            return adjoint, slope + 2 * by_C

        return Reading.lazy(2 * (loss + penalty.value), derive, penalty.parts(loss), 2 * penalty.n)

    @reads(SVMSolution, SquaredHingeSolution)
    def _read_svm(self, solution: SVMSolution | SquaredHingeSolution) -> Reading:
        penalty = self._output_penalty(solution)
        cost = sollich(solution.y, solution.theta, solution.machine.C)
        if self.form == "consistent":
            return penalty.reading(solution, cost.value, cost.by_z, cost.by_C)
        loss = cost.normaliser + logistic_loss(solution.y, solution.theta, self.eta)
        return penalty.reading(solution, loss, cost.normaliser_z - penalty.m, cost.normaliser_C)


@dataclass(frozen=True, eq=False)
class _Penalty:
    """The trace of eq. (1), and half of its derivatives (2): the factor 2 is the criterion's."""

    solution: SmoothSolution
    factor: Factor
    m: Vector
    V: Vector
    Va: Vector

    @classmethod
    def of(cls, solution: SmoothSolution, bias: bool) -> Self:
        """Return the penalty with the covariance of the model with a bias, or of the one without."""
        drops_bias = solution.machine.bias and not bias
        factor = solution.gram.factor(solution.C * solution.w, False) if drops_bias else solution.factor
        m = -solution.machine.loss.derivatives(solution.y, solution.z)[0]
        C = solution.C
        return cls(solution, factor, m, C * factor.covariance_diag(), C * factor.covariance(solution.a))

    @property
    def n(self) -> float:
        """Total weight of the rows."""
        return float(self.solution.v.sum())

    @property
    def value(self) -> float:
        """The trace of eq. (1)."""
        a = self.solution.a
        return float((a * self.m) @ self.V - a @ self.Va / self.n)

    @property
    def phi_z(self) -> Vector:
        """Derivative of the trace in the outputs at a fixed covariance."""
        w = self.solution.w
        return -2 * w * self.m * self.V + 2 / self.n * w * self.Va

    def differentiate(self, phi_z: Vector, scale: float) -> tuple[Adjoint, Vector]:
        """Return total derivatives from one in the outputs and ``scale`` times that of the trace in the covariance."""
        a = self.solution.a
        phi_V = CovarianceAdjoint(scale * a * self.m, a[:, None], np.array([-scale / self.n]))
        return differentiate(self.solution, phi_z, phi_V, factor=self.factor)

    def parts(self, loss: float) -> dict[str, float]:
        """Return the parts of the reading."""
        leverage = float(np.max(self.solution.w * self.V))
        return {"loss": loss, "penalty": self.value, "leverage": leverage}


@dataclass(frozen=True, eq=False)
class OutputPenalty:
    r"""Penalty of the logistic model with slope eta at given outputs, for instance those of an SVM.

    .. math:: \frac1\lambda \langle P, V \rangle, \qquad P = \operatorname{diag}(m^2) - \tfrac1n m m', \qquad
              V = (K^{-1} + W)^{-1}, \qquad W = T / \lambda, \qquad \lambda = \eta / C,  \tag{4}

    with :math:`m_i = \eta y_i \sigma(-\eta y_i f_i)`, :math:`T_{ii} = \eta^2 \sigma(\eta f_i) \sigma(-\eta f_i)`; with
    a bias the limit of V for a constant that is not penalised. This lambda gives the hinge and the logistic loss
    the same slope far on the wrong side. With :math:`S = V P V` and :math:`H = I - V W`,

    .. math:: \lambda \frac{d}{df} = -2 T \circ (m \circ V_{ii} - \tfrac1n V m) - \tfrac1\lambda S_{ii} T', \qquad
              \lambda \frac{d}{dK} = H'PH, \qquad
              \frac{d}{d\ln C} = \text{(4)} - \tfrac1\lambda \sum_i S_{ii} W_i.  \tag{5}
    """

    factor: Factor
    m: Vector
    T: Vector
    dT: Vector  # derivative of T in f
    lam: float

    @classmethod
    def of(cls, gram: Gram, y: Vector, f: Vector, C: float, eta: float = 1.0, bias: bool = True) -> Self:
        """Return the penalty at outputs f."""
        up, down = expit(eta * f), expit(-eta * f)
        T, lam = eta**2 * up * down, eta / C
        return cls(gram.factor(T / lam, bias), eta * y * expit(-eta * y * f), T, eta * T * (down - up), lam)

    @property
    def value(self) -> float:
        """Eq. (4)."""
        m, V, Vm = self.m, self.factor.covariance_diag(), self.factor.covariance(self.m)
        return float((m**2 @ V - m @ Vm / len(m)) / self.lam)

    def parts(self, loss: float) -> dict[str, float]:
        """Return the parts of the reading."""
        leverage = float(np.max(self.factor.w * self.factor.covariance_diag()))
        return {"loss": loss, "penalty": self.value, "leverage": leverage}

    def reading(self, solution: SupportSolution, loss: float, loss_z: Vector, loss_C: float) -> Reading:
        """Return twice the loss plus twice the penalty at the outputs of ``solution``, with total derivatives.

        Parameters
        ----------
        solution : SupportSolution
        loss, loss_z, loss_C : float, array of shape (n,), float
            The loss, and its derivatives in the outputs and in log C.
        """

        def derive() -> tuple[Adjoint, Vector]:
            phi, adjoint, slope = self.derivatives()
            adjoint, slope = total_derivative_from_outputs(
                solution, 2 * (loss_z + phi), adjoint * 2.0, 2 * (slope + loss_C)
            )
            return adjoint, np.array([slope])

        return Reading.lazy(2 * (loss + self.value), derive, self.parts(loss), 2 * solution.n)

    def derivatives(self) -> tuple[Vector, Adjoint, float]:
        """Return the explicit derivatives in the outputs, in K and in log C; eq. (5)."""
        factor, m, n, lam = self.factor, self.m, len(self.m), self.lam
        Vm = factor.covariance(m)
        S = factor.sandwich(m**2) - Vm**2 / n
        phi = -2 * self.T * (m * factor.covariance_diag() - Vm / n) / lam - S * self.dT / lam**2
        h = m - factor.w * Vm
        adjoint = add_symmetric(factor.congruence(m**2 / lam), -h[:, None] / (n * lam), h[:, None])
        return phi, adjoint, self.value - float(S @ factor.w) / lam


def logistic_loss(y: Vector, f: Vector, eta: float = 1.0) -> float:
    """Return minus the log likelihood of a logistic model with slope eta at outputs ``f``."""
    return float(np.sum(np.logaddexp(0, -eta * y * f)))


def kric_at_outputs(
    gram: Gram, y: Vector, f: Vector, C: float, eta: float = 1.0, bias: bool = True
) -> Reading:
    """Return KRIC of the logistic model at outputs ``f`` of any origin, and therefore without a derivative."""
    return _at_outputs(OutputPenalty.of(gram, y, f, C, eta, bias), logistic_loss(y, f, eta))


def kric_sollich_at_outputs(
    gram: Gram,
    y: Vector,
    f: Vector,
    C: float,
    eta: float = 1.0,
    bias: bool = True,
    form: str = "consistent",
) -> Reading:
    """Return KRIC of Sollich's model at outputs ``f`` of any origin, and therefore without a derivative."""
    cost = sollich(y, f, C)
    loss = cost.normaliser + logistic_loss(y, f, eta) if form == "hybrid" else cost.value
    return _at_outputs(OutputPenalty.of(gram, y, f, C, eta, bias), loss)


def _at_outputs(penalty: OutputPenalty, loss: float) -> Reading:
    n = len(penalty.m)
    return Reading(2 * (loss + penalty.value), parts=penalty.parts(loss), divisor=2 * n).per_row()


@dataclass(frozen=True, eq=False)
class SollichCost:
    """Minus the log likelihood (3), the paper's normaliser, and their derivatives in the outputs and in log C."""

    value: float
    by_z: Vector
    by_C: float
    normaliser: float  # n log mean nu, with tau
    normaliser_z: Vector
    normaliser_C: float


def sollich(y: Vector, f: Vector, C: float, v: Vector | None = None) -> SollichCost:
    """Return minus the log likelihood of Sollich's model at outputs ``f``; eq. (3)."""
    v = np.ones(len(y)) if v is None else v
    n, slack = v.sum(), np.maximum(0, 1 - y * f)
    gaps = np.stack([np.maximum(0, 1 - f), np.maximum(0, 1 + f)])
    log_mean = logsumexp(-C * gaps, b=v / n)
    p = softmax(-C * gaps + np.log(np.where(v > 0, v, np.finfo(float).tiny)))
    by_z = n * C * (p[0] * (f < 1) - p[1] * (f > -1))
    by_C = -n * C * float(np.sum(p * gaps))
    hinge, tau = C * float(v @ slack), -np.log1p(np.exp(-2 * C))
    return SollichCost(
        float(hinge + n * log_mean),
        -C * v * y * (y * f < 1) + by_z,
        hinge + by_C,
        float(n * (log_mean + tau)),
        by_z,
        by_C + n * 2 * C * float(expit(-2 * C)),
    )
