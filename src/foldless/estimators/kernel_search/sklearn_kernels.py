"""Kernels by scikit-learn's names as kernel objects, and which entry of theta is which parameter.

``free`` maps the names of the parameters to tune to a :class:`Range`, or to ``None`` for a range that comes from the data.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.base import BaseEstimator
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, DotProduct, Exponentiation, Kernel

from foldless.estimators.kernel_search.param_space import Range
from foldless.kernels import Laplacian, Precomputed, Sigmoid
from foldless.kernels.by_name import named_kernel

# By default gamma and coef0 of polynomial kernels, and gamma of Laplacian ones, may be so many times larger or smaller.
GAMMA_RANGE_FACTOR = 100.0


@dataclass(frozen=True)
class Axis:
    """A parameter of an estimator and the entry of theta that stands for it."""

    name: str
    theta: Callable[[float], float] = np.log
    natural: Callable[[float], float] = np.exp


# An RBF kernel has length scale (2 gamma)^(-1/2), a Laplacian one 1 / gamma.
RBF_GAMMA = Axis("gamma", lambda g: -0.5 * np.log(2 * g), lambda t: 0.5 * np.exp(-2 * t))
LAPLACIAN_GAMMA = Axis("gamma", lambda g: -np.log(g), lambda t: np.exp(-t))

Free = Mapping[str, Range | None]
KernelAndAxes = tuple[Kernel, tuple[Axis, ...]]


def kernel_of(estimator: BaseEstimator, X: Any, free: Free) -> KernelAndAxes:
    """Return the kernel that an estimator names, and the axes of its theta."""
    name = estimator.kernel
    if not isinstance(name, str) or name not in KERNELS:
        raise ValueError(
            f"kernel={name!r} has no criterion without folds; use one of {', '.join(sorted(KERNELS))}, "
            "or criterion='cv'."
        )
    return KERNELS[name](estimator, X, free)


def _rbf(estimator: BaseEstimator, X: Any, free: Free) -> KernelAndAxes:
    if "gamma" not in free:
        return RBF(_length_scale(gamma_of(estimator, X)), "fixed"), ()
    part = free["gamma"]
    if part is None:
        return named_kernel("rbf", X), (RBF_GAMMA,)
    bounds = (_length_scale(part.high), _length_scale(part.low))
    return RBF(_length_scale(part.centre), bounds), (RBF_GAMMA,)


def _length_scale(gamma: float) -> float:
    """Return the length scale of an RBF kernel with this gamma."""
    return float(1 / np.sqrt(2 * gamma))


def _laplacian(estimator: BaseEstimator, X: Any, free: Free) -> KernelAndAxes:
    if "gamma" not in free:
        return Laplacian(1 / gamma_of(estimator, X), "fixed", norm=1), ()
    part = _range(estimator, X, free, "gamma")
    return Laplacian(1 / part.centre, (1 / part.high, 1 / part.low), norm=1), (LAPLACIAN_GAMMA,)


def _linear(estimator: BaseEstimator, X: Any, free: Free) -> KernelAndAxes:
    return DotProduct(0.0, "fixed"), ()


def _poly(estimator: BaseEstimator, X: Any, free: Free) -> KernelAndAxes:
    homogeneous = estimator.coef0 == 0 and "coef0" not in free
    if homogeneous and free.get("gamma") is None:
        # Without an offset gamma is a factor of the kernel, as C is: tuning both by default would be redundant.
        free = {name: part for name, part in free.items() if name != "gamma"}
    gamma = _constant(estimator, X, free, "gamma") * DotProduct(0.0, "fixed")
    inside = gamma if homogeneous else gamma + _constant(estimator, X, free, "coef0")
    return Exponentiation(inside, estimator.degree), tuple(Axis(n) for n in ("gamma", "coef0") if n in free)


def _sigmoid(estimator: BaseEstimator, X: Any, free: Free) -> KernelAndAxes:
    gamma, coef0 = (_value(estimator, X, free, name) for name in ("gamma", "coef0"))
    bounds = (_bounds(estimator, X, free, name) for name in ("gamma", "coef0"))
    return Sigmoid(gamma, coef0, *bounds), tuple(Axis(n) for n in ("coef0", "gamma") if n in free)


def _precomputed(estimator: BaseEstimator, X: Any, free: Free) -> KernelAndAxes:
    return Precomputed(), ()


KERNELS = {
    "rbf": _rbf,
    "laplacian": _laplacian,
    "linear": _linear,
    "poly": _poly,
    "polynomial": _poly,
    "sigmoid": _sigmoid,
    "precomputed": _precomputed,
}


def gamma_of(estimator: BaseEstimator, X: Any) -> float:
    """Return gamma as a number; ``"scale"`` and ``"auto"`` mean what they mean in scikit-learn."""
    gamma = estimator.gamma
    if gamma is None or (isinstance(gamma, str) and gamma == "auto"):
        return 1 / X.shape[1]
    if not isinstance(gamma, str):
        return float(gamma)
    mean_square = X.multiply(X).mean() if issparse(X) else np.mean(np.square(X))
    variance = float(mean_square - X.mean() ** 2)
    return 1 / (X.shape[1] * variance) if variance > 0 else 1.0


def _range(estimator: BaseEstimator, X: Any, free: Free, name: str) -> Range:
    """Return the range of a free parameter."""
    part = free[name]
    if part is not None:
        return part
    start = gamma_of(estimator, X) if name == "gamma" else max(float(estimator.coef0), 1.0)
    return Range(start / GAMMA_RANGE_FACTOR, start * GAMMA_RANGE_FACTOR)


def _value(estimator: BaseEstimator, X: Any, free: Free, name: str) -> float:
    if name in free:
        return _range(estimator, X, free, name).centre
    return gamma_of(estimator, X) if name == "gamma" else float(estimator.coef0)


def _bounds(estimator: BaseEstimator, X: Any, free: Free, name: str) -> str | tuple[float, float]:
    if name not in free:
        return "fixed"
    part = _range(estimator, X, free, name)
    return part.low, part.high


def _constant(estimator: BaseEstimator, X: Any, free: Free, name: str) -> ConstantKernel:
    return ConstantKernel(_value(estimator, X, free, name), _bounds(estimator, X, free, name))
