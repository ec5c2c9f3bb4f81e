r"""The two verbs on scikit-learn's kernels: ``gram`` goes forward, ``pullback`` comes back.

Both act on :class:`foldless.kernels.pairs.Pairs`, and both are open: a kernel class joins by registering a function of
its own, as the other files of this folder do. Every other kernel falls back on scikit-learn's own
``kernel(X, eval_gradient=True)``. Users call :func:`foldless.kernels.gram` and :func:`foldless.kernels.pullback`,
which take points.
"""

from functools import singledispatch

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike
from sklearn.gaussian_process.kernels import Kernel

from foldless.core.contracts import Matrix, Vector
from foldless.kernels.pairs import Pairs, Points, to_dense

SPARSE_STRIP_ROWS = 1000  # rows of a sparse matrix that are made dense at a time


@singledispatch
def gram(kernel: Kernel, pairs: Pairs) -> Matrix:
    """Return the kernel matrix on ``pairs``; register a function here to make a kernel fast."""
    if not isinstance(kernel, Kernel):
        raise TypeError(f"kernel must be a scikit-learn Kernel object, got {kernel!r}.")
    return kernel(to_dense(pairs.X)) if pairs.symmetric else kernel(to_dense(pairs.X), to_dense(pairs.Y))


@singledispatch
def pullback(kernel: Kernel, pairs: Pairs, adjoint: Matrix) -> Vector:
    """Return the gradient in theta on ``pairs``; the fallback contracts scikit-learn's own derivative tensor."""
    n = pairs.shape[0]
    # scikit-learn differentiates square matrices only: take the corner of a larger one.
    X = to_dense(pairs.X) if pairs.symmetric else np.vstack([to_dense(pairs.X), to_dense(pairs.Y)])
    try:
        derivative = kernel(X, eval_gradient=True)[1]
    except NotImplementedError as error:
        raise TypeError(
            f"{kernel!r} cannot be differentiated. Implement eval_gradient=True, or use a search without derivatives: "
            "search='nelder-mead'."
        ) from error
    return np.tensordot(adjoint, derivative if pairs.symmetric else derivative[:n, n:], axes=2)


@singledispatch
def with_theta(kernel: Kernel, theta: Vector) -> Kernel:
    """Return the kernel with other parameters; register a function here to make that fast: scikit-learn's own takes 0.2 ms."""
    return kernel.clone_with_theta(theta)


@singledispatch
def is_semidefinite(kernel: Kernel) -> bool:
    """Return True if every matrix of this kernel is known to be positive semi-definite; False if that is unknown."""
    return False


def shown(values: float | ArrayLike) -> str:
    """Return a parameter with three digits, in brackets if there are several, as scikit-learn prints kernels."""
    numbers = ", ".join(f"{value:.3g}" for value in np.ravel(values))
    return f"[{numbers}]" if np.size(values) > 1 else numbers


def diagonal(kernel: Kernel, X: Points) -> Vector:
    """Return the diagonal of the kernel matrix, in O(n)."""
    if not sp.issparse(X):
        return kernel.diag(np.asarray(X, dtype=float))
    starts = range(0, X.shape[0], SPARSE_STRIP_ROWS)
    return np.concatenate([kernel.diag(X[i : i + SPARSE_STRIP_ROWS].toarray()) for i in starts])
