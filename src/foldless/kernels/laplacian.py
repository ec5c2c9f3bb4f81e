r"""The Laplacian kernel, for the Euclidean and for the absolute distance.

.. math:: k(x, x') = \exp(-\|x - x'\|_p / \ell), \qquad p \in \{1, 2\}  \tag{1}

Both are positive definite. With one length scale per feature the differences are divided by it first; for p = 1

.. math:: \frac{\partial K_{ij}}{\partial\log\ell_a} = K_{ij} \frac{|x_{ia} - x'_{ja}|}{\ell_a}.  \tag{2}

For p = 2 it is the Matérn kernel with :math:`\nu = 1/2`, and its verbs are used.
"""

from collections.abc import Iterator

import numpy as np
from scipy.spatial.distance import cdist
from sklearn.gaussian_process.kernels import (
    Matern,
    NormalizedKernelMixin,
    StationaryKernelMixin,
)

from foldless.core.contracts import Matrix, Vector
from foldless.kernels.base import LengthScales, PairKernel
from foldless.kernels.evaluate import gram, is_semidefinite, pullback
from foldless.kernels.pairs import Pairs, to_dense


class Laplacian(LengthScales, StationaryKernelMixin, NormalizedKernelMixin, PairKernel):
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

    def __init__(
        self,
        length_scale: float | Vector = 1.0,
        length_scale_bounds: tuple[float, float] | str = (1e-5, 1e5),
        norm: int = 2,
    ) -> None:
        self.length_scale = length_scale
        self.length_scale_bounds = length_scale_bounds
        self.norm = norm

    def derivatives(self, pairs: Pairs) -> Iterator[Matrix]:
        """Yield the derivatives (2) in the logarithms of the length scales, if they are free."""
        if self.hyperparameter_length_scale.fixed:
            return
        if _norm(self) == 2:
            yield from np.moveaxis(_matern(self)(pairs.X, eval_gradient=True)[1], 2, 0)
            return
        K = gram(self, pairs)
        for D in _scaled(self, pairs):
            yield K * D


def _norm(kernel: Laplacian) -> int:
    if kernel.norm not in (1, 2):
        raise ValueError(f"norm must be 1 or 2, got {kernel.norm!r}.")
    return kernel.norm


def _matern(kernel: Laplacian) -> Matern:
    """Return the equal Matérn kernel for p = 2."""
    return Matern(kernel.length_scale, kernel.length_scale_bounds, nu=0.5)


def _scaled(kernel: Laplacian, pairs: Pairs) -> Iterator[Matrix]:
    """Yield absolute differences over the length scale: their sum for a single scale, else feature by feature."""
    if not kernel.anisotropic:
        yield pairs.absolute / float(np.squeeze(kernel.length_scale))
        return
    X, Y = to_dense(pairs.X), to_dense(pairs.Y)
    for a, length in enumerate(np.asarray(kernel.length_scale)):
        yield np.abs(np.subtract.outer(X[:, a], Y[:, a])) / length


@gram.register
def _(kernel: Laplacian, pairs: Pairs) -> Matrix:
    if _norm(kernel) == 2:
        return gram(_matern(kernel), pairs)
    key = np.asarray(kernel.length_scale, float).tobytes()
    K = pairs.recall("laplacian", key)
    return pairs.remember("laplacian", key, np.exp(-_total(kernel, pairs))) if K is None else K


def _total(kernel: Laplacian, pairs: Pairs) -> Matrix:
    """Return the exponents: sums of absolute differences over the length scales."""
    if not kernel.anisotropic:
        return next(_scaled(kernel, pairs))
    X, Y = to_dense(pairs.X), to_dense(pairs.Y)
    return cdist(X / kernel.length_scale, Y / kernel.length_scale, "cityblock")


@pullback.register
def _(kernel: Laplacian, pairs: Pairs, adjoint: Matrix) -> Vector:
    if _norm(kernel) == 2:
        return pullback(_matern(kernel), pairs, adjoint)
    if kernel.hyperparameter_length_scale.fixed:
        return np.zeros(0)
    B = adjoint * gram(kernel, pairs)
    return np.array([np.vdot(B, D) for D in _scaled(kernel, pairs)])  # eq. (2)


@is_semidefinite.register
def _(kernel: Laplacian) -> bool:
    return True
