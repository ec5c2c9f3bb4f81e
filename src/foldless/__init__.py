"""Tune kernel machines without cross-validation folds."""

from foldless import criteria, datasets, kernels, machines, measures, searches
from foldless.choose import select_kernel
from foldless.estimators import KernelLogisticRegression, KernelLSSVC, KernelPoissonRegressor
from foldless.mixture import combine_kernels

__version__ = "0.1.0"

__all__ = [
    "KernelLSSVC",
    "KernelLogisticRegression",
    "KernelPoissonRegressor",
    "combine_kernels",
    "criteria",
    "datasets",
    "kernels",
    "machines",
    "measures",
    "searches",
    "select_kernel",
]
