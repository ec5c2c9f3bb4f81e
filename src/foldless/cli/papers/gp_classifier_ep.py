"""A Gaussian process classifier by expectation propagation, a baseline of the papers that scikit-learn does not have."""

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import minimize
from scipy.special import ndtr
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.gaussian_process.kernels import Kernel
from sklearn.utils.validation import check_is_fitted, validate_data

from foldless.core.contracts import Matrix, Vector
from foldless.core.errors import Undefined
from foldless.criteria.posteriors.ep import expectation_propagation
from foldless.criteria.posteriors.sites import ProbitSite
from foldless.grams.builders import DenseBuilder
from foldless.kernels import gram
from foldless.kernels.evaluate import diagonal

SITE_TOLERANCE = 1e-6


class GaussianProcessEP(ClassifierMixin, BaseEstimator):
    r"""Gaussian process classifier of two classes with a probit likelihood; the evidence chooses the kernel.

    :math:`p(y \mid x) = \Phi(y f(x))`, f a Gaussian process with zero mean. It tunes the kernel's own parameters and
    nothing else.

    Parameters
    ----------
    kernel : Kernel
    max_iter : int
        Iterations of L-BFGS-B over ``kernel.theta``.
    """

    def __init__(self, kernel: Kernel, max_iter: int = 50):
        self.kernel = kernel
        self.max_iter = max_iter

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Maximise the evidence of expectation propagation along its gradient."""
        X, y = validate_data(self, X, y, dtype=np.float64)
        self.classes_, code = np.unique(y, return_inverse=True)
        if len(self.classes_) != 2:
            raise ValueError(f"y must hold two classes, got {len(self.classes_)}.")
        signs: Vector = np.where(code == 1, 1.0, -1.0)
        builder = DenseBuilder(X)
        start: Any = None

        def cost(theta: Vector) -> tuple[float, Vector]:
            nonlocal start
            kernel = self.kernel.clone_with_theta(theta)
            K = builder.gram(kernel)
            try:
                posterior = expectation_propagation(K, signs, ProbitSite(), start, SITE_TOLERANCE)
            except Undefined:  # a start from another kernel can fail where a cold start does not
                posterior = expectation_propagation(K, signs, ProbitSite(), None, SITE_TOLERANCE)
            start = posterior.start
            return -posterior.log_z, -builder.pullback(kernel, K, posterior.adjoint())

        options = {"maxiter": self.max_iter}
        found = minimize(cost, self.kernel.theta, jac=True, bounds=self.kernel.bounds, options=options)
        self.kernel_ = self.kernel.clone_with_theta(found.x)
        K = builder.gram(self.kernel_)
        self.posterior_ = expectation_propagation(K, signs, ProbitSite(), None, SITE_TOLERANCE)
        self.evidence_, self.X_fit_ = self.posterior_.log_z, X
        return self

    def predict_proba(self, X: ArrayLike) -> Matrix:
        """Return probabilities (n, 2), averaged over the posterior of f."""
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float64, reset=False)
        m, v = self.posterior_.predict(gram(self.kernel_, X, self.X_fit_), diagonal(self.kernel_, X))
        x = m / np.sqrt(1 + v)
        return np.column_stack([ndtr(-x), ndtr(x)])

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Return the most likely class."""
        return self.classes_[np.argmax(self.predict_proba(X), axis=1)]
