"""Estimators: scikit-learn shells over ``select``."""

from foldless.estimators.logistic import KernelLogisticRegression

__all__ = ["KernelLogisticRegression"]
