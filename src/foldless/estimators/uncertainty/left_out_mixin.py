"""What regressors and classifiers share: left-out models, leverages, refits, learning curves and splits."""

import warnings
from abc import abstractmethod
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone
from sklearn.gaussian_process.kernels import Kernel
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import check_is_fitted, indexable

from foldless.core.contracts import Matrix, Vector
from foldless.core.errors import FreeParametersWarning, LeverageWarning, Undefined
from foldless.criteria.doubtful_rows import LEVERAGE_LIMIT, SECOND_STEP_LIMIT, doubtful_rows
from foldless.criteria.left_out_models import leverages, refitted_changes
from foldless.estimators.landmarks import row_numbers
from foldless.estimators.uncertainty.guarantee import Conditions, measured_with_many
from foldless.estimators.uncertainty.halves import check_points_are_given, halves, splits
from foldless.estimators.uncertainty.learning_curve import LearningCurve, learning_curve
from foldless.estimators.uncertainty.left_out import (
    CellLeftOutModels,
    JointLeftOutModels,
    LeftOutModels,
    joint_models,
    point_map,
)
from foldless.estimators.uncertainty.training_rows import TrainingRows
from foldless.estimators.validation import checked_weights
from foldless.kernels import gram
from foldless.tuning.result import Selection, Trials

# With a share of 0.43 such rows, 200 rows of 26 letters, 90 % sets covered 4 points too little: with this share, about half a point.
HARMLESS_SHARE = 0.05

Rows = NDArray[np.intp]


