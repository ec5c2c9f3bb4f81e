r"""Minus (twice) the logarithm of the evidence: how probable the targets are before the fit."""

from dataclasses import dataclass
from functools import singledispatchmethod
from typing import ClassVar

import numpy as np

from foldless.contracts import LazyReading, PathReading, Reading
from foldless.criterion import Criterion
from foldless.inference import laplace_evidence
from foldless.linalg import add_symmetric
from foldless.machines import LSSVMSolution, RidgeSolution, SmoothSolution


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
    :func:`foldless.inference.laplace_evidence`. A flat prior on the bias is improper: on separable data the cost
    then falls without bound as C grows, and only nearby fits should be compared by it.

    Parameters
    ----------
    bias_prior : float, optional
        Standard deviation of a normal prior on the bias of a smooth machine; ``None`` is flat.
    """

    bias_prior: float | None = 10.0

    name: ClassVar[str] = "evidence"

    @singledispatchmethod
    def read(self, solution) -> Reading:
        """Read one solution."""
        raise self.unreadable(solution)

    @read.register
    def _(self, solution: LSSVMSolution) -> Reading:
        factor, alpha, bias = solution.factor, solution.alpha, solution.machine.bias
        n, k = solution.copies.sum(), alpha.shape[1]
        m = n - bias
        q = np.einsum("ik,ik->k", solution.Y, alpha)
        logdet = factor.logdet() - solution.copies @ np.log(factor.w / solution.copies) - bias * np.log(n)
        value = float(np.mean(m * np.log(2 * np.pi * q / m)) + m + logdet)  # eq. (1)

        def derive():
            adjoint = add_symmetric(factor.resolvent(), -m / k * alpha / q, alpha)  # eq. (2)
            return adjoint, np.array([solution.gram.inner(adjoint)])

        return LazyReading(value, derive, {"reml": value})

    @read.register
    def _(self, solution: SmoothSolution) -> Reading:
        evidence = laplace_evidence(solution, self.bias_prior)
        return LazyReading(evidence.value, evidence.derive, {"evidence": evidence.value})

    @read.register
    def _(self, solution: RidgeSolution) -> Reading:
        value, slope, M = solution.deviance()
        parts = {"sigma2": float(solution.variances().mean()), "df": solution.df}
        return PathReading(value / 2, lambda: solution.adjoint(0.5 * M), solution.along(slope / 2), parts)
