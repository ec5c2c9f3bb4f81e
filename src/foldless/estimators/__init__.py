"""Estimators: scikit-learn classes around ``select``."""

from foldless.estimators.default import KernelClassifier, KernelRegressor
from foldless.estimators.kernel_search.estimator import KernelSearch
from foldless.estimators.logistic import KernelLogisticRegression
from foldless.estimators.lssvc import KernelLSSVC
from foldless.estimators.poisson import KernelPoissonRegressor
from foldless.estimators.ridge import KernelRidgeRegressor
from foldless.estimators.subset import KernelSubsetRegressor
from foldless.estimators.svc import KernelSVC

__all__ = [
    "KernelClassifier",
    "KernelLSSVC",
    "KernelLogisticRegression",
    "KernelPoissonRegressor",
    "KernelRegressor",
    "KernelRidgeRegressor",
    "KernelSVC",
    "KernelSearch",
    "KernelSubsetRegressor",
]
