r"""The sigmoid kernel of support vector machines.

.. math:: k(x, y) = \tanh(\gamma\, x'y + c)  \tag{1}

It is positive semi-definite for few parameters and few sets of points only; a search steps over the rest.
"""

import numpy as np
from numpy.typing import ArrayLike
from sklearn.gaussian_process.kernels import Hyperparameter

from foldless.core.contracts import Matrix, Vector
from foldless.kernels.base import PairKernel
from foldless.kernels.evaluate import gram
from foldless.kernels.pairs import Pairs


class Sigmoid(PairKernel):
    """Sigmoid kernel (1).

    Parameters
    ----------
    gamma : float, default=1.0
    coef0 : float, default=0.0
    gamma_bounds : pair of floats or "fixed", default=(1e-05, 100000.0)
    coef0_bounds : pair of floats or "fixed", default="fixed"
        ``coef0`` must be positive to be searched, because searches live in logarithms.

    Examples
    --------
    >>> Sigmoid(0.5, 1.0)([[0.0], [2.0]]).round(4)
    array([[0.7616, 0.7616],
           [0.7616, 0.9951]])
    """

    def __init__(
        self,
        gamma: float = 1.0,
        coef0: float = 0.0,
        gamma_bounds: tuple[float, float] | str = (1e-5, 1e5),
        coef0_bounds: tuple[float, float] | str = "fixed",
    ) -> None:
        self.gamma = gamma
        self.coef0 = coef0
        self.gamma_bounds = gamma_bounds
        self.coef0_bounds = coef0_bounds

    @property
    def hyperparameter_gamma(self) -> Hyperparameter:
        """The parameter ``gamma``, in logarithms."""
        return Hyperparameter("gamma", "numeric", self.gamma_bounds)

    @property
    def hyperparameter_coef0(self) -> Hyperparameter:
        """The parameter ``coef0``, in logarithms."""
        return Hyperparameter("coef0", "numeric", self.coef0_bounds)

    def derivatives(self, pairs: Pairs) -> list[Matrix]:
        """Return the derivatives in the logarithms of the free parameters, in the order of theta (coef0, gamma)."""
        slope = 1 - gram(self, pairs) ** 2
        found = {"coef0": self.coef0 * slope, "gamma": self.gamma * pairs.inner * slope}
        return [found[h.name] for h in self.hyperparameters if not h.fixed]

    def diag(self, X: ArrayLike) -> Vector:
        """Return the diagonal of the kernel matrix."""
        X = np.asarray(X, dtype=float)
        return np.tanh(self.gamma * np.einsum("ij,ij->i", X, X) + self.coef0)

    def is_stationary(self) -> bool:
        """Return False."""
        return False


@gram.register
def _(kernel: Sigmoid, pairs: Pairs) -> Matrix:
    return np.tanh(kernel.gamma * pairs.inner + kernel.coef0)
