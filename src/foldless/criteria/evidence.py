r"""Minus (twice) the logarithm of the evidence: how probable the targets are before the fit."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from foldless.core.contracts import Machine, Reading
from foldless.core.errors import Undefined
from foldless.criteria.base import Criterion, reads
from foldless.criteria.derivatives.smooth import laplace_evidence
from foldless.criteria.derivatives.svm import implicit_step
from foldless.criteria.posteriors.ep import HingeSite, SquaredHingeSite, expectation_propagation
from foldless.grams.adjoints import add_symmetric, embed
from foldless.machines import (
    LSSVMSolution,
    RidgeSolution,
    SmoothMachine,
    SmoothSolution,
    SquaredHingeSolution,
    SVMSolution,
)

TOO_GOOD = 0.15  # excess of the Laplace evidence, in nats per point, that gives its false maximum away
SAFE_AMPLITUDES = {
    1: 3.0,
    2: 50.0,
}  # amplitudes, by the power of the loss, up to which it has no false maximum while C is below 100
WIDE = 100.0  # prior variance of a free bias where one is needed, in mean diagonals


@dataclass(frozen=True)
class Evidence(Criterion):
    r"""Minus the logarithm of the evidence, as a cost.

    *LS-SVM*: minus twice the restricted log likelihood, the noise variance profiled out. With a bias

    .. math:: (n-1) \ln\frac{2\pi\, y'\alpha}{n-1} + (n-1) + \ln\det(K + \lambda V^{-1}) + \ln(1'A_v1) - \ln n,  \tag{1}

    .. math:: \frac{d}{dK} = \tilde A - (n-1)\, \frac{\alpha \alpha'}{y'\alpha};  \tag{2}

    without one, n for n - 1 and no terms with 1. Several columns give the mean of their values.

    *Ridge*: exact, with the noise variance profiled, the mean over outputs; half of ABIC, with no constant between
    them (with an intercept both are the restricted likelihood),

    .. math:: \tfrac{n}{2} \ln(2\pi\, y'Ry/n) + \tfrac n2 - \tfrac12 \ln\det R.  \tag{3}

    *Smooth machines*: Laplace's approximation around the fit, see
    :func:`foldless.criteria.derivatives.smooth.laplace_evidence`. A flat prior on the bias is improper: on separable data the cost
    then falls without bound as C grows, and only nearby fits should be compared by it.

    *Support vector machines*, per point [1]_: minus

    .. math:: E = \frac1n \Bigl[ -F + \sum_i \ln\kappa(C_i) - \tfrac12 \ln\det(I + D K_{FF}) \Bigr]  \tag{3}

    with F the free set in the determinant and :math:`D_i = 2\pi[\alpha_i (C_i - \alpha_i) / C_i]^2` (hinge),
    :math:`D_i = C_i e^{-a C_i / \alpha_i}` (squared hinge). A free bias has a flat prior: the determinant is then
    the limit of a wide offset, with :math:`-\ln 2\pi`. With V and A of the factor of
    :math:`I + \sqrt D K \sqrt D`,

    .. math:: n\,G = \tfrac12 \beta\beta' - \tfrac12 A_{FF}, \qquad
              n\,g_C = \sum_i C_i (\kappa'/\kappa - \ell_i) -
              \tfrac12 \sum_F V_{ii} \frac{\partial D_i}{\partial\ln C}, \qquad
              n\,q_i = -\tfrac12 V_{ii} \frac{\partial D_i}{\partial\alpha_i}  \tag{4}

    before the implicit step. **It has a false global maximum**: for large amplitudes and short length scales all
    alphas vanish, the determinant with them, and E goes to 0 although the truth is :math:`-\ln 2`. For points that do not
    see each other, :math:`K = k_0 I`, it stays below -0.56 (hinge) and -0.69 (squared, a = 0.001, C up to 100) while
    :math:`k_0` is at most 3 and 50: ``KernelSVC`` bounds the amplitude there. That helps, but does not save the hinge where the
    truth is below -0.56 too; what is chosen is compared with ``evidence-ep``, and you are warned. With a kernel of your own
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
    unit: ClassVar[str] = "nats a row"

    def nats_per_unit(self, machine, n, k):
        """Return the number of rows times k: it is the mean over both."""
        return k * rows_counted(machine, n)

    @reads(LSSVMSolution)
    def _read_lssvm(self, solution: LSSVMSolution) -> Reading:
        factor, alpha, bias = solution.factor, solution.alpha, solution.machine.bias
        n, k = solution.row_counts.sum(), alpha.shape[1]
        m = n - bias
        q = np.einsum("ik,ik->k", solution.Y, alpha)
        logdet = (
            factor.logdet() - solution.row_counts @ np.log(factor.w / solution.row_counts) - bias * np.log(n)
        )
        value = float(np.mean(m * np.log(2 * np.pi * q / m)) + m + logdet)  # eq. (1)

        def derive():
            adjoint = add_symmetric(factor.resolvent(), -m / k * alpha / q, alpha)  # eq. (2)
            return adjoint, np.array([solution.gram.inner(adjoint)])

        return Reading.lazy(value, derive, divisor=2 * n)

    @reads(SmoothSolution)
    def _read_smooth(self, solution: SmoothSolution) -> Reading:
        evidence = laplace_evidence(solution, self.bias_prior)
        return Reading.lazy(evidence.value, evidence.derive, divisor=solution.v.sum())

    def warning_for(self, solution):
        """Compare a support vector machine's Laplace evidence with that of expectation propagation."""
        columns = getattr(solution, "columns", (solution,))
        if not isinstance(columns[0], (SVMSolution, SquaredHingeSolution)):
            return super().warning_for(solution)
        try:
            excess = float(np.mean([-self(column).value - _by_propagation(column) for column in columns]))
        except Undefined as error:
            return (
                f"the Laplace evidence at the chosen point could not be checked against expectation propagation: {error} "
                "It may be its false maximum. Use criterion='evidence-ep', or bound the amplitude."
            )
        if excess < TOO_GOOD:
            return ""
        return (
            f"the Laplace evidence at the chosen point is {excess:.2f} per point above that of expectation propagation: "
            "this is its false maximum at large amplitudes. Use criterion='evidence-ep', or bound the amplitude."
        )

    @reads(RidgeSolution)
    def _read_ridge(self, solution: RidgeSolution) -> Reading:
        value, slope, M = solution.deviance()
        parts = {"sigma2": float(solution.variances().mean()), "df": solution.df}
        return Reading(
            value / 2,
            lambda: solution.adjoint(0.5 * M),
            lambda: solution.slope_along_alpha(slope / 2),
            parts,
            solution.size,
        )

    @reads(SVMSolution)
    def _read_hinge(self, solution: SVMSolution) -> Reading:
        alpha, C = solution.alpha[solution.free], solution.C[solution.free]
        room = alpha * (C - alpha) / C
        in_alpha = 4 * np.pi * room * (C - 2 * alpha) / C
        in_C = 4 * np.pi * room * alpha**2 / C
        return _laplace(solution, 2 * np.pi * room**2, in_alpha, in_C)

    @reads(SquaredHingeSolution)
    def _read_squared_hinge(self, solution: SquaredHingeSolution) -> Reading:
        alpha, C = solution.alpha[solution.free], solution.C[solution.free]
        D = C * np.exp(-self.a * C / alpha)
        return _laplace(solution, D, D * self.a * C / alpha**2, D * (1 - self.a * C / alpha))


def rows_counted(machine: Machine, n: int) -> float:
    """Return the number of rows that a likelihood counts: the weights of a smooth machine, else copies of rows."""
    counts = machine.weights if isinstance(machine, SmoothMachine) else machine.row_counts
    return float(n if counts is None else np.sum(counts))


def _by_propagation(solution):
    """Log evidence per point by expectation propagation; a free bias gets a wide prior, and its constant back."""
    gram, constant = solution.gram, 0.0
    if solution.bias:
        wide = WIDE * float(np.mean(gram.diag()))
        gram, constant = gram.shifted(wide), 0.5 * np.log(2 * np.pi * wide)
    site = {1: HingeSite, 2: SquaredHingeSite}[solution.loss.power](solution.C)
    log_z = expectation_propagation(gram, solution.y, site, tolerance=1e-4).log_z
    return (log_z + constant + solution.loss.log_kappa(solution.C)[0].sum()) / solution.n


def _laplace(solution, D, in_alpha, in_C):
    """Equations (3) and (4) from the curvatures D of the free points and their derivatives."""
    F, n, beta, C = solution.free, solution.n, solution.beta, solution.C
    kappa, dkappa = solution.loss.log_kappa(C)
    peak = -solution.F + kappa.sum()
    G = add_symmetric(solution.gram.diagonal(np.zeros(n)), beta[:, None] / 2, beta[:, None])
    slope = C @ dkappa - solution.losses
    if solution.bias and not np.any(D):
        raise Undefined(
            "no support vector is on the margin, inside its bounds: with a free bias the Laplace evidence is not defined."
        )
    if F.size:
        factor = solution.gram.subset(F).factor(D, solution.bias)
        spread = factor.logdet() - (np.log(2 * np.pi) if solution.bias else 0.0)
        V = factor.covariance_diag()
        G = G + embed(factor.resolvent(), F, n) * (-0.5)
        G, slope = implicit_step(solution, G, slope - V @ in_C / 2, -V * in_alpha / 2)
    else:
        spread = 0.0
    E = (peak - spread / 2) / n
    return Reading(
        -float(E),
        G * (-1 / n),
        np.array([-slope / n]),
        {"log_evidence": float(E), "at_mode": float(peak / n)},
    )
