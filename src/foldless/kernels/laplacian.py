r"""The Laplacian kernel, for the Euclidean and for the absolute distance.

.. math:: k(x, x') = \exp(-\|x - x'\|_p / \ell), \qquad p \in \{1, 2\}  \tag{1}

Both are positive definite. With one length scale per feature the differences are divided by it first; for p = 1

.. math:: \frac{\partial K_{ij}}{\partial\log\ell_a} = K_{ij} \frac{|x_{ia} - x'_{ja}|}{\ell_a}.  \tag{2}

For p = 2 it is the Matérn kernel with :math:`\nu = 1/2`, and its verbs are used.
"""

import numpy as np
import scipy.sparse as sp
from scipy.spatial.distance import cdist
from sklearn.gaussian_process.kernels import (
    Hyperparameter,
    Kernel,
    Matern,
    NormalizedKernelMixin,
    StationaryKernelMixin,
)

from foldless.kernels.evaluate import gram_of, pullback_of, semidefinite
from foldless.kernels.pairs import Pairs


class Laplacian(StationaryKernelMixin, NormalizedKernelMixin, Kernel):
    """Laplacian kernel (1).

    Parameters
    ----------
    length_scale : float or array of shape (d,), default=1.0
    length_scale_bounds : pair of floats or "fixed", default=(1e-05, 100000.0)
    norm : {1, 2}, default=2
        p; not tuned.

    Examples
    --------
    >>> Laplacian(2.0, norm=1)([[0.0, 0.0], [1.0, 1.0]]).round(4)
    array([[1.    , 0.3679],
           [0.3679, 1.    ]])
    """

    def __init__(self, length_scale=1.0, length_scale_bounds=(1e-5, 1e5), norm=2):
        self.length_scale = length_scale
        self.length_scale_bounds = length_scale_bounds
        self.norm = norm

    @property
    def anisotropic(self):
        """Whether each feature has its own length scale."""
        return np.iterable(self.length_scale) and len(self.length_scale) > 1

    @property
    def hyperparameter_length_scale(self):
        """The length scales, in logarithms."""
        if self.anisotropic:
            return Hyperparameter("length_scale", "numeric", self.length_scale_bounds, len(self.length_scale))
        return Hyperparameter("length_scale", "numeric", self.length_scale_bounds)

    def __call__(self, X, Y=None, eval_gradient=False):
        """Return the kernel matrix, and its derivative in theta."""
        if eval_gradient and Y is not None:
            raise ValueError("Gradient can only be evaluated when Y is None.")
        if _norm(self) == 2:
            return _matern(self)(X, Y, eval_gradient)
        pairs = Pairs(np.atleast_2d(X), None if Y is None else np.atleast_2d(Y))
        K = gram_of(self, pairs)
        if not eval_gradient:
            return np.array(K)
        parts = [] if self.hyperparameter_length_scale.fixed else [K * D for D in _scaled(self, pairs)]
        return np.array(K), np.stack(parts, axis=2) if parts else np.zeros((*K.shape, 0))


def _norm(kernel):
    if kernel.norm not in (1, 2):
        raise ValueError(f"norm must be 1 or 2, got {kernel.norm!r}.")
    return kernel.norm


def _matern(kernel):
    return Matern(kernel.length_scale, kernel.length_scale_bounds, nu=0.5)


def _scaled(kernel, pairs):
    """Yield absolute differences over the length scale: all together, or feature by feature."""
    if not kernel.anisotropic:
        yield pairs.absolute / float(np.squeeze(kernel.length_scale))
        return
    X, Y = _arrays(pairs)
    for a, length in enumerate(kernel.length_scale):
        yield np.abs(np.subtract.outer(X[:, a], Y[:, a])) / length


def _arrays(pairs):
    return tuple(M.toarray() if sp.issparse(M) else M for M in (pairs.X, pairs.Y))


@gram_of.register
def _(kernel: Laplacian, pairs):
    if _norm(kernel) == 2:
        return gram_of(_matern(kernel), pairs)
    key = np.asarray(kernel.length_scale, float).tobytes()
    return pairs.latest("laplacian", key, lambda: np.exp(-_total(kernel, pairs)))


def _total(kernel, pairs):
    if not kernel.anisotropic:
        return next(_scaled(kernel, pairs))
    X, Y = _arrays(pairs)
    return cdist(X / kernel.length_scale, Y / kernel.length_scale, "cityblock")


@pullback_of.register
def _(kernel: Laplacian, pairs, adjoint):
    if _norm(kernel) == 2:
        return pullback_of(_matern(kernel), pairs, adjoint)
    if kernel.hyperparameter_length_scale.fixed:
        return np.zeros(0)
    B = adjoint * gram_of(kernel, pairs)
    return np.array([np.vdot(B, D) for D in _scaled(kernel, pairs)])  # eq. (2)


@semidefinite.register
def _(kernel: Laplacian):
    return True
