"""Estimators: scikit-learn shells over ``select``."""

from foldless.estimators.logistic import KernelLogisticRegression
from foldless.estimators.lssvc import KernelLSSVC
from foldless.estimators.poisson import KernelPoissonRegressor
from foldless.estimators.ridge import KernelRidgeRegressor
from foldless.estimators.search import KernelSearch
from foldless.estimators.subset import KernelSubsetRegressor

__all__ = [
    "KernelLSSVC",
    "KernelLogisticRegression",
    "KernelPoissonRegressor",
    "KernelRidgeRegressor",
    "KernelSearch",
    "KernelSubsetRegressor",
]
