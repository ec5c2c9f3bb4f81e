"""What all estimators share: checked data in, ``select``, fitted attributes out. No formulas."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeAlias, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit
from sklearn.base import BaseEstimator, clone
from sklearn.gaussian_process.kernels import Kernel
from sklearn.utils import Tags
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from foldless.core.contracts import Machine, Matrix, Vector
from foldless.core.errors import AdviceWarning, ConstantPredictionWarning, UnreadableSolution
from foldless.core.linalg import check_semidefinite
from foldless.core.magnitude import check_magnitude
from foldless.core.parallel import one_blas_thread
from foldless.core.targets import MIN_ROWS, check_targets, class_index, encode_labels, one_versus_rest
from foldless.core.text_columns import naming_text_columns
from foldless.criteria.base import Criterion
from foldless.estimators.advice import (
    bound_warning,
    constant_warning,
    copies_warning,
    no_gain_warning,
    parameters_warning,
    scale_warning,
    warn_about,
)
from foldless.estimators.attribute_names import AttributeNamesMixin
from foldless.estimators.callbacks import CallbackMixin, both
from foldless.estimators.columns import ColumnCodes, bound_kernels, codes_for, readable_columns
from foldless.estimators.copies import FittedRows, fitted_rows
from foldless.estimators.dask_collections import Collection, PartitionedFit, lazy_on_dask
from foldless.estimators.doc_links import DocLinkMixin
from foldless.estimators.feature_relevance import relevance
from foldless.estimators.landmarks import cell_rows, landmark_points
from foldless.estimators.parameter_names import ParameterNamesMixin
from foldless.estimators.uncertainty.interval_mixin import IntervalMixin
from foldless.estimators.uncertainty.left_out_mixin import LeftOutMixin
from foldless.estimators.uncertainty.set_mixin import SetMixin
from foldless.estimators.validation import (
    check_labels_present,
    check_options,
    checked_weights,
    weights_of_classes,
)
from foldless.grams.expansion import CellExpansion, Expansion
from foldless.kernels import gram
from foldless.kernels.families import Families, families
from foldless.searches.base import Search
from foldless.tuning.progress import progress
from foldless.tuning.result import Selection
from foldless.tuning.select import select

PREDICT_BLOCK_ENTRIES = 2_000_000
# What a fitted estimator needs while it is fitted, but not to predict.
WORKING_ATTRIBUTES = ("selection_", "_kernels", "_known", "_landmarks")
# Predictions for so many training rows show whether all predictions are the same.
ADVICE_MAX_ROWS = 200

KernelLike: TypeAlias = str | Kernel | Sequence[str | Kernel]
CriterionLike: TypeAlias = str | Criterion
SearchLike: TypeAlias = str | Search
Seed: TypeAlias = int | np.random.RandomState | None
Rows: TypeAlias = NDArray[np.intp]


@dataclass(frozen=True)
class Link:
    """How outputs become answers.

    Attributes
    ----------
    gives_probabilities : bool
        False if the outputs are the predictions.
    slope : float
        What the outputs are multiplied by first.
    joint : bool
        Whether probabilities of several classes are the softmax, rather than one-versus-rest ones divided by their sum.
    """

    gives_probabilities: bool = False
    slope: float = 1.0
    joint: bool = True


class BaseKernelEstimator(
    AttributeNamesMixin, DocLinkMixin, ParameterNamesMixin, CallbackMixin, LeftOutMixin, BaseEstimator
):
    """Base of all estimators: checks of the data, tuning, and prediction as a sum of kernel functions."""

    kernel: KernelLike
    criterion: CriterionLike | None
    search: SearchLike
    n_starts: int | None
    max_evaluations: int | None
    time_budget: float | None
    gram: str
    n_components: int | None
    landmarks: ArrayLike | None = None
    cell_size: int | None = None
    random_state: Seed
    n_jobs: int | None
    verbose: int
    on_interrupt: str = "raise"

    _rows: Rows  # numbers of the training rows that are fitted
    _kernels: KernelLike  # the kernels to choose from, with names of columns turned into numbers
    _landmarks: Any = None  # the points that the user gave as landmarks
    column_codes_: ColumnCodes | None = None
    partitions_: PartitionedFit | None = None

    def _check_data(self, X: ArrayLike, y: ArrayLike, **options: Any) -> tuple[Any, np.ndarray]:
        check_options(self)
        check_labels_present(y)
        self._kernels = bound_kernels(self.kernel, X)
        codes = self.column_codes_ = codes_for(self._kernels, X)
        frame = readable_columns(X if codes is None else codes.encode(X))
        with naming_text_columns(frame, y if options.get("y_numeric") else None):
            points, targets = validate_data(
                self,
                frame,
                y,
                accept_sparse=self._accept_sparse,
                dtype=np.float64,
                ensure_min_samples=MIN_ROWS,
                **options,
            )
            if options.get("y_numeric"):
                targets = np.asarray(targets, dtype=float)
        check_magnitude(points, "X")
        if self._pairwise:
            check_semidefinite(points, "the precomputed Gram matrix of the training points")
        self._landmarks = landmark_points(self.landmarks, points, codes)
        return points, targets

    def _drop_weightless_rows(
        self, X: Any, y: np.ndarray, sample_weight: ArrayLike | None
    ) -> tuple[Any, np.ndarray, Vector]:
        """Return rows, targets and weights of the rows whose weight is positive, and remember which these are."""
        weight = checked_weights(sample_weight, X)
        self._rows = np.flatnonzero(weight)
        if len(self._rows) == len(weight):
            return X, y, weight
        return self._of_table(X, self._rows), y[self._rows], weight[self._rows]

    def _join_copies(self, X: Any, Y: Matrix, weight: Vector) -> tuple[Any, Matrix, FittedRows]:
        """Return rows and targets with copies of a row as one row, and remember which rows these are."""
        found = fitted_rows(X, Y, weight)
        self._keep_rows(found._replace(numbers=self._rows))
        if found.place is None:
            return X, Y, found
        return self._of_table(X, found.first), Y[found.first], found

    def _keep_rows(self, rows: FittedRows) -> None:
        """Remember which rows of the table are fitted, and which of them are copies."""
        self._rows, self._numbers, self._place = rows.rows, rows.numbers, rows.place
        self._copies = None if rows.place is None else rows.weight

    def _of_table(self, X: Any, rows: Rows) -> Any:
        """Return some rows of points, or rows and columns of a given Gram matrix."""
        return X[rows][:, rows] if self._pairwise else X[rows]

    @property
    def _pairwise(self) -> bool:
        return isinstance(self.kernel, str) and self.kernel == "precomputed"

    @property
    def _accept_sparse(self) -> str | bool:
        """What scikit-learn's checks make of a sparse matrix: a given Gram matrix must be dense."""
        return False if self._pairwise else "csr"

    @property
    def _auto(self) -> bool:
        return isinstance(self.kernel, str) and self.kernel == "auto"

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = not self._pairwise
        tags.input_tags.pairwise = self._pairwise
        return tags

    def _select(self, X: Any, Y: Matrix, machine: Machine, **changes: Any) -> Selection:
        """Select with the estimator's parameters, or with others in their place."""
        with progress(self.verbose, self.max_evaluations) as watch, self._reported_task() as task:
            options: dict[str, Any] = {
                "kernel": self._kernels_for(X),
                "criterion": self.criterion,
                "search": self.search,
                "gram": self.gram,
                "n_components": self.n_components,
                "landmarks": self._landmarks,
                "cell_size": cell_rows(self.cell_size),
                "n_starts": self.n_starts,
                "max_evaluations": self.max_evaluations,
                "time_budget": self.time_budget,
                "random_state": self.random_state,
                "n_jobs": self.n_jobs,
                "watch": both(watch, task.watch),
                "on_interrupt": self.on_interrupt,
            }
            try:
                return select(X, Y, machine=machine, **(options | changes))
            except UnreadableSolution as error:
                raise error.for_estimator(type(self).__name__) from None

    def _kernels_for(self, X: Any) -> KernelLike | Families:
        """Return the kernels to choose from, for the rows that are fitted."""
        if not self._auto:
            return self._kernels
        return families(X, () if self.column_codes_ is None else self.column_codes_.categorical)

    def _store(self, selection: Selection) -> None:
        """Keep what was found, as fitted attributes."""
        self._forget_left_out(selection)
        self.partitions_ = None
        self.selection_ = selection
        self.kernel_ = selection.kernel
        self.criterion_value_ = float(selection.reading.value)
        self.trace_ = selection.trace
        self.n_evaluations_ = len(self.trace_)
        for name, value in self._machine_params(selection.machine).items():
            setattr(self, f"{name}_", value)
        self._keep_function(cast(Expansion | CellExpansion, selection.expansion))

    def _keep_function(self, function: Expansion | CellExpansion) -> None:
        """Keep the fitted function as fitted attributes."""
        if isinstance(function, CellExpansion):
            self.cells_: CellExpansion | None = function
            return
        self.cells_ = None
        self.X_fit_ = self._rows if self._pairwise else function.points
        self.dual_coef_ = function.coefficients.T
        self.intercept_ = function.intercept

    def params_at(self, theta: Vector) -> dict[str, Any]:
        """Return the parameters that make ``fit`` only solve at ``theta``: the kernel, fixed, and C or alpha."""
        p, machine = len(self.kernel_.theta), self.selection_.machine
        kernel = self.kernel_.clone_with_theta(theta[:p]) if p else self.kernel_
        # A machine that was not tuned with the kernel keeps its own value.
        machine = machine.with_theta(theta[p:]) if len(theta) > p else machine
        return {"kernel": frozen(kernel), **self._machine_params(machine)}

    def _chosen_params(self) -> dict[str, Any]:
        """Return the parameters that make ``fit`` only solve, with what was chosen."""
        return {"kernel": frozen(self.kernel_), **self._machine_params(self.selection_.machine)}

    def _target_columns(self, y: np.ndarray) -> Matrix:
        """Return targets as a fitted estimator sees them (n, k)."""
        Y = np.asarray(y, dtype=float).reshape(len(y), -1)
        if not np.all(np.isfinite(Y)):
            raise ValueError("y contains NaN or infinity.")
        return Y

    @property
    def _link(self) -> Link | None:
        """How outputs become answers, if a formula can state it; None if not."""
        return None

    @property
    def _is_expansion(self) -> bool:
        """Whether outputs are the fitted sum of kernel functions and nothing else."""
        return True

    def _class_weights_of(self, collection: Collection) -> dict[Any, float] | None:
        """Return the weights of the classes of a Dask collection, if classes have weights."""
        return None

    def _machine_params(self, machine: Any) -> dict[str, float]:
        """Return the parameter of the estimator that a machine's hyper-parameter stands for."""
        return {"C": machine.C}

    def _advise(self, X: Any, Y: Matrix) -> None:
        """Warn about a fit that is likely to disappoint; if nothing was tuned, it is what the user asked for."""
        selection = self.selection_
        tuned = {name for name in self._machine_params(selection.machine) if getattr(self, name) is None}
        n_parameters = len(selection.objective.kernel.theta) + len(tuned)
        if n_parameters == 0:
            return
        found: list[AdviceWarning | None] = [bound_warning(selection, X, name) for name in tuned]
        found += [parameters_warning(n_parameters, X.shape[0]), copies_warning(selection)]
        if not self._pairwise:
            with one_blas_thread():
                outputs = self._outputs_at(X[:ADVICE_MAX_ROWS])
            names = getattr(self, "feature_names_in_", range(X.shape[1]))
            found.append(scale_warning(selection.objective.kernel, X, names))
            found.append(constant_warning(outputs, Y[:ADVICE_MAX_ROWS]))
        if "_left_out" in self.__dict__ and not any(
            isinstance(one, ConstantPredictionWarning) for one in found
        ):
            found.append(no_gain_warning(selection.machine, Y, self._left_out))
        warn_about(found)

    @property
    def relevance_(self) -> Vector:
        """Share of every column in the squared gradient of the fitted function; see :func:`relevance`."""
        # An attribute that does not exist, rather than an error, is what hasattr understands.
        if not hasattr(self, "kernel_") or self._pairwise:
            raise AttributeError("relevance_ needs a fitted estimator and points, not a precomputed matrix.")
        return self._relevance(() if self.column_codes_ is None else self.column_codes_.categorical)

    def _relevance(self, categorical: Sequence[int]) -> Vector:
        """Return the relevance of every column, of which some hold codes of categories."""
        function: Expansion | CellExpansion = (
            Expansion(self.X_fit_, self.dual_coef_.T, self.intercept_) if self.cells_ is None else self.cells_
        )
        # The points of a machine may lie along the border of two classes alone: rows show how far columns spread.
        training = self.__dict__.get("_training")
        rows = function.points if training is None else training.X
        return relevance(function, self.kernel_, rows, categorical)

    def _outputs(self, X: ArrayLike) -> Matrix:
        """Return the outputs (n, k) at new points."""
        return self._outputs_at(self._check_points(X))

    def _check_points(self, X: ArrayLike) -> Any:
        """Return new points as an array or a CSR matrix of numbers."""
        check_is_fitted(self)
        frame = readable_columns(X if self.column_codes_ is None else self.column_codes_.encode(X))
        with naming_text_columns(frame):
            points = validate_data(
                self, frame, accept_sparse=self._accept_sparse, dtype=np.float64, reset=False
            )
        check_magnitude(points, "X", smallest=0.0)
        return points

    def _outputs_at(self, points: Any) -> Matrix:
        """Return the outputs (n, k) at points that have been checked."""
        if self.cells_ is not None:
            return self._each_block(points, partial(self.cells_, self.kernel_))
        return self._each_block(points, lambda rows: self._cross(rows) @ self.dual_coef_.T) + self.intercept_

    def _each_block(self, points: Any, compute: Callable[[Any], np.ndarray]) -> np.ndarray:
        """Compute something for a block of rows at a time."""
        n_points = self.dual_coef_.shape[1] if self.cells_ is None else self.cells_.n_points
        step = max(1, PREDICT_BLOCK_ENTRIES // max(1, n_points))
        return np.concatenate([compute(points[i : i + step]) for i in range(0, points.shape[0], step)])

    def _cross(self, X: Any) -> Matrix:
        """Return the kernel between new points and ``X_fit_``."""
        return X[:, self.X_fit_] if self._pairwise else gram(self.kernel_, X, self.X_fit_)

    def __getstate__(self) -> dict[str, Any]:
        """Leave the working matrices out: a fitted estimator predicts without them."""
        state = super().__getstate__()
        return {key: value for key, value in state.items() if key not in WORKING_ATTRIBUTES}


class BaseKernelClassifier(SetMixin, BaseKernelEstimator):
    """Base of the classifiers: labels to columns of -1 and 1, and back."""

    class_weight: Mapping[Any, float] | str | None = None

    def _target_columns(self, y: np.ndarray) -> Matrix:
        codes = np.clip(np.searchsorted(self.classes_, y), 0, len(self.classes_) - 1)
        unknown = self.classes_[codes] != y
        if np.any(unknown):
            raise ValueError(
                f"y holds the label {y[unknown][0]}, which no row had from which the parameters were chosen."
            )
        return one_versus_rest(codes, len(self.classes_))

    def _class_weights_of(self, collection: Collection) -> dict[Any, float] | None:
        if self.class_weight is None:
            return None
        if not isinstance(self.class_weight, str):
            return dict(self.class_weight)
        counts = collection.class_counts()
        total = sum(counts.values())
        return {label: total / (len(counts) * n) for label, n in counts.items()}

    def _check_labels(
        self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None
    ) -> tuple[Any, Matrix, Vector, FittedRows]:
        """Return rows, columns of -1 and 1, weights of the classes of the rows, and which rows are fitted."""
        X, y = self._check_data(X, y)
        check_classification_targets(y)
        X, y, weight = self._drop_weightless_rows(X, y, sample_weight)
        self.classes_, Y = encode_labels(y)
        of_classes = weights_of_classes(self.class_weight, y)
        X, Y, rows = self._join_copies(X, Y, weight)
        return X, Y, of_classes[rows.first], rows

    def _one_or_all(self, columns: Matrix) -> np.ndarray:
        """Return outputs as scikit-learn shapes them: (n,) for two classes, else (n, n_classes)."""
        return columns[:, 0] if len(self.classes_) == 2 else columns

    @lazy_on_dask
    def decision_function(self, X: ArrayLike) -> np.ndarray:
        """Outputs of the machine.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, d)

        Returns
        -------
        outputs : array of shape (n,), or (n, n_classes) for more than two classes
            Positive for ``classes_[1]`` in the binary case.
        """
        return self._one_or_all(self._outputs(X))

    @lazy_on_dask
    def predict(self, X: ArrayLike) -> np.ndarray:
        """Most likely class of each row of ``X``."""
        outputs = self._outputs(X)
        return self.classes_[class_index(outputs)]


class BaseKernelRegressor(IntervalMixin, BaseKernelEstimator):
    """Base of the regressors: one or several columns of numbers."""

    _single: bool  # whether y was one-dimensional

    def _check_targets(
        self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None, joins_copies: bool = True
    ) -> tuple[Any, Matrix, Vector | None, Vector | None]:
        """Return rows, targets as columns, weights of the rows, and how many observations each stands for; None stands for ones.

        Copies are one row unless the machine has something to say about each.
        """
        X, y = self._check_data(X, y, multi_output=True, y_numeric=True)
        X, y, weight = self._drop_weightless_rows(X, y, sample_weight)
        self._single = y.ndim == 1
        Y = np.asarray(y, dtype=float).reshape(len(y), -1)
        check_targets(Y)
        counts: Vector | None = weight
        if joins_copies:
            X, Y, rows = self._join_copies(X, Y, weight)
            weight, counts = rows.weight, rows.counts
        return (X, Y, None, None) if np.all(weight == 1) else (X, Y, weight, counts)

    def _shaped(self, outputs: Matrix) -> np.ndarray:
        """Return outputs (..., k) in the shape that y had."""
        return outputs[..., 0] if self._single else outputs


def probabilities(outputs: Matrix) -> Matrix:
    """Turn log-odds (n, k) into probabilities of two or k classes."""
    p = expit(outputs)
    if outputs.shape[1] == 1:
        return np.hstack([expit(-outputs), p])
    return p / np.maximum(p.sum(axis=1, keepdims=True), np.finfo(float).tiny)


def frozen(kernel: Kernel) -> Kernel:
    """Return the kernel with every parameter fixed: an estimator that is given it only solves.

    Examples
    --------
    >>> from sklearn.gaussian_process.kernels import RBF
    >>> frozen(RBF(2.0)).theta.size
    0
    """
    bounds = [name for name in kernel.get_params() if name.endswith("_bounds")]
    return clone(kernel).set_params(**dict.fromkeys(bounds, "fixed"))
