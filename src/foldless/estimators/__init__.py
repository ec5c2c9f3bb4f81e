"""Estimators: scikit-learn shells over ``select``."""

from foldless.estimators.logistic import KernelLogisticRegression
from foldless.estimators.lssvc import KernelLSSVC

__all__ = ["KernelLSSVC", "KernelLogisticRegression"]
