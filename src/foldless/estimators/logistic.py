"""Kernel logistic regression that tunes itself."""

import numpy as np
from scipy.special import softmax
from sklearn.base import ClassifierMixin
from sklearn.utils import compute_sample_weight

from foldless.criteria import loo_outputs
from foldless.estimators.base import BaseKernelClassifier, probabilities, regularisation
from foldless.machines import SmoothMachine, SoftmaxMachine, SoftmaxSolution
from foldless.machines.losses import Logistic


class KernelLogisticRegression(ClassifierMixin, BaseKernelClassifier):
    r"""Kernel logistic regression; ``fit`` chooses the kernel and C without folds.

    Minimises :math:`\tfrac12 \|f\|^2 + C \sum_i \log(1 + e^{-y_i (f(x_i) + b)})`. By default the kernel's width and C
    are chosen by approximate leave-one-out cross-entropy with its exact gradient [1]_.

    Parameters
    ----------
    kernel : str, Kernel or list, default="rbf"
        ``"rbf"``, ``"rbf-ard"`` (a length scale per feature), ``"matern"``, ``"poly"``, ``"linear"``,
        ``"precomputed"``, any kernel of ``sklearn.gaussian_process.kernels`` (its bounds are respected, ``"fixed"``
        parameters stay), or a list of candidates of which the criterion chooses one.
    C : float, default=None
        Weight of the data against the norm; ``None`` tunes it.
    criterion : str or object, default="loo"
        What is minimised; see ``foldless.criteria``.
    search : str or object, default="lbfgs"
        How; see ``foldless.searches``.
    n_starts : int, default=None
        Descents; ``None`` leaves it to the search.
    max_evaluations : int, default=None
        Budget of evaluations.
    time_budget : float, default=None
        Budget in seconds.
    gram : {"auto", "dense", "lowrank", "nystrom", "dask"}, default="auto"
        How the kernel matrix is held. ``"auto"`` searches on as many landmarks as matter.
    n_components : int, default=None
        Number of landmarks; ``None`` leaves it to the data.
    class_weight : dict or "balanced", default=None
        Weights of the classes.
    multi_class : {"ovr", "multinomial"}, default="ovr"
        More than two classes: one machine per class against the rest, all with the same kernel and C, or one softmax
        machine, :math:`\tfrac12 \sum_c \|f_c\|^2 + C \sum_i [\log \sum_c e^{z_{ic}} - z_{i y_i}]`. The latter is read by
        ``criterion="loo"``. For two classes they are the same model, and the first formula above holds.
    random_state : int or RandomState, default=None
        Draws the landmarks; ``None`` draws the same every time.
    n_jobs : int, default=None
        Candidate kernels, or the descents of one, side by side with one BLAS thread each; ``None`` works through
        them in turn.
    verbose : int, default=0
        1 shows a progress bar.

    Attributes
    ----------
    kernel_ : Kernel
        The chosen kernel.
    C_ : float
        The chosen or given C.
    criterion_value_ : float
        The criterion there (a cost).
    classes_ : array of shape (n_classes,)
    dual_coef_ : array of shape (1 or n_classes, number of ``X_fit_``)
    intercept_ : array of shape (1 or n_classes,)
    X_fit_ : array
        Training points, or landmarks, that carry ``dual_coef_``.
    loo_decision_ : array of shape (n,) or (n, n_classes)
        Approximate leave-one-out outputs of the training points.
    loo_proba_ : array of shape (n, n_classes)
        Probabilities from them: calibration, or :func:`foldless.inspection.metrics.target_information`, without folds.
    trace_ : list of Step
        One row per evaluation: theta, value, seconds, why.
    n_evaluations_ : int
    selection_ : Selection
        Everything the search found.
    n_features_in_ : int

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

    def __init__(
        self,
        kernel="rbf",
        C=None,
        criterion="loo",
        search="lbfgs",
        n_starts=None,
        max_evaluations=None,
        time_budget=None,
        gram="auto",
        n_components=None,
        class_weight=None,
        multi_class="ovr",
        random_state=None,
        n_jobs=None,
        verbose=0,
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
        self.class_weight = class_weight
        self.multi_class = multi_class
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
            How many rows each one stands for: a weight of 2 is the row twice, 0 leaves it out.

        Returns
        -------
        self : KernelLogisticRegression
        """
        C, fixed = regularisation("C", self.C)
        if self.multi_class not in ("ovr", "multinomial"):
            raise ValueError(f"multi_class must be 'ovr' or 'multinomial', got {self.multi_class!r}.")
        X, y, Y, copies = self._check_labels(X, y, sample_weight)
        weights = compute_sample_weight(self.class_weight, y) * copies
        if self._joint:
            machine = SoftmaxMachine(C, bias=True, weights=weights, row_counts=copies)
        else:
            machine = SmoothMachine(Logistic(), C, bias=True, weights=weights, row_counts=copies)
        selection = self._tune(X, Y, machine, fixed)
        self.C_ = selection.machine.C
        outputs = left_out(selection.solution)
        self.loo_decision_ = outputs[:, 0] if len(self.classes_) == 2 else outputs
        self.loo_proba_ = self._probabilities(outputs)
        return self

    @property
    def _joint(self):
        return self.multi_class == "multinomial" and len(self.classes_) > 2

    def _probabilities(self, outputs):
        return softmax(outputs, axis=1) if self._joint else probabilities(outputs)

    def predict_proba(self, X):
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


def left_out(solution):
    """Return the approximate leave-one-out outputs (n, k)."""
    if isinstance(solution, SoftmaxSolution):
        return loo_outputs(solution)
    return np.column_stack([loo_outputs(column) for column in solution.columns])
