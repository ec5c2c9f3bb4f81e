"""Box plots of test errors, with marks at 5, 25, 50, 75 and 95 percent."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from foldless.core.contracts import Vector
from foldless.core.optional_imports import import_extra

PLOTS_PER_LINE = 4
DEFAULT_COLOUR = "tab:blue"


def box_plots(title: str, samples: Mapping[str, Mapping[str, Vector]], colours: Mapping[str, str]) -> Any:
    """Return a matplotlib figure with one plot per case and one box per method.

    Parameters
    ----------
    title : str
    samples : dict
        ``case -> method -> test errors``, which are shown times 1000.
    colours : dict
        ``method -> colour``; blue if it is not there.
    """
    columns = min(len(samples), PLOTS_PER_LINE)
    rows = -(-len(samples) // columns)
    figure = import_extra("matplotlib.figure", "report").Figure(
        figsize=(2.6 * columns, 3.2 * rows), layout="constrained"
    )
    figure.suptitle(title, fontsize=10)
    axes = np.ravel(figure.subplots(rows, columns, squeeze=False))
    for ax, (case, errors) in zip(axes, samples.items(), strict=False):
        draw_boxes(ax, errors, colours)
        ax.set_title(case, fontsize=9)
    for ax in axes[len(samples) :]:
        ax.set_axis_off()
    return figure


def draw_boxes(ax: Any, errors: Mapping[str, Vector], colours: Mapping[str, str]) -> None:
    """Draw one box per method on matplotlib axes, of errors times 1000."""
    drawn = ax.boxplot(
        [1e3 * e for e in errors.values()], whis=(5, 95), showfliers=False, patch_artist=True, widths=0.7
    )
    for method, box, median in zip(errors, drawn["boxes"], drawn["medians"], strict=True):
        box.set(facecolor=colours.get(method, DEFAULT_COLOUR), alpha=0.5, linewidth=0.8)
        median.set_color("black")
    ax.set_xticks(range(1, len(errors) + 1), list(errors), rotation=60, ha="right", fontsize=8)
    ax.tick_params(axis="y", labelsize=8)
