"""Landmarks: the rows whose columns of the kernel matrix stand for all others."""

import numpy as np
from sklearn.cluster import kmeans_plusplus

from foldless.kernels.evaluate import diagonal, gram

POOL = 30  # rows looked at per landmark when landmarks are spread out


def uniform_landmarks(X, m, rng):
    """Return m distinct rows, drawn uniformly, in increasing order."""
    return np.sort(rng.choice(X.shape[0], size=m, replace=False))


def spread_landmarks(X, m, rng):
    """Return m rows by k-means++ seeding: far apart, but where the points are."""
    n = X.shape[0]
    pool = uniform_landmarks(X, POOL * m, rng) if n > POOL * m else np.arange(n)
    _, rows = kmeans_plusplus(X[pool], m, random_state=rng.integers(2**31))
    return np.unique(pool[rows])


def greedy_landmarks(kernel, X, m=None, tolerance=0.0):
    r"""Rows chosen by pivoted Cholesky: each is the one the others explain worst.

    Parameters
    ----------
    kernel : Kernel
    X : array of shape (n, d)
    m : int, optional
        At most this many; by default all.
    tolerance : float
        Stop when :math:`\sum_i (K_{ii} - \tilde K_{ii})` falls below this times the trace of K.

    Returns
    -------
    rows : array of shape (at most m,)
    residual : float
        The remaining :math:`\sum_i (K_{ii} - \tilde K_{ii})`.
    """
    n = X.shape[0]
    m = n if m is None else min(m, n)
    left = np.array(diagonal(kernel, X), dtype=float)
    floor = max(tolerance, n * np.finfo(float).eps) * left.sum()
    F, rows = np.empty((m, n)), []
    for j in range(m):
        i = int(np.argmax(left))
        if left.sum() <= floor or left[i] <= 0:
            break
        column = gram(kernel, X, X[[i]])[:, 0]
        F[j] = (column - F[:j, i] @ F[:j]) / np.sqrt(left[i])
        left = np.maximum(left - F[j] ** 2, 0)
        left[i] = 0
        rows.append(i)
    return np.array(rows, dtype=np.intp), float(left.sum())
