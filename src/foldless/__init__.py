"""Tune kernel machines without cross-validation folds."""

from foldless import criteria, datasets, kernels, machines, searches
from foldless.choose import select_kernel
from foldless.estimators import KernelLogisticRegression, KernelRidgeRegressor, KernelSubsetRegressor
from foldless.mixture import combine_kernels

__version__ = "0.1.0"

__all__ = [
    "KernelLogisticRegression",
    "KernelRidgeRegressor",
    "KernelSubsetRegressor",
    "combine_kernels",
    "criteria",
    "datasets",
    "kernels",
    "machines",
    "searches",
    "select_kernel",
]
