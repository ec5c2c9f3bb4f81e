"""The mean of a few hundred losses, and how sure it is."""

import numpy as np

from foldless.core.contracts import Vector


def mean_and_error(values: Vector) -> tuple[float, float]:
    """Return the mean of values and its standard error, in units of the largest one: no square overflows.

    Examples
    --------
    >>> "{:.3g} ± {:.3g}".format(*mean_and_error(np.array([1e200, 3e200])))
    '2e+200 ± 7.07e+199'
    """
    unit = float(np.max(np.abs(values))) or 1.0
    mean, deviation = float(np.mean(values / unit)), float(np.std(values / unit))
    return unit * mean, unit * deviation / float(np.sqrt(len(values)))
