"""Histograms of the test errors of several methods."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from foldless.core.contracts import Vector
from foldless.core.optional_imports import import_extra


@dataclass(eq=False)
class HistogramDisplay:
    """One histogram per method, one above the other, with the same bins.

    Parameters
    ----------
    errors : dict of str to sequence of float
        Test errors in percent, one per trial.
    width : float, default=2.0
        Width of a bin, in percent.

    Attributes
    ----------
    figure_, axes_
        Figure and axes of matplotlib, after ``plot``.

    Examples
    --------
    >>> display = HistogramDisplay({"LE1": [3.1, 5.2], "Span": [4.6, 4.9]})
    >>> display.counts("LE1").tolist()
    [1, 1]
    """

    errors: Mapping[str, Sequence[float]]
    width: float = 2.0
    figure_: Any = field(default=None, init=False, repr=False)
    axes_: Any = field(default=None, init=False, repr=False)

    @property
    def edges(self) -> Vector:
        """Multiples of the width, from below the least error to above the largest."""
        everything = np.concatenate([np.asarray(found, float) for found in self.errors.values()])
        low, high = np.floor(everything.min() / self.width), np.floor(everything.max() / self.width) + 1
        return self.width * np.arange(low, high + 1)

    def counts(self, name: str) -> NDArray[np.intp]:
        """Return the number of trials of one method in each bin."""
        return np.histogram(self.errors[name], self.edges)[0]

    def plot(self, title: str = "") -> Self:
        """Draw the histograms; return the display.

        Parameters
        ----------
        title : str, default=""
            Text above the figure.
        """
        pyplot = import_extra("matplotlib.pyplot", "report")
        size = (4.5, 0.6 + 0.75 * len(self.errors))
        self.figure_, axes = pyplot.subplots(
            len(self.errors), sharex=True, squeeze=False, figsize=size, layout="constrained"
        )
        self.axes_ = axes[:, 0]
        for ax, name in zip(self.axes_, self.errors, strict=True):
            ax.bar(self.edges[:-1], self.counts(name), self.width, align="edge", edgecolor="white")
            ax.set_ylabel(name, rotation=0, ha="right", va="center")
            ax.locator_params(axis="y", integer=True, nbins=3)
        self.axes_[-1].set_xlabel("test error (%)")
        self.figure_.suptitle(title)
        return self
