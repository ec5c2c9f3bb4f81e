"""Tune kernel machines without cross-validation folds."""

from foldless import criteria, datasets, kernels, machines, searches
from foldless.estimators import KernelLogisticRegression

__version__ = "0.1.0"

__all__ = ["KernelLogisticRegression", "criteria", "datasets", "kernels", "machines", "searches"]
