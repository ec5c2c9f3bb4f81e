"""Estimators: scikit-learn shells over ``select``."""

from foldless.estimators.logistic import KernelLogisticRegression
from foldless.estimators.ridge import KernelRidgeRegressor
from foldless.estimators.subset import KernelSubsetRegressor

__all__ = ["KernelLogisticRegression", "KernelRidgeRegressor", "KernelSubsetRegressor"]
