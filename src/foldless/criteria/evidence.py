r"""Minus the logarithm of the evidence: how probable the targets are before the fit."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from foldless.core.contracts import Adjoint, Machine, Reading, Vector
from foldless.core.errors import Undefined
from foldless.criteria.base import AMPLITUDE_BOUNDS, Criterion, reads
from foldless.criteria.derivatives.smooth import laplace_evidence
from foldless.criteria.derivatives.svm import implicit_step
from foldless.criteria.posteriors.ep import expectation_propagation
from foldless.criteria.posteriors.sites import SITES
from foldless.grams.adjoints import add_symmetric, embed
from foldless.machines import SmoothMachine
from foldless.machines.columnwise import ColumnwiseSolutions
from foldless.machines.lssvm import LSSVMSolution
from foldless.machines.ridge import RidgeSolution
from foldless.machines.smooth import SmoothSolution
from foldless.machines.svm import SquaredHingeSolution, SupportSolution, SVMSolution

# By this many nats per row the Laplace evidence exceeds that of expectation propagation at its false maximum.
FALSE_MAXIMUM_EXCESS = 0.15
# Largest amplitudes, by the power of the loss, at which it has no false maximum while C is below 100.
AMPLITUDE_MAX_BY_POWER = {1: 3.0, 2: 50.0}
# Prior variance of a free bias where a proper prior is needed, in mean diagonals of K.
BIAS_VARIANCE_FACTOR = 100.0


@dataclass(frozen=True)
class Evidence(Criterion):
    r"""Minus the logarithm of the evidence, in nats per row: the formulas (1) over 2 n, (3) and Laplace's over n, (4) as it is.

    *LS-SVM*: minus twice the restricted log likelihood, the noise variance profiled out. With a bias

    .. math:: (n-1) \ln\frac{2\pi\, y'\alpha}{n-1} + (n-1) + \ln\det(K + \lambda V^{-1}) + \ln(1'A_v1) - \ln n,  \tag{1}

    .. math:: \frac{d}{dK} = \tilde A - (n-1)\, \frac{\alpha \alpha'}{y'\alpha};  \tag{2}

    without one, n for n - 1 and no terms with 1. Several columns give the mean of their values.

    *Ridge*: exact, with the noise variance profiled, the mean over outputs; half of ABIC, with no constant between
    them (with an intercept both are the restricted likelihood),

    .. math:: \tfrac{n}{2} \ln(2\pi\, y'Ry/n) + \tfrac n2 - \tfrac12 \ln\det R.  \tag{3}

    *Smooth machines*: Laplace's approximation around the fit, see
    :func:`foldless.criteria.derivatives.smooth.laplace_evidence`; n is the total weight of the rows. A flat prior on the
    bias is improper: on separable data the cost then falls without bound as C grows, and only nearby fits should be
    compared by it.

    *Support vector machines* [1]_: minus

    .. math:: E = \frac1n \Bigl[ -F + \sum_i \ln\kappa(C_i) - \tfrac12 \ln\det(I + D K_{FF}) \Bigr]  \tag{4}

    with F the free set in the determinant and :math:`D_i = 2\pi[\alpha_i (C_i - \alpha_i) / C_i]^2` (hinge),
    :math:`D_i = C_i e^{-a C_i / \alpha_i}` (squared hinge). A free bias has a flat prior: the determinant is then
    the limit of a wide offset, with :math:`-\ln 2\pi`. With V and A of the factor of
    :math:`I + \sqrt D K \sqrt D`,

    .. math:: n\,G = \tfrac12 \beta\beta' - \tfrac12 A_{FF}, \qquad
              n\,g_C = \sum_i C_i (\kappa'/\kappa - \ell_i) -
              \tfrac12 \sum_F V_{ii} \frac{\partial D_i}{\partial\ln C}, \qquad
              n\,q_i = -\tfrac12 V_{ii} \frac{\partial D_i}{\partial\alpha_i}  \tag{5}

    before the implicit step. **It has a false global maximum**: for large amplitudes and short length scales all
    alphas vanish, the determinant with them, and E goes to 0 although the truth is :math:`-\ln 2`. For points that do not
    see each other, :math:`K = k_0 I`, it stays below -0.56 (hinge) and -0.69 (squared, a = 0.001, C up to 100) while
    :math:`k_0` is at most 3 and 50: ``KernelSVC`` bounds the amplitude there. That helps, but does not save the hinge where the
    truth is below -0.56 too; the chosen fit is compared with ``evidence-ep``, and you are warned. With a kernel of your own
    bound the amplitude yourself, keep ``a`` small, or use ``evidence-ep``, which costs little more and has no such maximum.

    Parameters
    ----------
    bias_prior : float, optional
        Standard deviation of a normal prior on the bias of a smooth machine; ``None`` is flat.
    a : float, default=0.001
        Softening of the squared hinge's determinant; 0.1 in [1]_, where it is too large.

    References
    ----------
    .. [1] Gold and Sollich, *Model selection for support vector machine classification*, (14)-(17).
    """

    bias_prior: float | None = 10.0
    a: float = 1e-3

    value_scale: ClassVar[float | None] = 1.0
    name: ClassVar[str] = "evidence"
    title: ClassVar[str] = "Minus the log evidence"
    unit: ClassVar[str] = "nats per row"
    needs_amplitude: ClassVar[bool] = True

    def amplitude_bounds(self, loss_power: int) -> tuple[float, float]:
        """Return a range of the amplitude below its false maximum."""
        return AMPLITUDE_BOUNDS[0], AMPLITUDE_MAX_BY_POWER[loss_power]

    def nats_per_unit(self, machine: Machine, n: int, k: int) -> float:
        """Return the number of rows times k: the value is the mean over both."""
        return k * rows_counted(machine, n)

    def warning_for(self, solution: Any) -> str:
        """Return a warning if expectation propagation finds far less evidence for a support vector machine."""
        columns = solution.columns if isinstance(solution, ColumnwiseSolutions) else (solution,)
        if not isinstance(columns[0], SupportSolution):
            return super().warning_for(solution)
        try:
            excess = float(np.mean([-self(column).value - _log_evidence_by_ep(column) for column in columns]))
        except Undefined as error:
            return (
                f"the Laplace evidence at the chosen point could not be checked against expectation propagation: {error} "
                "It may be its false maximum. Use criterion='evidence-ep', or bound the amplitude."
            )
        if excess < FALSE_MAXIMUM_EXCESS:
            return ""
        return (
            f"the Laplace evidence at the chosen point is {excess:.2f} nats per row above that of expectation propagation: "
            "this is its false maximum at large amplitudes. Use criterion='evidence-ep', or bound the amplitude."
        )

    @reads(LSSVMSolution)
    def _read_lssvm(self, solution: LSSVMSolution) -> Reading:
        factor, alpha, bias = solution.factor, solution.alpha, solution.machine.bias
        n, k = solution.row_counts.sum(), alpha.shape[1]
        m = n - bias
        q = np.einsum("ik,ik->k", solution.Y, alpha)
        counts_term = solution.row_counts @ np.log(factor.w / solution.row_counts)
        logdet = factor.logdet() - counts_term - bias * np.log(n)
        value = float(np.mean(m * np.log(2 * np.pi * q / m)) + m + logdet)  # eq. (1)

        def derive() -> tuple[Adjoint, Vector]:
            adjoint = add_symmetric(factor.resolvent(), -m / k * alpha / q, alpha)  # eq. (2)
            return adjoint, np.array([solution.gram.inner(adjoint)])

        return Reading.lazy(value, derive, divisor=2 * n)

    @reads(SmoothSolution)
    def _read_smooth(self, solution: SmoothSolution) -> Reading:
        evidence = laplace_evidence(solution, self.bias_prior)
        return Reading.lazy(evidence.value, evidence.derive, divisor=solution.v.sum())

    @reads(RidgeSolution)
    def _read_ridge(self, solution: RidgeSolution) -> Reading:
        deviance, slope, M = solution.deviance()
        return Reading(
            deviance / 2,  # eq. (3)
            lambda: solution.adjoint(0.5 * M),
            lambda: solution.slope_along_alpha(slope / 2),
            {"sigma2": float(solution.variances().mean()), "df": solution.df},
            solution.size,
        )

    @reads(SVMSolution)
    def _read_hinge(self, solution: SVMSolution) -> Reading:
        alpha, C = solution.alpha[solution.free], solution.C[solution.free]
        room = alpha * (C - alpha) / C
        in_alpha = 4 * np.pi * room * (C - 2 * alpha) / C
        in_C = 4 * np.pi * room * alpha**2 / C
        return _svm_reading(solution, 2 * np.pi * room**2, in_alpha, in_C)

    @reads(SquaredHingeSolution)
    def _read_squared_hinge(self, solution: SquaredHingeSolution) -> Reading:
        alpha, C = solution.alpha[solution.free], solution.C[solution.free]
        D = C * np.exp(-self.a * C / alpha)
        return _svm_reading(solution, D, D * self.a * C / alpha**2, D * (1 - self.a * C / alpha))


def rows_counted(machine: Machine, n: int) -> float:
    """Return the number of rows that a likelihood counts: the weights of a smooth machine, else copies of rows."""
    counts = machine.weights if isinstance(machine, SmoothMachine) else machine.row_counts
    return float(n if counts is None else np.sum(np.asarray(counts)))


def _log_evidence_by_ep(solution: SupportSolution) -> float:
    """Return the log evidence per row by expectation propagation.

    A free bias gets a wide normal prior, and the logarithm of its density is taken out again.
    """
    gram, constant = solution.gram, 0.0
    if solution.bias:
        variance = BIAS_VARIANCE_FACTOR * float(np.mean(gram.diag()))
        gram, constant = gram.shifted(variance), 0.5 * np.log(2 * np.pi * variance)
    site = SITES[solution.loss.power](solution.C)
    log_z = expectation_propagation(gram, solution.y, site, tolerance=1e-4).log_z
    return float((log_z + constant + solution.loss.log_kappa(solution.C)[0].sum()) / solution.n)


def _svm_reading(solution: SupportSolution, D: Vector, in_alpha: Vector, in_C: Vector) -> Reading:
    """Return minus (4) from the curvatures D of the free points, and (5) from their derivatives in alpha and log C."""
    n, C = solution.n, solution.C
    # A smaller sum has lost its digits to underflow, and its inverse overflows.
    if solution.bias and D.sum() < np.finfo(float).tiny / np.finfo(float).eps:
        raise Undefined(
            "no support vector is on the margin, inside its bounds: with a free bias the Laplace evidence is not defined."
        )
    factor = solution.gram.subset(solution.free).factor(D, solution.bias) if solution.free.size else None
    kappa, dkappa = solution.loss.log_kappa(C)
    at_mode = -solution.F + kappa.sum()
    logdet = 0.0 if factor is None else factor.logdet() - (np.log(2 * np.pi) if solution.bias else 0.0)
    E = float(at_mode - logdet / 2) / n

    def derive() -> tuple[Adjoint, Vector]:
        beta = solution.beta[:, None]
        G = add_symmetric(solution.gram.diagonal(np.zeros(n)), beta / 2, beta)
        slope = float(C @ dkappa - solution.losses)
        if factor is not None:
            V = factor.covariance_diag()
            G = G + embed(factor.resolvent(), solution.free, n) * (-0.5)
            G, slope = implicit_step(solution, G, slope - float(V @ in_C) / 2, -V * in_alpha / 2)
        return G * (-1 / n), np.array([-slope / n])

    return Reading.lazy(-E, derive, {"log_evidence": E, "at_mode": float(at_mode / n)})
