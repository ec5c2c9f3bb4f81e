"""Kernels by name, with bounds and a start that come from the data."""

from collections.abc import Callable
from functools import partial

import numpy as np
import scipy.sparse as sp
from scipy.spatial.distance import pdist
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, DotProduct, Kernel, Matern

from foldless.core.errors import DataError, UnknownName
from foldless.kernels import Additive, Laplacian, Metric, PowerExponential, Precomputed, Sinc
from foldless.kernels.pairs import Points, distinct_rows, to_dense

DISTANCE_SAMPLE_ROWS = 300  # rows whose distances give the typical one
LENGTH_SCALE_RANGE_FACTOR = 100  # a length scale may move this factor down and up from its start
POLY_OFFSET_RANGE_FACTOR = 30
AMPLITUDE_RANGE = (1e-4, 1e2)  # of one column of an additive kernel, in units of the equal share
METRIC_ROUNDS = 5  # how often a metric is learned from the fit before
POWER_START = 1.5  # between the Laplacian and the Gaussian
SINC_MAX_LOG_AMPLITUDE = 600  # the largest double has the logarithm 709


def typical_distance(X: Points, metric: str = "euclidean") -> float:
    """Return the median distance between distinct points, from an even sample of the distinct rows."""
    X = distinct_rows(X)
    n = X.shape[0]
    d = pdist(to_dense(X[np.linspace(0, n - 1, min(DISTANCE_SAMPLE_ROWS, n)).astype(int)]), metric)
    d = d[d > 0]
    return float(np.median(d)) if d.size else 1.0


def _length(X: Points) -> tuple[float, tuple[float, float]]:
    """Return the start of a length scale, and its bounds."""
    return _around(typical_distance(X) / np.sqrt(2))


def _around(length: float) -> tuple[float, tuple[float, float]]:
    return length, (length / LENGTH_SCALE_RANGE_FACTOR, length * LENGTH_SCALE_RANGE_FACTOR)


def _rbf(X: Points) -> Kernel:
    return RBF(*_length(X))


def _matern32(X: Points) -> Kernel:
    return Matern(*_length(X), nu=1.5)


def _matern52(X: Points) -> Kernel:
    return Matern(*_length(X), nu=2.5)


def _laplacian(X: Points) -> Kernel:
    return Laplacian(*_length(X))


def _product_laplacian(X: Points) -> Kernel:
    return Laplacian(*_around(typical_distance(X, "cityblock")), norm=1)


def _power_exponential(X: Points) -> Kernel:
    length, bounds = _around(typical_distance(X))
    return PowerExponential(length, POWER_START, length_scale_bounds=bounds)


def _metric(X: Points, nu: float) -> Kernel:
    length, bounds = _length(X)
    return Metric(length, nu=nu, rounds=METRIC_ROUNDS, length_scale_bounds=bounds)


def _per_feature(make: Callable[[Points], Kernel], X: Points) -> Kernel:
    """Return a kernel with a length scale per feature, all of which start at the common one."""
    kernel = make(X)
    return kernel.set_params(length_scale=np.full(X.shape[1], kernel.length_scale))


def _sinc(X: Points) -> Kernel:
    length, (low, high) = _length(X)
    if abs(X.shape[1] * np.log(np.pi * length)) > SINC_MAX_LOG_AMPLITUDE:
        raise DataError(
            f"kernel='sinc' over- or underflows for {X.shape[1]} features with distances of about {length:.0e}. Scale the "
            "inputs, or choose another kernel."
        )
    return ConstantKernel((np.pi * length) ** X.shape[1], "fixed") * Sinc(1 / length, (1 / high, 1 / low))


def _mean_square(X: Points) -> float:
    """Return the mean squared norm of the distinct rows; 1 if all are zero, so that the kernel stays finite."""
    X = distinct_rows(X)
    squares = X.multiply(X).sum() if sp.issparse(X) else np.sum(np.square(X))
    return float(squares) / X.shape[0] or 1.0


def _linear(X: Points) -> Kernel:
    return ConstantKernel(1 / _mean_square(X), "fixed") * DotProduct(0.0, "fixed")


def _affine(X: Points) -> Kernel:
    return _linear(X) + ConstantKernel(1.0, "fixed")


def _poly(X: Points) -> Kernel:
    scale = _mean_square(X)
    offset, factor = np.sqrt(scale), POLY_OFFSET_RANGE_FACTOR
    dot = DotProduct(offset, (offset / factor, offset * factor))
    return (ConstantKernel(1 / scale, "fixed") * dot) ** 3


def _additive(X: Points, order: int = 1) -> Kernel:
    """Return a kernel whose diagonal is 1 at the start for order 1."""
    d = X.shape[1]
    # A typical distance in d columns is sqrt(d) times that in one.
    length, bounds = _around(typical_distance(X) / np.sqrt(2 * d))
    low, high = AMPLITUDE_RANGE
    return Additive(
        np.full(d, 1 / d),
        length,
        1.0,
        order,
        amplitude_bounds=(low / d, high / d),
        length_scale_bounds=bounds,
    )


def _precomputed(X: Points) -> Kernel:
    return Precomputed()


NAMED: dict[str, Callable[[Points], Kernel]] = {
    "rbf": _rbf,
    "matern": _matern52,
    "matern32": _matern32,
    "matern52": _matern52,
    "laplacian": _laplacian,
    "product-laplacian": _product_laplacian,
    "power-exponential": _power_exponential,
    "rbf-metric": partial(_metric, nu=np.inf),
    "laplacian-metric": partial(_metric, nu=0.5),
    "sinc": _sinc,
    "poly": _poly,
    "linear": _linear,
    "affine": _affine,
    "additive": _additive,
    "additive2": partial(_additive, order=2),
    "precomputed": _precomputed,
}

# Kernels that may have a length scale per feature: tied by the criterion, or free.
TIED_SUFFIX, FREE_SUFFIX = "-ard", "-ard-free"
for _name in ("rbf", "matern", "laplacian"):
    for _suffix in (TIED_SUFFIX, FREE_SUFFIX):
        NAMED[_name + _suffix] = partial(_per_feature, NAMED[_name])


def named_kernel(name: str, X: Points) -> Kernel:
    """Return the kernel called ``name`` for the points ``X``.

    Length scales start at the median distance over the square root of two and may move by a factor of a hundred
    either way; the linear and polynomial kernels are divided by the mean squared norm of the points, so that the same
    range of C suits every data set.
    """
    if name not in NAMED:
        raise UnknownName("kernel", name, NAMED)
    return NAMED[name](X)
