"""What all estimators share: parameters in, ``select``, fitted attributes out. No formulas."""

import numpy as np
from scipy.special import expit
from sklearn.base import BaseEstimator, clone
from sklearn.gaussian_process.kernels import Kernel
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from foldless.core.errors import NotPositiveDefinite
from foldless.core.targets import one_versus_rest
from foldless.kernels import gram
from foldless.tuning.progress import progress
from foldless.tuning.select import select

BLOCK = 2_000_000  # kernel values held at a time while predicting
FEWEST = 4  # rows a criterion needs to say anything
INDEFINITE = 1e-8


class BaseKernelEstimator(BaseEstimator):
    """Common ground of the estimators: validation, tuning and prediction through an expansion in kernels."""

    def _check_fit(self, X, y, **options):
        X, y = validate_data(
            self, X, y, accept_sparse="csr", dtype=np.float64, ensure_min_samples=FEWEST, **options
        )
        if self._pairwise:
            check_precomputed(X)
        return X, y

    def _weigh(self, X, y, sample_weight):
        weight = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
        self._rows = np.flatnonzero(weight)
        if len(self._rows) == len(weight):
            return X, y, weight
        if len(self._rows) < FEWEST:
            raise ValueError(
                f"sample_weight leaves {len(self._rows)} rows; at least {FEWEST} must weigh more than 0."
            )
        columns = self._rows if self._pairwise else slice(None)
        return X[self._rows][:, columns], y[self._rows], weight[self._rows]

    @property
    def _pairwise(self):
        return isinstance(self.kernel, str) and self.kernel == "precomputed"

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = not self._pairwise
        tags.input_tags.pairwise = self._pairwise
        return tags

    def _candidates(self, X):
        """The kernel, or kernels, to choose from."""
        return self.kernel

    def _criterion(self):
        """What chooses."""
        return self.criterion

    def _select(self, X, Y, machine, fixed, **changes):
        """Select with the estimator's parameters, some of them changed."""
        options = {
            "kernel": self._candidates(X),
            "criterion": self._criterion(),
            "search": self.search,
            "gram": self.gram,
            "n_components": self.n_components,
            "n_starts": self.n_starts,
            "max_evaluations": self.max_evaluations,
            "time_budget": self.time_budget,
            "random_state": self.random_state,
            "n_jobs": self.n_jobs,
        }
        with progress(self.verbose, self.max_evaluations) as watch:
            return select(X, Y, machine=machine, tune_machine=not fixed, watch=watch, **(options | changes))

    def _tune(self, X, Y, machine, fixed):
        """Select and keep what was found; ``fixed`` tells whether the regularisation was given."""
        return self._store(self._select(X, Y, machine, fixed))

    def _store(self, selection):
        """Keep what was found, as fitted attributes."""
        self.selection_ = selection
        self.kernel_ = selection.kernel
        self.criterion_value_ = float(selection.reading.value)
        self.trace_ = list(selection.outcome.trace)
        self.n_evaluations_ = len(self.trace_)
        points, coefficients = selection.builder.expansion(selection.solution.gram, selection.solution.alpha)
        self.X_fit_ = self._rows if self._pairwise else points
        self.dual_coef_ = coefficients.T
        self.intercept_ = np.asarray(selection.solution.b, dtype=float)
        return selection

    def params_at(self, theta):
        """Return the parameters that make ``fit`` only solve at ``theta``: the kernel, fixed, and C or alpha."""
        p, machine = len(self.kernel_.theta), self.selection_.machine
        kernel = self.kernel_.clone_with_theta(theta[:p]) if p else self.kernel_
        # A machine that was not tuned with the kernel keeps its own value.
        machine = machine.with_theta(theta[p:]) if len(theta) > p else machine
        return {"kernel": frozen(kernel), **self._machine_params(machine)}

    def _machine_params(self, machine):
        """Return the parameter of the estimator that a machine's hyper-parameter stands for."""
        return {"C": machine.C}

    def _outputs(self, X):
        """Return the outputs (n, k) at new points, a block of rows at a time."""
        return self._each_block(X, lambda rows: self._cross(rows) @ self.dual_coef_.T) + self.intercept_

    def _each_block(self, X, compute):
        """Validate new points and compute something for a block of rows at a time."""
        check_is_fitted(self)
        X = validate_data(self, X, accept_sparse="csr", dtype=np.float64, reset=False)
        rows = max(1, BLOCK // max(1, self.dual_coef_.shape[1]))
        return np.concatenate([compute(X[i : i + rows]) for i in range(0, X.shape[0], rows)])

    def _cross(self, X):
        return X[:, self.X_fit_] if self._pairwise else gram(self.kernel_, X, self.X_fit_)

    def __getstate__(self):
        """Leave the working matrices out: a fitted estimator predicts without them."""
        state = super().__getstate__()
        return {key: value for key, value in state.items() if key != "selection_"}


class BaseKernelClassifier(BaseKernelEstimator):
    """Common ground of the classifiers: labels to columns of -1 and 1, and back."""

    def _check_labels(self, X, y, sample_weight):
        """Return rows, labels, columns of -1 and 1, and weights; rows without weight are left out."""
        X, y = self._check_fit(X, y)
        check_classification_targets(y)
        X, y, weight = self._weigh(X, y, sample_weight)
        self.classes_, codes = np.unique(y, return_inverse=True)
        if len(self.classes_) < 2:
            raise ValueError(
                f"y must hold at least two classes, got one class: {self.classes_[0]}. Add rows of another class."
            )
        return X, y, one_versus_rest(codes, len(self.classes_)), weight

    def decision_function(self, X):
        """Outputs of the machine.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, d)

        Returns
        -------
        outputs : array of shape (n,), or (n, n_classes) for more than two classes
            Positive for ``classes_[1]`` in the binary case.
        """
        outputs = self._outputs(X)
        return outputs[:, 0] if len(self.classes_) == 2 else outputs

    def predict(self, X):
        """Most likely class of each row of ``X``."""
        outputs = self._outputs(X)
        return self.classes_[class_index(outputs)]


class BaseKernelRegressor(BaseKernelEstimator):
    """Common ground of the regressors: one or several columns of numbers."""

    def _check_targets(self, X, y, sample_weight):
        """Return rows, targets as columns, and copies (None where nothing was weighed)."""
        X, y = self._check_fit(X, y, multi_output=True, y_numeric=True)
        X, y, copies = self._weigh(X, y, sample_weight)
        self._single = y.ndim == 1
        Y = np.asarray(y, dtype=float).reshape(len(y), -1)
        return X, Y, None if np.all(copies == 1) else copies

    def _shaped(self, outputs):
        return outputs[:, 0] if self._single else outputs


def class_index(outputs):
    """Return the class numbers that outputs (n, k) stand for."""
    return (outputs[:, 0] > 0).astype(int) if outputs.shape[1] == 1 else np.argmax(outputs, axis=1)


def probabilities(outputs):
    """Turn log-odds (n, k) into probabilities of two or k classes."""
    p = expit(outputs)
    if outputs.shape[1] == 1:
        return np.hstack([expit(-outputs), p])
    return p / np.maximum(p.sum(axis=1, keepdims=True), np.finfo(float).tiny)


def check_precomputed(K):
    """Refuse a matrix that is not square, symmetric and positive semi-definite."""
    if K.shape[0] != K.shape[1]:
        raise ValueError(
            f"kernel='precomputed' needs a square Gram matrix of the training points, got shape {K.shape}."
        )
    K = K.toarray() if hasattr(K, "toarray") else K
    scale = max(np.max(np.abs(K)), np.finfo(float).tiny)
    if np.max(np.abs(K - K.T)) > INDEFINITE * scale:
        raise ValueError("kernel='precomputed' needs a symmetric Gram matrix; K and its transpose differ.")
    smallest = np.linalg.eigvalsh(K)[0]
    if smallest < -INDEFINITE * scale * len(K):
        raise NotPositiveDefinite(
            "the precomputed Gram matrix", smallest, "Add that much to its diagonal, or clip it."
        )


def frozen(kernel: Kernel) -> Kernel:
    """Return the kernel with every parameter fixed: an estimator that is given it only solves.

    Examples
    --------
    >>> from sklearn.gaussian_process.kernels import RBF
    >>> frozen(RBF(2.0)).theta.size
    0
    """
    bounds = [name for name in kernel.get_params() if name.endswith("_bounds")]
    return clone(kernel).set_params(**dict.fromkeys(bounds, "fixed"))


def regularisation(name, value):
    """Return a start and whether the value is fixed; ``None`` means tuned."""
    if value is None:
        return 1.0, False
    if not np.isscalar(value) or not np.isreal(value) or not np.isfinite(value) or value <= 0:
        raise ValueError(f"{name} must be positive, or None to have it tuned; got {value!r}.")
    return float(value), True
