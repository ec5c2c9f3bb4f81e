"""What the papers compare with and scikit-learn does not have: a Gaussian process classifier by expectation propagation."""

import numpy as np
from scipy.optimize import minimize
from scipy.special import ndtr
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from foldless.core.errors import Undefined
from foldless.criteria.posteriors.ep import ProbitSite, expectation_propagation
from foldless.grams.builders import DenseBuilder
from foldless.kernels import gram
from foldless.kernels.evaluate import diagonal

TOLERANCE = 1e-6  # of the sites, while searching and in the end


class GaussianProcessEP(ClassifierMixin, BaseEstimator):
    r"""Gaussian process classifier of two classes with a probit likelihood; the evidence chooses the kernel.

    :math:`p(y \mid x) = \Phi(y f(x))`, f a Gaussian process with zero mean. A baseline: it refits nothing and tunes
    nothing but the kernel's own parameters.

    Parameters
    ----------
    kernel : Kernel
    max_iter : int
        Of L-BFGS-B over ``kernel.theta``.
    """

    def __init__(self, kernel, max_iter=50):
        self.kernel = kernel
        self.max_iter = max_iter

    def fit(self, X, y):
        """Maximise the evidence that expectation propagation gives, along its gradient."""
        X, y = validate_data(self, X, y, dtype=np.float64)
        self.classes_, code = np.unique(y, return_inverse=True)
        if len(self.classes_) != 2:
            raise ValueError(f"y must hold two classes, got {len(self.classes_)}.")
        signs, builder, starts = 2.0 * code - 1, DenseBuilder(X), [None]

        def cost(theta):
            kernel = self.kernel.clone_with_theta(theta)
            K = builder.gram(kernel)
            try:
                posterior = expectation_propagation(K, signs, ProbitSite(), starts[0], TOLERANCE)
            except Undefined:  # a start from elsewhere can fail where a cold one does not
                posterior = expectation_propagation(K, signs, ProbitSite(), None, TOLERANCE)
            starts[0] = posterior.start
            return -posterior.log_z, -builder.pullback(kernel, K, posterior.adjoint())

        found = minimize(
            cost, self.kernel.theta, jac=True, bounds=self.kernel.bounds, options={"maxiter": self.max_iter}
        )
        self.kernel_ = self.kernel.clone_with_theta(found.x)
        self.posterior_ = expectation_propagation(
            builder.gram(self.kernel_), signs, ProbitSite(), None, TOLERANCE
        )
        self.evidence_, self.X_fit_ = self.posterior_.log_z, X
        return self

    def predict_proba(self, X):
        """Probabilities, the uncertainty of f averaged over."""
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float64, reset=False)
        m, v = self.posterior_.predict(gram(self.kernel_, X, self.X_fit_), diagonal(self.kernel_, X))
        x = m / np.sqrt(1 + v)
        return np.column_stack([ndtr(-x), ndtr(x)])

    def predict(self, X):
        """Most likely class."""
        return self.classes_[np.argmax(self.predict_proba(X), axis=1)]
