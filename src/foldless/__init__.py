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

from importlib import import_module
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
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
    from foldless.estimators.archive import load, save
    from foldless.estimators.onnx_export import to_onnx
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
    "load",
    "save",
    "searches",
    "select_kernel",
    "to_onnx",
]

# Functions and the modules they are in; classes are in foldless.estimators, and the other names are modules themselves.
_FUNCTIONS = {
    "combine_kernels": "foldless.tuning.combine_kernels",
    "compare": "foldless.inspection.compare",
    "load": "foldless.estimators.archive",
    "save": "foldless.estimators.archive",
    "select_kernel": "foldless.tuning.select_kernel",
    "to_onnx": "foldless.estimators.onnx_export",
}


def __getattr__(name: str) -> Any:
    """Import what is asked for, so that ``import foldless`` takes no time."""
    if name not in __all__:
        raise AttributeError(f"module 'foldless' has no attribute {name!r}")
    if name.startswith("Kernel"):
        found = getattr(import_module("foldless.estimators"), name)
    elif name in _FUNCTIONS:
        found = getattr(import_module(_FUNCTIONS[name]), name)
    else:
        found = import_module(f"foldless.{name}")
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*__all__, *(name for name in globals() if name.startswith("__"))})
