r"""Kobayashi and Komaki's information criterion for kernel machines, for a logistic model and for Sollich's.

References
----------
.. [1] Kobayashi and Komaki, *Information criteria for kernel machines* (2005), (9), (22), (23) and section 6.
"""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy.special import expit, logsumexp, softmax

from foldless.core.contracts import Reading, Vector
from foldless.criteria.base import Criterion, reads
from foldless.criteria.derivatives.smooth import CovarianceAdjoint, differentiate
from foldless.criteria.derivatives.svm import total_derivative_from_outputs
from foldless.grams.adjoints import add_symmetric
from foldless.machines import SmoothSolution, SquaredHingeSolution, SVMSolution

CERTAIN = 0.5  # leverage above which a linearised leave-one-out says little
WHY_NOT = (
    "it falls to zero as C grows for every kernel that can separate the points, soonest for narrow ones, "
    "so that its minimum over widths or over an unbounded C means nothing"
)


@dataclass(frozen=True)
class KRIC(Criterion):
    r"""Twice the loss plus the trace penalty of Kobayashi and Komaki, for choosing C with a smooth, wide kernel.

    .. math::
        2 \Bigl[ \sum_i v_i \ell_i + \operatorname{pen} \Bigr], \qquad
        \operatorname{pen} = \operatorname{tr}(J^{-1} I) = \sum_i a_i m_i V_{ii} - \tfrac1n a'V a,  \tag{1}

    with :math:`a_i = v_i m_i` and n the total weight. Without its 1/n term the penalty is the first-order
    expansion of the leave-one-out loss in :math:`V_{ii}`. The paper sends the scale of the bias to zero and loses
    the bias; the trace does not depend on that scale, so V here has the bias in it.

    .. math:: \Phi_z = 2 [-a - 2 w \circ m \circ V_{ii} + \tfrac2n w \circ V a], \qquad
              \Phi_V = 2 [\operatorname{diag}(a \circ m) - \tfrac1n a a'].  \tag{2}

    *It collapses.* With a strictly positive definite kernel the criterion goes to 0 as C grows, whatever the
    width: residuals vanish like log(C)/C and nothing guards against certainty. Its global minimum is useless. Use
    it for C alone, in a bounded range, with a kernel of few effective dimensions; a warning says when a point
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
    value_scale: ClassVar[float | None] = 1.0
    name: ClassVar[str] = "kric"
    title: ClassVar[str] = "Information criterion of Kobayashi and Komaki"
    unit: ClassVar[str] = "nats a row"
    may_diverge_in_C: ClassVar[bool] = True

    @property
    def tunes_kernel(self):
        """Whether it may choose a kernel: only when told to."""
        return self.tune_kernel

    @property
    def reason_against(self):
        """Why not, in words."""
        return WHY_NOT

    def warning_for(self, solution):
        """Say when a point determines most of its own output: the criterion is then far too small."""
        return certainty(self.name, self(solution).parts.get("leverage", 0.0))

    @reads(SmoothSolution)
    def _read_smooth(self, solution: SmoothSolution) -> Reading:
        penalty = _Penalty.of(solution, self.bias_in_penalty)
        value = 2 * (solution.loss + penalty.value)

        def derive():  # eq. (2)
            return penalty.differentiate(-2 * solution.a + 2 * penalty.phi_z, 2.0)

        return Reading.lazy(value, derive, penalty.parts(solution.loss), 2 * penalty.n)

    @reads(SVMSolution, SquaredHingeSolution)
    def _read_svm(self, solution) -> Reading:
        y, f = solution.y, solution.theta
        penalty = _penalty_of(self, solution)
        loss = float(np.sum(np.logaddexp(0, -self.eta * y * f)))
        return penalty.reading(solution, loss, -penalty.m, 0.0)


@dataclass(frozen=True)
class KRICSollich(Criterion):
    r"""KRIC with the likelihood of Sollich's model of a support vector machine.

    Twice the sum of the penalty of :class:`KRIC` and, up to the unknown density of the inputs,

    .. math::
        -\log p_S = C \sum_i v_i \xi_i + n \log \frac1n \sum_i v_i
        \bigl[ e^{-C [1 - f_i]_+} + e^{-C [1 + f_i]_+} \bigr], \qquad \xi_i = [1 - y_i f_i]_+.  \tag{3}

    The paper's own tables take the logistic loss for the first sum and the normaliser
    :math:`\nu = \tau(C) [\dots]`, :math:`\tau = 1/(1 + e^{-2C})`, of its (6) in the second: ``form="hybrid"``.

    Parameters
    ----------
    form : {"consistent", "hybrid"}, default="consistent"
        ``"hybrid"`` is there to reproduce the paper: it mixes two likelihoods.
    bias_in_penalty, eta, tune_kernel
        As in :class:`KRIC`.
    """

    form: str = "consistent"
    bias_in_penalty: bool = True
    eta: float = 1.0
    tune_kernel: bool = False
    value_scale: ClassVar[float | None] = 1.0
    name: ClassVar[str] = "kric-sollich"
    title: ClassVar[str] = "Information criterion of Kobayashi and Komaki with Sollich's likelihood"
    unit: ClassVar[str] = "nats a row"
    may_diverge_in_C: ClassVar[bool] = True

    @property
    def tunes_kernel(self):
        """Whether it may choose a kernel: only when told to."""
        return self.tune_kernel

    @property
    def reason_against(self):
        """Why not, in words."""
        return WHY_NOT

    def warning_for(self, solution):
        """Say when a point determines most of its own output: the criterion is then far too small."""
        return certainty(self.name, self(solution).parts.get("leverage", 0.0))

    def __post_init__(self):
        if self.form not in ("consistent", "hybrid"):
            raise ValueError(f"form must be 'consistent' or 'hybrid', got {self.form!r}.")

    @reads(SmoothSolution)
    def _read_smooth(self, solution: SmoothSolution) -> Reading:
        penalty = _Penalty.of(solution, self.bias_in_penalty)
        cost = sollich(solution.y, solution.z, solution.C, solution.v)
        if self.form == "hybrid":
            value, by_z, by_C = (
                solution.loss + cost.normaliser,
                cost.normaliser_z - solution.a,
                cost.normaliser_C,
            )
        else:
            value, by_z, by_C = cost.value, cost.by_z, cost.by_C

        def derive():
            adjoint, slope = penalty.differentiate(2 * by_z + 2 * penalty.phi_z, 2.0)
            return adjoint, slope + 2 * by_C

        return Reading.lazy(2 * (value + penalty.value), derive, penalty.parts(value), 2 * penalty.n)

    @reads(SVMSolution, SquaredHingeSolution)
    def _read_svm(self, solution) -> Reading:
        penalty = _penalty_of(self, solution)
        cost = sollich(solution.y, solution.theta, solution.machine.C)
        if self.form == "consistent":
            return penalty.reading(solution, cost.value, cost.by_z, cost.by_C)
        loss = cost.normaliser + float(np.sum(np.logaddexp(0, -self.eta * solution.y * solution.theta)))
        return penalty.reading(solution, loss, cost.normaliser_z - penalty.m, cost.normaliser_C)


def _penalty_of(criterion, solution):
    """The penalty at the outputs of a support vector machine."""
    bias = solution.bias and criterion.bias_in_penalty
    return OutputPenalty.of(
        solution.gram, solution.y, solution.theta, solution.machine.C, criterion.eta, bias
    )


@dataclass(frozen=True, eq=False)
class _Penalty:
    """The trace of eq. (1) and its derivatives (2), half of them: the factor 2 is the criterion's."""

    solution: SmoothSolution
    factor: object
    m: np.ndarray
    V: np.ndarray
    Va: np.ndarray

    @classmethod
    def of(cls, solution, bias):
        own = solution.machine.bias and not bias
        factor = solution.gram.factor(solution.C * solution.w, False) if own else solution.factor
        m = -solution.machine.loss.derivatives(solution.y, solution.z)[0]
        C = solution.C
        return cls(solution, factor, m, C * factor.covariance_diag(), C * factor.covariance(solution.a))

    @property
    def n(self):
        return self.solution.v.sum()

    @property
    def value(self):
        a = self.solution.a
        return float((a * self.m) @ self.V - a @ self.Va / self.n)

    @property
    def leverage(self):
        return float(np.max(self.solution.w * self.V))

    @property
    def phi_z(self):
        w = self.solution.w
        return -2 * w * self.m * self.V + 2 / self.n * w * self.Va

    def differentiate(self, phi_z, scale):
        a = self.solution.a
        bend = CovarianceAdjoint(scale * a * self.m, a[:, None], np.array([-scale / self.n]))
        return differentiate(self.solution, phi_z, bend, factor=self.factor)

    def parts(self, loss):
        return {"loss": loss, "penalty": self.value, "leverage": self.leverage}


