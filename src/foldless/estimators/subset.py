"""Regression on a few kernel functions, chosen by a criterion."""

import time
import warnings
from contextlib import suppress
from dataclasses import replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import MultiOutputMixin, RegressorMixin

from foldless.core.contracts import Matrix
from foldless.core.errors import SearchWarning, Undefined
from foldless.criteria.left_out import left_out_outputs
from foldless.estimators.base import BaseKernelRegressor, CriterionLike, KernelLike, Rows, SearchLike, Seed
from foldless.estimators.docstrings import document_shared
from foldless.estimators.uncertainty.intervals import least_squares_scales
from foldless.estimators.uncertainty.left_out import Block
from foldless.machines import Ridge, Subset, forward
from foldless.machines.coefficients import expand
from foldless.tuning.last_fit import WHOLE_MAX_ROWS
from foldless.tuning.lookup import as_criterion

# Share of a budget in seconds that belongs to the kernel; the rest is for choosing functions.
KERNEL_TIME_SHARE = 0.5
EXPLANATIONS = {
    "calibration": "The chosen functions are those of rows that tune, which the other half does not have, and a row that is left out "
    "keeps its function: no split makes coverage certain. KernelRidgeRegressor(calibration='split') does.",
}


@document_shared
class KernelSubsetRegressor(MultiOutputMixin, RegressorMixin, BaseKernelRegressor):
    r"""Least squares on the kernel functions of a few training points.

    Minimises :math:`\sum_i (y_i - b - \sum_{j \in S} c_j k(x_i, x_j))^2` without a penalty. The subset S is given, or
    grown one function at a time: each step adds the function that lowers the criterion most, and the best subset on
    the way is kept. A kernel with free parameters is tuned first: on the given subset, or by kernel ridge regression
    if the subset is to be chosen.

    Parameters
    ----------
    :shared: kernel
    indices : array of shape (m,), default=None
        Rows whose kernel functions are used; ``None`` chooses them.
    max_size : int, default=None
        Largest number of functions. ``None`` is half of the rows; the criterion stops long before.
    pool : int, default=20
        Number of candidates for which the criterion is computed at each step: those that lower the squared residual
        most.
    fit_intercept : bool, default=True
        Whether a constant is part of the model.
    criterion : str or object, default="loo"
        The cost that tuning minimises: ``"loo"``, ``"mallows"``, ``"sic"``, ``"gcv"`` or ``"kfold"``, or an object. If it
        may not compare kernels, ``"loo"`` tunes them.
    :shared: search n_starts max_evaluations time_budget random_state n_jobs verbose on_interrupt

    Attributes
    ----------
    :shared: kernel_
    indices_ : array of shape (m,)
        The rows chosen, in the order they were added.
    path_ : tuple of float
        The criterion after each step; only if the subset was chosen.
    :shared: criterion_value_
    dual_coef_ : array of shape (n_outputs, m)
        Coefficients of the kernel functions at ``X_fit_``.
    intercept_ : array of shape (n_outputs,)
        Constants that are added.
    X_fit_ : array of shape (m, d)
        The chosen points; with ``kernel="precomputed"`` the numbers of the chosen rows.
    :shared: loo_predict_ loo_residuals_ leverage_ suspicious_ guarantee_
    :shared: relevance_ column_codes_ trace_ n_evaluations_ selection_ n_features_in_

    Examples
    --------
    >>> import numpy as np
    >>> from foldless import KernelSubsetRegressor
    >>> X = np.linspace(0, 6, 60)[:, None]
    >>> y = np.sin(X[:, 0]) + 0.1 * np.random.default_rng(0).normal(size=60)
    >>> model = KernelSubsetRegressor().fit(X, y)
    >>> len(model.indices_) < 15
    True
    """

    _explained_parameters = EXPLANATIONS

    criterion: CriterionLike
    # A subset of the columns needs the whole matrix.
    gram, n_components = "dense", None

    def __init__(
        self,
        kernel: KernelLike = "rbf",
        indices: ArrayLike | None = None,
        max_size: int | None = None,
        pool: int = 20,
        fit_intercept: bool = True,
        criterion: CriterionLike = "loo",
        search: SearchLike = "lbfgs",
        n_starts: int | None = None,
        max_evaluations: int | None = None,
        time_budget: float | None = None,
        random_state: Seed = None,
        n_jobs: int | None = None,
        verbose: int = 0,
        on_interrupt: str = "raise",
    ):
        self.kernel = kernel
        self.indices = indices
        self.max_size = max_size
        self.pool = pool
        self.fit_intercept = fit_intercept
        self.criterion = criterion
        self.search = search
        self.n_starts = n_starts
        self.max_evaluations = max_evaluations
        self.time_budget = time_budget
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.on_interrupt = on_interrupt

    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Choose the subset and fit.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, d)
            Or the Gram matrix (n, n) with ``kernel="precomputed"``.
        y : array-like of shape (n,) or (n, n_outputs)
        sample_weight : array-like of shape (n,), default=None
            How many rows each one stands for: a weight of 2 is the row twice, 0 leaves it out.

        Returns
        -------
        self : KernelSubsetRegressor
        """
        # Given rows may be copies of others.
        chooses = self.indices is None
        X, Y, weights, counts = self._check_targets(X, y, sample_weight, joins_copies=chooses)
        bias = bool(self.fit_intercept)
        if self.indices is None:
            self._grow(X, Y, Subset([0], bias, weights, counts))
        else:
            indices = self._given_indices()
            self._store(self._select(X, Y, Subset(indices, bias, weights, counts), tune_machine=False))
            self._keep(indices)
        # A row that fixes its own output has no left-out prediction.
        with suppress(Undefined):
            self._keep_left_out(left_out_outputs(self.selection_.solution))
        self._advise(X, Y)
        return self

    def _scales(self, block: Block) -> tuple[Matrix, Matrix]:
        training, influence = self._rows_of_fit(), self._left_out_models().influence(block.points)
        variance = 1 + np.sum(influence**2 / training.weights, axis=1)
        return least_squares_scales(
            variance, influence, training.weights, 1 / training.counts, self._leverage
        )

    def _grow(self, X: Any, Y: Matrix, machine: Subset) -> None:
        """Tune the kernel by ridge regression in half of the time, then add functions one by one."""
        begun, seconds = time.perf_counter(), self.time_budget
        ridge = Ridge(1.0, machine.bias, machine.weights, row_counts=machine.row_counts)
        criterion = as_criterion(self.criterion)
        tuned = self._select(
            X,
            Y,
            ridge,
            criterion=criterion if criterion.tunes_kernel else "loo",
            gram=self._form(len(Y)),
            time_budget=None if seconds is None else KERNEL_TIME_SHARE * seconds,
        )
        gram = tuned.solution.gram
        criterion = criterion.with_data_estimates(ridge, [gram], Y)
        left = None if seconds is None else begun + seconds - time.perf_counter()
        found = forward(
            gram, Y, lambda s: criterion(s).value, machine, self.max_size, self.pool, seconds=left
        )
        if found.cut_short:
            message = (
                f"the time budget was spent after {len(found.order)} kernel functions. Raise time_budget."
            )
            warnings.warn(SearchWarning(message), stacklevel=3)
        machine = replace(machine, indices=found.indices)
        solution = machine.solve(gram, Y)
        expansion = expand(tuned.builder, solution)
        self._store(
            replace(
                tuned,
                machine=machine,
                solution=solution,
                expansion=expansion,
                criterion=criterion,
                reading=criterion(solution),
            )
        )
        self.path_ = found.values
        self._keep(found.indices)

    def _form(self, n: int) -> str:
        """Return the form of the Gram in which the basis functions are chosen: one matrix for all rows."""
        if self.gram != "auto":
            return self.gram
        return "dense" if n <= WHOLE_MAX_ROWS else "lowrank"

    def _given_indices(self) -> Rows:
        """Return the given indices, counted among the rows with a positive weight."""
        place = np.full(np.max(self._rows) + 1, -1)
        place[self._rows] = np.arange(len(self._rows))
        indices = np.asarray(self.indices)
        if np.issubdtype(indices.dtype, np.integer) and np.all(np.isin(indices, self._rows)):
            return place[indices]
        return indices

    def _keep(self, indices: Rows) -> None:
        """Keep the points and coefficients of the chosen rows."""
        self.indices_ = self._rows[indices]
        self.X_fit_ = self.indices_ if self._pairwise else self.X_fit_[indices]
        self.dual_coef_ = self.dual_coef_[:, indices]

    def _machine_params(self, machine: Any) -> dict[str, float]:
        return {}

    def predict(self, X: ArrayLike) -> np.ndarray:
        """Predict.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, d)

        Returns
        -------
        y : array of shape (n,) or (n, n_outputs)
        """
        return self._shaped(self._outputs(X))
