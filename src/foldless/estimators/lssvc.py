"""Least-squares support vector classifier that tunes itself."""

from sklearn.base import ClassifierMixin
from sklearn.utils import compute_sample_weight

from foldless.estimators.base import BaseKernelClassifier, regularisation
from foldless.estimators.calibration import calibrate
from foldless.machines import LSSVM


class KernelLSSVC(ClassifierMixin, BaseKernelClassifier):
    r"""Least-squares support vector classifier; ``fit`` chooses the kernel and C without folds.

    Minimises :math:`\|f\|^2 + C \sum_i v_i (y_i - f(x_i) - b)^2` on labels -1 and 1 (one versus the rest for more than two
    classes: all share one factorisation). By default the kernel's width and C are chosen by the exact mean squared
    leave-one-out error, which is in closed form, with its gradient [1]_.

    Parameters
    ----------
    kernel : str, Kernel or list, default="rbf"
        ``"rbf"``, ``"rbf-ard"`` (a length scale per feature), ``"matern"``, ``"poly"``, ``"linear"``,
        ``"precomputed"``, any kernel of ``sklearn.gaussian_process.kernels`` (its bounds are respected, ``"fixed"``
        parameters stay), or a list of candidates of which the criterion chooses one.
    C : float, default=None
        Weight of the squared errors against the squared norm, one over lambda; ``None`` tunes it.
    bias : bool, default=True
        Whether the model has a constant that is not penalised.
    criterion : str or object, default="loo"
        What is minimised: ``"loo"``, ``"kfold"``, ``"gcv"``, ``"evidence"``, or a criterion of the kernel alone such as
        ``"spectral"`` (it counts every row once, and C is tuned by leave-one-out afterwards); see
        ``foldless.criteria``.
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
        Weights of the classes in the fit. A dict says what errors cost, and leave-one-out errors are counted so;
        ``"balanced"`` balances the fit alone, and every point counts once in the criterion.
    random_state : int or RandomState, default=None
        Draws the landmarks; ``None`` draws the same every time.
    n_jobs : int, default=None
        Candidate kernels, or the descents of one, side by side; ``None`` works through them in turn.
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
        Exact leave-one-out outputs of the training points.
    loo_proba_ : array of shape (n, n_classes)
        Probabilities from them.
    calibration_ : Sigmoid
        From outputs to probabilities, fitted on ``loo_decision_``.
    trace_ : list of Step
        One row per evaluation: theta, value, seconds, why.
    n_evaluations_ : int
    selection_ : Selection
        Everything the search found.
    n_features_in_ : int

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
        kernel="rbf",
        C=None,
        bias=True,
        criterion="loo",
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
            How many rows each one stands for: a weight of 2 is the row twice, 0 leaves it out.

        Returns
        -------
        self : KernelLSSVC
        """
        C, fixed = regularisation("C", self.C)
        X, y, Y, copies = self._check_labels(X, y, sample_weight)
        weights = compute_sample_weight(self.class_weight, y) * copies
        costs = compute_sample_weight(self.class_weight, y) if isinstance(self.class_weight, dict) else None
        machine = LSSVM(C, bool(self.bias), weights, row_counts=copies, costs=costs)
        selection = self._tune(X, Y, machine, fixed)
        self.C_ = selection.machine.C
        outputs = selection.solution.loo_outputs
        self.loo_decision_ = outputs[:, 0] if len(self.classes_) == 2 else outputs
        self.calibration_ = calibrate(outputs, Y, copies)
        self.loo_proba_ = self.calibration_(outputs)
        return self

    def predict_proba(self, X):
        """Class probabilities, calibrated on leave-one-out outputs.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, d)

        Returns
        -------
        probabilities : array of shape (n, n_classes)
            The most probable class is the predicted one.
        """
        outputs = self._outputs(X)
        return self.calibration_(outputs)
