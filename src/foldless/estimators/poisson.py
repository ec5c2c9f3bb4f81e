"""Kernel Poisson regression that tunes itself."""

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import RegressorMixin
from sklearn.metrics import d2_tweedie_score
from sklearn.utils import Tags

from foldless.core.contracts import Matrix, Vector
from foldless.criteria.left_out import left_out_outputs
from foldless.estimators.base import (
    BaseKernelEstimator,
    CriterionLike,
    KernelLike,
    SearchLike,
    Seed,
)
from foldless.estimators.dask_collections import is_dask, lazy_on_dask
from foldless.estimators.dask_fit import fit_collection
from foldless.estimators.docstrings import document_shared
from foldless.estimators.uncertainty.interval_mixin import IntervalMixin
from foldless.estimators.uncertainty.left_out import Block
from foldless.estimators.validation import regularisation
from foldless.machines import SmoothMachine
from foldless.machines.losses import Poisson

MAX_LOG_RATE = np.log(np.finfo(float).max) / 2


@document_shared
class KernelPoissonRegressor(RegressorMixin, IntervalMixin, BaseKernelEstimator):
    r"""Kernel regression for counts, with the logarithm of the rate as output; ``fit`` tunes kernel and alpha.

    Minimises :math:`\tfrac\alpha2 \|f\|^2 + \sum_i [e^{z_i} - y_i z_i + \log y_i!]` with :math:`z_i = f(x_i) + b`.
    By default the width and alpha are chosen by approximate leave-one-out likelihood.

    Parameters
    ----------
    :shared: kernel
    alpha : float, default=None
        Weight of the squared norm; ``None`` tunes it.
    criterion : str or object, default="loo"
        The cost that tuning minimises, by name or object; see ``foldless.criteria``.
    :shared: search n_starts max_evaluations time_budget gram n_components landmarks cell_size random_state n_jobs verbose calibration on_interrupt

    Attributes
    ----------
    :shared: kernel_ alpha_ criterion_value_
    dual_coef_ : array of shape (1, number of ``X_fit_``)
        Coefficients of the kernel functions at ``X_fit_``.
    intercept_ : array of shape (1,)
        Constant that is added to the log rate.
    :shared: X_fit_
    loo_decision_ : array of shape (n,)
        Approximate leave-one-out log rates of the training points.
    :shared: loo_predict_ loo_residuals_ leverage_ suspicious_ guarantee_ learning_curve_
    :shared: relevance_ column_codes_ partitions_ trace_ n_evaluations_ selection_ n_features_in_

    Examples
    --------
    >>> import numpy as np
    >>> from foldless import KernelPoissonRegressor
    >>> X = np.linspace(0, 3, 60)[:, None]
    >>> y = np.random.default_rng(0).poisson(np.exp(np.sin(2 * X[:, 0]) + 1))
    >>> model = KernelPoissonRegressor().fit(X, y)
    >>> model.score(X, y) > 0.5
    True
    """

    _lowest = 0.0

    def __init__(
        self,
        kernel: KernelLike = "rbf",
        alpha: float | None = None,
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
        y : array-like of shape (n,)
            Counts: integers, not negative, not all zero.
        sample_weight : array-like of shape (n,), default=None
            How many rows each one stands for.

        Returns
        -------
        self : KernelPoissonRegressor
        """
        if is_dask(X) or is_dask(y):
            return fit_collection(self, X, y, sample_weight)
        if self._splits:
            return self._fit_split(X, y, sample_weight)
        alpha, tune_alpha = regularisation("alpha", self.alpha)
        X, y = self._check_data(X, y, y_numeric=True)
        X, y, counts = self._drop_weightless_rows(X, np.asarray(y, dtype=float), sample_weight)
        Poisson().check(y)
        X, Y, rows = self._join_copies(X, y[:, None], counts)
        machine = SmoothMachine(Poisson(), 1 / alpha, bias=True, weights=rows.weight, row_counts=rows.counts)
        selection = self._select(X, Y, machine, tune_machine=tune_alpha)
        self._store(selection)
        self._keep_left_out(left_out_outputs(selection.solution))
        self._advise(X, Y)
        return self

    def _keep_left_out(self, outputs: Matrix) -> None:
        super()._keep_left_out(outputs)
        self.loo_decision_ = self._of_rows(outputs[:, 0])

    def _shaped(self, outputs: Matrix) -> np.ndarray:
        return outputs[..., 0]

    def _response(self, outputs: Matrix) -> Matrix:
        return rates(outputs)

    def _scales(self, block: Block) -> tuple[Matrix, Matrix]:
        return np.sqrt(rates(block.left_out)), self._target_deviations()

    def _target_deviations(self) -> Matrix:
        # A count has the variance of its rate. One that underflows would have none.
        return np.maximum(np.sqrt(rates(self._own_outputs())), np.finfo(float).tiny)

    def _machine_params(self, machine: Any) -> dict[str, float]:
        return {"alpha": 1 / machine.C}

    @lazy_on_dask
    def log_rate(self, X: ArrayLike) -> Vector:
        """Logarithms of the rates."""
        return self._outputs(X)[:, 0]

    @lazy_on_dask
    def predict(self, X: ArrayLike) -> Vector:
        """Rates: expected counts.

        Far from the data the log rate of a kernel that grows without bound can exceed every number; such rates are
        returned as about 1e154, whose square is still finite.
        """
        return rates(self.log_rate(X))

    def score(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """Fraction of the Poisson deviance explained, as scikit-learn's ``PoissonRegressor`` scores."""
        return d2_tweedie_score(y, self.predict(X), sample_weight=sample_weight, power=1)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.positive_only = True
        return tags


def rates(log_rates: ArrayLike) -> np.ndarray:
    """Return the rates of log rates, all finite."""
    return np.exp(np.minimum(log_rates, MAX_LOG_RATE))
