r"""Akaike's Bayesian information criterion: the evidence, and a price for every hyper-parameter tuned."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import ClassVar, Self

from foldless.core.contracts import Gram, Machine, Matrix, Reading
from foldless.criteria.base import Criterion, reads
from foldless.criteria.evidence import Evidence, rows_counted
from foldless.criteria.regression import noise_variance as noise
from foldless.machines.ridge import RidgeSolution
from foldless.machines.smooth import SmoothSolution
from foldless.machines.svm import SquaredHingeSolution, SVMSolution


@dataclass(frozen=True)
class ABIC(Criterion):
    r"""Minus twice the log evidence plus twice the number of hyper-parameters tuned.

    The value is the formula divided by 2 n for n rows: nats per row, comparable with ``evidence``.

    *Smooth machines, support vector machines*: Laplace's evidence, as in :class:`foldless.criteria.Evidence`. The number
    of hyper-parameters is a constant of a search and matters only where kernels with different numbers are compared.

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
        Noise variance of a ridge regression, or the name of an estimate of
        :mod:`foldless.criteria.regression.noise_variance`; by default profiled.
    """

    tuned: int = 0
    bias_prior: float | None = 10.0
    sigma2: noise.Sigma2 | None = None
    value_scale: ClassVar[float | None] = 1.0
    name: ClassVar[str] = "abic"
    title: ClassVar[str] = "Akaike's Bayesian information criterion"
    unit: ClassVar[str] = "nats per row"

    def __post_init__(self) -> None:
        noise.check_sigma2(self.sigma2)
        if noise.is_per_model(self.sigma2):
            raise ValueError("sigma2='per-model' has no meaning for abic; leave sigma2=None to profile it.")

    def with_data_estimates(self, machine: Machine, grams: Iterable[Gram], Y: Matrix) -> Self:
        """Return the criterion with its noise variance fixed."""
        fixed = None if self.sigma2 is None else noise.once(self.sigma2, machine, grams, Y)
        return replace(self, sigma2=fixed)

    def nats_per_unit(self, machine: Machine, n: int, k: int) -> float:
        """Return the number of rows times k: the value is the mean over both."""
        return k * rows_counted(machine, n)

    @reads(SmoothSolution)
    def _read_smooth(self, solution: SmoothSolution) -> Reading:
        return self._from(Evidence(self.bias_prior).read(solution), 2.0, 2 * solution.v.sum())

    @reads(SVMSolution, SquaredHingeSolution)
    def _read_svm(self, solution: SVMSolution | SquaredHingeSolution) -> Reading:
        rows = 2.0 * solution.n
        return self._from(Evidence().read(solution), rows, rows)

    @reads(RidgeSolution)
    def _read_ridge(self, solution: RidgeSolution) -> Reading:
        sigma2 = None if self.sigma2 is None else noise.noise_of(self.sigma2, solution)
        value, slope, M = solution.deviance(sigma2)
        deviance = Reading(
            value,
            lambda: solution.adjoint(M),
            lambda: solution.slope_along_alpha(slope),
            {"sigma2": float(solution.variances(sigma2).mean()), "df": solution.df},
        )
        return self._from(deviance, 1.0, 2 * solution.size)

    def _from(self, evidence: Reading, factor: float, divisor: float) -> Reading:
        """Return ``factor`` times minus a log evidence, plus the price of what is tuned."""
        twice = evidence.scaled(factor)
        parts = evidence.parts | {"tuned": float(self.tuned)}
        value = twice.value + 2 * self.tuned
        return Reading(value, lambda: twice.adjoint, lambda: twice.slope, parts, divisor)
