"""Kernel Poisson regression that tunes itself."""

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.metrics import d2_tweedie_score

from foldless.criteria import loo_outputs
from foldless.estimators.base import BaseKernelEstimator, regularisation
from foldless.machines import SmoothMachine
from foldless.machines.losses import Poisson


class KernelPoissonRegressor(RegressorMixin, BaseKernelEstimator):
    r"""Kernel regression for counts, with the logarithm of the rate as output; ``fit`` tunes kernel and alpha.

    Minimises :math:`\tfrac\alpha2 \|f\|^2 + \sum_i [e^{z_i} - y_i z_i + \log y_i!]` with :math:`z_i = f(x_i) + b`.
    By default the width and alpha are chosen by approximate leave-one-out likelihood.

    Parameters
    ----------
    kernel : str, Kernel or list, default="rbf"
        See :class:`KernelLogisticRegression`.
    alpha : float, default=None
        Weight of the squared norm; ``None`` tunes it.
    criterion, search, n_starts, max_evaluations, time_budget, gram, n_components, random_state, n_jobs, verbose
        See :class:`KernelLogisticRegression`.

    Attributes
    ----------
    kernel_ : Kernel
    alpha_ : float
    criterion_value_ : float
    loo_decision_ : array of shape (n,)
        Approximate leave-one-out log rates of the training points.
    dual_coef_, intercept_, X_fit_, trace_, n_evaluations_, selection_, n_features_in_
        See :class:`KernelLogisticRegression`.

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

    def __init__(
        self,
        kernel="rbf",
        alpha=None,
        criterion="loo",
        search="lbfgs",
        n_starts=None,
        max_evaluations=None,
        time_budget=None,
        gram="auto",
        n_components=None,
        random_state=None,
        n_jobs=None,
        verbose=0,
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
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def fit(self, X, y, sample_weight=None):
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
        alpha, fixed = regularisation("alpha", self.alpha)
        X, y = self._check_fit(X, y, y_numeric=True)
        X, y, copies = self._weigh(X, np.asarray(y, dtype=float), sample_weight)
        Poisson().check(y)
        machine = SmoothMachine(Poisson(), 1 / alpha, bias=True, weights=copies, row_counts=copies)
        selection = self._tune(X, y[:, None], machine, fixed)
        self.alpha_ = 1 / selection.machine.C
        self.loo_decision_ = loo_outputs(selection.solution.columns[0])
        return self

    def _machine_params(self, machine):
        return {"alpha": 1 / machine.C}

    def log_rate(self, X):
        """Logarithms of the rates."""
        return self._outputs(X)[:, 0]

    def predict(self, X):
        """Rates: expected counts."""
        return np.exp(self.log_rate(X))

    def score(self, X, y, sample_weight=None):
        """Fraction of the Poisson deviance explained, as scikit-learn's ``PoissonRegressor`` scores."""
        return d2_tweedie_score(y, self.predict(X), sample_weight=sample_weight, power=1)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.positive_only = True
        return tags
