r"""scikit-learn's estimators as kernels and machines of foldless, and their parameters at a theta.

=============================  ==============================================  ====================
estimator                      machine                                         tuned by default
=============================  ==============================================  ====================
``SVC``                        hinge, free bias, one versus the rest           C, gamma
``NuSVC``                      the same; :math:`\nu = \sum_i \alpha_i / (nC)`  nu, gamma
``KernelRidge``                ridge without intercept                         alpha, gamma
``GaussianProcessRegressor``   ridge with :math:`\lambda` = alpha              the kernel
``GaussianProcessClassifier``  logistic, C = 1, no bias                        the kernel
=============================  ==============================================  ====================

The machine of ``NuSVC`` is that of ``SVC`` with another name for its constant [1]_. ``SVC`` trains several classes in
pairs where foldless takes one versus the rest: the criterion then reads a machine that is close to the one fitted.

If no criterion is named, a least-squares support vector machine is the *surrogate* that is tuned in place of the one
with the hinge loss. Its leave-one-out outputs are exact and cheap; those of the hinge loss need refits or bounds, and
a kernel that is good for one machine is as good for the other. The surrogate's loss is
:math:`\tfrac C2 \sum_i (y_i - z_i)^2`, against :math:`C \sum_i (1 - y_i z_i)_+`; the C that goes with the hinge was
found to be about twice as large.

References
----------
.. [1] Schölkopf, Smola, Williamson and Bartlett (2000), *New support vector algorithms*, proposition 6.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import singledispatch
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, clone, is_classifier
from sklearn.gaussian_process import GaussianProcessClassifier, GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, Kernel
from sklearn.kernel_ridge import KernelRidge
from sklearn.svm import SVC, NuSVC
from sklearn.utils import compute_class_weight, compute_sample_weight, get_tags

from foldless.core.contracts import Matrix, Vector
from foldless.core.targets import check_targets, class_index, encode_labels
from foldless.criteria import ABIC
from foldless.criteria.base import Criterion
from foldless.estimators.kernel_search.param_space import Range
from foldless.estimators.kernel_search.sklearn_kernels import Axis, gamma_of, kernel_of
from foldless.machines import LSSVM, HingeSVM, Ridge, SmoothMachine
from foldless.machines.losses import Logistic
from foldless.tuning.result import Selection

SVC_C_OVER_LSSVM_C = 2.0
NU_MARGIN = 1 - 1e-9
SURROGATE_C = Axis(
    "C", lambda C: np.log(C / SVC_C_OVER_LSSVM_C), lambda theta: SVC_C_OVER_LSSVM_C * np.exp(theta)
)

Ranges = Mapping[str, Range]


@dataclass(frozen=True, eq=False)
class SurrogateLSSVM(LSSVM):
    """A least-squares machine that is tuned in place of one with the hinge loss."""

    scaled_C_range: ClassVar[tuple[float, float]] = HingeSVM.scaled_C_range


@dataclass(frozen=True, eq=False)
class EquivalentModel:
    """The kernel and the machine that are equivalent to an estimator.

    Attributes
    ----------
    kernel, machine, Y
        Arguments of :func:`foldless.tuning.select.select`.
    axes : tuple of Axis
        The parameters in ``theta``, in order; empty if the kernel itself is the parameter.
    regularisation : pair or None
        Range of the machine's parameter, if one was given.
    tune_machine : bool
        Whether C (or alpha) is tuned.
    criterion : str or Criterion
        The default, which ``"auto"`` stands for.
    surrogate : EquivalentModel or None
        The model that is tuned in place of this one if no criterion is named.
    is_surrogate : bool
        Whether this is one.
    """

    kernel: Kernel
    machine: Any
    Y: Matrix
    axes: tuple[Axis, ...] = ()
    regularisation: tuple[float, float] | None = None
    tune_machine: bool = True
    criterion: str | Criterion = "loo"
    surrogate: "EquivalentModel | None" = None
    is_surrogate: bool = False

    def params(self, theta: Vector) -> dict[str, Any]:
        """Return the estimator's parameters at ``theta``, which holds the kernel's and then the machine's."""
        return {axis.name: float(axis.natural(t)) for axis, t in zip(self.axes, theta)}

    def extra_params(self, selection: Selection) -> dict[str, Any]:
        """Return parameters that follow from the solution at the chosen point."""
        return {}


