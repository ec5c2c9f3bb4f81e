"""A Gram matrix that the user brings along."""

import numpy as np
from numpy.typing import ArrayLike
from sklearn.gaussian_process.kernels import Kernel

from foldless.core.contracts import Matrix, Vector
from foldless.kernels.evaluate import gram, pullback
from foldless.kernels.pairs import Pairs


class Precomputed(Kernel):
    """The kernel of ``kernel="precomputed"``: ``X`` already is the matrix, and there is nothing to tune.

    Examples
    --------
    >>> from foldless.kernels import gram
    >>> gram(Precomputed(), [[2.0, 1.0], [1.0, 2.0]])
    array([[2., 1.],
           [1., 2.]])
    """

    def __init__(self) -> None:
        pass

    def __call__(
        self, X: Matrix, Y: Matrix | None = None, eval_gradient: bool = False
    ) -> Matrix | tuple[Matrix, Matrix]:
        """Return ``X`` (and an empty gradient)."""
        return (X, np.zeros((*np.shape(X), 0))) if eval_gradient else X

    def diag(self, X: ArrayLike) -> Vector:
        """Return the diagonal of ``X``."""
        return np.diag(X).copy()

    def is_stationary(self) -> bool:
        """Return False: nothing is known of the points."""
        return False


@gram.register
def _(kernel: Precomputed, pairs: Pairs) -> Matrix:
    return pairs.X


@pullback.register
def _(kernel: Precomputed, pairs: Pairs, adjoint: Matrix) -> Vector:
    return np.zeros(0)


def is_precomputed(kernel: Kernel) -> bool:
    """Return True if the points of this kernel are the rows of the Gram matrix itself."""
    return isinstance(kernel, Precomputed)
