"""Charts as SVG: small pictures that need no script, follow the colours of the page and print at any size.

Every text passes through :func:`element`, which escapes it; a name from a file cannot become markup.
"""

import html
import math
from collections.abc import Callable, Iterator
from functools import singledispatch

import numpy as np
from numpy.typing import ArrayLike

from foldless.cli.numbers import GROUPED_MIN_NUMBER, grouped
from foldless.cli.report.chart import Axis, Band, Boxes, Chart, Dots, Line, Mark
from foldless.core.contracts import Vector

WIDTH = 480
TOP, RIGHT, BOTTOM = 12, 14, 46
LEGEND_HEIGHT, LETTER_WIDTH = 20, 7.8
TICKS = 5
DATE_MIN_TICKS = 3
# Larger numbers have ticks with powers of ten.
TICK_MAX_NUMBER = 1e7
LOG_TICKS_MAX_DECADES = 2.2


def element(tag: str, *children: str, text: object = None, **attributes: object) -> str:
    """Return an element with escaped text and attributes; an underscore in a name stands for a dash, ``kind`` for class."""
    names = {"kind": "class"}
    written = "".join(
        f' {names.get(name, name.replace("_", "-"))}="{html.escape(_short(value))}"'
        for name, value in attributes.items()
        if value is not None
    )
    inner = "".join(children) + ("" if text is None else html.escape(str(text)))
    return f"<{tag}{written}>{inner}</{tag}>" if inner else f"<{tag}{written}/>"


def _short(value: object) -> str:
    return f"{value:.5g}" if isinstance(value, float) else str(value)


class Frame:
    """Where the marks of a chart are drawn: places on the axes as coordinates of the picture."""

    def __init__(self, chart: Chart):
        names = [mark.name for mark in chart.marks if mark.name]
        self.x, self.y, self.height = chart.x, chart.y, chart.height
        self.top = TOP + LEGEND_HEIGHT * (len(names) > 1)
        labels = [label for _, label in ticks(chart.y)]
        self.left = min(
            190.0, 14 + LETTER_WIDTH * max(map(len, labels), default=0) + 18 * bool(chart.y.title)
        )
        self.bottom = chart.height - BOTTOM

    def across(self, values: ArrayLike) -> Vector:
        """Return horizontal coordinates."""
        return self.left + self.x.place(values) * (WIDTH - RIGHT - self.left)

    def up(self, values: ArrayLike) -> Vector:
        """Return vertical coordinates."""
        return self.bottom - self.y.place(values) * (self.bottom - self.top)


def draw(chart: Chart, label: str = "") -> str:
    """Return a chart as an SVG element, described by ``label`` to those who cannot see it."""
    frame = Frame(chart)
    clip = element("svg", *(paint(mark, frame) for mark in chart.marks), overflow="visible")
    return element(
        "svg",
        *_grid(frame),
        clip,
        *_titles(frame),
        *_legend(chart, frame),
        kind="chart",
        viewBox=f"0 0 {WIDTH} {chart.height}",
        role="img",
        aria_label=label,
    )


def ticks(axis: Axis) -> list[tuple[float, str]]:
    """Return the places of the ticks and their labels.

    Examples
    --------
    >>> ticks(Axis("", 0.0, 1.0, percent=True))
    [(0.0, '0 %'), (0.2, '20 %'), (0.4, '40 %'), (0.6, '60 %'), (0.8, '80 %'), (1.0, '100 %')]
    """
    if axis.names:
        return [(float(i), name) for i, name in enumerate(axis.names)]
    if axis.dates:
        return _date_ticks(axis)
    places = _log_places(axis) if axis.log else _even_places(axis)
    return [(place, _label(place, axis)) for place in places]


