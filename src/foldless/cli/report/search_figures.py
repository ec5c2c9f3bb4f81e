"""Figures of the search: the criterion around the choice, every evaluation, length scales, other criteria."""

from collections.abc import Sequence

import numpy as np

from foldless.cli.numbers import number
from foldless.cli.report.chart import (
    Axis,
    Boxes,
    Chart,
    Dots,
    Line,
    axis,
    axis_from_zero,
    bars,
    named_axis,
    shortened,
)
from foldless.core.contracts import Outcome, Step, Vector
from foldless.inspection.comparison import Comparison
from foldless.inspection.criterion_surface import PARAMETER_TITLES, Surface, descents

# Values above this quantile of the criterion share the palest colour.
COLOUR_MAX_QUANTILE = 0.7
RELEVANCE_MAX_BARS = 40
TIP_MAX_PARAMETERS, TITLE_MAX_CHARACTERS = 4, 80
# A criterion whose error exceeds the median by this factor is drawn at the edge.
COMPARISON_MAX_RATIO = 3.0
# The axis of the criterion is logarithmic if its values differ by more than this factor.
LOG_AXIS_MIN_RATIO = 20


def surface(landscape: Surface, outcome: Outcome) -> Chart:
    """Return the criterion over the two tuned parameters, dark where it is low, with the path of the search."""
    x, y = (PARAMETER_TITLES.get(name, name) for name in landscape.names)
    (left, right), (bottom, top) = _cell_edges(landscape.x), _cell_edges(landscape.y)
    rows, columns = np.indices(landscape.value.shape)
    values = landscape.value.ravel()
    tips = [
        f"{x} {number(float(landscape.x[j]))}, {y} {number(float(landscape.y[i]))}: criterion {value:.5g}"
        for i, j, value in zip(rows.ravel(), columns.ravel(), values)
    ]
    cells = Boxes(
        left[columns.ravel()], right[columns.ravel()], bottom[rows.ravel()], top[rows.ravel()], tips, "deep",
        opacity=_darkness(values), gap=-0.4,
    )  # fmt: skip
    return Chart(
        (cells, *_descents(outcome), _evaluations(outcome, x, y), _choice(outcome.best, x, y)),
        Axis(x, left[0], right[-1], log=True),
        Axis(y, bottom[0], top[-1], log=True),
        400,
    )


def _cell_edges(values: Vector) -> tuple[Vector, Vector]:
    """Return both edges of the cells around points that are evenly spaced in their logarithm."""
    half = np.sqrt(values[1] / values[0])
    return values / half, values * half


def _darkness(values: Vector) -> Vector:
    """Return opacities: 1 at the least value, 0 from a quantile on and where the criterion is undefined."""
    finite = values[np.isfinite(values)]
    low, ceiling = finite.min(), np.quantile(finite, COLOUR_MAX_QUANTILE)
    scaled = (ceiling - np.where(np.isfinite(values), values, ceiling)) / max(ceiling - low, 1e-300)
    return np.clip(scaled, 0, 1) ** 1.5


def _descents(outcome: Outcome) -> list[Line]:
    paths = (np.exp(path) for path in descents(outcome.trace))
    return [Line(path[:, 0], path[:, 1], "orange") for path in paths]


def _evaluations(outcome: Outcome, x: str, y: str) -> Dots:
    steps = [step for step in outcome.trace if np.isfinite(step.value)]
    theta = np.exp([step.theta for step in steps])
    tips = [
        f"evaluation {i + 1} ({step.why}): {x} {number(a)}, {y} {number(b)}, criterion {step.value:.6g}"
        for i, (step, (a, b)) in enumerate(zip(steps, theta.tolist()))
    ]
    return Dots(theta[:, 0], theta[:, 1], tips, "orange", name="evaluations")


def _choice(best: Step, x: str, y: str) -> Dots:
    a, b = np.exp(best.theta[:2]).tolist()
    return Dots([a], [b], [f"choice: {x} {number(a)}, {y} {number(b)}"], "gold", 7, "choice")


