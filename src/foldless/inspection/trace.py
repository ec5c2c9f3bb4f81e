"""How a search went."""

import numpy as np

from foldless.inspection.axes import place, tuned


class TraceDisplay:
    """The criterion at every evaluation, and the best so far.

    Parameters
    ----------
    steps : sequence of Step
    criterion : str

    Attributes
    ----------
    ax_, figure_
        Of matplotlib, after ``plot``.
    """

    def __init__(self, steps, criterion):
        self.steps, self.criterion = tuple(steps), criterion

    @classmethod
    def from_estimator(cls, estimator, *, ax=None):
        """Draw the trace of a fitted estimator, pipeline or KernelSearch."""
        selection = tuned(estimator).selection_
        return cls(selection.outcome.trace, selection.criterion.name).plot(ax=ax)

    def plot(self, ax=None):
        """Draw; returns itself."""
        self.ax_ = ax = place(ax)
        self.figure_ = ax.figure
        value = np.array([step.value for step in self.steps])
        why = np.array([step.why for step in self.steps])
        number = np.arange(1, len(value) + 1)
        for reason in dict.fromkeys(why):
            rows = why == reason
            ax.plot(number[rows], value[rows], "o", ms=5, label=reason)
        ax.step(number, np.minimum.accumulate(value), where="post", color="0.3", lw=1, label="best so far")
        ax.set(xlabel="evaluation", ylabel=self.criterion, title="trace of the search")
        ax.legend()
        return self