class LeftOutMixin:
    """Left-out models, leverages, refits and scores: what regressors and classifiers share."""

    kernel_: Kernel
    selection_: Selection
    calibration: str = "same"
    random_state: Any

    _rows: Rows  # numbers of the training rows that are fitted
    _numbers: Rows  # numbers of those and their copies
    _place: Rows | None = None  # for each of these, its place in the fit; None if there are no copies
    _copies: Vector | None = None  # total weights of the copies that are one row (n,); None if no row has any
    _training: TrainingRows | None
    _left_out: Matrix  # left-out outputs of the rows (n, k)
    _split: bool
    _refitted: Rows
    _tuned_trials: Trials

    @property
    def _pairwise(self) -> bool:
        return False

    @abstractmethod
    def _check_points(self, X: ArrayLike) -> Any:
        """Return new points as an array or a CSR matrix of numbers."""

    @abstractmethod
    def _keep_left_out(self, outputs: Matrix) -> None:
        """Keep left-out outputs (n, k), as fitted attributes."""

    @abstractmethod
    def _chosen_params(self) -> dict[str, Any]:
        """Return the parameters that make ``fit`` only solve, with what was chosen."""

    @abstractmethod
    def _stratify(self, y: ArrayLike) -> ArrayLike | None:
        """Return the labels whose shares both halves of a split should have, or None."""

    def _forget_left_out(self, selection: Selection) -> None:
        """Keep the rows of a new fit, and nothing of an earlier one."""
        self._training = TrainingRows.of(selection)
        self._refitted = np.zeros(0, dtype=np.intp)
        self._split = False
        for name in ("_known", "_left_out", "loo_predict_", "loo_residuals_"):
            self.__dict__.pop(name, None)

    @property
    def _cache(self) -> dict[str, Any]:
        """Results that a saved model leaves out."""
        return self.__dict__.setdefault("_known", {})

    def _once(self, name: str, compute: Callable[[], Any]) -> Any:
        if name not in self._cache:
            self._cache[name] = compute()
        return self._cache[name]

    def _rows_of_fit(self) -> TrainingRows:
        """Return the rows of the fit; raise if they are not here."""
        check_is_fitted(self)
        training = self.__dict__.get("_training")
        if training is None:
            raise Undefined(
                "the rows of this fit are not at hand: it was made by gram='dask', or saved by an older version. Fit it "
                "again with another gram."
            )
        return training

    def _own_outputs(self) -> Matrix:
        """Return the left-out outputs of the rows (n, k)."""
        check_is_fitted(self)
        if "_left_out" not in self.__dict__:
            raise Undefined(
                "leave-one-out is undefined: a row fixes its own output. Raise alpha (or lower C), or use fewer basis "
                "functions."
            )
        return self._left_out

    def _solution(self) -> Any:
        """Return the fit; a loaded model solves once more."""
        training = self._rows_of_fit()
        if hasattr(self, "selection_"):
            return self.selection_.solution
        return self._once("solution", lambda: training.solve(self.kernel_))

    def _left_out_models(self) -> LeftOutModels:
        return self._once("models", self._build_models)

    def _build_models(self) -> LeftOutModels:
        training = self._rows_of_fit()
        if training.cells is not None:
            return CellLeftOutModels(training.cells)
        solution = self._solution()
        models = joint_models(training, self.kernel_, solution, self._cross_with)
        if not len(self._refitted):
            return models
        changes = refitted_changes(models.changes, solution, self._refitted, point_map(training, solution))
        return JointLeftOutModels(models.cross, models.expansion, changes)

    def _cross_with(self, points: Any, others: Any) -> Matrix:
        """Return kernel values of new points with the points that carry the fit."""
        return points[:, self._rows] if self._pairwise else gram(self.kernel_, points, others)

    @property
    def _every_row(self) -> Rows:
        """Numbers of the training rows, copies included."""
        return self._rows if self._place is None else self._numbers

    def _of_rows(self, values: Any) -> Any:
        """Return values (m, ...) of the rows of the fit for every training row: copies have those of the row that stands for them."""
        return values if self._place is None else values[self._place]

    @property
    def _score_weights(self) -> tuple[Vector, Vector | None]:
        """Weights of the rows in a score (n,), and how much of each is left out at a time: all copies, or else one observation (None)."""
        if self._copies is None:
            return self._rows_of_fit().counts, None
        weights = self._copies / np.mean(self._copies)
        return weights, weights

    @property
    def leverage_(self) -> Vector:
        """Leverage of every training row: the part of its output that is its own doing, between 0 and 1."""
        return self._of_rows(self._leverage)

    @property
    def _leverage(self) -> Vector:
        return self._once("leverage", lambda: leverages(self._one_solution()))

    def _one_solution(self) -> Any:
        if self._rows_of_fit().cells is not None:
            raise Undefined(
                "a fit by cells has a solution in every cell and none for all rows, and so no leverages and no refits without a row. "
                "Use gram='lowrank'."
            )
        return self._solution()

    def _doubtful_rows(self) -> Rows:
        """Return the rows for which one step is a rough approximation of a refit, by their places in the fit."""
        return self._once("doubtful", lambda: doubtful_rows(self._one_solution()))

    def _warn_of_leverage(self) -> None:
        """Warn if left-out models are approximate, and that matters for some rows.

        A high leverage of a single row is told, since such rows may be far off; second steps of a few rows are not.
        """
        if self._rows_of_fit().machine.exact_left_out:
            return
        with suppress(Undefined):
            rest = np.setdiff1d(self._doubtful_rows(), self._refitted)
            share = len(rest) / len(self._leverage)
            if share > HARMLESS_SHARE or np.any(self._leverage[rest] > LEVERAGE_LIMIT):
                warnings.warn(LeverageWarning(share, LEVERAGE_LIMIT, SECOND_STEP_LIMIT), stacklevel=4)

    def refit_left_out(self, rows: ArrayLike | None = None) -> Self:
        """Replace the left-out models of some training rows by refits.

        Parameters
        ----------
        rows : array-like of int, default=None
            Numbers of training rows; by default those for which one step is a rough approximation: with a leverage above 0.7, or
            with an output that a second step would move by more than 0.1.

        Returns
        -------
        self : estimator
            Its left-out outputs, scores, intervals and sets use the refits from now on.
        """
        chosen = self._doubtful_rows() if rows is None else self._places(rows)
        self._refitted = np.union1d(self._refitted, chosen)
        for name in ("models", "label_quality", "learning_curve"):
            self._cache.pop(name, None)
        if len(self._refitted):
            self._one_solution()
            self._replace_left_out()
        return self

    def _places(self, rows: ArrayLike) -> Rows:
        """Return the places of given training rows in the fit."""
        given, known = np.atleast_1d(np.asarray(rows)), self._every_row
        # True and False would be taken for the rows 1 and 0.
        if given.dtype == bool or not np.all(np.isin(given, known)):
            raise ValueError(f"rows must be numbers of training rows with a positive weight, got {rows!r}.")
        found = np.searchsorted(known, given)
        return found if self._place is None else self._place[found]

    def _replace_left_out(self) -> None:
        models, training = self._left_out_models(), self._rows_of_fit()
        points = training.X[self._refitted]
        if self._pairwise:
            points = _with_columns(points, self._rows)
        outputs = self._own_outputs().copy()
        for block in models.blocks(points):
            own = self._refitted[block.rows]
            outputs[own] = block.left_out[np.arange(len(own)), own]
        self._keep_left_out(outputs)

    @property
    def learning_curve_(self) -> LearningCurve:
        """The left-out loss against the number of rows, at the chosen parameters."""
        compute = partial(learning_curve, self._rows_of_fit(), self.kernel_, self._own_outputs())
        return self._once("learning_curve", compute)

    def _conditions(self) -> Conditions:
        training = self._rows_of_fit()
        return Conditions(
            training.machine.exact_left_out,
            training.tuned,
            not training.whole,
            self._split,
            training.n_free(self.kernel_),
            float(training.counts.sum()),
        )

    def _warn_of_parameters(self, construction: str, what: str) -> None:
        """Warn if so many parameters were tuned on the same rows that ``what`` hold less than they say."""
        found = self._conditions()
        if found.many_parameters:
            measured = measured_with_many(construction)
            warnings.warn(
                FreeParametersWarning(found.n_parameters, found.n_rows, what, measured), stacklevel=3
            )

    @property
    def _splits(self) -> bool:
        """Whether half of the rows are set aside for tuning."""
        return splits(self.calibration)

    def _fit_split(self, X: Any, y: Any, sample_weight: Any) -> Self:
        """Tune on one half of the rows, and fit the other half with the parameters that were found."""
        check_points_are_given(self._pairwise)
        X, y = indexable(X, y)
        if sp.issparse(y):
            raise TypeError("y is a sparse matrix, and an array is needed: pass y.toarray().")
        numbers = self._halves(y)
        weights = None if sample_weight is None else checked_weights(sample_weight, X)
        parts = [
            (_safe_indexing(X, half), _safe_indexing(y, half), None if weights is None else weights[half])
            for half in numbers
        ]
        whole = clone(self).set_params(calibration="same")
        # Row numbers of all rows mean nothing in a half.
        if whole.landmarks is not None and np.ndim(whole.landmarks) == 1:
            whole.set_params(landmarks=_safe_indexing(X, row_numbers(np.asarray(whole.landmarks), len(y))))
        tuned = clone(whole).fit(*parts[0])
        other = clone(whole).set_params(**tuned._chosen_params()).fit(*parts[1])
        parameters = self.get_params(deep=False)  # type: ignore[attr-defined]
        vars(self).update({name: value for name, value in vars(other).items() if name not in parameters})
        self._keep_half(numbers[1], tuned.selection_.trials)
        self.trace_, self.n_evaluations_ = tuned.trace_, tuned.n_evaluations_
        return self

    def _keep_half(self, numbers: Rows, trials: Trials) -> None:
        """Keep which of all rows were fitted, and what was compared on the others."""
        self._rows, self._numbers = numbers[self._rows], numbers[self._numbers]
        self._split, self._tuned_trials = True, trials

    def _halves(self, y: ArrayLike) -> tuple[Rows, Rows]:
        """Return the numbers of the rows that tune and of those that are fitted, with the classes in equal shares."""
        return halves(np.shape(y)[0], self._stratify(y), self.random_state)

    @property
    def _trials(self) -> Trials:
        """What was compared."""
        return self._tuned_trials if self._split else self.selection_.trials


def _with_columns(K: Matrix, rows: Rows) -> Matrix:
    """Return kernel values of training rows in the columns that they had among all rows."""
    wide = np.zeros((len(K), int(np.max(rows)) + 1))
    wide[:, rows] = K
    return wide
