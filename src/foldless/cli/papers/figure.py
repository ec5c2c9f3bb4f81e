"""A figure of a paper, drawn from our numbers; it prints what the paper's shows and how ours was made."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from foldless.cli.papers.box_plots import draw_boxes
from foldless.core.atomic_write import written_whole
from foldless.core.contracts import Matrix, Vector
from foldless.core.optional_imports import import_extra

PANEL_INCHES = (2.7, 2.3)
DOTS_PER_INCH = 100
CONTOUR_LEVELS = 12
# Few colours make a PNG file of curves a third as large.
PNG_COLOURS = 48


class Layer(Protocol):
    """Anything that draws itself on the axes of a panel."""

    def draw(self, ax: Any) -> None:
        """Draw on matplotlib axes."""


@dataclass(frozen=True, eq=False)
class Curve:
    """Points ``(x, y)``, joined or not as ``style`` says in matplotlib's letters, with error bars if there are any."""

    x: Vector
    y: Vector
    label: str = ""
    style: str = "-"
    bars: Vector | None = None
    colour: str | None = None

    def draw(self, ax: Any) -> None:
        """Draw on matplotlib axes."""
        options = {"markersize": 3, "linewidth": 1.2, "capsize": 2, "color": self.colour}
        ax.errorbar(
            self.x, self.y, yerr=self.bars, fmt=self.style, label=self.label or "_nolegend_", **options
        )


@dataclass(frozen=True, eq=False)
class Boxes:
    """Box plots of test errors times 1000, one per method."""

    samples: Mapping[str, Vector]
    colours: Mapping[str, str] = field(default_factory=dict)

    def draw(self, ax: Any) -> None:
        """Draw on matplotlib axes."""
        draw_boxes(ax, self.samples, self.colours)


@dataclass(frozen=True, eq=False)
class Contours:
    """Level lines of ``values[i, j]`` at ``(x[j], y[i])``, with a cross at the least value."""

    x: Vector
    y: Vector
    values: Matrix

    def draw(self, ax: Any) -> None:
        """Draw on matplotlib axes; the lines crowd towards the least value."""
        least, most = np.nanmin(self.values), np.nanmax(self.values)
        levels = least + (most - least) * np.linspace(0, 1, CONTOUR_LEVELS + 1)[1:] ** 2
        ax.contour(self.x, self.y, self.values, levels=levels, linewidths=0.8, colors="tab:blue")
        ax.tick_params(which="minor", labelbottom=False, labelleft=False)
        i, j = np.unravel_index(np.nanargmin(self.values), self.values.shape)
        ax.plot(self.x[j], self.y[i], "k+", markersize=9)


@dataclass(frozen=True, eq=False)
class Regions:
    """Level lines of a probability over the plane, that of one half thicker."""

    x: Vector
    y: Vector
    probability: Matrix

    def draw(self, ax: Any) -> None:
        """Draw on matplotlib axes."""
        drawn = ax.contour(
            self.x,
            self.y,
            self.probability,
            levels=[0.1, 0.5, 0.9],
            colors="black",
            linewidths=[0.7, 1.5, 0.7],
        )
        ax.clabel(drawn, fontsize=7)


@dataclass(frozen=True, eq=False)
class Panel:
    """One plot: layers over common axes, and others that have an axis of their own on the right."""

    title: str
    layers: tuple[Layer, ...]
    x_label: str = ""
    y_label: str = ""
    log: str = ""
    right: tuple[Layer, ...] = ()
    right_label: str = ""

    def draw(self, ax: Any) -> None:
        """Draw on matplotlib axes; ``log`` holds the letters of the logarithmic axes."""
        ax.set_title(self.title, fontsize=9)
        ax.set(xlabel=self.x_label, ylabel=self.y_label)
        ax.set(**{f"{letter}scale": "log" for letter in self.log})
        _draw_layers(ax, self.layers, "upper left")
        if self.right:
            twin = ax.twinx()
            twin.set_ylabel(self.right_label)
            _draw_layers(twin, self.right, "upper right")


def _draw_layers(ax: Any, layers: tuple[Layer, ...], where: str) -> None:
    for layer in layers:
        layer.draw(ax)
    ax.tick_params(labelsize=7)
    ax.xaxis.label.set_size(8)
    ax.yaxis.label.set_size(8)
    if ax.get_legend_handles_labels()[0]:
        ax.legend(fontsize=7, frameon=False, loc=where)


@dataclass(frozen=True, eq=False)
class PaperFigure:
    """A figure of a paper, drawn anew.

    Attributes
    ----------
    name, title : str
    paper : str
        What the paper's figure shows.
    panels : tuple of Panel
        Plots, line by line.
    columns : int
        Plots in a line.
    remarks : tuple of str
        How ours was made.
    """

    name: str
    title: str
    paper: str
    panels: tuple[Panel, ...]
    columns: int = 2
    remarks: tuple[str, ...] = ()

    def __str__(self) -> str:
        return "\n".join([f"{self.name}: {self.title}", "", f"The paper: {self.paper}", *self.remarks])

    def draw(self, path: Path) -> list[Path]:
        """Save the figure in the format that the ending of ``path`` names; return the paths that were written."""
        # Letters stay letters in an SVG file, which makes it small, and equal figures are equal files.
        options = {"svg.fonttype": "none", "svg.hashsalt": self.name}
        extra = {"metadata": {"Date": None}} if path.suffix == ".svg" else {}
        with import_extra("matplotlib", "report").rc_context(options), written_whole(path) as temporary:
            self.plot().savefig(temporary, dpi=DOTS_PER_INCH, **extra)
            if path.suffix == ".png":
                image = import_extra("PIL.Image", "report").open(temporary).convert("RGB")
                image.quantize(PNG_COLOURS).save(temporary, optimize=True)
        return [path]

    def plot(self) -> Any:
        """Return the matplotlib figure."""
        columns = min(self.columns, len(self.panels))
        lines = -(-len(self.panels) // columns)
        width, height = PANEL_INCHES
        figure = import_extra("matplotlib.figure", "report").Figure(
            figsize=(width * columns, height * lines), layout="constrained"
        )
        axes = np.ravel(figure.subplots(lines, columns, squeeze=False))
        for ax, panel in zip(axes, self.panels, strict=False):
            panel.draw(ax)
        for ax in axes[len(self.panels) :]:
            ax.set_axis_off()
        return figure
