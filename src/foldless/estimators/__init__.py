"""Estimators: scikit-learn shells over ``select``."""

from foldless.estimators.logistic import KernelLogisticRegression
from foldless.estimators.svc import KernelSVC

__all__ = ["KernelLogisticRegression", "KernelSVC"]
