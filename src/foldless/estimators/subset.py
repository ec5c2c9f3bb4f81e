"""Regression on a few kernel functions, chosen by a criterion."""

from dataclasses import replace

import numpy as np
from sklearn.base import MultiOutputMixin, RegressorMixin

from foldless.estimators.base import BaseKernelRegressor
from foldless.machines import Ridge, Subset, forward
from foldless.tuning.lookup import as_criterion


class KernelSubsetRegressor(MultiOutputMixin, RegressorMixin, BaseKernelRegressor):
    r"""Least squares on the kernel functions of a few training points.

    Minimises :math:`\sum_i (y_i - b - \sum_{j \in S} c_j k(x_i, x_j))^2` without a penalty. The subset S is given, or
    grown one function at a time: each step adds the one whose addition the criterion likes best, and the best
    subset on the way is kept. A kernel with free parameters is tuned first, on the given subset, or by kernel ridge
    regression when the subset is to be chosen.

    Parameters
    ----------
    kernel : str, Kernel or list, default="rbf"
        As in :class:`KernelRidgeRegressor`.
    indices : array of shape (m,), default=None
        Rows whose kernel functions are used; ``None`` chooses them.
    max_size : int, default=None
        Functions at most; ``None`` is half of the rows, and the criterion stops long before.
    pool : int, default=20
        Candidates scored at each step: those that lower the squared residual most.
    fit_intercept : bool, default=True
        Whether a constant is part of the model.
    criterion : str or object, default="loo"
        ``"loo"``, ``"mallows"``, ``"sic"``, ``"gcv"`` or ``"kfold"``, or an object. One that may not compare kernels
        leaves their tuning to ``"loo"``.
    search, n_starts, max_evaluations, time_budget, random_state, n_jobs, verbose
        As in :class:`KernelRidgeRegressor`.

    Attributes
    ----------
    kernel_ : Kernel
    indices_ : array of shape (m,)
        The rows chosen, in the order they were added.
    path_ : tuple of float
        The criterion after each step; only where the subset was chosen.
    criterion_value_ : float
    dual_coef_ : array of shape (n_outputs, m)
    intercept_ : array of shape (n_outputs,)
    X_fit_ : array of shape (m, d)
    n_features_in_ : int

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

    gram, n_components = "dense", None

    def __init__(
        self,
        kernel="rbf",
        indices=None,
        max_size=None,
        pool=20,
        fit_intercept=True,
        criterion="loo",
        search="lbfgs",
        n_starts=None,
        max_evaluations=None,
        time_budget=None,
        random_state=None,
        n_jobs=None,
        verbose=0,
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

    def fit(self, X, y, sample_weight=None):
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
        X, Y, copies = self._check_targets(X, y, sample_weight)
        machine = Subset(
            [0] if self.indices is None else self._kept(), bool(self.fit_intercept), copies, copies
        )
        if self.indices is not None:
            selection = self._tune(X, Y, machine, fixed=True)
            return self._keep(selection.machine.indices)
        return self._grow(X, Y, machine)

    def _grow(self, X, Y, machine):
        ridge = Ridge(1.0, machine.bias, machine.weights, row_counts=machine.row_counts)
        criterion = as_criterion(self.criterion)
        tuned = self._select(
            X, Y, ridge, fixed=False, criterion=criterion if criterion.tunes_kernel else "loo"
        )
        gram = tuned.solution.gram
        criterion = criterion.with_data_estimates(ridge, [gram], Y)
        found = forward(gram, Y, lambda s: criterion(s).value, machine, self.max_size, self.pool)
        machine = replace(machine, indices=found.indices)
        solution = machine.solve(gram, Y)
        changes = {
            "machine": machine,
            "criterion": criterion,
            "solution": solution,
            "reading": criterion(solution),
        }
        self._store(replace(tuned, **changes))
        self.path_ = found.values
        return self._keep(found.indices)

    def _kept(self):
        """Return the given indices among the rows that weigh something."""
        place = np.full(np.max(self._rows) + 1, -1)
        place[self._rows] = np.arange(len(self._rows))
        indices = np.asarray(self.indices)
        if np.issubdtype(indices.dtype, np.integer) and np.all(np.isin(indices, self._rows)):
            return place[indices]
        return indices

    def _keep(self, indices):
        self.indices_ = self._rows[indices]
        self.X_fit_ = self.indices_ if self._pairwise else self.X_fit_[indices]
        self.dual_coef_ = self.dual_coef_[:, indices]
        return self

    def _machine_params(self, machine):
        return {}

    def predict(self, X):
        """Predict.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, d)

        Returns
        -------
        y : array of shape (n,) or (n, n_outputs)
        """
        return self._shaped(self._outputs(X))
