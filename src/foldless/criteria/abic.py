r"""Akaike's Bayesian information criterion: the evidence, paid for by the hyper-parameters tuned."""

from dataclasses import dataclass, replace
from typing import Any, ClassVar

from foldless.core.contracts import Reading
from foldless.criteria.base import Criterion, reads
from foldless.criteria.derivatives.smooth import laplace_evidence
from foldless.criteria.evidence import Evidence, rows_counted
from foldless.criteria.regression import noise_variance as noise
from foldless.machines import RidgeSolution, SmoothSolution, SquaredHingeSolution, SVMSolution


@dataclass(frozen=True)
class ABIC(Criterion):
    r"""Twice minus the log evidence plus twice the number of hyper-parameters tuned.

    *Smooth machines*: Laplace's evidence, as in :class:`foldless.criteria.Evidence`. The number is a constant of
    a search and matters only where kernels with different numbers are compared.

    *Support vector machines*: 2 n times the cost of ``evidence``, which is per point there.

    *Ridge*: the exact evidence of :math:`y \sim N(0, \sigma^2 (I + S / \lambda))`, :math:`\sigma^2` given or profiled
    (with an intercept restricted, see :mod:`foldless.machines.ridge`); the mean over outputs,

    .. math:: n \ln(2\pi\sigma^2) - \ln\det R + y'Ry / \sigma^2, \qquad \hat\sigma^2 = y'Ry / n,  \tag{1}

    .. math:: M = d/dH = R^{-1} - y y' / \sigma^2.  \tag{2}

    Parameters
    ----------
    tuned : int, default=0
        Number of hyper-parameters that are tuned.
    bias_prior : float, optional
        Standard deviation of a normal prior on the bias of a smooth machine; ``None`` is flat.
    sigma2 : float, array of shape (k,), str or None, optional
        Noise variance of a ridge regression, or the name of an estimate of :mod:`foldless.criteria.regression.noise_variance`; by
        default profiled.
    """

    tuned: int = 0
    bias_prior: float | None = 10.0
    sigma2: Any = None
    value_scale: ClassVar[float | None] = 1.0
    name: ClassVar[str] = "abic"
    title: ClassVar[str] = "Akaike's Bayesian information criterion"
    unit: ClassVar[str] = "nats a row"

    def __post_init__(self):
        noise.check_sigma2(self.sigma2)
        if noise.moves(self.sigma2):
            raise ValueError("sigma2='per-model' has no meaning for abic; leave sigma2=None to profile it.")

    def with_data_estimates(self, machine, grams, Y):
        """Return the criterion with its noise variance fixed."""
        return replace(self, sigma2=noise.once(self.sigma2, machine, grams, Y))

    def nats_per_unit(self, machine, n, k):
        """Return the number of rows times k: it is the mean over both."""
        return k * rows_counted(machine, n)

    @reads(SmoothSolution)
    def _read_smooth(self, solution: SmoothSolution) -> Reading:
        evidence = laplace_evidence(solution, self.bias_prior)

        def derive():
            adjoint, slope = evidence.derive()
            return 2 * adjoint, 2 * slope

        parts = {"evidence": evidence.value, "tuned": float(self.tuned)}
        return Reading.lazy(2 * evidence.value + 2 * self.tuned, derive, parts, 2 * solution.v.sum())

    @reads(SVMSolution, SquaredHingeSolution)
    def _read_svm(self, solution) -> Reading:
        evidence = Evidence().read(solution).scaled(2 * solution.n)
        value = evidence.value + 2 * self.tuned
        return Reading(
            value, lambda: evidence.adjoint, lambda: evidence.slope, evidence.parts, 2 * solution.n
        )

    @reads(RidgeSolution)
    def _read_ridge(self, solution: RidgeSolution) -> Reading:
        sigma2 = None if self.sigma2 is None else noise.noise_of(self.sigma2, solution)
        value, slope, M = solution.deviance(sigma2)
        parts = {
            "sigma2": float(solution.variances(sigma2).mean()),
            "df": solution.df,
            "tuned": float(self.tuned),
        }
        return Reading(
            value + 2 * self.tuned,
            lambda: solution.adjoint(M),
            lambda: solution.slope_along_alpha(slope),
            parts,
            2 * solution.size,
        )