def trace(steps: Sequence[Step], names: Sequence[str], n_final: int, unit: str) -> Chart:
    """Return the criterion at every evaluation; the last ``n_final`` used the final approximation of the matrix."""
    values = np.array([step.value for step in steps])
    places = np.arange(1, len(values) + 1)
    tips = [
        f"evaluation {i} ({step.why}), {1000 * step.seconds:.1f} ms: criterion {step.value:.6g}, {_theta(step, names)}"
        for i, step in zip(places, steps)
    ]
    y = _value_axis(values, f"criterion ({unit})")
    marks: list[Line | Dots] = [
        Line(places, _best_so_far(values, n_final), "orange", "best so far", steps=True),
        Dots(places, values, tips, name="evaluation"),
    ]
    if n_final < len(values):
        place = len(values) - n_final + 0.5
        marks.append(Line([place, place], [y.low, y.high], "grey", dashed=True))
    return Chart(tuple(marks), axis("evaluation", places, whole=True), y, 320)


def _best_so_far(values: Vector, n_final: int) -> Vector:
    """Return the least value up to each evaluation, starting again where the approximation was refined."""
    parts = np.split(values, [len(values) - n_final])
    return np.concatenate([np.minimum.accumulate(part) for part in parts])


def _value_axis(values: Vector, label: str) -> Axis:
    finite = values[np.isfinite(values)]
    return axis(
        label, finite, log=bool(finite.min() > 0 and finite.max() > LOG_AXIS_MIN_RATIO * finite.min())
    )


def _theta(step: Step, names: Sequence[str]) -> str:
    if len(names) > TIP_MAX_PARAMETERS:
        return f"{len(names)} parameters"
    return ", ".join(
        f"{PARAMETER_TITLES.get(n, n)} {number(float(v))}" for n, v in zip(names, np.exp(step.theta))
    )


def relevance(lengths: Vector, names: Sequence[str]) -> Chart:
    """Return bars of one over the length scale, longest on top."""
    order = np.argsort(lengths)[:RELEVANCE_MAX_BARS][::-1]
    tips = [f"{shortened(names[i], 60)}: length scale {number(float(lengths[i]))}" for i in order]
    values = 1 / lengths[order]
    return Chart(
        (bars(values, tips),),
        axis_from_zero("1 / length scale", values),
        named_axis("", [names[i] for i in order]),
        90 + 22 * len(order),
    )


def comparison(compared: Comparison, error_name: str) -> Chart:
    """Return the mean held-out error of each criterion with its standard deviation, best on top."""
    lines = [line for line in compared.sorted_lines() if np.isfinite(line["error"])][::-1]
    percent = error_name == "error"
    errors = np.array([line["error"] for line in lines])
    deviations = np.nan_to_num([line["sd"] for line in lines])
    far = errors > COMPARISON_MAX_RATIO * np.median(errors)
    edge = 1.05 * (errors + deviations)[~far].max()
    shown, deviations = np.where(far, edge, errors), np.where(far, 0, deviations)
    tips = [
        f"{shortened(line['title'], TITLE_MAX_CHARACTERS)}: {100 * error if percent else error:.4g}{' %' * percent}, "
        f"{line['seconds']:.2f} s"
        for line, error in zip(lines, errors)
    ]
    marks = tuple(
        Dots(
            shown[mask], np.flatnonzero(mask), [t for t, m in zip(tips, mask) if m], colour, 4, name,
            (shown - deviations)[mask], (shown + deviations)[mask], bars_along_x=True,
        )
        for name, mask, colour in (("held out", ~far, "blue"), ("far beyond", far, "orange"))
        if mask.any()
    )  # fmt: skip
    return Chart(
        marks,
        axis(f"held-out {error_name}", shown - deviations, shown + deviations, percent=percent),
        named_axis("", [line["criterion"] for line in lines]),
        90 + 22 * len(lines),
    )
