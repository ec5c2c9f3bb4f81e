"""The criterion over two parameters."""

import warnings

import numpy as np

from foldless.core.errors import JitterWarning
from foldless.inspection.axes import place, tuned
from foldless.inspection.criterion_surface import descents, surface

LEVELS = 14
WORST = 0.85  # quantile of the criterion beyond which the colours no longer tell apart


class SurfaceDisplay:
    """The criterion over the two tuned parameters, the path of the search, and the optimum.

    Parameters
    ----------
    landscape : foldless.inspection.criterion_surface.Surface
    outcome : Outcome
    criterion : str

    Attributes
    ----------
    ax_, figure_
        Of matplotlib, after ``plot``.
    """

    def __init__(self, landscape, outcome, criterion):
        self.landscape, self.outcome, self.criterion = landscape, outcome, criterion

    @classmethod
    def from_estimator(cls, estimator, *, ax=None):
        """Evaluate the criterion around the optimum of a fitted estimator, pipeline or KernelSearch, and draw it.

        The parameters are those of the machine that was judged: around ``SVC``, unless a criterion is named, the
        least-squares machine that stood in for it, with half of its C.
        """
        selection = tuned(estimator).selection_
        with warnings.catch_warnings():  # equal rows are no news in a picture
            warnings.simplefilter("ignore", JitterWarning)
            landscape = surface(selection)
        if landscape is None:
            count = len(selection.outcome.best.theta)
            raise ValueError(f"a surface needs exactly two tuned parameters, this search had {count}.")
        return cls(landscape, selection.outcome, selection.criterion.name).plot(ax=ax)

    def plot(self, ax=None):
        """Draw; returns itself."""
        self.ax_ = ax = place(ax)
        self.figure_ = ax.figure
        x, y, value = self.landscape.x, self.landscape.y, self.landscape.value
        shown = np.ma.masked_invalid(np.where(np.isfinite(value), value, np.nan))
        worst = np.quantile(shown.compressed(), WORST)  # levels crowd at the bottom of the valley
        levels = shown.min() + (worst - shown.min()) * np.linspace(0, 1, LEVELS) ** 2
        picture = ax.contourf(x, y, shown, levels=levels, extend="max", cmap="viridis_r")
        self._draw_search(ax)
        ax.set(xscale="log", yscale="log", xlabel=self.landscape.names[0], ylabel=self.landscape.names[1])
        ax.set(xlim=(x[0], x[-1]), ylim=(y[0], y[-1]), title=f"{self.criterion} over the parameters")
        ax.legend()
        self.figure_.colorbar(picture, ax=ax, label=self.criterion)
        return self

    def _draw_search(self, ax):
        """Mark all looks; join those of the descents."""
        looks = np.exp([step.theta for step in self.outcome.trace])
        for path in descents(self.outcome.trace):
            ax.plot(*np.exp(path).T, "-", color="black", lw=1)
        ax.plot(*looks.T, "o", color="black", mec="white", ms=5, label="search")
        ax.plot(*np.exp(self.outcome.best.theta), "*", color="red", ms=15, mec="white", label="chosen")