@dataclass(frozen=True, eq=False)
class NuModel(EquivalentModel):
    """The support vector machine of ``NuSVC``: C is tuned, and nu follows from the solution.

    Attributes
    ----------
    max_nu : float
        The largest nu that scikit-learn accepts.
    """

    max_nu: float = 1.0

    def extra_params(self, selection: Selection) -> dict[str, Any]:
        """Return nu, the mean of alpha / C over rows and columns."""
        solution = selection.solution
        if self.is_surrogate:
            C = SVC_C_OVER_LSSVM_C * solution.machine.C
            machine = HingeSVM(C, bias=True, weights=solution.machine.weights)
            solution = machine.solve(solution.gram, solution.Y)
        nu = float(np.mean(np.abs(solution.alpha)) / solution.machine.C)
        return {"nu": min(nu, self.max_nu)}


class GaussianProcessModel(EquivalentModel):
    """A machine whose one parameter is the kernel."""

    def params(self, theta: Vector) -> dict[str, Any]:
        """Return the kernel at ``theta``; scikit-learn is not to optimise it again."""
        n_free = len(self.kernel.theta)
        kernel = self.kernel.clone_with_theta(theta[:n_free]) if n_free else self.kernel
        return {"kernel": kernel, "optimizer": None}


@singledispatch
def to_foldless(
    estimator: BaseEstimator, X: Any, y: np.ndarray, ranges: Ranges | None, weight: Vector | None
) -> EquivalentModel:
    """Return the :class:`EquivalentModel` of an estimator.

    Parameters
    ----------
    estimator : object
    X, y : arrays
        Training points and targets.
    ranges : dict from names to Range, or None
        The parameters to tune; ``None`` is the default.
    weight : array of shape (n,) or None
        Sample weights.
    """
    raise TypeError(f"foldless has no machine that is equivalent to {type(estimator).__name__}.")


def has_equivalent(estimator: BaseEstimator) -> bool:
    """Return True if :func:`to_foldless` knows the type of ``estimator``."""
    return to_foldless.dispatch(type(estimator)) is not to_foldless.dispatch(object)


@to_foldless.register
def _(estimator: SVC, X: Any, y: np.ndarray, ranges: Ranges | None, weight: Vector | None) -> EquivalentModel:
    kernel, axes = kernel_of(estimator, X, {"C": None, "gamma": None} if ranges is None else ranges)
    tunes_C = ranges is None or "C" in ranges
    machine = HingeSVM(estimator.C, bias=True, weights=_row_weights(estimator, y, weight))
    model = EquivalentModel(
        kernel,
        machine,
        targets(estimator, y),
        axes=(*axes, Axis("C")) if tunes_C else axes,
        regularisation=_bounds(ranges, "C"),
        tune_machine=tunes_C,
    )
    return replace(model, surrogate=_least_squares_surrogate(model))


@to_foldless.register
def _(
    estimator: NuSVC, X: Any, y: np.ndarray, ranges: Ranges | None, weight: Vector | None
) -> EquivalentModel:
    kernel, axes = kernel_of(estimator, X, {"gamma": None} if ranges is None else ranges)
    machine = HingeSVM(1.0, bias=True, weights=_row_weights(estimator, y, weight))
    Y = targets(estimator, y)
    model = NuModel(kernel, machine, Y, axes, max_nu=_max_nu(Y, weight))
    return replace(model, surrogate=_least_squares_surrogate(model))


def _max_nu(Y: Matrix, weight: Vector | None) -> float:
    """Return the largest nu for which every pair of classes has a solution, a little less for rounding."""
    sizes = np.bincount(class_index(Y), weight)
    return float(NU_MARGIN * 2 * np.min(sizes) / (np.min(sizes) + np.max(sizes)))


def _least_squares_surrogate(model: EquivalentModel) -> EquivalentModel:
    """Return the least-squares machine that is tuned in place of a support vector machine."""
    v, bounds, ratio = model.machine.weights, model.regularisation, SVC_C_OVER_LSSVM_C
    return replace(
        model,
        machine=SurrogateLSSVM(model.machine.C / ratio, weights=v, costs=None if v is None else v / v.mean()),
        axes=tuple(SURROGATE_C if axis.name == "C" else axis for axis in model.axes),
        regularisation=None if bounds is None else (bounds[0] / ratio, bounds[1] / ratio),
        criterion="calibrated-loo",
        is_surrogate=True,
    )


