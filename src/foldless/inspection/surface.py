"""The criterion over two parameters."""

import warnings
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator

from foldless.core.contracts import Outcome
from foldless.core.errors import JitterWarning
from foldless.inspection.axes import get_axes, tuned_estimator
from foldless.inspection.criterion_surface import Surface, descents, evaluate_surface

CONTOUR_LEVELS = 14
# Values above this quantile of the criterion share the last colour.
COLOUR_MAX_QUANTILE = 0.85


class SurfaceDisplay:
    """The criterion over the two tuned parameters, the path of the search, and the optimum.

    Parameters
    ----------
    landscape : Surface
    outcome : Outcome
    criterion : str
        Label of the criterion: its title and unit.

    Attributes
    ----------
    ax_, figure_
        Axes and figure of matplotlib, after ``plot``.
    """

    def __init__(self, landscape: Surface, outcome: Outcome, criterion: str):
        self.landscape, self.outcome, self.criterion = landscape, outcome, criterion

    @classmethod
    def from_estimator(cls, estimator: BaseEstimator, *, ax: Any = None) -> Self:
        """Evaluate the criterion around the optimum of a fitted estimator, pipeline or KernelSearch, and draw it.

        The parameters are those of the machine that was evaluated: around ``SVC``, unless a criterion is named, the
        least-squares machine that approximates it, with half of its C.
        """
        selection = tuned_estimator(estimator).selection_
        # Duplicated rows need jitter at every point of the grid; the fit has warned about it already.
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", JitterWarning)
            landscape = evaluate_surface(selection)
        if landscape is None:
            count = len(selection.outcome.best.theta)
            raise ValueError(f"a surface needs exactly two tuned parameters, this search had {count}.")
        return cls(landscape, selection.outcome, selection.criterion.label).plot(ax=ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw contours, the evaluations of the search and the choice; return the display."""
        self.ax_ = ax = get_axes(ax)
        self.figure_ = ax.figure
        x, y, value = self.landscape.x, self.landscape.y, self.landscape.value
        shown = np.ma.masked_invalid(np.where(np.isfinite(value), value, np.nan))
        worst = np.quantile(shown.compressed(), COLOUR_MAX_QUANTILE)
        # Squares put the levels close together at the bottom of the valley.
        levels = shown.min() + (worst - shown.min()) * np.linspace(0, 1, CONTOUR_LEVELS) ** 2
        picture = ax.contourf(x, y, shown, levels=levels, extend="max", cmap="viridis_r")
        self._draw_search(ax)
        ax.set(xscale="log", yscale="log", xlabel=self.landscape.names[0], ylabel=self.landscape.names[1])
        ax.set(xlim=(x[0], x[-1]), ylim=(y[0], y[-1]), title="criterion over the parameters")
        ax.legend()
        self.figure_.colorbar(picture, ax=ax, label=self.criterion)
        return self

    def _draw_search(self, ax: Any) -> None:
        """Mark every evaluation; join those of each descent."""
        evaluated = np.exp([step.theta for step in self.outcome.trace])
        for path in descents(self.outcome.trace):
            ax.plot(*np.exp(path).T, "-", color="black", lw=1)
        ax.plot(*evaluated.T, "o", color="black", mec="white", ms=5, label="search")
        ax.plot(*np.exp(self.outcome.best.theta), "*", color="red", ms=15, mec="white", label="chosen")
