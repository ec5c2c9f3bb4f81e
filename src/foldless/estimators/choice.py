r"""What the default estimators share: machine, kernel and metric are chosen by leave-one-out.

1. Columns are prepared: filled, scaled, categories coded (:mod:`foldless.estimators.preparation`).
2. The families of kernels race (:mod:`foldless.tuning.race`) with the usual machine: logistic regression for classes, ridge
   regression for numbers; least squares for many rows of several classes, where all classes share one factor.
3. Challengers change one thing about the winner. With :math:`d_i` the left-out loss of row i by the winner less that by the
   challenger, the challenger with the lowest left-out loss takes the place if

   .. math:: \bar d > \max\bigl(c \sqrt{\operatorname{var}(d) / n},\; 10^{-3} L\bigr),  \tag{1}

   where L is the mean left-out loss of the winner and c = 1. The winner is the simpler one, left-out losses are lower than
   they should be after a choice of many parameters, and two searches for the same optimum end a little apart. A learned
   metric is judged on halves of the rows, each with the metric of the other half, and has c = 2, because it is the best of
   several rounds on these halves: on three of ten parts of a table of 442 rows one passed with c = 1, and all three were
   worse on the other rows. With more than two classes there are no challengers: on 150 rows of six classes a width per
   feature passed (1) and was worse on new rows.
"""

import time
import warnings
from abc import abstractmethod
from collections.abc import Callable, Iterator
from copy import copy
from dataclasses import replace
from functools import partial
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, clone
from sklearn.gaussian_process.kernels import Kernel, Product
from sklearn.utils import Tags
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from foldless import criteria
from foldless.core.contracts import Stop, Vector
from foldless.core.errors import BoundWarning, FoldlessError, ManyParametersWarning, SearchWarning
from foldless.core.targets import MIN_ROWS
from foldless.core.text_columns import naming_text_columns
from foldless.estimators.base import BaseKernelEstimator, Seed, frozen
from foldless.estimators.callbacks import CallbackMixin
from foldless.estimators.columns import ColumnCodes, learn_codes
from foldless.estimators.dask_collections import is_dask
from foldless.estimators.dask_fit import TUNED_MAX_ROWS, checked_collection
from foldless.estimators.doc_links import DocLinkMixin
from foldless.estimators.preparation import Preparation
from foldless.estimators.uncertainty.learning_curve import LearningCurve
from foldless.estimators.validation import check_options
from foldless.kernels import Columns, Laplacian
from foldless.kernels.families import Families, families
from foldless.tuning.result import Trial, Trials

# The winner is challenged up to so many columns and rows.
CHALLENGE_MAX_COLUMNS, CHALLENGE_MAX_ROWS = 50, 5000
# A challenger must lower the left-out loss by this fraction: two searches for the same optimum differ by their tolerances.
MIN_GAIN_FRACTION = 1e-3
# c of eq. (1) for a learned metric.
METRIC_STANDARD_ERRORS = 2.0
# Evaluations of a challenger, in units of those of the winner.
CHALLENGER_EVALUATIONS_FACTOR = 4
# Share of a budget in seconds that belongs to the families.
FAMILIES_TIME_SHARE = 0.6
# Advice about choices that nobody made.
UNASKED_ADVICE = (ManyParametersWarning, BoundWarning)


