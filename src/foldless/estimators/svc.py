"""Support vector classification that tunes itself."""

from collections.abc import Mapping
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import ClassifierMixin
from sklearn.gaussian_process.kernels import ConstantKernel, Kernel

from foldless.core.contracts import Matrix, Vector
from foldless.core.errors import Undefined, UnknownName
from foldless.core.targets import class_index
from foldless.criteria import loo_outputs
from foldless.criteria.base import Criterion
from foldless.criteria.left_out import left_out_outputs
from foldless.criteria.posteriors.prediction import log_odds, variance_matrix
from foldless.criteria.posteriors.sites import HingeSite, SquaredHingeSite
from foldless.estimators.base import (
    BaseKernelClassifier,
    CriterionLike,
    KernelLike,
    SearchLike,
    Seed,
    probabilities,
)
from foldless.estimators.calibration import calibrate
from foldless.estimators.dask_collections import is_dask, lazy_on_dask
from foldless.estimators.dask_fit import fit_collection
from foldless.estimators.docstrings import document_shared
from foldless.estimators.uncertainty.guarantee import Conditions
from foldless.estimators.uncertainty.left_out import LeftOutModels
from foldless.estimators.validation import regularisation
from foldless.kernels.evaluate import diagonal
from foldless.kernels.families import Families
from foldless.machines import HingeSVM, SquaredHingeSVM
from foldless.tuning.cellwise import CellSolution
from foldless.tuning.lookup import as_criterion, as_kernel, tied_for
from foldless.tuning.result import Selection

MACHINES = {"hinge": HingeSVM, "squared_hinge": SquaredHingeSVM}
SITES = {"hinge": HingeSite, "squared_hinge": SquaredHingeSite}
BIASES = ("free", "kernel")
AMPLITUDE_START = 1.0
OFFSET_START, OFFSET_BOUNDS = 0.15, (1e-3, 1e2)
NO_LEFT_OUT_POSTERIOR = (
    "the posterior of an evidence criterion has no left-out models. Use loss='squared_hinge', or criterion='span' with "
    "bias='free'."
)


