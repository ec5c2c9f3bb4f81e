"""Estimators: scikit-learn shells over ``select``."""

from foldless.estimators.logistic import KernelLogisticRegression
from foldless.estimators.lssvc import KernelLSSVC
from foldless.estimators.poisson import KernelPoissonRegressor
from foldless.estimators.search import KernelSearch

__all__ = ["KernelLSSVC", "KernelLogisticRegression", "KernelPoissonRegressor", "KernelSearch"]
