"""What a page is made of: sections with sentences, tables and figures."""

from dataclasses import dataclass, field, replace
from typing import Any

from foldless.cli.report.chart import Chart


@dataclass(frozen=True)
class Panel:
    """One figure with its heading and a sentence; a ``wide`` one takes a whole line, a ``tall`` one two lines."""

    name: str
    title: str
    caption: str
    chart: Chart
    wide: bool = False
    tall: bool = False


@dataclass(frozen=True)
class Grid:
    """A table: headings, rows of cells, and a class for the style. A :class:`Drawn` cell is a picture."""

    headings: tuple[str, ...]
    rows: list[list[Any]]
    kind: str = ""


@dataclass(frozen=True)
class Drawn:
    """SVG of ours, which the template does not escape."""

    svg: str


@dataclass(frozen=True)
class Measured:
    """A value with its interval below."""

    value: str
    interval: str


@dataclass(frozen=True)
class Section:
    """A part of the page; ``costs`` has the two fields for the costs of mistakes."""

    name: str
    title: str
    words: list[str] = field(default_factory=list)
    table: Grid | None = None
    panels: list[Panel] = field(default_factory=list)
    costs: str = ""


def filled(panels: list[Panel]) -> list[Panel]:
    """Return panels of which none stands alone beside a gap: the last of an odd number takes the whole line."""
    halves = [i for i, panel in enumerate(panels) if not panel.wide]
    if (len(halves) + sum(panel.tall for panel in panels)) % 2:
        panels = [replace(p, wide=True) if i == halves[-1] else p for i, p in enumerate(panels)]
    return panels
