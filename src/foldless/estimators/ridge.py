"""Kernel ridge regression that tunes itself."""

from contextlib import suppress
from functools import partial

import numpy as np
from sklearn.base import MultiOutputMixin, RegressorMixin
from sklearn.utils.validation import check_is_fitted

from foldless.core.errors import Undefined
from foldless.core.linalg import solve_lower
from foldless.estimators.base import BaseKernelRegressor, regularisation
from foldless.grams import DenseGram
from foldless.kernels import gram
from foldless.kernels.evaluate import diagonal
from foldless.machines import Ridge, penalty_roots
from foldless.machines.least_squares import gp_posterior as posterior


class KernelRidgeRegressor(MultiOutputMixin, RegressorMixin, BaseKernelRegressor):
    r"""Kernel ridge regression; ``fit`` chooses the kernel and alpha without folds.

    Minimises :math:`\sum_i (y_i - f(x_i) - b)^2 + \alpha \|f\|^2`. By default the kernel's width and alpha are chosen
    by exact leave-one-out error with its gradient; with a fixed kernel the whole path of alpha costs one
    eigendecomposition.

    Parameters
    ----------
    kernel : str, Kernel or list, default="rbf"
        ``"rbf"``, ``"rbf-ard"`` (a length scale per feature), ``"laplacian"``, ``"matern"``, ``"poly"``,
        ``"linear"``, ``"sinc"``, ``"precomputed"``, any kernel of ``sklearn.gaussian_process.kernels`` (its bounds are
        respected, ``"fixed"`` parameters stay), or a list of candidates of which the criterion chooses one.
    alpha : float, default=None
        Weight of the penalty; ``None`` tunes it.
    fit_intercept : bool, default=True
        Whether a constant without penalty is part of the model.
    penalty : {"K", "I"} or array of shape (n, n), default="K"
        The matrix T of the penalty :math:`\alpha\, c'Tc` on the coefficients c; ``"K"`` is the squared norm of f.
    criterion : str or object, default="loo"
        ``"loo"``, ``"kfold"``, ``"gcv"``, ``"mallows"``, ``"abic"``, ``"evidence"``, ``"sic"`` (which may not compare
        kernels), or an object of ``foldless.criteria``.
    search : str or object, default="lbfgs"
        How; see ``foldless.searches``.
    n_starts : int, default=None
        Descents; ``None`` leaves it to the search.
    max_evaluations : int, default=None
        Budget of evaluations.
    time_budget : float, default=None
        Budget in seconds.
    gram : {"auto", "dense", "lowrank", "nystrom"}, default="auto"
        How the kernel matrix is held. ``"auto"`` searches on as many landmarks as matter.
    n_components : int, default=None
        Number of landmarks; ``None`` leaves it to the data.
    random_state : int or RandomState, default=None
        Draws the landmarks; ``None`` draws the same every time.
    n_jobs : int, default=None
        Candidate kernels, or starts, searched side by side.
    verbose : int, default=0
        1 shows a progress bar.

    Attributes
    ----------
    kernel_ : Kernel
        The chosen kernel.
    alpha_ : float
        The chosen or given alpha.
    criterion_value_ : float
        The criterion there (a cost).
    dual_coef_ : array of shape (n_outputs, number of ``X_fit_``)
    intercept_ : array of shape (n_outputs,)
    X_fit_ : array
        Training points, or landmarks, that carry ``dual_coef_``.
    noise_variance_ : array of shape (n_outputs,)
        The noise variance under which this fit is the mean of a Gaussian process; absent where the fit is exact.
    loo_decision_ : array of shape (n,) or (n, n_outputs)
        Leave-one-out predictions of the training points; with ``criterion="loo"``.
    trace_ : list of Step
        One row per evaluation: theta, value, seconds, why.
    n_evaluations_ : int
    selection_ : Selection
        Everything the search found.
    n_features_in_ : int

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
        kernel="rbf",
        alpha=None,
        fit_intercept=True,
        penalty="K",
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
        self.fit_intercept = fit_intercept
        self.penalty = penalty
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
            Or the Gram matrix (n, n) with ``kernel="precomputed"``.
        y : array-like of shape (n,) or (n, n_outputs)
        sample_weight : array-like of shape (n,), default=None
            How many rows each one stands for: a weight of 2 is the row twice, 0 leaves it out.

        Returns
        -------
        self : KernelRidgeRegressor
        """
        for name in ("noise_variance_", "loo_decision_"):  # of an earlier fit: this one may have none
            vars(self).pop(name, None)
        alpha, fixed = regularisation("alpha", self.alpha)
        X, Y, copies = self._check_targets(X, y, sample_weight)
        machine = Ridge(alpha, bool(self.fit_intercept), copies, self._penalty(), copies)
        selection = self._tune(X, Y, machine, fixed)
        solution = selection.solution
        self.alpha_ = selection.machine.alpha
        self._copies = copies
        with suppress(Undefined):  # an exact fit has no noise
            self.noise_variance_ = solution.variances()
        if selection.criterion.name == "loo":
            root = np.ones(len(Y)) if copies is None else np.sqrt(copies)
            self.loo_decision_ = self._shaped(Y - solution.loo_residuals / root[:, None])
        return self

    def _penalty(self):
        if isinstance(self.penalty, str):
            return self.penalty
        T = np.asarray(self.penalty, dtype=float)
        if T.ndim != 2 or np.max(self._rows) >= min(T.shape):
            raise ValueError(f"penalty must have shape (n, n) for the n rows of X, got {T.shape}.")
        T = T[np.ix_(self._rows, self._rows)]
        penalty_roots(T, len(T))  # it is to be refused here, not at every step of a search
        return T

    def _machine_params(self, machine):
        return {"alpha": machine.alpha}

    def predict(self, X, return_std=False):
        """Predict; with ``return_std`` also the standard deviation of the function.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, d)
        return_std : bool, default=False
            The fit is the posterior mean of a Gaussian process with kernel ``noise_variance_ / alpha_ * kernel_`` and
            noise ``noise_variance_``; this is its posterior standard deviation (without the noise). With another
            penalty T the process is the sum of the training points' kernel functions with coefficients of
            covariance ``noise_variance_ / alpha_`` times the inverse of T; see :mod:`foldless.machines.least_squares.gp_posterior`.

        Returns
        -------
        mean : array of shape (n,) or (n, n_outputs)
        sd : array of the same shape
            Only with ``return_std=True``, as in scikit-learn's Gaussian processes.
        """
        mean = self._shaped(self._outputs(X))
        return (mean, self._deviation(X)) if return_std else mean

    def _deviation(self, X):
        check_is_fitted(self)
        if self._pairwise:
            raise Undefined(
                "standard deviations need k(x, x) of the new points, which kernel='precomputed' lacks."
            )
        if not hasattr(self, "noise_variance_"):
            raise Undefined(
                "the targets are fitted exactly: no noise is left from which to tell a deviation."
            )
        penalty = self._penalty()
        if not isinstance(penalty, str):
            posterior.penalty_eigenpairs(penalty)
        form = self._landmark_form()
        spread = (
            partial(self._spread, self._solution()) if form is None else partial(self._form_spread, *form)
        )
        spreads = self._each_block(X, spread)
        return self._shaped(np.sqrt(np.multiply.outer(spreads, self.noise_variance_ / self.alpha_)))

    def _solution(self):
        """The fit; a loaded model, which has no working matrices, solves once more."""
        if hasattr(self, "selection_"):
            return self.selection_.solution
        if not hasattr(self, "_again"):
            machine = Ridge(self.alpha_, bool(self.fit_intercept), self._copies, self._penalty())
            K = DenseGram(gram(self.kernel_, self.X_fit_))
            self._again = machine.solve(K, np.zeros((K.n, 1)))
        return self._again

    def _spread(self, solution, X):
        return posterior.relative_variance(solution, self._cross(X), diagonal(self.kernel_, X))

    def _landmark_form(self):
        """Where landmarks stand for the rows, their factor and the variance as a form in their features; else None."""
        if not hasattr(self, "selection_"):
            return self._form
        solution = self.selection_.solution
        if getattr(solution.gram, "root", None) is None:
            return None
        L, kept = solution.gram.root
        return L, *posterior.relative_variance_form(solution, solution.gram.F[:, : len(kept)])

    def _form_spread(self, L, square, centre, rise, X):
        F = solve_lower(L, self._cross(X).T).T
        lack = diagonal(self.kernel_, X) - np.einsum("ij,ij->i", F, F) if self._moving else 0.0
        F -= centre
        return np.maximum(lack + np.einsum("ij,ij->i", F, F @ square) + rise, 0)

    @property
    def _moving(self):
        return isinstance(self.penalty, str) and self.penalty == "K"

    def __getstate__(self):
        """Leave the working matrices out, but keep what standard deviations need of landmarks."""
        state = super().__getstate__()
        state.pop("_again", None)
        if hasattr(self, "selection_"):
            with suppress(Undefined):  # no deviations for an improper prior
                state["_form"] = self._landmark_form()
        return state
