"""The criterion at every evaluation of a search."""

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator

from foldless.core.contracts import SCAN, Step
from foldless.inspection.axes import get_axes, tuned_estimator


class TraceDisplay:
    """The criterion at every evaluation, and the best so far.

    Parameters
    ----------
    steps : sequence of Step
    criterion : str
        Label of the criterion: its title and unit.

    Attributes
    ----------
    ax_, figure_
        Axes and figure of matplotlib, after ``plot``.
    """

    def __init__(self, steps: Sequence[Step], criterion: str):
        self.steps, self.criterion = tuple(steps), criterion

    @classmethod
    def from_estimator(cls, estimator: BaseEstimator, *, ax: Any = None) -> Self:
        """Draw the trace of a fitted estimator, pipeline or KernelSearch."""
        selection = tuned_estimator(estimator).selection_
        return cls(selection.outcome.trace, selection.criterion.label).plot(ax=ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw one dot per evaluation, coloured by its purpose, and the best so far; return the display."""
        self.ax_ = ax = get_axes(ax)
        self.figure_ = ax.figure
        value = np.array([step.value for step in self.steps])
        why = np.array([step.why for step in self.steps])
        number = np.arange(1, len(value) + 1)
        for reason in dict.fromkeys(why):
            rows = why == reason
            ax.plot(number[rows], value[rows], "o", ms=5, label=reason)
        own = why != SCAN
        best = np.minimum.accumulate(value[own])
        ax.step(number[own], best, where="post", color="0.3", lw=1, label="best so far")
        ax.set(xlabel="evaluation", ylabel=self.criterion, title="trace of the search")
        ax.legend()
        return self
