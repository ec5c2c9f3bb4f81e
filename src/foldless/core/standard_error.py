"""The mean of a few hundred losses, and how sure it is."""

import numpy as np

from foldless.core.contracts import Vector
from foldless.core.targets import weighted_mean


def mean_and_error(values: Vector, weights: Vector | None = None) -> tuple[float, float]:
    r"""Return the mean of values and its standard error.

    A value of weight 2 is the value twice. Weights whose sum is too small for counts of rows, such as those that sum to one,
    only say how much a value matters against the others; their number is then :math:`(\sum w)^2 / \sum w^2`.

    Examples
    --------
    >>> "{:.3g} ± {:.3g}".format(*mean_and_error(np.array([1e200, 3e200])))
    '2e+200 ± 7.07e+199'
    >>> mean_and_error(np.array([1.0, 4.0]), np.array([2.0, 1.0])) == mean_and_error(
    ...     np.array([1.0, 1.0, 4.0])
    ... )
    True
    """
    # In units of the largest value no square overflows.
    unit = float(np.max(np.abs(values))) or 1.0
    mean = weighted_mean(values / unit, weights)
    variance = weighted_mean((values / unit - mean) ** 2, weights)
    return unit * mean, unit * float(np.sqrt(variance / _number(len(values), weights)))


def _number(n: int, weights: Vector | None) -> float:
    return n if weights is None else float(max(weights.sum(), weights.sum() ** 2 / (weights @ weights)))
