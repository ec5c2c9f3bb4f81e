r"""The two verbs on scikit-learn's kernels, and the pairs of points they act on.

``gram(kernel, X, Y)`` goes forward, ``pullback(kernel, X, adjoint, Y)`` comes back. Both are open: a kernel class joins
by registering :func:`gram_of` and :func:`pullback_of` (see ``kernels/``); every other kernel falls back on
scikit-learn's own ``kernel(X, eval_gradient=True)``.
"""

from functools import singledispatch

import numpy as np
import scipy.sparse as sp
from sklearn.gaussian_process.kernels import Kernel

from foldless.kernels.pairs import Pairs, to_dense


def gram(kernel, X, Y=None):
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
    return gram_of(kernel, X if isinstance(X, Pairs) else Pairs(X, Y))


def pullback(kernel, X, adjoint, Y=None):
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
    return pullback_of(kernel, X if isinstance(X, Pairs) else Pairs(X, Y), adjoint)


@singledispatch
def gram_of(kernel, pairs):
    """Kernel matrix on ``pairs``; register a function here to make a kernel fast."""
    if not isinstance(kernel, Kernel):
        raise TypeError(f"kernel must be a scikit-learn Kernel object, got {kernel!r}.")
    return kernel(to_dense(pairs.X)) if pairs.symmetric else kernel(to_dense(pairs.X), to_dense(pairs.Y))


@singledispatch
def pullback_of(kernel, pairs, adjoint):
    """Gradient in theta on ``pairs``; the fallback contracts scikit-learn's own derivative tensor."""
    if pairs.symmetric:
        derivative = kernel(to_dense(pairs.X), eval_gradient=True)[1]
    else:  # scikit-learn differentiates square matrices only: take the corner of a larger one
        n = pairs.shape[0]
        derivative = kernel(np.vstack([to_dense(pairs.X), to_dense(pairs.Y)]), eval_gradient=True)[1][:n, n:]
    return np.tensordot(adjoint, derivative, axes=2)


@singledispatch
def semidefinite(kernel):
    """Whether every matrix of this kernel is known to be positive semi-definite; False only means that nobody said so."""
    return False


def diagonal(kernel, X):
    """Diagonal of the kernel matrix, in O(n)."""
    if sp.issparse(X):
        return np.concatenate([kernel.diag(X[i : i + 1000].toarray()) for i in range(0, X.shape[0], 1000)])
    return kernel.diag(np.asarray(X, dtype=float))
