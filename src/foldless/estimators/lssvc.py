"""Least-squares support vector classifier that tunes itself."""

from collections.abc import Mapping
from typing import Any, Self

from numpy.typing import ArrayLike
from sklearn.base import ClassifierMixin

from foldless.core.contracts import Matrix
from foldless.criteria.left_out import left_out_outputs
from foldless.estimators.base import (
    BaseKernelClassifier,
    CriterionLike,
    KernelLike,
    Link,
    SearchLike,
    Seed,
)
from foldless.estimators.calibration import calibrate
from foldless.estimators.dask_collections import is_dask, lazy_on_dask
from foldless.estimators.dask_fit import fit_collection
from foldless.estimators.docstrings import document_shared
from foldless.estimators.validation import regularisation
from foldless.machines import LSSVM


@document_shared
class KernelLSSVC(ClassifierMixin, BaseKernelClassifier):
    r"""Least-squares support vector classifier; ``fit`` chooses the kernel and C without folds.

    Minimises :math:`\|f\|^2 + C \sum_i v_i (y_i - f(x_i) - b)^2` on labels -1 and 1 (one versus the rest for more than two
    classes: all share one factorisation). By default the kernel's width and C are chosen by the exact mean squared
    leave-one-out error, which is in closed form, with its gradient [1]_.

    Parameters
    ----------
    :shared: kernel
    C : float, default=None
        Weight of the squared errors against the squared norm, one over lambda; ``None`` tunes it.
    bias : bool, default=True
        Whether the model has a constant that is not penalised.
    criterion : str or object, default="loo"
        The cost that tuning minimises: ``"loo"``, ``"kfold"``, ``"gcv"``, ``"evidence"``, or a criterion of the kernel
        alone such as ``"spectral"`` (it counts every row once, and C is tuned by leave-one-out afterwards); see
        ``foldless.criteria``.
    :shared: search n_starts max_evaluations time_budget gram n_components landmarks cell_size
    class_weight : dict or "balanced", default=None
        Weights of the classes, in the fit and in the criterion.
    :shared: random_state n_jobs verbose calibration on_interrupt

    Attributes
    ----------
    :shared: kernel_ C_ criterion_value_ classes_ dual_coef_ intercept_ X_fit_
    loo_decision_ : array of shape (n,) or (n, n_classes)
        Exact leave-one-out outputs of the training points.
    loo_proba_ : array of shape (n, n_classes)
        Probabilities from ``loo_decision_``.
    :shared: loo_predict_ leverage_ label_quality_ suspicious_ guarantee_ learning_curve_
    :shared: calibration_ trace_ n_evaluations_ selection_ n_features_in_

    References
    ----------
    .. [1] Cawley, *Leave-one-out cross-validation based model selection criteria for weighted LS-SVMs* (2006).

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from foldless import KernelLSSVC
    >>> X, y = make_moons(100, noise=0.2, random_state=0)
    >>> model = KernelLSSVC().fit(X, y)
    >>> model.score(X, y) > 0.95
    True
    """

    def __init__(
        self,
        kernel: KernelLike = "rbf",
        C: float | None = None,
        bias: bool = True,
        criterion: CriterionLike = "loo",
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
            How many rows each one stands for: a weight of 2 is the row twice, 0 leaves it out.

        Returns
        -------
        self : KernelLSSVC
        """
        if is_dask(X) or is_dask(y):
            return fit_collection(self, X, y, sample_weight)
        if self._splits:
            return self._fit_split(X, y, sample_weight)
        C, tune_C = regularisation("C", self.C)
        X, Y, of_classes, rows = self._check_labels(X, y, sample_weight)
        weights = of_classes * rows.weight
        costs = weights if rows.counts is None else of_classes
        machine = LSSVM(C, bool(self.bias), weights, row_counts=rows.counts, costs=costs)
        selection = self._select(X, Y, machine, tune_machine=tune_C)
        self._store(selection)
        outputs = left_out_outputs(selection.solution)
        self.calibration_ = calibrate(outputs, Y, rows.weight)
        self._keep_left_out(outputs)
        self._advise(X, Y)
        return self

    @property
    def _link(self) -> Link:
        return Link(gives_probabilities=True, slope=self.calibration_.slope)

    def _probabilities(self, outputs: Matrix) -> Matrix:
        return self.calibration_(outputs)

    @lazy_on_dask
    def predict_proba(self, X: ArrayLike) -> Matrix:
        """Class probabilities, calibrated on leave-one-out outputs.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, d)

        Returns
        -------
        probabilities : array of shape (n, n_classes)
            The most probable class is the predicted one.
        """
        return self._probabilities(self._outputs(X))
