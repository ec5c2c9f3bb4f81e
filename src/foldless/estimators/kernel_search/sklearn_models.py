r"""scikit-learn's estimators in our words: their parameters in, kernel and machine out, and back.

=============================  ==============================================  ====================
estimator                      machine                                         tuned by default
=============================  ==============================================  ====================
``SVC``                        hinge, free bias, one versus the rest           C, gamma
``NuSVC``                      the same; :math:`\nu = \sum_i \alpha_i / (nC)`  nu, gamma
``KernelRidge``                ridge without intercept                         alpha, gamma
``GaussianProcessRegressor``   ridge with :math:`\lambda` = alpha              the kernel
``GaussianProcessClassifier``  logistic, C = 1, no bias                        the kernel
=============================  ==============================================  ====================

The machine of ``NuSVC`` is that of ``SVC`` with another name for its constant [1]_. ``SVC`` puts several classes
against each other in pairs where we take one versus the rest: the criterion then judges a neighbour of the machine.

Where nobody names a criterion a least-squares support vector machine *stands in* for the one with the hinge loss: what
the machines say of points left out is exact and cheap for squares, rough and dear for hinges, and the best kernel for
the one is as good for the other. Its loss is :math:`\tfrac C2 \sum_i (y_i - z_i)^2`, against
:math:`C \sum_i (1 - y_i z_i)_+`; the C that goes with the hinge was found to be about twice as large.

References
----------
.. [1] Schölkopf, Smola, Williamson and Bartlett (2000), *New support vector algorithms*, proposition 6.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial, singledispatch
from typing import Any

import numpy as np
from sklearn.base import is_classifier
from sklearn.gaussian_process import GaussianProcessClassifier, GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, DotProduct, Exponentiation, Kernel
from sklearn.kernel_ridge import KernelRidge
from sklearn.svm import SVC, NuSVC
from sklearn.utils import compute_sample_weight

from foldless.core.targets import one_versus_rest
from foldless.criteria import ABIC
from foldless.estimators.kernel_search.param_space import Range
from foldless.kernels import Laplacian, Precomputed, Sigmoid
from foldless.kernels.by_name import named_kernel
from foldless.machines import LSSVM, HingeSVM, Ridge, SmoothMachine
from foldless.machines.losses import Logistic

TWICE = 2.0  # C of the hinge loss over C of the squares that stand in for it
EITHER_WAY = 100.0  # how far gamma of a polynomial or sigmoid kernel may move


@dataclass(frozen=True)
class Axis:
    """A parameter of an estimator and the entry of theta that stands for it."""

    name: str
    theta: Callable[[float], float] = np.log
    natural: Callable[[float], float] = np.exp


@dataclass(frozen=True, eq=False)
class EquivalentModel:
    """An estimator in our words.

    Attributes
    ----------
    kernel, machine, Y
        What :func:`foldless.tuning.select.select` takes.
    params : callable
        From theta (kernel, then machine) to parameters of the estimator.
    axes : tuple of Axis
        What ``theta`` holds, in order; empty where the kernel itself is the parameter.
    regularisation : pair or None
        Range of the machine's parameter, where one was given.
    tune_machine : bool
    criterion : str or Criterion
        What ``"auto"`` stands for.
    last : callable
        From a selection to parameters that only it tells.
    stand_in : Words or None
        The machine that is tuned in place of this one where nobody names a criterion.
    """

    kernel: Kernel
    machine: Any
    Y: np.ndarray
    params: Callable[[np.ndarray], dict]
    axes: tuple[Axis, ...] = ()
    regularisation: tuple[float, float] | None = None
    tune_machine: bool = True
    criterion: Any = "loo"
    last: Callable[[Any], dict] = lambda selection: {}
    stand_in: Any = None


@singledispatch
def translate(estimator, X, y, ranges, weight):
    """Return the :class:`EquivalentModel` of an estimator, or ``None`` if we have none.

    Parameters
    ----------
    estimator : object
    X, y : arrays
        Training points and targets.
    ranges : dict from names to Range, or None
        What may move; ``None`` is the default.
    weight : array of shape (n,) or None
        Sample weights.
    """


@translate.register
def _(estimator: SVC, X, y, ranges, weight):
    kernel, axes = of_name(estimator, X, {"C": True, "gamma": True} if ranges is None else ranges)
    free = ranges is None or "C" in ranges
    v = _class_weight(estimator, y, weight)
    words = EquivalentModel(
        kernel=kernel,
        machine=HingeSVM(estimator.C, bias=True, weights=v),
        Y=targets(estimator, y),
        params=_by_axes(axes),
        tune_machine=free,
    )
    return _with_stand_in(words, axes, (Axis("C"),) if free else (), _pair(ranges, "C"), v)


@translate.register
def _(estimator: NuSVC, X, y, ranges, weight):
    kernel, axes = of_name(estimator, X, {"gamma": True} if ranges is None else ranges)
    v = _class_weight(estimator, y, weight)
    machine = HingeSVM(1.0, bias=True, weights=v)
    words = EquivalentModel(
        kernel=kernel,
        machine=machine,
        Y=targets(estimator, y),
        params=_by_axes(axes),
        last=partial(_nu, machine),
    )
    return _with_stand_in(words, axes, (), None, v)


def _with_stand_in(words, axes, own, pair, v):
    """Return the words of a support vector machine, and beside them those of the machine that stands in for it."""
    half = tuple(
        replace(axis, theta=lambda C: np.log(C / TWICE), natural=lambda t: TWICE * np.exp(t)) for axis in own
    )
    pairs = None if pair is None else (pair[0] / TWICE, pair[1] / TWICE)
    stand_in = replace(
        words,
        machine=LSSVM(words.machine.C / TWICE, weights=v, costs=None if v is None else v / v.mean()),
        axes=(*axes, *half),
        params=_by_axes((*axes, *half)),
        regularisation=pairs,
        criterion="calibrated-loo",
    )
    axes = (*axes, *own)
    return replace(words, axes=axes, params=_by_axes(axes), regularisation=pair, stand_in=stand_in)


@translate.register
def _(estimator: KernelRidge, X, y, ranges, weight):
    kernel, axes = of_name(estimator, X, {"alpha": True, "gamma": True} if ranges is None else ranges)
    free = ranges is None or "alpha" in ranges
    axes = (*axes, Axis("alpha")) if free else axes
    return EquivalentModel(
        kernel=kernel,
        machine=Ridge(_number(estimator, "alpha"), weights=weight),
        Y=targets(estimator, y),
        params=_by_axes(axes),
        axes=axes,
        regularisation=_pair(ranges, "alpha"),
        tune_machine=free,
    )


@translate.register
def _(estimator: GaussianProcessRegressor, X, y, ranges, weight):
    Y = targets(estimator, y)
    if estimator.normalize_y:
        Y = (Y - Y.mean(axis=0)) / np.maximum(Y.std(axis=0), np.finfo(float).tiny)
    alpha, kernel = _number(estimator, "alpha"), _gp_kernel(estimator)
    evidence = ABIC(sigma2=alpha)  # with this variance of the noise: K then has its scale
    machine = Ridge(alpha, weights=weight)
    return EquivalentModel(kernel, machine, Y, _by_kernel(kernel), tune_machine=False, criterion=evidence)


@translate.register
def _(estimator: GaussianProcessClassifier, X, y, ranges, weight):
    kernel = _gp_kernel(estimator)
    machine = SmoothMachine(Logistic(), 1.0, bias=False, weights=weight)
    return EquivalentModel(kernel, machine, targets(estimator, y), _by_kernel(kernel), tune_machine=False)


def targets(estimator, y):
    """Return columns of -1 and 1 for a classifier, the numbers themselves for a regressor."""
    if not is_classifier(estimator):
        return np.asarray(y, dtype=float).reshape(len(y), -1)
    classes, codes = np.unique(y, return_inverse=True)
    if len(classes) < 2:
        raise ValueError(f"y must hold at least two classes, got one class: {classes[0]}.")
    return one_versus_rest(codes, len(classes))


def _class_weight(estimator, y, weight):
    v = compute_sample_weight(estimator.class_weight, y)
    v = v if weight is None else v * weight
    return None if np.all(v == 1) else v


def _number(estimator, name):
    value = getattr(estimator, name)
    if np.ndim(value):
        raise ValueError(
            f"{name} must be one number to be judged without folds, got an array; use criterion='cv'."
        )
    return float(value)


def _pair(ranges, name):
    part = None if ranges is None else ranges.get(name)
    return None if part is None else (part.low, part.high)


def _by_axes(axes):
    return lambda theta: {a.name: float(a.natural(t)) for a, t in zip(axes, theta)}


def _by_kernel(kernel):
    def params(theta):
        chosen = kernel.clone_with_theta(theta[: len(kernel.theta)]) if len(kernel.theta) else kernel
        return {"kernel": chosen, "optimizer": None}

    return params


def _gp_kernel(estimator):
    if estimator.kernel is not None:
        return estimator.kernel
    return ConstantKernel(1.0, "fixed") * RBF(1.0, "fixed")


def _nu(machine, selection):
    """The nu whose machine is this one: the mean of alpha over C, over all columns."""
    solution = selection.solution
    if not hasattr(solution, "columns"):  # it was another machine that was tuned
        machine = replace(machine, C=TWICE * selection.machine.C)
        solution = machine.solve(solution.gram, solution.Y)
    columns = solution.columns
    return {"nu": float(np.mean([np.mean(np.abs(c.alpha)) for c in columns]) / solution.machine.C)}


# Kernels by scikit-learn's names. `free` maps names to a Range, or to True for the default one.

GAMMA = Axis(
    "gamma", lambda g: -0.5 * np.log(2 * g), lambda t: 0.5 * np.exp(-2 * t)
)  # of an RBF length scale
INVERSE = Axis("gamma", lambda g: -np.log(g), lambda t: np.exp(-t))  # of a Laplacian length scale


def of_name(estimator, X, free):
    """Return the kernel an estimator names, and the axes of its theta."""
    name = estimator.kernel
    if not isinstance(name, str) or name not in KERNELS:
        raise ValueError(
            f"kernel={name!r} has no criterion without folds; use one of {', '.join(sorted(KERNELS))}, "
            "or criterion='cv'."
        )
    return KERNELS[name](estimator, X, free)


def _length(gamma):
    """The length scale of an RBF kernel with this gamma."""
    return float(1 / np.sqrt(2 * gamma))


def _rbf(estimator, X, free):
    if "gamma" not in free:
        return RBF(_length(_gamma(estimator, X)), "fixed"), ()
    if not isinstance(free["gamma"], Range):
        return named_kernel("rbf", X), (GAMMA,)
    part = free["gamma"]
    return RBF(_length(part.centre), (_length(part.high), _length(part.low))), (GAMMA,)


def _laplacian(estimator, X, free):
    if "gamma" not in free:
        return Laplacian(1 / _gamma(estimator, X), "fixed", norm=1), ()
    part = _moving(estimator, X, free, "gamma")
    return Laplacian(1 / part.centre, (1 / part.high, 1 / part.low), norm=1), (INVERSE,)


def _linear(estimator, X, free):
    return DotProduct(0.0, "fixed"), ()


def _poly(estimator, X, free):
    homogeneous = estimator.coef0 == 0 and "coef0" not in free
    if homogeneous and free.get("gamma") is True:  # it is a factor of the kernel, as C is
        free = {name: part for name, part in free.items() if name != "gamma"}
    gamma = _constant(estimator, X, free, "gamma") * DotProduct(0.0, "fixed")
    inside = gamma if homogeneous else gamma + _constant(estimator, X, free, "coef0")
    return Exponentiation(inside, estimator.degree), tuple(Axis(n) for n in ("gamma", "coef0") if n in free)


def _sigmoid(estimator, X, free):
    values = {n: _value(estimator, X, free, n) for n in ("gamma", "coef0")}
    bounds = {f"{n}_bounds": _bounds(estimator, X, free, n) for n in ("gamma", "coef0")}
    return Sigmoid(**values, **bounds), tuple(Axis(n) for n in ("coef0", "gamma") if n in free)


def _precomputed(estimator, X, free):
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


def _gamma(estimator, X):
    """The number behind gamma, as scikit-learn has it."""
    gamma = estimator.gamma
    if gamma == "scale":
        squares = X.multiply(X).mean() if hasattr(X, "multiply") else np.mean(np.square(X))
        variance = float(squares - X.mean() ** 2)
        return 1 / (X.shape[1] * variance) if variance > 0 else 1.0
    return 1 / X.shape[1] if gamma in ("auto", None) else float(gamma)


def _moving(estimator, X, free, name):
    if isinstance(free[name], Range):
        return free[name]
    start = _gamma(estimator, X) if name == "gamma" else max(float(estimator.coef0), 1.0)
    return Range(start / EITHER_WAY, start * EITHER_WAY)


def _value(estimator, X, free, name):
    if name in free:
        return _moving(estimator, X, free, name).centre
    return _gamma(estimator, X) if name == "gamma" else float(estimator.coef0)


def _bounds(estimator, X, free, name):
    if name not in free:
        return "fixed"
    part = _moving(estimator, X, free, name)
    return part.low, part.high


def _constant(estimator, X, free, name):
    return ConstantKernel(_value(estimator, X, free, name), _bounds(estimator, X, free, name))