@to_foldless.register
def _(
    estimator: KernelRidge, X: Any, y: np.ndarray, ranges: Ranges | None, weight: Vector | None
) -> EquivalentModel:
    kernel, axes = kernel_of(estimator, X, {"alpha": None, "gamma": None} if ranges is None else ranges)
    tunes_alpha = ranges is None or "alpha" in ranges
    return EquivalentModel(
        kernel,
        Ridge(_number(estimator, "alpha"), weights=weight),
        targets(estimator, y),
        axes=(*axes, Axis("alpha")) if tunes_alpha else axes,
        regularisation=_bounds(ranges, "alpha"),
        tune_machine=tunes_alpha,
    )


@to_foldless.register
def _(
    estimator: GaussianProcessRegressor, X: Any, y: np.ndarray, ranges: Ranges | None, weight: Vector | None
) -> EquivalentModel:
    Y = targets(estimator, y)
    if estimator.normalize_y:
        Y = (Y - Y.mean(axis=0)) / np.maximum(Y.std(axis=0), np.finfo(float).tiny)
    # The noise variance is known, so that the evidence determines the scale of the kernel.
    alpha = _number(estimator, "alpha")
    machine, evidence = Ridge(alpha, weights=weight), ABIC(sigma2=alpha)
    return GaussianProcessModel(_gp_kernel(estimator), machine, Y, tune_machine=False, criterion=evidence)


@to_foldless.register
def _(
    estimator: GaussianProcessClassifier, X: Any, y: np.ndarray, ranges: Ranges | None, weight: Vector | None
) -> EquivalentModel:
    machine = SmoothMachine(Logistic(), 1.0, bias=False, weights=weight)
    return GaussianProcessModel(_gp_kernel(estimator), machine, targets(estimator, y), tune_machine=False)


def targets(estimator: BaseEstimator, y: ArrayLike) -> Matrix:
    """Return columns of -1 and 1 for a classifier, the numbers themselves for a regressor."""
    if is_classifier(estimator):
        return encode_labels(y)[1]
    Y = np.asarray(y, dtype=float).reshape(np.shape(y)[0], -1)
    check_targets(Y)
    return Y


def with_numbers(estimator: BaseEstimator, X: Any, y: np.ndarray, weight: Vector | None) -> BaseEstimator:
    """Return the estimator with the numbers that "balanced" and "scale" stand for: copies of rows count in them."""
    given, numbers = estimator.get_params(deep=False), dict[str, Any]()
    rows = slice(None) if weight is None else np.flatnonzero(weight > 0)
    if given.get("class_weight") == "balanced":
        classes = np.unique(y[rows])
        balanced = compute_class_weight("balanced", classes=classes, y=y[rows])
        numbers["class_weight"] = dict(zip(classes.tolist(), balanced, strict=True))
    if isinstance(given.get("gamma"), str) and not get_tags(estimator).input_tags.pairwise:
        numbers["gamma"] = gamma_of(estimator, X[rows])
    return clone(estimator).set_params(**numbers) if numbers else estimator


def _row_weights(estimator: BaseEstimator, y: np.ndarray, weight: Vector | None) -> Vector | None:
    """Return the product of class and sample weights; None if all are 1."""
    v = compute_sample_weight(estimator.class_weight, y)
    v = v if weight is None else v * weight
    return None if np.all(v == 1) else v


def _number(estimator: BaseEstimator, name: str) -> float:
    value = estimator.get_params()[name]
    if np.ndim(value):
        raise ValueError(
            f"{name} must be one number to be judged without folds, got an array; use criterion='cv'."
        )
    return float(value)


def _bounds(ranges: Ranges | None, name: str) -> tuple[float, float] | None:
    if ranges is None or name not in ranges:
        return None
    return ranges[name].low, ranges[name].high


def _gp_kernel(estimator: BaseEstimator) -> Kernel:
    """Return the kernel of a Gaussian process; scikit-learn's default has fixed parameters."""
    if estimator.kernel is not None:
        return estimator.kernel
    return ConstantKernel(1.0, "fixed") * RBF(1.0, "fixed")
