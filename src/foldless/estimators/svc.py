"""Support vector classification that tunes itself."""

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.gaussian_process.kernels import ConstantKernel
from sklearn.utils import compute_sample_weight

from foldless.core.errors import Undefined, UnknownName
from foldless.core.linalg import inverse_lower
from foldless.criteria import SAFE_AMPLITUDES, ep_posterior, loo_outputs
from foldless.criteria.derivatives.svm import span_margins
from foldless.criteria.posteriors.ep import HingeSite, SquaredHingeSite, class_probability
from foldless.estimators.base import BaseKernelClassifier, probabilities, regularisation
from foldless.estimators.calibration import calibrate
from foldless.kernels.evaluate import diagonal
from foldless.machines import HingeSVM, SquaredHingeSVM
from foldless.tuning.lookup import as_criterion, as_kernel

MACHINES = {"hinge": HingeSVM, "squared_hinge": SquaredHingeSVM}
SITES = {"hinge": HingeSite, "squared_hinge": SquaredHingeSite}
BIASES = ("free", "kernel")
BAYESIAN = ("evidence-ep", "evidence-hmc")  # need a proper prior on the offset, give probabilities
NEED_OFFSET = (*BAYESIAN, "jaakkola-haussler")
NEED_AMPLITUDE = (*BAYESIAN, "evidence")  # C is more than a scale of the kernel there
AMPLITUDE, AMPLITUDES = 1.0, (0.05, 8103.0)  # start and bounds
OFFSET = (0.15, (1e-3, 1e2))


