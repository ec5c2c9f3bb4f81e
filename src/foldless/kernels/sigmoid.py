r"""The sigmoid kernel of support vector machines.

.. math:: k(x, y) = \tanh(\gamma\, x'y + c)  \tag{1}

It is positive semi-definite for few parameters and few sets of points only; a search steps over the rest.
"""

import numpy as np
from sklearn.gaussian_process.kernels import Hyperparameter, Kernel

from foldless.kernels.evaluate import gram_of, pullback_of


class Sigmoid(Kernel):
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

    def __init__(self, gamma=1.0, coef0=0.0, gamma_bounds=(1e-5, 1e5), coef0_bounds="fixed"):
        self.gamma = gamma
        self.coef0 = coef0
        self.gamma_bounds = gamma_bounds
        self.coef0_bounds = coef0_bounds

    @property
    def hyperparameter_gamma(self):
        """``gamma``, in the words of scikit-learn."""
        return Hyperparameter("gamma", "numeric", self.gamma_bounds)

    @property
    def hyperparameter_coef0(self):
        """``coef0``, in the words of scikit-learn."""
        return Hyperparameter("coef0", "numeric", self.coef0_bounds)

    def __call__(self, X, Y=None, eval_gradient=False):
        """Return the kernel matrix and, if asked, its derivatives in theta."""
        X = np.atleast_2d(np.asarray(X, dtype=float))
        inner = X @ (X if Y is None else np.asarray(Y, dtype=float)).T
        K = np.tanh(self.gamma * inner + self.coef0)
        return (
            (K, np.moveaxis(np.array(self._moves(inner, K)).reshape(-1, *K.shape), 0, -1))
            if eval_gradient
            else K
        )

    def _moves(self, inner, K):
        """Derivatives in the logarithms of the free parameters, in the order of theta (coef0, gamma)."""
        slope = 1 - K**2
        moves = {"coef0": self.coef0 * slope, "gamma": self.gamma * inner * slope}
        return [moves[h.name] for h in self.hyperparameters if not h.fixed]

    def diag(self, X):
        """Return the diagonal of the kernel matrix."""
        X = np.asarray(X, dtype=float)
        return np.tanh(self.gamma * np.einsum("ij,ij->i", X, X) + self.coef0)

    def is_stationary(self):
        """Return False."""
        return False


@gram_of.register
def _(kernel: Sigmoid, pairs):
    return np.tanh(kernel.gamma * pairs.inner + kernel.coef0)


@pullback_of.register
def _(kernel: Sigmoid, pairs, adjoint):
    K = gram_of(kernel, pairs)
    return np.array([np.vdot(adjoint, move) for move in kernel._moves(pairs.inner, K)])
