"""Names given by a user -> kernel, criterion and search objects."""

from typing import Any

import numpy as np
from sklearn.gaussian_process.kernels import CompoundKernel, Kernel

from foldless import criteria, searches
from foldless.core.errors import UnknownName
from foldless.criteria.base import Criterion
from foldless.criteria.penalised import PenalisedCriterion
from foldless.kernels.by_name import TIED_SUFFIX, named_kernel
from foldless.kernels.families import FAMILIES
from foldless.searches.base import Search

# Squares of parameters, and products of them with squares of the data, must be numbers.
PARAMETER_RANGE = (1e-150, 1e150)


def as_kernel(kernel: str | Kernel, X: Any) -> Kernel:
    """Return the kernel object for a name or a kernel; a name's bounds come from the points ``X``."""
    if isinstance(kernel, str) and kernel == "auto":
        raise ValueError(
            f"kernel='auto' stands for the families {', '.join(FAMILIES)}, and only an estimator's kernel can be it. "
            "Name kernels one by one in a list."
        )
    if isinstance(kernel, str):
        return named_kernel(kernel, X)
    if not isinstance(kernel, Kernel) or isinstance(kernel, CompoundKernel):
        raise TypeError(
            f"kernel must be a name, an object of sklearn.gaussian_process.kernels, or a list of them; got {kernel!r}."
        )
    _check_parameters(kernel)
    return kernel


def _check_parameters(kernel: Kernel) -> None:
    """Raise unless the parameters of a kernel are numbers to calculate with, and the bounds of free ones are in order."""
    for one in kernel.hyperparameters:
        value = np.asarray(kernel.get_params()[one.name])
        if value.dtype.kind not in "fiu":
            continue
        smallest, largest = PARAMETER_RANGE
        allowed = (value >= smallest) & (value <= largest) | ((value == 0) & one.fixed)
        if not np.all(allowed):
            raise ValueError(
                f"{one.name} of {kernel!r} must lie between {smallest:g} and {largest:g}; got {value}."
            )
        if one.fixed:
            continue
        low, high = np.atleast_2d(one.bounds).T
        if not np.all((low > 0) & (low <= high)):
            raise ValueError(
                f"{one.name}_bounds of {kernel!r} must be positive, the lower one first; got {one.bounds.tolist()}."
            )


def as_criterion(criterion: str | Criterion) -> Criterion:
    """Return the criterion object for a name or a criterion."""
    if isinstance(criterion, Criterion):
        return criterion
    if criterion not in criteria.BY_NAME:
        raise UnknownName("criterion", criterion, criteria.BY_NAME)
    return criteria.BY_NAME[criterion]()


def tied_for(kernel: Any, criterion: Criterion) -> Criterion:
    """Return the criterion with length scales tied if a kernel among ``kernel`` was named so; else itself.

    A criterion that penalises its parameters already is left alone, and one that has no logarithm or does not judge fits.
    """
    listed = kernel if isinstance(kernel, (list, tuple)) else [kernel]
    named = any(isinstance(one, str) and one.endswith(TIED_SUFFIX) for one in listed)
    apart = (
        criterion.may_be_negative or criterion.ignores_machine or isinstance(criterion, PenalisedCriterion)
    )
    return criteria.Tied(criterion) if named and not apart else criterion


def as_search(search: str | Search, n_starts: int | None = None) -> Search:
    """Return the search object for a name or a search, with ``n_starts`` local searches if it has such an option."""
    if not isinstance(search, Search):
        if search not in searches.BY_NAME:
            raise UnknownName("search", search, searches.BY_NAME)
        search = searches.BY_NAME[search]()
    return search if n_starts is None else search.with_n_starts(n_starts)
