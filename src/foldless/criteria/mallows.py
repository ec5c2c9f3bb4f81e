r"""Mallows' C_L.

References
----------
.. [1] Mallows, *Some comments on C_p*, Technometrics 15 (1973).
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import ClassVar, Self

import numpy as np

from foldless.core.contracts import Adjoint, Gram, Machine, Matrix, Reading, Vector
from foldless.criteria.base import Criterion, reads
from foldless.criteria.regression import noise_variance as noise
from foldless.machines.least_squares.sensitivity import Sensitivity
from foldless.machines.least_squares.solution import LinearSolution


@dataclass(frozen=True)
class Mallows(Criterion):
    r"""Mallows' C_L, the mean over outputs of

    .. math:: \tfrac1n \bigl( \|\rho\|^2 + 2 \sigma^2 df \bigr),  \tag{1}

    unbiased for the mean squared error on the training points plus :math:`\sigma^2`, in squared units of y.

    .. math:: M = \tfrac1n \bigl[ -(\rho y' + y \rho') + 2 \sigma^2 I \bigr].  \tag{2}

    Parameters
    ----------
    sigma2 : float, array of shape (k,), or str, default="ml"
        Noise variance, or the name of an estimate of :mod:`foldless.criteria.regression.noise_variance`. A named estimate is
        constant along the ridge parameter; when kernels are compared, :meth:`with_data_estimates` fixes it for all of them.
        ``"per-model"`` estimates it at each candidate itself and prefers small ridge parameters.
    """

    sigma2: noise.Sigma2 = "ml"
    name: ClassVar[str] = "mallows"
    title: ClassVar[str] = "Mallows' C_L"
    unit: ClassVar[str] = "squared units of y"

    def __post_init__(self) -> None:
        noise.check_sigma2(self.sigma2)

    def with_data_estimates(self, machine: Machine, grams: Iterable[Gram], Y: Matrix) -> Self:
        """Return the criterion with its noise variance fixed."""
        return replace(self, sigma2=noise.once(self.sigma2, machine, grams, Y))

    @reads(LinearSolution)
    def _read_linear(self, solution: LinearSolution) -> Reading:
        n, df, k = solution.size, solution.df, solution.Y.shape[1]
        s2 = noise.noise_of(self.sigma2, solution)
        per_model = noise.is_per_model(self.sigma2)
        value = (solution.rss + 2 * s2 * df) / n

        def slope() -> Vector:
            per_output = (solution.rss_slope - 2 * s2 * solution.smoother.trace_slope()) / n
            if per_model:
                per_output = per_output + 2 * df / n * noise.residual_variance_slope(solution)
            return solution.slope_along_alpha(per_output.mean())

        def adjoint() -> Adjoint:
            Y = solution.targets.Y
            P = -solution.whitened_residuals / (n * k)
            M = Sensitivity(identity=2 * s2.mean() / n, P=P, Q=Y)  # eq. (2)
            if per_model:
                M = M + noise.residual_variance_sensitivity(solution, np.full(k, 2 * df / (n * k)))
            return solution.adjoint(M)

        parts = {"df": df, "rss": float(solution.rss.mean()), "sigma2": float(s2.mean())}
        return Reading(float(value.mean()), adjoint, slope, parts)
