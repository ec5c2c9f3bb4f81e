"""Kernels: the verbs ``gram`` and ``pullback`` on scikit-learn's own, and the kernels it lacks."""

from numpy.typing import ArrayLike
from sklearn.gaussian_process.kernels import Kernel

from foldless.core.contracts import Matrix, Vector
from foldless.kernels import algebra, evaluate, stationary  # noqa: F401  (they register the verbs)
from foldless.kernels.additive import Additive
from foldless.kernels.categorical import Categorical
from foldless.kernels.columns import Columns
from foldless.kernels.coordinate_products import Dirichlet, Sinc, TrigonometricPolynomial
from foldless.kernels.laplacian import Laplacian
from foldless.kernels.metric import Metric
from foldless.kernels.pairs import Pairs, Points
from foldless.kernels.power_exponential import PowerExponential
from foldless.kernels.precomputed import Precomputed
from foldless.kernels.sigmoid import Sigmoid
from foldless.kernels.softened import Softened

__all__ = [
    "Additive",
    "Categorical",
    "Columns",
    "Dirichlet",
    "Laplacian",
    "Metric",
    "Pairs",
    "PowerExponential",
    "Precomputed",
    "Sigmoid",
    "Sinc",
    "Softened",
    "TrigonometricPolynomial",
    "gram",
    "pullback",
]


def gram(kernel: Kernel, X: ArrayLike | Points | Pairs, Y: ArrayLike | Points | None = None) -> Matrix:
    """Kernel matrix between the rows of ``X`` and of ``Y``.

    Parameters
    ----------
    kernel : sklearn.gaussian_process.kernels.Kernel
    X : array of shape (n, d), sparse matrix, or Pairs
        With :class:`Pairs` distances are reused from earlier calls, and ``Y`` must be left out.
    Y : array of shape (m, d), optional
        By default ``X`` itself.

    Returns
    -------
    K : array of shape (n, m)
        Equal to ``kernel(X, Y)``; may be read-only.

    Examples
    --------
    >>> from sklearn.gaussian_process.kernels import RBF
    >>> gram(RBF(1.0), [[0.0], [1.0]]).round(4)
    array([[1.    , 0.6065],
           [0.6065, 1.    ]])
    """
    return evaluate.gram(kernel, X if isinstance(X, Pairs) else Pairs(X, Y))


def pullback(
    kernel: Kernel,
    X: ArrayLike | Points | Pairs,
    adjoint: Matrix,
    Y: ArrayLike | Points | None = None,
) -> Vector:
    r"""Gradient in ``kernel.theta`` of a number whose derivative with respect to the kernel matrix is ``adjoint``.

    .. math:: \frac{\partial f}{\partial\theta_k} = \sum_{ij} A_{ij} \frac{\partial K_{ij}}{\partial\theta_k}

    Parameters
    ----------
    kernel : sklearn.gaussian_process.kernels.Kernel
    X : array of shape (n, d), sparse matrix, or Pairs
    adjoint : array of shape (n, m)
    Y : array of shape (m, d), optional
        By default ``X`` itself.

    Returns
    -------
    gradient : array of shape (len(kernel.theta),)
        In memory O(n m): no n x m x p array is built for the kernels of ``foldless.kernels``.
    """
    return evaluate.pullback(kernel, X if isinstance(X, Pairs) else Pairs(X, Y), adjoint)
