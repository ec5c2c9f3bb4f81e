"""Estimators: scikit-learn shells over ``select``."""

from foldless.estimators.logistic import KernelLogisticRegression
from foldless.estimators.poisson import KernelPoissonRegressor
from foldless.estimators.search import KernelSearch

__all__ = ["KernelLogisticRegression", "KernelPoissonRegressor", "KernelSearch"]