class KernelSVC(ClassifierMixin, BaseKernelClassifier):
    r"""Support vector machine; ``fit`` chooses the kernel and C without folds.

    Minimises :math:`\tfrac12 \|f\|^2 + C \sum_i \ell(y_i (f(x_i) + b))`, :math:`\ell(s) = (1 - s)_+` or
    :math:`\tfrac12 (1 - s)_+^2`. More than two classes are fitted one against the rest with one kernel and one C.

    Parameters
    ----------
    kernel : str, Kernel or list, default="rbf"
        ``"rbf"``, ``"rbf-ard"`` (a length scale per feature), ``"matern"``, ``"poly"``, ``"linear"``,
        ``"precomputed"``, any kernel of ``sklearn.gaussian_process.kernels`` (its bounds are respected, ``"fixed"``
        parameters stay), or a list of candidates of which the criterion chooses one. Names get an amplitude where
        the criterion needs one (the evidences) and an offset where the bias is ``"kernel"``.
    C : float, default=None
        Weight of the data against the norm; ``None`` tunes it.
    loss : {"squared_hinge", "hinge"}, default="squared_hinge"
        With scikit-learn's ``LinearSVC`` the squared hinge lacks the one half: its C is ours over 2.
    bias : {"free", "kernel"}, default=None
        An unpenalised constant, or one that is part of the kernel. ``None`` is ``"kernel"`` for the criteria that need
        it (``"evidence-ep"``, ``"evidence-hmc"``, ``"jaakkola-haussler"``), else ``"free"``.
    criterion : str or object, default=None
        What is minimised; see ``foldless.criteria``. ``None`` is ``"smoothed-span"`` for the squared hinge; for the
        hinge ``"evidence-ep"``, or ``"span"`` if the bias is to be free (``"gacv"`` where nothing is left to tune).
    search : str or object, default="lbfgs"
        How; see ``foldless.searches``.
    n_starts, max_evaluations, time_budget, gram, n_components, class_weight, random_state, n_jobs, verbose
        As in :class:`KernelLogisticRegression`.

    Attributes
    ----------
    kernel_ : Kernel
    C_ : float
    criterion_value_ : float
        The criterion at the chosen point (a cost).
    classes_ : array of shape (n_classes,)
    support_ : array of int
        Rows of the training data with a coefficient in some column.
    dual_coef_ : array of shape (1 or n_classes, number of ``X_fit_``)
    intercept_ : array of shape (1 or n_classes,)
    X_fit_ : array
        Support vectors, landmarks, or (with an evidence by EP) all training points: they carry ``dual_coef_``.
    loo_decision_ : array of shape (n,) or (n, n_classes)
        Leave-one-out outputs of the training points: by the span, which is exact while no set changes; by refits for
        the hinge with ``criterion="loo"``.
    calibration_ : Sigmoid
        From outputs to probabilities, fitted on ``loo_decision_``.
    loo_proba_ : array of shape (n, n_classes), or None
        Probabilities from ``loo_decision_``; None where a posterior gives the probabilities.
    trace_, n_evaluations_, selection_, n_features_in_
        As in :class:`KernelLogisticRegression`.

    Notes
    -----
    With ``criterion="evidence-ep"`` or ``"evidence-hmc"`` the classifier is the posterior of expectation propagation:
    ``decision_function`` gives its log-odds, ``predict_proba`` its probabilities, no folds and no calibration needed.
    Otherwise probabilities are a logistic function of the outputs, its one slope fitted to the leave-one-out outputs;
    they never contradict ``predict``.

    References
    ----------
    .. [1] Gold and Sollich, *Model selection for support vector machine classification*.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from foldless import KernelSVC
    >>> X, y = make_moons(100, noise=0.2, random_state=0)
    >>> model = KernelSVC().fit(X, y)
    >>> model.score(X, y) > 0.95
    True
    """

    def __init__(
        self,
        kernel="rbf",
        C=None,
        loss="squared_hinge",
        bias=None,
        criterion=None,
        search="lbfgs",
        n_starts=None,
        max_evaluations=None,
        time_budget=None,
        gram="auto",
        n_components=None,
        class_weight=None,
        random_state=None,
        n_jobs=None,
        verbose=0,
    ):
        self.kernel = kernel
        self.C = C
        self.loss = loss
        self.bias = bias
        self.criterion = criterion
        self.search = search
        self.n_starts = n_starts
        self.max_evaluations = max_evaluations
        self.time_budget = time_budget
        self.gram = gram
        self.n_components = n_components
        self.class_weight = class_weight
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def fit(self, X, y, sample_weight=None):
        """Tune and fit.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, d)
            Or the Gram matrix (n, n) with ``kernel="precomputed"``.
        y : array-like of shape (n,)
            Class labels.
        sample_weight : array-like of shape (n,), default=None
            Multiplies C of the rows; 0 leaves a row out. Criteria count rows, whatever they weigh.

        Returns
        -------
        self : KernelSVC
        """
        C, fixed = regularisation("C", self.C)
        X, y, Y, weight = self._check_labels(X, y, sample_weight)
        weights = compute_sample_weight(self.class_weight, y) * weight
        machine = _look_up("loss", self.loss, MACHINES)(C, self._bias() == "free", weights)
        selection = self._tune(X, Y, machine, fixed)
        self.C_ = selection.machine.C
        columns = selection.solution.columns
        self.support_ = self._rows[np.flatnonzero(np.any(selection.solution.alpha != 0, axis=1))]
        outputs = np.column_stack(
            [_left_out(column, selection.criterion.name == "loo") for column in columns]
        )
        self.loo_decision_ = outputs[:, 0] if len(self.classes_) == 2 else outputs
        self.calibration_ = calibrate(outputs, Y, weights)
        self._posterior = self._bayes(selection) if selection.criterion.name in BAYESIAN else None
        self.loo_proba_ = self.calibration_(outputs) if self._posterior is None else None
        if self._posterior is None and not hasattr(selection.solution.gram, "F"):
            self._keep_support()
        return self

    def _criterion(self):
        if self.criterion is not None:
            return as_criterion(self.criterion)
        if self.loss == "squared_hinge":
            return as_criterion("smoothed-span")
        if self.bias != "free":
            return as_criterion("evidence-ep")
        return as_criterion("span" if self._tunes() else "gacv")  # at one point the span may be undefined

    def _tunes(self):
        """Whether anything is left to choose."""
        named = isinstance(self.kernel, (str, list, tuple)) and self.kernel != "precomputed"
        return self.C is None or named or (self.kernel != "precomputed" and len(self.kernel.theta) > 0)

    def _bias(self):
        if self.bias is None:
            return "kernel" if self._criterion().name in NEED_OFFSET else "free"
        return _look_up("bias", self.bias, {name: name for name in BIASES})

    def _candidates(self, X):
        many = isinstance(self.kernel, (list, tuple))
        return [self._dress(k, X) for k in self.kernel] if many else self._dress(self.kernel, X)

    def _dress(self, kernel, X):
        """Give a named kernel the amplitude and the offset it needs."""
        if not isinstance(kernel, str) or kernel == "precomputed":
            return kernel
        kernel = as_kernel(kernel, X)
        if self._criterion().name in NEED_AMPLITUDE:
            kernel = ConstantKernel(AMPLITUDE, self._amplitudes()) * kernel
        return kernel + ConstantKernel(*OFFSET) if self._bias() == "kernel" else kernel

    def _amplitudes(self):
        """Bounds of the amplitude: narrow for Laplace's evidence, which has a false maximum at large ones."""
        if self._criterion().name != "evidence":
            return AMPLITUDES
        return AMPLITUDES[0], SAFE_AMPLITUDES[MACHINES[self.loss].loss.power]

    def _keep_support(self):
        kept = np.flatnonzero(np.any(self.dual_coef_ != 0, axis=0))
        self.X_fit_, self.dual_coef_ = self.X_fit_[kept], self.dual_coef_[:, kept]

    def _bayes(self, selection):
        """Coefficients of the posterior means, and the matrices that reduce the prior variance."""
        posteriors = [ep_posterior(column) for column in selection.solution.columns]
        gram, builder = selection.solution.gram, selection.builder
        b = np.column_stack([posterior.b for posterior in posteriors])
        mean = builder.expansion(gram, b)[1].T
        return mean, [_reduction(gram, posterior.factor) for posterior in posteriors]

    def _outputs(self, X):
        if getattr(self, "_posterior", None) is None:
            return super()._outputs(X)
        return self._each_block(X, self._log_odds)

    def _log_odds(self, X):
        """Log-odds of the posterior at some rows, (n, k)."""
        cross, own = self._cross(X), self._own(X)
        mean, reductions = self._posterior
        site, columns = SITES[self.loss](self.C_), []
        for coefficients, Q in zip(mean, reductions, strict=True):
            v = np.maximum(own - np.einsum("ij,ij->i", cross @ Q, cross), 1e-12 * own)
            p = class_probability(site, cross @ coefficients, v)
            columns.append(np.log(p) - np.log1p(-p))
        return np.column_stack(columns)

    def _own(self, X):
        if self._pairwise:
            raise ValueError(
                "with kernel='precomputed' the evidence criteria predict no probabilities: the variance of a new point "
                "is unknown. Give the kernel itself."
            )
        return diagonal(self.kernel_, X)

    def predict_proba(self, X):
        """Class probabilities.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, d)

        Returns
        -------
        probabilities : array of shape (n, n_classes)
            For more than two classes the one-versus-rest probabilities, divided by their sum.
        """
        z = self._outputs(X)
        return self.calibration_(z) if self._posterior is None else probabilities(z)


def _look_up(what, name, table):
    if name not in table:
        raise UnknownName(what, name, table)
    return table[name]


def _left_out(column, exact):
    """Leave-one-out outputs of one column; those of the hinge machine by refits only where they are asked for."""
    if exact or not isinstance(column.machine, HingeSVM):
        return loo_outputs(column)
    try:
        return column.y * span_margins(column)
    except Undefined:  # no point on the margin, and a free bias
        return loo_outputs(column)


def _reduction(gram, factor):
    r"""Matrix Q with posterior variance :math:`k(x, x) - k_x' Q k_x`, :math:`k_x` with the points that carry the fit."""
    if not hasattr(gram, "F"):
        return factor.resolvent()
    L, kept = gram.root
    Linv = inverse_lower(L)
    inner = inverse_lower(factor.L)[: len(kept), : len(kept)]
    return Linv.T @ (np.eye(len(kept)) - inner.T @ inner) @ Linv