class BaseDefault(DocLinkMixin, CallbackMixin, BaseEstimator):
    """What both default estimators share: preparation of the columns, the choice, and answers of the chosen estimator."""

    best_estimator_: BaseKernelEstimator
    trials_: Trials
    column_codes_: ColumnCodes | None
    preparation_: Preparation

    _many_classes: bool = False  # whether there are more than two

    def __init__(
        self,
        time_budget: float | None = None,
        scale: bool = True,
        random_state: Seed = None,
        n_jobs: int | None = None,
        verbose: int = 0,
        on_interrupt: str = "raise",
    ):
        self.time_budget = time_budget
        self.scale = scale
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.on_interrupt = on_interrupt

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = True
        return tags

    @abstractmethod
    def _machine(self, y: NDArray[Any], **options: Any) -> BaseKernelEstimator:
        """Return the usual estimator for these targets, with the given options."""

    @abstractmethod
    def _losses(self, fitted: Any) -> Vector:
        """Return the left-out losses of the rows of a fit (n,)."""

    def _fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None, **checks: Any) -> Self:
        """Prepare the columns, let families and challengers compete, and keep the best."""
        check_options(self)
        if is_dask(X):
            return self._fit_collection(X, y, sample_weight)
        begun = time.perf_counter()
        self.column_codes_ = learn_codes(X)
        points, targets = self._validated(X, y, ensure_min_samples=MIN_ROWS, **checks)
        weights = _check_sample_weight(sample_weight, points, dtype=np.float64, ensure_non_negative=True)
        categorical = [] if self.column_codes_ is None else self.column_codes_.categorical
        self.preparation_ = Preparation.learn(points, weights, categorical, bool(self.scale))
        Z = self.preparation_(points)

        with self._reported_task() as task:

            def fit(share: float, **options: Any) -> tuple[Any, list[Warning]]:
                model = self._machine(targets, time_budget=self._seconds(begun, share), **options)
                with task.inner_fit(model, "machine"):
                    return _fitted_quietly(model, Z, targets, sample_weight)

            winner, advice = fit(FAMILIES_TIME_SHARE, kernel=self._kernels(Z, weights))
            trials = list(winner.selection_.trials)
            # The numbers of the halves count the rows that count.
            kept = weights > 0
            rows = Z[kept], targets[kept], None if sample_weight is None else weights[kept]
            for name, options in self._challengers(winner, Z):
                if self._seconds(begun, 1.0) == 0 or _was_interrupted(winner):
                    break
                challenge = partial(fit, 1.0, **options)
                winner, advice = self._duel(name, (winner, advice), challenge, trials, rows)
        self.best_estimator_, self.trials_ = winner, Trials(trials)
        for warning in advice:
            warnings.warn(warning, stacklevel=3)
        return self

    def _fit_collection(self, X: Any, y: Any, sample_weight: Any) -> Self:
        """Choose on some rows of a Dask collection, then tune and fit the chosen estimator on all of it."""
        collection, rng = checked_collection(self, X, y, sample_weight)
        points, targets = collection.draw(min(collection.n, TUNED_MAX_ROWS), rng)
        self.fit(points, targets)
        if collection.n > TUNED_MAX_ROWS:
            chosen = clone(self.best_estimator_)
            if chosen.kernel == "auto" or isinstance(chosen.kernel, Families):
                chosen.set_params(kernel=self.kernel_)
            self.best_estimator_ = chosen.fit(*collection.mapped(copy(self)._points, X, y))
        return self

    def _validated(self, X: Any, *y: Any, **checks: Any) -> Any:
        """Return the rows as numbers, with missing ones unless the matrix is sparse; and the targets, if given."""
        frame = X if self.column_codes_ is None else self.column_codes_.encode(X)
        # scikit-learn has a name for a sparse matrix that may hold missing values, but kernels have none.
        finite = True if sp.issparse(X) else "allow-nan"
        with naming_text_columns(frame):
            return validate_data(
                self, frame, *y, accept_sparse="csr", dtype=np.float64, ensure_all_finite=finite, **checks
            )

    def _seconds(self, begun: float, share: float) -> float | None:
        """Return the seconds that are left of a share of the budget; ``None`` without one."""
        if self.time_budget is None:
            return None
        return max(0.0, share * self.time_budget + begun - time.perf_counter())

    def _kernels(self, Z: Any, weights: Vector) -> str | Families:
        """Return the families to compare, for rows that count."""
        categorical = self.preparation_.prepared_categorical
        return families(Z[weights > 0], categorical) if categorical else "auto"

    def _challengers(self, winner: BaseKernelEstimator, Z: Any) -> Iterator[tuple[str, dict[str, Any]]]:
        """Yield names and options of what may be better than the winner."""
        kernel = _with_widths(winner.kernel_, Z.shape[1])
        if kernel is None or Z.shape[0] > CHALLENGE_MAX_ROWS or sp.issparse(Z) or self._many_classes:
            return
        evaluations = CHALLENGER_EVALUATIONS_FACTOR * winner.n_evaluations_
        tied = criteria.Tied(criteria.LOO())
        yield "a width per feature", {"kernel": kernel, "criterion": tied, "max_evaluations": evaluations}
        if not self.preparation_.prepared_categorical:
            metric = "laplacian-metric" if isinstance(kernel, Laplacian) else "rbf-metric"
            yield "a learned metric", {"kernel": metric, "max_evaluations": evaluations}

    def _duel(
        self,
        name: str,
        winner: tuple[Any, list[Warning]],
        fit: Callable[[], tuple[Any, list[Warning]]],
        trials: list[Trial],
        rows: tuple[Any, NDArray[Any], Vector | None],
    ) -> tuple[Any, list[Warning]]:
        """Return the winner or the challenger, eq. (1), and add the challenger to the trials."""
        try:
            other = fit()
            losses, others = self._paired_losses(winner[0], other[0], rows)
        except FoldlessError as failure:
            trials.append(Trial(winner[0].kernel_, np.inf, None, str(failure), name))
            return winner
        is_metric = other[0].selection_.half_metrics is not None
        mean, error, better = compared(losses, others, METRIC_STANDARD_ERRORS if is_metric else 1.0)
        if better:
            trials[:] = [replace(trial, note=_overtaken(trial.note)) for trial in trials]
        note = f"{'chosen: better' if better else 'not better'} by {mean:.3g} ± {error:.2g} a row"
        trials.append(
            Trial(other[0].kernel_, float(np.mean(others)), other[0].selection_.outcome, note, name)
        )
        return other if better else winner

    def _paired_losses(
        self, winner: Any, other: Any, rows: tuple[Any, NDArray[Any], Vector | None]
    ) -> tuple[Vector, Vector]:
        """Return the left-out losses of both: of all rows, or if one learned a metric, of fits to halves of them.

        A metric that all rows gave has seen their targets. On each half it is judged with the metric of the other half, and the
        winner, tuned again there, by left-out losses that are a little too low: that is the safe side.
        """
        halves = other.selection_.half_metrics
        if halves is None:
            return self._losses(winner), self._losses(other)
        machine = other._machine_params(halves.machine)
        own = [self._half_losses(winner, {"kernel": winner.kernel_}, half, *rows) for half in halves.rows]
        others = [
            self._half_losses(other, {"kernel": frozen(kernel), **machine}, half, *rows)
            for kernel, half in zip(halves.kernels, halves.rows, strict=True)
        ]
        return np.concatenate(own), np.concatenate(others)

    def _half_losses(
        self, model: Any, params: dict[str, Any], half: NDArray[np.intp], Z: Any, y: NDArray[Any], weight: Any
    ) -> Vector:
        """Return the left-out losses of a fit to some rows with given parameters; what they leave free is tuned."""
        usual = clone(model).set_params(criterion="loo", verbose=0, time_budget=None, **params)
        weights = None if weight is None else weight[half]
        return self._losses(_fitted_quietly(usual, Z[half], y[half], weights)[0])

    def _options(self) -> dict[str, Any]:
        return {
            "random_state": self.random_state,
            "n_jobs": self.n_jobs,
            "verbose": self.verbose,
            "on_interrupt": self.on_interrupt,
        }

    def _best(self) -> Any:
        check_is_fitted(self)
        return self.best_estimator_

    def _points(self, X: ArrayLike) -> Any:
        """Return new rows as the chosen estimator needs them."""
        check_is_fitted(self)
        return self.preparation_(self._validated(X, reset=False))

    def refit_left_out(self, rows: ArrayLike | None = None) -> Self:
        """Replace the left-out models of some training rows by refits.

        Parameters
        ----------
        rows : array-like of int, default=None
            Numbers of training rows; by default those for which the usual approximation is rough.

        Returns
        -------
        self : estimator
        """
        self._best().refit_left_out(rows)
        return self

    @property
    def kernel_(self) -> Kernel:
        """The chosen kernel, for prepared columns."""
        return self._best().kernel_

    @property
    def relevance_(self) -> Vector:
        """Share of every column of ``X`` in the squared gradient of the fitted function."""
        best = self._best()
        found = best._relevance(self.preparation_.prepared_categorical)
        return self.preparation_.gathered(found)

    @property
    def loo_predict_(self) -> NDArray[Any]:
        """Predictions for the training rows by the models without them."""
        return self._best().loo_predict_

    @property
    def leverage_(self) -> Vector:
        """Part of the output of each training row that is its own doing."""
        return self._best().leverage_

    @property
    def suspicious_(self) -> NDArray[np.intp]:
        """Numbers of the training rows, most surprising one first."""
        return self._best().suspicious_

    @property
    def guarantee_(self) -> str:
        """What intervals, or sets, promise for this fit."""
        return self._best().guarantee_

    @property
    def learning_curve_(self) -> LearningCurve:
        """Left-out loss against the number of rows."""
        return self._best().learning_curve_


