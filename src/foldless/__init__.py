r"""Tune kernel machines without cross-validation folds.

The library is one sentence, ``criterion(machine.solve(gram(kernel, X), Y))``, plus a search over the parameters.
Each word is a folder, and a folder imports only those named beside it:

==========  ===============================================================================
folder      imports
==========  ===============================================================================
core
datasets    core
kernels     core
grams       core kernels
machines    core grams
criteria    core grams machines
searches    core
tuning      core kernels grams machines criteria searches
estimators  core kernels grams machines criteria searches tuning
inspection  core kernels grams criteria tuning estimators
cli         core datasets kernels grams machines criteria searches tuning estimators inspection
==========  ===============================================================================

``core`` holds what everything may use (read ``core/contracts.py`` first); ``kernels`` turn points into matrices,
``grams`` are those matrices by what they can do, ``machines`` fit, ``criteria`` judge a fit, ``searches`` minimise;
``tuning`` is where they meet; ``estimators`` are the scikit-learn classes, ``inspection`` compares and draws, and
``cli`` is the command line with its files, its report and the papers' tables.
"""

from importlib.metadata import version

from foldless import criteria, datasets, inspection, kernels, machines, searches
from foldless.estimators import (
    KernelClassifier,
    KernelLogisticRegression,
    KernelLSSVC,
    KernelPoissonRegressor,
    KernelRegressor,
    KernelRidgeRegressor,
    KernelSearch,
    KernelSubsetRegressor,
    KernelSVC,
)
from foldless.inspection.compare import compare
from foldless.tuning.combine_kernels import combine_kernels
from foldless.tuning.select_kernel import select_kernel

__version__ = version("foldless")

__all__ = [
    "KernelClassifier",
    "KernelLSSVC",
    "KernelLogisticRegression",
    "KernelPoissonRegressor",
    "KernelRegressor",
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
    "inspection",
    "searches",
    "select_kernel",
]