@document_shared
class KernelSVC(ClassifierMixin, BaseKernelClassifier):
    r"""Support vector machine; ``fit`` chooses the kernel and C without folds.

    Minimises :math:`\tfrac12 \|f\|^2 + C \sum_i \ell(y_i (f(x_i) + b))`, :math:`\ell(s) = (1 - s)_+` or
    :math:`\tfrac12 (1 - s)_+^2`. More than two classes are fitted one against the rest with one kernel and one C.

    Parameters
    ----------
    kernel : str, Kernel or list, default="rbf"
        ``"rbf"``, ``"rbf-ard"`` (a length scale per feature, tied), ``"laplacian"``, ``"matern"``, ``"poly"``, ``"linear"``,
        ``"sinc"``, ``"precomputed"``, any kernel of ``sklearn.gaussian_process.kernels`` (its bounds are respected, and
        ``"fixed"`` parameters stay), or a list of candidates from which the criterion chooses one. A kernel given by
        name gets an amplitude if the criterion needs one (the evidences) and an offset if the bias is ``"kernel"``.
    :shared: C
    loss : {"squared_hinge", "hinge"}, default="squared_hinge"
        The squared hinge of scikit-learn's ``LinearSVC`` lacks the one half: its C is ours over 2.
    bias : {"free", "kernel"}, default=None
        An unpenalised constant, or one that is part of the kernel. ``None`` is ``"kernel"`` for the criteria that need
        it (``"evidence-ep"``, ``"evidence-hmc"``, ``"jaakkola-haussler"``), else ``"free"``.
    criterion : str or object, default=None
        The cost that tuning minimises; see ``foldless.criteria``. ``None`` is ``"smoothed-span"`` for the squared hinge
        and ``"span"`` for the hinge (``"gacv"`` if nothing is left to tune).
    :shared: search n_starts max_evaluations time_budget gram n_components landmarks cell_size
    class_weight : dict or "balanced", default=None
        Weights of the classes.
    :shared: random_state n_jobs verbose calibration on_interrupt

    Attributes
    ----------
    :shared: kernel_ C_ criterion_value_ classes_
    support_ : array of int
        Rows of the training data with a coefficient in some column.
    :shared: dual_coef_ intercept_
    X_fit_ : array
        Support vectors, landmarks, or (with an evidence by EP) all training points that ``dual_coef_`` belongs to. With
        ``kernel="precomputed"`` there are no points, and these are the numbers of the training rows.
    loo_decision_ : array of shape (n,) or (n, n_classes)
        Leave-one-out outputs of the training points: by the span, which is exact as long as the support vectors stay
        the same; by refits for the hinge with ``criterion="loo"``.
    calibration_ : Sigmoid or None
        Maps outputs to probabilities; fitted on ``loo_decision_``. None if a posterior gives the probabilities.
    loo_proba_ : array of shape (n, n_classes), or None
        Probabilities from ``loo_decision_``; None if a posterior gives the probabilities.
    :shared: loo_predict_ leverage_ label_quality_ suspicious_ guarantee_ learning_curve_
    :shared: relevance_ column_codes_ partitions_ trace_ n_evaluations_ selection_ n_features_in_

    Notes
    -----
    With ``criterion="evidence-ep"`` or ``"evidence-hmc"`` the classifier is the posterior of expectation propagation:
    ``decision_function`` gives its log-odds, ``predict_proba`` its probabilities, without folds or calibration.
    Otherwise probabilities are a logistic function of the outputs, whose slope is fitted to the leave-one-out outputs;
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
        kernel: KernelLike = "rbf",
        C: float | None = None,
        loss: str = "squared_hinge",
        bias: str | None = None,
        criterion: CriterionLike | None = None,
        search: SearchLike = "lbfgs",
        n_starts: int | None = None,
        max_evaluations: int | None = None,
        time_budget: float | None = None,
        gram: str = "auto",
        n_components: int | None = None,
        landmarks: ArrayLike | None = None,
        cell_size: int | None = None,
        class_weight: Mapping[Any, float] | str | None = None,
        random_state: Seed = None,
        n_jobs: int | None = None,
        verbose: int = 0,
        calibration: str = "same",
        on_interrupt: str = "raise",
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
        self.landmarks = landmarks
        self.cell_size = cell_size
        self.class_weight = class_weight
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
        y : array-like of shape (n,)
            Class labels.
        sample_weight : array-like of shape (n,), default=None
            Factor of C for each row, and its weight in criteria that count left-out errors; 0 leaves a row out.

        Returns
        -------
        self : KernelSVC
        """
        if is_dask(X) or is_dask(y):
            return fit_collection(self, X, y, sample_weight)
        if self._splits:
            return self._fit_split(X, y, sample_weight)
        C, tune_C = regularisation("C", self.C)
        machine_type = _look_up("loss", self.loss, MACHINES)
        criterion = self._criterion()
        bias = self._bias(criterion)
        X, Y, of_classes, rows = self._check_labels(X, y, sample_weight)
        weights = of_classes * rows.weight
        selection = self._select(
            X,
            Y,
            machine_type(C, bias == "free", weights),
            kernel=self._candidates(X, criterion, bias),
            criterion=tied_for(self._kernels, criterion),
            tune_machine=tune_C,
        )
        self._store(selection)
        self.support_ = self._rows[np.flatnonzero(np.any(selection.solution.alpha != 0, axis=1))]
        outputs = _loo_columns(selection)
        if _refits(selection):
            # Left-out models at new points are refitted too, when they are first needed.
            self._refitted = np.flatnonzero(np.any(selection.solution.alpha != 0, axis=1))
        self._posterior = self._posterior_of(selection)
        self.calibration_ = calibrate(outputs, Y, weights) if self._posterior is None else None
        self._keep_left_out(outputs)
        if self._posterior is None and selection.form == "whole":
            self._keep_support()
        self._advise(X, Y)
        return self

    @property
    def _is_expansion(self) -> bool:
        return self._posterior is None

    def _keep_left_out(self, outputs: Matrix) -> None:
        if self.calibration_ is not None:
            super()._keep_left_out(outputs)
            return
        # The posterior has no left-out probabilities; the machine has left-out outputs.
        self._left_out, self.loo_proba_ = outputs, None
        outputs = self._of_rows(outputs)
        self.loo_decision_, self.loo_predict_ = self._one_or_all(outputs), self.classes_[class_index(outputs)]

    def _probabilities(self, outputs: Matrix) -> Matrix:
        if self.calibration_ is None:
            raise Undefined(NO_LEFT_OUT_POSTERIOR)
        return self.calibration_(outputs)

    def _build_models(self) -> LeftOutModels:
        if self.calibration_ is None:
            raise Undefined(NO_LEFT_OUT_POSTERIOR)
        return super()._build_models()

    def _conditions(self) -> Conditions:
        if self.calibration_ is None:
            raise Undefined(NO_LEFT_OUT_POSTERIOR)
        return super()._conditions()

    def _criterion(self) -> Criterion:
        """Return the given criterion, or the default one."""
        if self.criterion is not None:
            return as_criterion(self.criterion)
        if self.loss == "squared_hinge":
            return as_criterion("smoothed-span")
        # The span may be undefined at the one point that is left if nothing is tuned.
        return as_criterion("span" if self._tunes() else "gacv")

    def _tunes(self) -> bool:
        """Return whether any parameter is left to choose."""
        if self.C is None or not isinstance(self.kernel, (str, Kernel)):
            return True
        return self.kernel != "precomputed" if isinstance(self.kernel, str) else len(self.kernel.theta) > 0

    def _bias(self, criterion: Criterion) -> str:
        if self.bias is None:
            return "kernel" if criterion.needs_proper_offset else "free"
        return _look_up("bias", self.bias, {name: name for name in BIASES})

    def _candidates(self, X: Any, criterion: Criterion, bias: str) -> KernelLike | Families:
        """Return the kernels with the amplitude and the offset that those given by name need."""

        def complete(kernel: str | Kernel) -> str | Kernel:
            named = isinstance(kernel, str) and kernel != "precomputed"
            return extended(as_kernel(kernel, X)) if named else kernel

        def extended(kernel: Kernel) -> Kernel:
            if criterion.needs_amplitude:
                bounds = criterion.amplitude_bounds(MACHINES[self.loss].loss.power)
                kernel = ConstantKernel(AMPLITUDE_START, bounds) * kernel
            return kernel + ConstantKernel(OFFSET_START, OFFSET_BOUNDS) if bias == "kernel" else kernel

        kernels = self._kernels_for(X)
        if isinstance(kernels, Families):
            return kernels.map(extended)
        several = isinstance(kernels, (list, tuple))
        return [complete(kernel) for kernel in kernels] if several else complete(kernels)

    def _keep_support(self) -> None:
        """Forget points without a coefficient."""
        kept = np.flatnonzero(np.any(self.dual_coef_ != 0, axis=0))
        self.X_fit_, self.dual_coef_ = self.X_fit_[kept], self.dual_coef_[:, kept]

    def _posterior_of(self, selection: Selection) -> tuple[Matrix, list[Matrix]] | None:
        """Return coefficients of the posterior means and matrices of the variances, if the criterion has a posterior."""
        posteriors = [posterior() for posterior in selection.reading.posteriors]
        if not posteriors:
            return None
        gram, builder = selection.solution.gram, selection.builder
        b = np.column_stack([posterior.b for posterior in posteriors])
        coefficients = builder.expansion(gram, b)[1].T
        return coefficients, [variance_matrix(gram, posterior.factor) for posterior in posteriors]

    def _outputs_at(self, points: Any) -> Matrix:
        if self._posterior is None:
            return super()._outputs_at(points)
        coefficients, matrices = self._posterior
        site = SITES[self.loss](self.C_)

        def block(rows: Any) -> Matrix:
            return log_odds(site, self._cross(rows), self._prior_variances(rows), coefficients, matrices)

        return self._each_block(points, block)

    def _prior_variances(self, X: Any) -> Vector:
        if self._pairwise:
            raise ValueError(
                "with kernel='precomputed' the evidence criteria predict no probabilities: the variance of a new point "
                "is unknown. Give the kernel itself."
            )
        return diagonal(self.kernel_, X)

    @lazy_on_dask
    def predict_proba(self, X: ArrayLike) -> Matrix:
        """Class probabilities.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, d)

        Returns
        -------
        probabilities : array of shape (n, n_classes)
            For more than two classes the one-versus-rest probabilities, divided by their sum.
        """
        outputs = self._outputs(X)
        return probabilities(outputs) if self.calibration_ is None else self.calibration_(outputs)


def _look_up(what: str, name: str, table: Mapping[str, Any]) -> Any:
    if name not in table:
        raise UnknownName(what, name, table)
    return table[name]


def _loo_columns(selection: Selection) -> Matrix:
    """Return leave-one-out outputs (n, k); those of the hinge machine by refits only if the criterion is ``"loo"``."""
    if not _refits(selection):
        return left_out_outputs(selection.solution)
    return np.column_stack([loo_outputs(column) for column in selection.solution.columns])


def _refits(selection: Selection) -> bool:
    """Return whether the rows of a hinge machine are left out by refits, as the criterion ``"loo"`` does."""
    by_cells = isinstance(selection.solution, CellSolution)
    return selection.criterion.name == "loo" and isinstance(selection.machine, HingeSVM) and not by_cells