def compared(losses: Vector, others: Vector, standard_errors: float = 1.0) -> tuple[float, float, bool]:
    """Return by how much the losses of a challenger are lower, the standard error, and whether eq. (1) holds.

    Parameters
    ----------
    losses, others : arrays of shape (n,)
        Left-out losses of the winner and of the challenger.
    standard_errors : float, default=1.0
        c of eq. (1).

    Examples
    --------
    >>> losses = np.array([1.0, 2.0, 3.0, 4.0])
    >>> compared(losses, losses - [0.1, 0.3, 0.1, 0.3])[2]
    True
    >>> compared(losses, losses - [1.0, -0.6, 0.0, 0.0])[2]  # a gain of 0.1 with a standard error of 0.29
    False
    >>> compared(losses, losses - 1e-12)[2]  # the same optimum, found twice
    False
    """
    gain = losses - others
    mean, error = float(np.mean(gain)), float(np.std(gain) / np.sqrt(len(gain)))
    return mean, error, mean > max(standard_errors * error, MIN_GAIN_FRACTION * float(np.mean(losses)))


def _fitted_quietly(
    model: Any, X: Any, y: NDArray[Any], sample_weight: ArrayLike | None
) -> tuple[Any, list[Warning]]:
    """Return the fitted model, and its warnings but for advice about choices that nobody made."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(X, y, sample_weight)
    found = [record.message for record in caught if isinstance(record.message, Warning)]
    # The number of evaluations is limited here, not by the user.
    limited = model.selection_.outcome.stop is Stop.BUDGET
    ignored = (*UNASKED_ADVICE, SearchWarning) if limited else UNASKED_ADVICE
    return model, [warning for warning in found if not isinstance(warning, ignored)]


def _overtaken(note: str) -> str:
    """Return the note of a candidate after a challenger was better."""
    return note.replace("chosen: better", "better").replace("chosen", "the best family")


def _was_interrupted(model: Any) -> bool:
    return bool(model.selection_.outcome.stop is Stop.INTERRUPTED)


def _with_widths(kernel: Kernel, n_columns: int) -> Kernel | None:
    """Return a kernel with a width for every column of numbers; ``None`` if it has no width, or there are too many columns.

    Examples
    --------
    >>> from sklearn.gaussian_process.kernels import RBF
    >>> _with_widths(RBF(2.0), 3)
    RBF(length_scale=[2, 2, 2])
    """
    if isinstance(kernel, Product) and isinstance(kernel.k1, Columns):
        inner = _with_widths(kernel.k1.kernel, len(kernel.k1.indices(n_columns)))
        return None if inner is None else Columns(inner, kernel.k1.columns) * kernel.k2
    if "length_scale" not in kernel.get_params() or not 1 < n_columns <= CHALLENGE_MAX_COLUMNS:
        return None
    widths = np.full(n_columns, float(kernel.length_scale))
    return kernel.__class__(**{**kernel.get_params(), "length_scale": widths})
