"""Tune kernel machines without cross-validation folds."""

from foldless import criteria, datasets, kernels, machines, searches
from foldless.estimators import (
    KernelLogisticRegression,
    KernelLSSVC,
    KernelPoissonRegressor,
    KernelRidgeRegressor,
    KernelSearch,
    KernelSubsetRegressor,
    KernelSVC,
)
from foldless.inspection import metrics as measures
from foldless.inspection.compare import compare
from foldless.tuning.combine_kernels import combine_kernels
from foldless.tuning.select_kernel import select_kernel

__version__ = "0.1.0"

__all__ = [
    "KernelLSSVC",
    "KernelLogisticRegression",
    "KernelPoissonRegressor",
    "KernelRidgeRegressor",
    "KernelSVC",
    "KernelSearch",
    "KernelSubsetRegressor",
    "combine_kernels",
    "compare",
    "criteria",
    "datasets",
    "kernels",
    "machines",
    "measures",
    "searches",
    "select_kernel",
]
