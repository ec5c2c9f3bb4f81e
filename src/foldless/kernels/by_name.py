"""Kernels by name, with bounds and a start that come from the data."""

import numpy as np
from scipy.sparse import issparse
from scipy.spatial.distance import pdist
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, DotProduct, Matern

from foldless.core.errors import UnknownName
from foldless.kernels import Laplacian, Precomputed, Sinc

SAMPLE = 300  # points looked at for the typical distance
DISTINCT = 2000  # rows up to which repeated ones are set aside first
NARROW, WIDE = 1 / 100, 100  # bounds of a length scale, in typical distances


def typical_distance(X):
    """Median distance between distinct points, from an even sample of the distinct rows."""
    if X.shape[0] <= DISTINCT:
        X = np.unique(X.toarray() if issparse(X) else X, axis=0)
    sample = X[np.linspace(0, X.shape[0] - 1, min(SAMPLE, X.shape[0])).astype(int)]
    d = pdist(sample.toarray() if issparse(sample) else sample)
    d = d[d > 0]
    return float(np.median(d)) if d.size else 1.0


def _length(X):
    length = typical_distance(X) / np.sqrt(2)
    return length, (length * NARROW, length * WIDE)


def _rbf(X):
    return RBF(*_length(X))


def _rbf_ard(X):
    length, bounds = _length(X)
    return RBF(np.full(X.shape[1], length), bounds)


def _matern(X):
    return Matern(*_length(X), nu=2.5)


def _laplacian(X):
    return Laplacian(*_length(X))


def _sinc(X):
    length, (low, high) = _length(X)
    return ConstantKernel((np.pi * length) ** X.shape[1], "fixed") * Sinc(1 / length, (1 / high, 1 / low))


def _mean_square(X):
    squares = X.multiply(X).sum() if hasattr(X, "multiply") else np.sum(np.square(X))
    return max(float(squares) / X.shape[0], np.finfo(float).tiny)


def _linear(X):
    return ConstantKernel(1 / _mean_square(X), "fixed") * DotProduct(0.0, "fixed")


def _poly(X):
    scale = _mean_square(X)
    offset = np.sqrt(scale)
    return (ConstantKernel(1 / scale, "fixed") * DotProduct(offset, (offset / 30, offset * 30))) ** 3


def _precomputed(X):
    return Precomputed()


NAMED = {
    "rbf": _rbf,
    "rbf-ard": _rbf_ard,
    "matern": _matern,
    "laplacian": _laplacian,
    "sinc": _sinc,
    "poly": _poly,
    "linear": _linear,
    "precomputed": _precomputed,
}


def named_kernel(name, X):
    """Return the kernel called ``name`` for the points ``X``.

    Length scales start at the median distance over the square root of two and may move by a factor of a hundred
    either way; the linear and polynomial kernels are divided by the mean squared norm of the points, so that the same
    range of C suits every data set.
    """
    if name not in NAMED:
        raise UnknownName("kernel", name, NAMED)
    return NAMED[name](X)
