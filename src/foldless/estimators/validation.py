"""Checks of what a user passes to an estimator."""

from numbers import Real

import numpy as np


def regularisation(name: str, value: float | None) -> tuple[float, bool]:
    """Return a start for C or alpha, and whether it is tuned, which it is if ``value`` is None."""
    if value is None:
        return 1.0, True
    if not isinstance(value, Real) or not 0 < value < np.inf:
        raise ValueError(f"{name} must be positive, or None to have it tuned; got {value!r}.")
    return float(value), False
