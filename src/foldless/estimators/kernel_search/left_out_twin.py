"""The kernel machine of foldless that is equivalent to a fitted estimator of scikit-learn, for its left-out models."""

from collections.abc import Collection
from dataclasses import replace
from numbers import Real
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, is_classifier
from sklearn.svm import NuSVC
from sklearn.utils import get_tags

from foldless.core.contracts import Machine, Matrix, Vector
from foldless.core.errors import Undefined
from foldless.core.targets import encode_labels
from foldless.criteria.left_out import left_out_outputs
from foldless.estimators.base import (
    BaseKernelClassifier,
    BaseKernelEstimator,
    BaseKernelRegressor,
    Rows,
    frozen,
    probabilities,
)
from foldless.estimators.calibration import calibrate
from foldless.estimators.copies import FittedRows, without_copies
from foldless.estimators.kernel_search.param_space import Range
from foldless.estimators.kernel_search.sklearn_models import has_equivalent, to_foldless, with_numbers
from foldless.kernels.precomputed import is_precomputed
from foldless.machines import HingeSVM, SmoothMachine


class _Twin(BaseKernelEstimator):
    """What both kinds share: the parameters of a fit that tunes nothing."""

    search, gram, n_components = "lbfgs", "auto", None
    n_starts = max_evaluations = time_budget = n_jobs = random_state = None
    verbose = 0

    def __init__(
        self,
        kernel: Any,
        machine: Machine,
        rows: FittedRows,
        tunes_machine: bool = False,
        split: bool = False,
    ) -> None:
        self.kernel = kernel
        self.machine = machine
        self.rows = rows
        self.tunes_machine = tunes_machine
        self.split = split

    @property
    def _pairwise(self) -> bool:
        return is_precomputed(self.kernel)

    @property
    def criterion(self) -> str:  # type: ignore[override]
        """A criterion that is defined wherever the machine is; it chooses nothing."""
        return "gacv" if isinstance(self.machine, HingeSVM) else "loo"

    def _solve(self, X: Any, Y: Matrix) -> Matrix:
        """Fit the rows, and return their left-out outputs (n, k)."""
        self._keep_rows(self.rows)
        self._kernels, self.n_features_in_ = frozen(self.kernel), X.shape[1]
        selection = self._select(X, Y, self.machine, tune_machine=False)
        self._store(selection)
        # The parameters came from a search, over the same rows unless these were set aside.
        self.kernel_, self._split = self.kernel, self.split
        if self._training is not None:
            self._training = replace(self._training, tuned=not self.split, tunes_machine=self.tunes_machine)
        return left_out_outputs(selection.solution)

    def _machine_params(self, machine: Any) -> dict[str, float]:
        return {}


class RegressorTwin(_Twin, BaseKernelRegressor):
    """A regressor of scikit-learn as a kernel machine.

    Parameters
    ----------
    kernel : Kernel
        Its free parameters are those that were tuned on these rows; the fit takes them as they are.
    machine : Machine
    rows : FittedRows
        Which rows are fitted.
    tunes_machine : bool, default=False
        Whether the machine's parameter was tuned on these rows.
    split : bool, default=False
        Whether the parameters were chosen on other rows.
    """

    _centre: Vector | float = 0.0
    _scale: Vector | float = 1.0

    def fit(self, X: Any, y: np.ndarray, normalise: bool = False) -> Self:
        """Fit; ``normalise`` gives the targets mean 0 and deviation 1 first, as a Gaussian process may."""
        self._single = np.ndim(y) == 1
        Y = np.asarray(y, dtype=float).reshape(len(y), -1)
        if normalise:
            every = Y if self.rows.place is None else Y[self.rows.place]
            self._centre = every.mean(axis=0)
            self._scale = np.maximum(every.std(axis=0), np.finfo(float).tiny)
        outputs = self._solve(X, (Y - self._centre) / self._scale)
        self._keep_left_out(outputs)
        return self

    def _residual_columns(self) -> Matrix:
        return (self._rows_of_fit().Y - self._own_outputs()) * self._scale

    def _response(self, outputs: Matrix) -> Matrix:
        return outputs * self._scale + self._centre

    def _target_deviations(self) -> Matrix | float:
        return self._scale


class ClassifierTwin(_Twin, BaseKernelClassifier):
    """A classifier of scikit-learn as kernel machines, one class against the rest.

    Parameters
    ----------
    kernel : Kernel
        Its free parameters are those that were tuned on these rows; the fit takes them as they are.
    machine : Machine
    rows : FittedRows
        Which rows are fitted.
    tunes_machine : bool, default=False
        Whether the machine's parameter was tuned on these rows.
    split : bool, default=False
        Whether the parameters were chosen on other rows.
    """

    def fit(self, X: Any, y: np.ndarray) -> Self:
        """Fit."""
        self.classes_, Y = encode_labels(y)
        outputs = self._solve(X, Y)
        self._score = "probability" if isinstance(self.machine, SmoothMachine) else "margin"
        self.calibration_ = None if self._score == "probability" else calibrate(outputs, Y, self.rows.weight)
        self._keep_left_out(outputs)
        return self

    def _probabilities(self, outputs: Matrix) -> Matrix:
        return probabilities(outputs) if self.calibration_ is None else self.calibration_(outputs)


def has_twin(machine: BaseEstimator) -> bool:
    """Return whether a fitted estimator of scikit-learn has a twin."""
    return has_equivalent(machine) and not isinstance(machine, NuSVC)


def check_twin(machine: BaseEstimator) -> None:
    """Raise if a fitted estimator of scikit-learn has no twin."""
    if not has_twin(machine):
        raise Undefined(
            f"{type(machine).__name__} has no left-out models without folds. Use an estimator of foldless, SVC, KernelRidge "
            "or a Gaussian process."
        )


def twin_of(
    machine: BaseEstimator,
    tuned: Collection[str],
    X: Any,
    y: np.ndarray,
    weight: Vector | None,
    half: Rows | None = None,
) -> Any:
    """Return the twin of a fitted estimator, fitted to the same rows.

    Parameters
    ----------
    machine : estimator of scikit-learn
        With its parameters chosen.
    tuned : collection of str
        Names of the parameters that were.
    X, y : arrays
        Training points, as the machine saw them, and targets.
    weight : array of shape (n,) or None
        Sample weights.
    half : array of shape (n,) or None
        Numbers of these rows among all, if the others chose the parameters.
    """
    y, pairwise = np.asarray(y), get_tags(machine).input_tags.pairwise
    machine = with_numbers(machine, X, y, weight)
    X, y, weight, fitted = without_copies(X, y, weight, pairwise)
    if half is not None:
        fitted = fitted._replace(numbers=half[fitted.numbers])
    model = to_foldless(machine, X, y, _free(machine, tuned if half is None else ()), weight)
    # Its own kernel is a parameter of a Gaussian process, and free though other rows chose it.
    kernel = model.kernel if half is None else frozen(model.kernel)
    parts = kernel, model.machine, fitted, model.tune_machine, half is not None
    if is_classifier(machine):
        return ClassifierTwin(*parts).fit(X, y)
    return RegressorTwin(*parts).fit(X, y, bool(machine.get_params().get("normalize_y", False)))


def _free(machine: BaseEstimator, tuned: Collection[str]) -> dict[str, Range]:
    """Return the tuned parameters that are positive numbers, each in a range with nothing but its value."""
    values = {name: value for name, value in machine.get_params(deep=False).items() if name in tuned}
    return {
        name: Range(float(value), float(value))
        for name, value in values.items()
        if isinstance(value, Real) and float(value) > 0
    }
