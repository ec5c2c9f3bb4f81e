"""Charts as plain data: marks in a frame of two axes. :mod:`foldless.cli.report.svg` draws them.

Colours are names of the page's style (``"blue"``, ``"orange"``, ``"grey"``), so that a chart follows light, dark and paper.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from foldless.cli.console import printable
from foldless.core.contracts import Vector

NAME_MAX_CHARACTERS = 22
# An axis reaches this fraction of its range beyond the marks.
AXIS_MARGIN = 0.04


def shortened(name: object, max_characters: int = NAME_MAX_CHARACTERS) -> str:
    """Return a text without control characters that fits beside an axis.

    Examples
    --------
    >>> shortened("a name that is much too long")
    'a name that is much t…'
    """
    text = printable(name)
    return text if len(text) <= max_characters else text[: max_characters - 1] + "…"


@dataclass(frozen=True)
class Axis:
    """One axis: its title and its ends; ``log`` for powers of ten, ``names`` for one tick per name, counted from 0.

    ``percent`` writes ticks as percentages; ``whole`` leaves out ticks between whole numbers; ``dates`` counts days since 1970 and
    has ticks at the beginnings of years, months or days.
    """

    title: str
    low: float
    high: float
    log: bool = False
    names: tuple[str, ...] = ()
    percent: bool = False
    whole: bool = False
    dates: bool = False

    def place(self, values: ArrayLike) -> Vector:
        """Return positions along the axis, 0 at its low end and 1 at its high end."""
        low, high, x = self.low, self.high, np.asarray(values, dtype=float)
        if self.log:
            low, high, x = np.log(low), np.log(high), np.log(np.maximum(x, np.finfo(float).tiny))
        return (x - low) / (high - low)


def axis(
    title: str, *values: ArrayLike, log: bool = False, percent: bool = False, whole: bool = False
) -> Axis:
    """Return an axis that holds all finite values, with a small margin."""
    found = np.concatenate([np.empty(0), *(np.ravel(np.asarray(v, dtype=float)) for v in values)])
    found = found[np.isfinite(found) & ((found > 0) | (not log))]
    low, high = (float(found.min()), float(found.max())) if len(found) else (0.0, 1.0)
    if log:
        factor = max(high / low, 1.2) ** AXIS_MARGIN
        return Axis(title, low / factor, high * factor, log=True, percent=percent)
    reach = (high - low) or abs(high) or 1.0
    return Axis(title, low - AXIS_MARGIN * reach, high + AXIS_MARGIN * reach, percent=percent, whole=whole)


def axis_from_zero(title: str, *values: ArrayLike, percent: bool = False, whole: bool = False) -> Axis:
    """Return an axis for bars: it begins at 0, or ends there if all values are negative."""
    found = axis(title, [0.0], *values, percent=percent, whole=whole)
    values_are_positive = all(np.nanmin(np.asarray(v, dtype=float), initial=0.0) >= 0 for v in values)
    low = 0.0 if values_are_positive else found.low
    return Axis(title, low, found.high, percent=percent, whole=whole)


def named_axis(title: str, names: Iterable[object]) -> Axis:
    """Return an axis with one place per name."""
    shown = tuple(shortened(name) for name in names)
    return Axis(title, -0.6, len(shown) - 0.4, names=shown)


@dataclass(frozen=True)
class Dots:
    """Points, each with a text that appears under the pointer; ``low`` and ``high`` are ends of error bars along y, or along x."""

    x: ArrayLike
    y: ArrayLike
    tips: Sequence[str] = ()
    colour: str = "blue"
    radius: float = 3.5
    name: str = ""
    low: ArrayLike | None = None
    high: ArrayLike | None = None
    bars_along_x: bool = False
    opacity: float = 1.0


@dataclass(frozen=True)
class Line:
    """A line through points; NaN breaks it. ``steps`` makes stairs."""

    x: ArrayLike
    y: ArrayLike
    colour: str = "blue"
    name: str = ""
    dashed: bool = False
    steps: bool = False


@dataclass(frozen=True)
class Band:
    """The area between two lines."""

    x: ArrayLike
    low: ArrayLike
    high: ArrayLike
    colour: str = "blue"
    name: str = ""


@dataclass(frozen=True)
class Boxes:
    """Rectangles: bars of a histogram, or cells of a matrix with opacities and texts; ``gap`` is the space between them."""

    left: ArrayLike
    right: ArrayLike
    bottom: ArrayLike
    top: ArrayLike
    tips: Sequence[str] = ()
    colour: str = "blue"
    name: str = ""
    opacity: ArrayLike | None = None
    texts: Sequence[str] = ()
    gap: float = 1.0


Mark = Dots | Line | Band | Boxes


@dataclass(frozen=True)
class Chart:
    """Marks, drawn in their order, between two axes."""

    marks: tuple[Mark, ...]
    x: Axis
    y: Axis
    height: int = 320


def columns(
    edges: Vector, counts: Vector, tips: Sequence[str], colour: str = "blue", name: str = ""
) -> Boxes:
    """Return the bars of a histogram."""
    zeros = np.zeros(len(counts))
    return Boxes(edges[:-1], edges[1:], zeros, counts, tips, colour, name)


def bars(values: Vector, tips: Sequence[str], colour: str = "blue", name: str = "") -> Boxes:
    """Return horizontal bars at 0, 1, 2, ..."""
    places = np.arange(len(values))
    return Boxes(
        np.minimum(values, 0), np.maximum(values, 0), places - 0.35, places + 0.35, tips, colour, name
    )


def diagonal(low: float, high: float, name: str) -> Line:
    """Return a dashed line along which both axes are equal."""
    return Line([low, high], [low, high], "grey", name, dashed=True)