def certainty(name, leverage):
    """Return a warning where a point determines most of its own output, or nothing."""
    if not leverage > CERTAIN:
        return ""
    return (
        f"{name} chose a fit in which a point has leverage {leverage:.2f} (above {CERTAIN}). There it is too small: "
        "it falls to zero as C grows. Bound C, widen the kernel, or use criterion='loo'."
    )


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

    factor: Any
    m: Vector
    T: Vector
    bend: Vector  # derivative of T in f
    lam: float

    @classmethod
    def of(cls, gram, y, f, C, eta=1.0, bias=True):
        """Return the penalty at outputs f."""
        up, down = expit(eta * f), expit(-eta * f)
        T, lam = eta**2 * up * down, eta / C
        return cls(gram.factor(T / lam, bias), eta * y * expit(-eta * y * f), T, eta * T * (down - up), lam)

    @property
    def value(self):
        """Eq. (4)."""
        m = self.m
        return float(
            (m**2 @ self.factor.covariance_diag() - m @ self.factor.covariance(m) / len(m)) / self.lam
        )

    @property
    def leverage(self):
        """The largest share that a point has in its own output."""
        return float(np.max(self.factor.w * self.factor.covariance_diag()))

    def reading(self, solution, loss, loss_z, loss_C):
        """Return twice loss plus penalty at the outputs of ``solution``, with total derivatives."""

        def derive():
            phi, adjoint, slope = self.derivatives()
            adjoint, slope = total_derivative_from_outputs(
                solution, 2 * (loss_z + phi), adjoint * 2.0, 2 * (slope + loss_C)
            )
            return adjoint, np.array([slope])

        penalty = self.value
        parts = {"loss": loss, "penalty": penalty, "leverage": self.leverage}
        return Reading.lazy(2 * (loss + penalty), derive, parts, 2 * solution.n)

    def derivatives(self):
        """Return the explicit derivatives in the outputs, in K and in log C; eq. (5)."""
        factor, m, n, lam = self.factor, self.m, len(self.m), self.lam
        Vm = factor.covariance(m)
        S = factor.sandwich(m**2) - Vm**2 / n
        phi = -2 * self.T * (m * factor.covariance_diag() - Vm / n) / lam - S * self.bend / lam**2
        h = m - factor.w * Vm
        adjoint = add_symmetric(factor.congruence(m**2 / lam), -h[:, None] / (n * lam), h[:, None])
        return phi, adjoint, self.value - float(S @ factor.w) / lam