def _date_ticks(axis: Axis) -> list[tuple[float, str]]:
    """Return beginnings of years, of months or of days: of the longest of these that the axis holds several of.

    Examples
    --------
    >>> _date_ticks(Axis("", 17_897.0, 19_396.0, dates=True))
    [(18262.0, '2020'), (18628.0, '2021'), (18993.0, '2022'), (19358.0, '2023')]
    """
    ends = np.array([axis.low, axis.high]).astype("datetime64[D]")
    spans = {unit: ends.astype(f"datetime64[{unit}]").astype(int) for unit in "YMD"}
    unit = next((unit for unit, (first, last) in spans.items() if last - first >= DATE_MIN_TICKS), "D")
    first, last = spans[unit]
    found = np.arange(first + 1, last + 1, -(-(last - first) // (TICKS + 1))).astype(f"datetime64[{unit}]")
    return list(zip(found.astype("datetime64[D]").astype(float).tolist(), found.astype(str).tolist()))


def _even_places(axis: Axis) -> list[float]:
    """Return multiples of a round step.

    Examples
    --------
    >>> _even_places(Axis("", 0.0, 11.0)), _even_places(Axis("", 0.0, 11.0, whole=True))
    ([0.0, 2.5, 5.0, 7.5, 10.0], [0.0, 5.0, 10.0])
    """
    raw = (axis.high - axis.low) / TICKS
    power = 10.0 ** math.floor(math.log10(raw))
    steps = [power * m for m in (1, 2, 2.5, 5, 10) if m * power >= raw * 0.999]
    step = next(step for step in (*steps, 1.0) if not axis.whole or float(step).is_integer())
    first, last = math.ceil(axis.low / step - 1e-9), math.floor(axis.high / step + 1e-9)
    return [round(i * step, 12) for i in range(first, last + 1)]


def _log_places(axis: Axis) -> list[float]:
    decades = math.log10(axis.high / axis.low)
    first, last = math.floor(math.log10(axis.low)), math.ceil(math.log10(axis.high))
    digits = (1, 2, 5) if decades <= LOG_TICKS_MAX_DECADES else (1,)
    skip = max(1, math.ceil(decades / 7))
    found = [d * 10.0**p for p in range(first, last + 1, skip) for d in digits]
    return [place for place in found if axis.low <= place <= axis.high]


SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def _label(value: float, axis: Axis) -> str:
    if axis.percent:
        return f"{100 * value:.4g} %"
    size = abs(value)
    if size and not 1e-3 <= size < TICK_MAX_NUMBER:
        power = math.floor(math.log10(size) + 1e-9)
        digits = f"{value / 10.0**power:.3g}"
        return ("" if digits == "1" else f"{digits}·") + "10" + str(power).translate(SUPERSCRIPTS)
    text = grouped(value) if size >= GROUPED_MIN_NUMBER else f"{value:.6g}"
    return text.replace("-", "−")


def _grid(frame: Frame) -> Iterator[str]:
    right = float(WIDTH - RIGHT)
    for place, label in ticks(frame.y):
        y = float(frame.up(place))
        if not frame.y.names:
            yield element("line", kind="grid", x1=frame.left, x2=right, y1=y, y2=y)
        yield element("text", text=label, kind="tick", x=frame.left - 6, y=y, text_anchor="end", dy="0.35em")
    yield element("line", kind="axis", x1=frame.left, x2=right, y1=frame.bottom, y2=frame.bottom)
    for place, label in ticks(frame.x):
        x = float(frame.across(place))
        if not frame.x.names:
            yield element("line", kind="grid", x1=x, x2=x, y1=frame.top, y2=frame.bottom)
        room = int((right - frame.left) / max(1, len(frame.x.names)) / LETTER_WIDTH) if frame.x.names else 99
        label = label if len(label) <= room else label[: max(1, room - 1)] + "…"
        yield element("text", text=label, kind="tick", x=x, y=frame.bottom + 16, text_anchor="middle")


def _titles(frame: Frame) -> Iterator[str]:
    middle = (frame.left + WIDTH - RIGHT) / 2
    if frame.x.title:
        yield element(
            "text", text=frame.x.title, kind="title", x=middle, y=frame.height - 8, text_anchor="middle"
        )
    if frame.y.title:
        turned = f"translate(13 {(frame.top + frame.bottom) / 2:.1f}) rotate(-90)"
        yield element("text", text=frame.y.title, kind="title", transform=turned, text_anchor="middle")


def _legend(chart: Chart, frame: Frame) -> Iterator[str]:
    named = [mark for mark in chart.marks if mark.name]
    if len(named) < 2:
        return
    x = frame.left
    for mark in named:
        yield element("rect", kind=f"fill {mark.colour}", x=x, y=5, width=10, height=10, rx=2)
        yield element("text", text=mark.name, kind="tick", x=x + 14, y=14)
        x += 26 + LETTER_WIDTH * len(mark.name)


@singledispatch
def paint(mark: Mark, frame: Frame) -> str:
    """Return one mark as SVG."""
    raise TypeError(f"expected a mark of foldless.cli.report.chart, got {type(mark).__name__}.")


@paint.register
def _(mark: Line, frame: Frame) -> str:
    x, y = frame.across(mark.x), frame.up(mark.y)
    pieces, pen = [], "M"
    for i in range(len(x)):
        if not (np.isfinite(x[i]) and np.isfinite(y[i])):
            pen = "M"
            continue
        corner = f"H{x[i]:.1f}" if mark.steps and pen == "L" else ""
        pieces.append(f"{corner}{pen}{x[i]:.1f} {y[i]:.1f}")
        pen = "L"
    dash = "4 4" if mark.dashed else None
    return element("path", kind=f"line {mark.colour}", d="".join(pieces), stroke_dasharray=dash)


@paint.register
def _(mark: Band, frame: Frame) -> str:
    x = np.concatenate([np.asarray(mark.x, float), np.asarray(mark.x, float)[::-1]])
    y = np.concatenate([np.asarray(mark.low, float), np.asarray(mark.high, float)[::-1]])
    points = " ".join(f"{a:.1f},{b:.1f}" for a, b in zip(frame.across(x), frame.up(y)))
    return element("polygon", kind=f"band {mark.colour}", points=points)


@paint.register
def _(mark: Boxes, frame: Frame) -> str:
    left, right = frame.across(mark.left), frame.across(mark.right)
    top, bottom = frame.up(mark.top), frame.up(mark.bottom)
    opacity = None if mark.opacity is None else np.ravel(np.asarray(mark.opacity, dtype=float))
    boxes = [
        element(
            "rect",
            kind=f"fill {mark.colour}",
            x=float(left[i]) + mark.gap / 2,
            y=float(top[i]),
            width=max(float(right[i] - left[i]) - mark.gap, 0.5),
            height=max(float(bottom[i] - top[i]), 0.0),
            fill_opacity=None if opacity is None else float(opacity[i]),
            data_tip=_at(mark.tips, i),
        )
        for i in range(len(left))
    ]
    texts = [
        element(
            "text",
            text=mark.texts[i],
            kind="cell",
            x=float(left[i] + right[i]) / 2,
            y=float(top[i] + bottom[i]) / 2,
            text_anchor="middle",
            dy="0.35em",
        )
        for i in range(len(mark.texts))
    ]
    return element("g", *boxes, *texts)


@paint.register
def _(mark: Dots, frame: Frame) -> str:
    x, y = frame.across(mark.x), frame.up(mark.y)
    dots = [
        element(
            "circle",
            kind=f"fill {mark.colour}",
            cx=round(float(x[i]), 1),
            cy=round(float(y[i]), 1),
            r=mark.radius,
            data_tip=_at(mark.tips, i),
        )
        for i in range(len(x))
        if np.isfinite(x[i]) and np.isfinite(y[i])
    ]
    opacity = None if mark.opacity == 1 else mark.opacity
    return element("g", *_whiskers(mark, frame, x, y), *dots, fill_opacity=opacity)


def _at(tips: object, i: int) -> str | None:
    return tips[i] if isinstance(tips, (list, tuple)) and i < len(tips) else None


def _whiskers(mark: Dots, frame: Frame, x: Vector, y: Vector) -> Iterator[str]:
    if mark.low is None or mark.high is None:
        return
    scale: Callable[[ArrayLike], Vector] = frame.across if mark.bars_along_x else frame.up
    for i, (low, high) in enumerate(zip(scale(mark.low), scale(mark.high))):
        ends = (low, y[i], high, y[i]) if mark.bars_along_x else (x[i], low, x[i], high)
        x1, y1, x2, y2 = (round(float(end), 1) for end in ends)
        yield element("line", kind=f"line {mark.colour}", x1=x1, y1=y1, x2=x2, y2=y2)


def sparkline(counts: Vector, tips: list[str]) -> str:
    """Return a tiny histogram for a cell of a table."""
    top, n = max(float(np.max(counts, initial=0)), 1.0), len(counts)
    boxes = (
        element(
            "rect",
            kind="fill blue",
            x=100 * i / n + 0.5,
            width=100 / n - 1,
            y=24 - 23 * float(count) / top,
            height=23 * float(count) / top,
            data_tip=tip,
        )
        for i, (count, tip) in enumerate(zip(counts, tips))
    )
    return element(
        "svg", *boxes, kind="spark", viewBox="0 0 100 25", preserveAspectRatio="none", aria_hidden="true"
    )
