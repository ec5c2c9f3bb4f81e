"""Numbers whose squares are numbers: the range that inputs and targets must keep to."""

from typing import Any

import numpy as np
import scipy.sparse as sp

from foldless.core.contracts import Vector
from foldless.core.errors import DataError, Undefined

# Squares of these, summed over 1e28 entries, neither overflow nor vanish.
SMALLEST, LARGEST = 1e-140, 1e140


def check_magnitude(values: Any, name: str, smallest: float = SMALLEST, largest: float = LARGEST) -> None:
    """Raise if the largest absolute value of an array or sparse matrix is so large or so small that squares are lost.

    Examples
    --------
    >>> check_magnitude(np.array([0.0, 3e200]), "y")
    Traceback (most recent call last):
    ...
    foldless.core.errors.DataError: the largest absolute value of y is 3e+200, and squares of it are no numbers any more. Divide y by it.
    """
    entries = np.asarray(values.data if sp.issparse(values) else values)
    if entries.size == 0 or np.isnan(entries).all():
        return
    found = float(max(np.nanmax(entries), -np.nanmin(entries)))
    if found == 0 or smallest <= found <= largest:
        return
    raise DataError(
        f"the largest absolute value of {name} is {found:.3g}, and squares of it are no numbers any more. Divide {name} "
        "by it."
    )


def check_kernel_values(diagonal: Vector) -> None:
    """Raise Undefined if the squares of the entries of a kernel matrix with this diagonal (n,) overflow or vanish."""
    largest = float(np.max(np.abs(diagonal), initial=0.0))
    if largest != 0 and not SMALLEST <= largest <= LARGEST:
        raise Undefined(
            f"the largest kernel value is {largest:.3g}; scale the inputs, or lower the kernel's degree."
        )
