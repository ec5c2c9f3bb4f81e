"""Kernel ridge regression that tunes itself."""

from contextlib import suppress
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import MultiOutputMixin, RegressorMixin

from foldless.core.contracts import Matrix
from foldless.core.errors import Undefined
from foldless.criteria.left_out import left_out_outputs
from foldless.estimators.base import (
    BaseKernelRegressor,
    CriterionLike,
    KernelLike,
    Link,
    SearchLike,
    Seed,
)
from foldless.estimators.dask_collections import is_dask, lazy_on_dask
from foldless.estimators.dask_fit import fit_collection
from foldless.estimators.docstrings import document_shared
from foldless.estimators.uncertainty.intervals import least_squares_scales
from foldless.estimators.uncertainty.left_out import Block
from foldless.estimators.validation import regularisation
from foldless.grams import DenseGram
from foldless.kernels import gram
from foldless.kernels.evaluate import diagonal
from foldless.machines import Ridge
from foldless.machines.least_squares.gp_posterior import (
    LandmarkVariance,
    PosteriorVariance,
    posterior_variance,
)
from foldless.machines.least_squares.penalty import penalty_roots


@document_shared
class KernelRidgeRegressor(MultiOutputMixin, RegressorMixin, BaseKernelRegressor):
    r"""Kernel ridge regression; ``fit`` chooses the kernel and alpha without folds.

    Minimises :math:`\sum_i (y_i - f(x_i) - b)^2 + \alpha \|f\|^2`. By default the kernel's width and alpha are chosen
    by exact leave-one-out error with its gradient; with a fixed kernel the whole path of alpha costs one
    eigendecomposition.

    Parameters
    ----------
    :shared: kernel
    alpha : float, default=None
        Weight of the penalty; ``None`` tunes it.
    fit_intercept : bool, default=True
        Whether a constant without penalty is part of the model.
    penalty : {"K", "I"} or array of shape (n, n), default="K"
        The matrix T of the penalty :math:`\alpha\, c'Tc` on the coefficients c; ``"K"`` is the squared norm of f.
    criterion : str or object, default="loo"
        The cost that tuning minimises: ``"loo"``, ``"kfold"``, ``"gcv"``, ``"mallows"``, ``"abic"``, ``"evidence"``,
        ``"sic"`` (which may not compare kernels), or an object of ``foldless.criteria``.
    :shared: search n_starts max_evaluations time_budget
    :shared: gram n_components landmarks cell_size random_state n_jobs verbose calibration on_interrupt

    Attributes
    ----------
    :shared: kernel_ alpha_ criterion_value_
    dual_coef_ : array of shape (n_outputs, number of ``X_fit_``)
        Coefficients of the kernel functions at ``X_fit_``.
    intercept_ : array of shape (n_outputs,)
        Constants that are added.
    :shared: X_fit_
    noise_variance_ : array of shape (n_outputs,)
        Noise variance of the Gaussian process whose mean this fit is: under it the left-out residuals are as large as the process
        expects. Absent if the fit is exact.
    loo_decision_ : array of shape (n,) or (n, n_outputs)
        Leave-one-out predictions of the training points; with ``criterion="loo"``.
    :shared: loo_predict_ loo_residuals_ leverage_ suspicious_ guarantee_ learning_curve_
    :shared: relevance_ column_codes_ partitions_ trace_ n_evaluations_ selection_ n_features_in_

    Examples
    --------
    >>> import numpy as np
    >>> from foldless import KernelRidgeRegressor
    >>> X = np.linspace(0, 6, 60)[:, None]
    >>> y = 5 + np.sin(X[:, 0]) + 0.1 * np.random.default_rng(0).normal(size=60)
    >>> model = KernelRidgeRegressor().fit(X, y)
    >>> 0.97 < model.score(X, y) < 0.99
    True
    >>> mean, sd = model.predict([[3.0]], return_std=True)
    >>> bool(abs(mean[0] - 5 - np.sin(3.0)) < 3 * sd[0] < 0.2)
    True
    """

    def __init__(
        self,
        kernel: KernelLike = "rbf",
        alpha: float | None = None,
        fit_intercept: bool = True,
        penalty: str | ArrayLike = "K",
        criterion: CriterionLike = "loo",
        search: SearchLike = "lbfgs",
        n_starts: int | None = None,
        max_evaluations: int | None = None,
        time_budget: float | None = None,
        gram: str = "auto",
        n_components: int | None = None,
        landmarks: ArrayLike | None = None,
        cell_size: int | None = None,
        random_state: Seed = None,
        n_jobs: int | None = None,
        verbose: int = 0,
        calibration: str = "same",
        on_interrupt: str = "raise",
    ):
        self.kernel = kernel
        self.alpha = alpha
        self.fit_intercept = fit_intercept
        self.penalty = penalty
        self.criterion = criterion
        self.search = search
        self.n_starts = n_starts
        self.max_evaluations = max_evaluations
        self.time_budget = time_budget
        self.gram = gram
        self.n_components = n_components
        self.landmarks = landmarks
        self.cell_size = cell_size
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.calibration = calibration
        self.on_interrupt = on_interrupt

    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Tune and fit.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, d)
            Or the Gram matrix (n, n) with ``kernel="precomputed"``.
        y : array-like of shape (n,) or (n, n_outputs)
        sample_weight : array-like of shape (n,), default=None
            How many rows each one stands for: a weight of 2 is the row twice, 0 leaves it out.

        Returns
        -------
        self : KernelRidgeRegressor
        """
        if is_dask(X) or is_dask(y):
            return fit_collection(self, X, y, sample_weight)
        if self._splits:
            return self._fit_split(X, y, sample_weight)
        # Attributes of an earlier fit that this one may not have.
        for name in ("noise_variance_", "loo_decision_", "_variance"):
            self.__dict__.pop(name, None)
        alpha, tune_alpha = regularisation("alpha", self.alpha)
        # Another penalty has something to say about the coefficient of every row.
        by_kernel = isinstance(self.penalty, str) and self.penalty == "K"
        X, Y, weights, counts = self._check_targets(X, y, sample_weight, joins_copies=by_kernel)
        machine = Ridge(alpha, bool(self.fit_intercept), weights, self._penalty_matrix(), counts)
        selection = self._select(X, Y, machine, tune_machine=tune_alpha)
        self._store(selection)
        self._weights = weights
        # An exact fit leaves no residuals to estimate the noise from, and a row that fixes its own output no left-out ones.
        with suppress(Undefined):
            if self.cells_ is None:
                self.noise_variance_ = selection.solution.variances()
                self.noise_variance_ = selection.solution.left_out_variances()
        # A row that fixes its own output has no left-out prediction.
        with suppress(Undefined):
            self._keep_left_out(left_out_outputs(selection.solution))
            if selection.criterion.name == "loo":
                self.loo_decision_ = self.loo_predict_
        self._advise(X, Y)
        return self

    def _machine_params(self, machine: Any) -> dict[str, float]:
        return {"alpha": machine.alpha}

    def _penalty_matrix(self) -> str | Matrix:
        """Return the penalty of the rows with a positive weight."""
        if isinstance(self.penalty, str):
            return self.penalty
        T = np.asarray(self.penalty, dtype=float)
        if T.ndim != 2 or np.max(self._rows) >= min(T.shape):
            raise ValueError(f"penalty must have shape (n, n) for the n rows of X, got {T.shape}.")
        T = T[np.ix_(self._rows, self._rows)]
        # Refuse an indefinite matrix before the search starts.
        penalty_roots(T, len(T))
        return T

    @lazy_on_dask
    def predict(self, X: ArrayLike, return_std: bool = False) -> np.ndarray | tuple[np.ndarray, np.ndarray]:
        """Predict; with ``return_std`` also the standard deviation of the function.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, d)
        return_std : bool, default=False
            The fit is the posterior mean of a Gaussian process with kernel ``noise_variance_ / alpha_ * kernel_`` and
            noise ``noise_variance_``; this is its posterior standard deviation. It leaves the noise of a new target out,
            which the process of scikit-learn includes if its kernel has a ``WhiteKernel``; ``predict_interval`` with
            ``method="posterior"`` includes it. With another penalty T the process is the sum of the training points'
            kernel functions with coefficients of covariance ``noise_variance_ / alpha_`` times the inverse of T; see
            :mod:`foldless.machines.least_squares.gp_posterior`.

        Returns
        -------
        mean : array of shape (n,) or (n, n_outputs)
        sd : array of the same shape
            Only with ``return_std=True``, as in scikit-learn's Gaussian processes.
        """
        points = self._check_points(X)
        mean = self._shaped(self._outputs_at(points))
        return (mean, self._deviations_at(points)) if return_std else mean

    @property
    def _link(self) -> Link:
        return Link()

    def _deviations_at(self, points: Any) -> np.ndarray:
        if self._pairwise:
            raise Undefined(
                "standard deviations need k(x, x) of the new points, which kernel='precomputed' lacks."
            )
        if self.partitions_ is not None:
            raise Undefined(
                "a fit to a Dask collection keeps no posterior, so there are no standard deviations."
            )
        if self.cells_ is not None:
            raise Undefined(
                "a fit by cells has no common posterior, so there are no standard deviations. Use gram='lowrank'."
            )
        if not hasattr(self, "noise_variance_"):
            raise Undefined(
                "the targets are fitted exactly: no residual is left to estimate the noise from, so there are no "
                "standard deviations."
            )
        variance = self._posterior_variance()
        relative = self._each_block(
            points, lambda rows: variance(self._cross(rows), diagonal(self.kernel_, rows))
        )
        return self._shaped(np.sqrt(np.multiply.outer(relative, self.noise_variance_ / self.alpha_)))

    def _gaussian_prediction(self, points: Any) -> tuple[np.ndarray, np.ndarray]:
        variance = self._deviations_at(points) ** 2 + self._shaped(self.noise_variance_)
        return self._shaped(self._outputs_at(points)), np.sqrt(variance)

    def _scales(self, block: Block) -> tuple[Matrix, Matrix]:
        deviations = self._deviations_at(block.points).reshape(len(block.rows), -1)[:, 0]
        training = self._rows_of_fit()
        return least_squares_scales(
            1 + deviations**2 / self.noise_variance_[0],
            self._left_out_models().influence(block.points),
            training.weights,
            1 / training.counts,
            self._leverage,
        )

    def _posterior_variance(self) -> PosteriorVariance:
        """Return the posterior variance; a loaded model without landmarks solves once more."""
        if not hasattr(self, "_variance"):
            if hasattr(self, "selection_"):
                solution = self.selection_.solution
            else:
                penalty = self._penalty_matrix()
                machine = Ridge(self.alpha_, bool(self.fit_intercept), self._weights, penalty)
                K = gram(self.kernel_, self.X_fit_)
                solution = machine.solve(DenseGram(K), np.zeros((len(K), 1)))
            self._variance = posterior_variance(solution)
        return self._variance

    def __getstate__(self) -> dict[str, Any]:
        """Leave the working matrices out, but keep the variance if it is a small matrix of landmarks."""
        # A penalty without an inverse has no variance.
        with suppress(Undefined):
            if hasattr(self, "selection_") and self.selection_.approximation_gap > 0:
                self._posterior_variance()
        state = super().__getstate__()
        if not isinstance(state.get("_variance"), LandmarkVariance):
            state.pop("_variance", None)
        return state
