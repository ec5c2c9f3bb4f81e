"""Kernel logistic regression that tunes itself."""

from collections.abc import Mapping
from typing import Any, Self

from numpy.typing import ArrayLike
from scipy.special import softmax
from sklearn.base import ClassifierMixin

from foldless.core.contracts import Machine, Matrix
from foldless.core.errors import UnknownName
from foldless.criteria.left_out import left_out_outputs
from foldless.estimators.base import (
    BaseKernelClassifier,
    CriterionLike,
    KernelLike,
    Link,
    SearchLike,
    Seed,
    probabilities,
)
from foldless.estimators.dask_collections import is_dask, lazy_on_dask
from foldless.estimators.dask_fit import fit_collection
from foldless.estimators.docstrings import document_shared
from foldless.estimators.validation import regularisation
from foldless.machines import SmoothMachine, SoftmaxMachine
from foldless.machines.losses import Logistic

MULTI_CLASS = ("ovr", "multinomial")


@document_shared
class KernelLogisticRegression(ClassifierMixin, BaseKernelClassifier):
    r"""Kernel logistic regression; ``fit`` chooses the kernel and C without folds.

    Minimises :math:`\tfrac12 \|f\|^2 + C \sum_i \log(1 + e^{-y_i (f(x_i) + b)})`. By default the kernel's width and C
    are chosen by approximate leave-one-out cross-entropy with its exact gradient [1]_.

    Parameters
    ----------
    :shared: kernel C
    criterion : str or object, default="loo"
        The cost that tuning minimises, by name or object; see ``foldless.criteria``.
    :shared: search n_starts max_evaluations time_budget gram n_components landmarks cell_size
    class_weight : dict or "balanced", default=None
        Weights of the classes.
    multi_class : {"ovr", "multinomial"}, default="ovr"
        More than two classes: one machine per class against the rest, all with the same kernel and C, or one softmax
        machine, :math:`\tfrac12 \sum_c \|f_c\|^2 + C \sum_i [\log \sum_c e^{z_{ic}} - z_{i y_i}]`, which
        ``criterion="loo"`` can read. With two classes both are the first formula above.
    :shared: random_state n_jobs verbose calibration on_interrupt

    Attributes
    ----------
    :shared: kernel_ C_ criterion_value_ classes_ dual_coef_ intercept_ X_fit_
    loo_decision_ : array of shape (n,) or (n, n_classes)
        Approximate leave-one-out outputs of the training points.
    loo_proba_ : array of shape (n, n_classes)
        Probabilities from ``loo_decision_``: they show the calibration without folds.
    :shared: loo_predict_ leverage_ label_quality_ suspicious_ guarantee_ learning_curve_
    :shared: relevance_ column_codes_ partitions_ trace_ n_evaluations_ selection_ n_features_in_

    References
    ----------
    .. [1] Cawley and Talbot, *Efficient approximate leave-one-out cross-validation for kernel logistic regression*.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from foldless import KernelLogisticRegression
    >>> X, y = make_moons(100, noise=0.2, random_state=0)
    >>> model = KernelLogisticRegression().fit(X, y)
    >>> model.score(X, y) > 0.95
    True
    """

    _score = "probability"

    def __init__(
        self,
        kernel: KernelLike = "rbf",
        C: float | None = None,
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
        multi_class: str = "ovr",
        random_state: Seed = None,
        n_jobs: int | None = None,
        verbose: int = 0,
        calibration: str = "same",
        on_interrupt: str = "raise",
    ):
        self.kernel = kernel
        self.C = C
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
        self.multi_class = multi_class
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
        self : KernelLogisticRegression
        """
        if is_dask(X) or is_dask(y):
            return fit_collection(self, X, y, sample_weight)
        if self._splits:
            return self._fit_split(X, y, sample_weight)
        C, tune_C = regularisation("C", self.C)
        if self.multi_class not in MULTI_CLASS:
            raise UnknownName("multi_class", self.multi_class, MULTI_CLASS)
        X, Y, of_classes, rows = self._check_labels(X, y, sample_weight)
        weights = of_classes * rows.weight
        machine: Machine
        if self._joint:
            machine = SoftmaxMachine(C, bias=True, weights=weights, row_counts=rows.counts)
        else:
            machine = SmoothMachine(Logistic(), C, bias=True, weights=weights, row_counts=rows.counts)
        selection = self._select(X, Y, machine, tune_machine=tune_C)
        self._store(selection)
        self._keep_left_out(left_out_outputs(selection.solution))
        self._advise(X, Y)
        return self

    @property
    def _joint(self) -> bool:
        """Whether one machine fits all classes together."""
        return self.multi_class == "multinomial" and len(self.classes_) > 2

    @property
    def _link(self) -> Link:
        return Link(gives_probabilities=True, joint=self._joint)

    def _probabilities(self, outputs: Matrix) -> Matrix:
        return softmax(outputs, axis=1) if self._joint else probabilities(outputs)

    @lazy_on_dask
    def predict_proba(self, X: ArrayLike) -> Matrix:
        """Class probabilities.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, d)

        Returns
        -------
        probabilities : array of shape (n, n_classes)
            For more than two classes the softmax of the outputs, or the one-versus-rest probabilities divided by
            their sum.
        """
        return self._probabilities(self._outputs(X))
