"""Estimators: scikit-learn shells over ``select``."""

from foldless.estimators.logistic import KernelLogisticRegression
from foldless.estimators.lssvc import KernelLSSVC
from foldless.estimators.poisson import KernelPoissonRegressor

__all__ = ["KernelLSSVC", "KernelLogisticRegression", "KernelPoissonRegressor"]
