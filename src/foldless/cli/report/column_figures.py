"""Figures of the columns of the file, of the simple models, and of the learning curve."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from foldless.cli.numbers import number, percent
from foldless.cli.report.chart import (
    Axis,
    Band,
    Chart,
    Dots,
    Line,
    axis,
    axis_from_zero,
    bars,
    named_axis,
    shortened,
)
from foldless.cli.report.class_figures import CURVE_COLOURS, CURVE_MAX_CLASSES
from foldless.cli.report.columns import Dependence, Importance
from foldless.cli.report.root_curve import RootCurve
from foldless.cli.report.scores import Score
from foldless.cli.report.svg import sparkline
from foldless.cli.report.verdict import interval_text, score_text
from foldless.core.contracts import Matrix, Vector
from foldless.estimators.uncertainty.learning_curve import LearningCurve

IMPORTANCE_MAX_BARS = 20
SPARK_BINS = 16
# How far beyond the rows at hand a learning curve is continued.
EXTRAPOLATION_FACTOR = 4


def important(found: Importance, unit: str) -> Chart:
    """Return bars of the rise of the loss, the most important column on top."""
    shown = slice(None, IMPORTANCE_MAX_BARS)
    names = [column.name for column in found.columns[shown]][::-1]
    rise, spread = found.rise[shown][::-1], found.spread[shown][::-1]
    tips = [
        f"{shortened(n, 60)}: {unit} rises by {number(r)} ± {number(s)}"
        for n, r, s in zip(names, rise, spread)
    ]
    places = np.arange(len(names))
    whiskers = Dots(rise, places, tips, "grey", 0.1, "", rise - spread, rise + spread, bars_along_x=True)
    return Chart(
        (bars(rise, tips), whiskers),
        axis_from_zero(f"rise of the {unit} when the column is shuffled", rise - spread, rise + spread),
        named_axis("", names),
        90 + 22 * len(names),
    )


def answer_axis(found: Sequence[Dependence], classes: Sequence[Any] | None, target: str) -> Axis:
    """Return the axis that all figures of partial dependence share, so that large effects look large."""
    shown = [column for one in found for _, _, column in _answers_shown(one.answers, classes)]
    if classes is None:
        return axis(f"mean prediction of {shortened(target)}", *shown)
    which = f" of “{shortened(classes[1], 14)}”" if len(classes) == 2 else ""
    return axis(f"mean probability{which}", *shown, percent=True)


def dependent(found: Dependence, classes: Sequence[Any] | None, y: Axis) -> Chart:
    """Return the mean answer against the values of a column: lines for numbers and dates, dots for the levels of a category."""
    shown = _answers_shown(found.answers, classes)
    if found.column.code.kind != "category":
        x = np.asarray(found.values, dtype=float)
        lines = tuple(Line(x, column, colour, name) for name, colour, column in shown)
        along = replace(axis(shortened(found.column.name), x), dates=found.column.code.kind == "date")
        return Chart((*lines, *_dots(x, found, shown, classes)), along, y, 260)
    places = np.arange(len(found.values), dtype=float)
    names = named_axis(shortened(found.column.name), found.values)
    return Chart(_dots(places, found, shown, classes, named=True), names, y, 260)


def _answers_shown(answers: Matrix, classes: Sequence[Any] | None) -> list[tuple[str, str, Vector]]:
    """Return name, colour and values of each answer to draw."""
    if classes is None:
        return [("", "blue", answers[:, 0])]
    chosen = [1] if len(classes) == 2 else range(min(len(classes), CURVE_MAX_CLASSES))
    return [(shortened(classes[c], 14), CURVE_COLOURS[i], answers[:, c]) for i, c in enumerate(chosen)]


def _dots(
    x: Vector,
    found: Dependence,
    shown: list[tuple[str, str, Vector]],
    classes: Sequence[Any] | None,
    named: bool = False,
) -> tuple[Dots, ...]:
    write = number if classes is None else percent
    values = [_value_text(found.column.code.kind, value) for value in found.values]
    return tuple(
        Dots(
            x,
            column,
            [f"{v}: {write(float(a))}" for v, a in zip(values, column)],
            colour,
            3,
            name if named else "",
        )
        for name, colour, column in shown
    )


def _value_text(kind: str, value: Any) -> str:
    """Return a value of a column for people."""
    if kind == "date":
        return str(np.datetime64(int(np.floor(value)), "D"))
    return shortened(value) if kind == "category" else number(value)


def models(names: Sequence[str], found: Sequence[Score]) -> Chart:
    """Return the score of every model with its 95 % interval, ours on top."""
    order = list(range(len(names)))[::-1]
    value = np.array([found[i].value for i in order])
    low, high = (np.array([getattr(found[i], end) for i in order]) for end in ("low", "high"))
    tips = [f"{names[i]}: {score_text(found[i])} ({interval_text(found[i])})" for i in order]
    ours = np.array([i == 0 for i in order])
    marks = tuple(
        Dots(
            value[mask], np.flatnonzero(mask), [t for t, m in zip(tips, mask) if m], colour, 5, "",
            low[mask], high[mask], bars_along_x=True,
        )
        for mask, colour in ((ours, "blue"), (~ours, "grey"))
    )  # fmt: skip
    title = f"{found[0].name} ({'larger' if found[0].larger_is_better else 'smaller'} is better)"
    x = axis(title, low, high, percent=found[0].is_share)
    return Chart(marks, x, named_axis("", [names[i] for i in order]), 90 + 34 * len(order))


def learning(curve: LearningCurve | RootCurve, loss: str) -> Chart:
    """Return the left-out loss against the number of rows, and its continuation with a band of two standard errors."""
    tips = [
        f"{int(n)} rows: {number(v)} ± {number(2 * e)}"
        for n, v, e in zip(curve.rows, curve.values, curve.standard_errors)
    ]
    error = 2 * curve.standard_errors
    dots = Dots(
        curve.rows, curve.values, tips, name="measured", low=curve.values - error, high=curve.values + error
    )
    marks: list[Any] = [dots]
    ends: list[Any] = [curve.values - error, curve.values + error]
    rows = np.geomspace(curve.rows[0], EXTRAPOLATION_FACTOR * curve.rows[-1], 24)
    if len(curve.rows) >= 3:
        value, spread = curve.extrapolate(rows)
        beyond = rows >= curve.rows[-1]
        band = Band(rows[beyond], (value - 2 * spread)[beyond], (value + 2 * spread)[beyond], "orange")
        marks = [band, Line(rows, value, "orange", "continued"), dots]
        ends += [(value - 2 * spread)[beyond], (value + 2 * spread)[beyond]]
    return Chart(tuple(marks), axis("rows", curve.rows, rows, log=True), axis(f"left-out {loss}", *ends), 320)


def histogram_of(values: Vector) -> str:
    """Return a tiny histogram of numbers."""
    counts, edges = np.histogram(values, bins=SPARK_BINS)
    tips = [
        f"{number(float(a))} to {number(float(b))}: {n} rows" for a, b, n in zip(edges, edges[1:], counts)
    ]
    return sparkline(counts, tips)


def histogram_of_levels(levels: Sequence[str], counts: Vector) -> str:
    """Return tiny bars of the levels of a category, the first ones of very many."""
    tips = [f"{shortened(level)}: {int(n)} rows" for level, n in zip(levels, counts)]
    return sparkline(counts[: 2 * SPARK_BINS], tips[: 2 * SPARK_BINS])