def kric_penalty(gram, y, f, C, eta=1.0, bias=True):
    """Penalty of the logistic model with slope eta at given outputs ``f``; see :class:`OutputPenalty`."""
    return OutputPenalty.of(gram, y, f, C, eta, bias).value


def kric_at_outputs(gram, y, f, C, eta=1.0, bias=True):
    """KRIC of the logistic model at given outputs ``f``, which may come from anywhere: so without a derivative."""
    loss, penalty = float(np.sum(np.logaddexp(0, -eta * y * f))), kric_penalty(gram, y, f, C, eta, bias)
    return Reading(
        2 * (loss + penalty), parts={"loss": loss, "penalty": penalty}, divisor=2 * len(y)
    ).per_row()


def kric_sollich_at_outputs(gram, y, f, C, eta=1.0, bias=True, form="consistent"):
    """KRIC of Sollich's model at given outputs ``f``, which may come from anywhere: so without a derivative."""
    cost, penalty = sollich(y, f, C), kric_penalty(gram, y, f, C, eta, bias)
    loss = cost.value
    if form == "hybrid":
        loss = cost.normaliser + float(np.sum(np.logaddexp(0, -eta * y * f)))
    return Reading(
        2 * (loss + penalty), parts={"loss": loss, "penalty": penalty}, divisor=2 * len(y)
    ).per_row()


@dataclass(frozen=True, eq=False)
class SollichCost:
    """Minus the log likelihood (3), the paper's normaliser, and their derivatives in the outputs and in log C."""

    value: float
    by_z: np.ndarray
    by_C: float
    normaliser: float  # n log mean nu, with tau
    normaliser_z: np.ndarray
    normaliser_C: float


def sollich(y, f, C, v=None):
    """Likelihood of Sollich's model at outputs ``f``; eq. (3)."""
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
