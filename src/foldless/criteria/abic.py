r"""Akaike's Bayesian information criterion.

References
----------
.. [1] Akaike, *Likelihood and the Bayes procedure* (1980).
"""

from dataclasses import dataclass, replace
from functools import singledispatchmethod
from typing import Any, ClassVar

from foldless.contracts import PathReading, Reading
from foldless.criterion import Criterion
from foldless.inference import noise
from foldless.machines import RidgeSolution


@dataclass(frozen=True)
class ABIC(Criterion):
    r"""Minus twice the log marginal likelihood; the mean over outputs.

    *Ridge*: of :math:`y \sim N(0, \sigma^2 (I + S / \lambda))`, with :math:`\sigma^2` given or profiled,

    .. math:: n \ln(2\pi\sigma^2) - \ln\det R + y'Ry / \sigma^2, \qquad \hat\sigma^2 = y'Ry / n;  \tag{1}

    with an intercept the restricted likelihood (see :mod:`foldless.machines.ridge`). Akaike's
    ``+ 2 * (number of hyper-parameters)`` is a constant and left out. Comparable across kernels.

    .. math:: M = R^{-1} - y y' / \sigma^2.  \tag{2}

    Parameters
    ----------
    sigma2 : float, array of shape (k,), str or None
        Noise variance or the name of an estimate of :mod:`foldless.inference.noise`; by default profiled.
    """

    sigma2: Any = None
    name: ClassVar[str] = "abic"

    def __post_init__(self):
        noise.check_sigma2(self.sigma2)
        if noise.moves(self.sigma2):
            raise ValueError("sigma2='per-model' has no meaning for abic; leave sigma2=None to profile it.")

    def prepared(self, machine, grams, Y):
        """Return the criterion with its noise variance fixed."""
        return replace(self, sigma2=noise.once(self.sigma2, machine, grams, Y))

    @singledispatchmethod
    def read(self, solution) -> Reading:
        """Read one solution."""
        raise self.unreadable(solution)

    @read.register
    def _(self, solution: RidgeSolution) -> Reading:
        sigma2 = None if self.sigma2 is None else noise.noise_of(self.sigma2, solution)
        value, slope, M = solution.deviance(sigma2)
        parts = {"sigma2": float(solution.variances(sigma2).mean()), "df": solution.df}
        return PathReading(value, lambda: solution.adjoint(M), solution.along(slope), parts)
