"""Figures of the search: the criterion around the choice, every evaluation, relevances, other criteria."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from foldless.cli.report.plotly_json import (
    BLUE,
    GREY,
    ORANGE,
    Figure,
    axis,
    escape_for_plotly,
    figure,
    log_axis,
    named_axis,
    to_json_numbers,
)
from foldless.core.contracts import Outcome, Step, Vector
from foldless.inspection.comparison import Comparison
from foldless.inspection.criterion_surface import PARAMETER_TITLES, Surface, descents

SURFACE_COLOURS = [[0.0, "#14315f"], [0.3, "#2f6db5"], [0.6, "#86b5dc"], [1.0, "#e9eef3"]]
# Values above this quantile of the criterion share the last colour.
COLOUR_MAX_QUANTILE = 0.7
RELEVANCE_MAX_BARS = 40
HOVER_MAX_PARAMETERS, TITLE_MAX_CHARACTERS = 4, 80
# A criterion whose error exceeds the median by this factor is drawn at the edge.
COMPARISON_MAX_RATIO = 3.0
# The axis of the criterion is logarithmic if its values differ by more than this factor.
LOG_AXIS_MIN_RATIO = 20


def surface(landscape: Surface, outcome: Outcome, unit: str) -> Figure:
    """Return contours of the criterion over the two tuned parameters, with the path of the search."""
    x, y = (PARAMETER_TITLES.get(name, name) for name in landscape.names)
    value = landscape.value
    ceiling = np.quantile(value[np.isfinite(value)], COLOUR_MAX_QUANTILE)
    shown = np.where(np.isfinite(value), np.minimum(value, ceiling), ceiling)
    contour = {
        "type": "contour",
        "x": to_json_numbers(landscape.x),
        "y": to_json_numbers(landscape.y),
        "z": to_json_numbers(shown),
        "text": [[f"{v:.5g}" for v in row] for row in value],
        "colorscale": SURFACE_COLOURS,
        "ncontours": 24,
        "line": {"width": 0.4, "color": "rgba(255,255,255,0.5)"},
        "colorbar": {"title": {"text": unit}, "thickness": 12, "outlinewidth": 0},
        "hovertemplate": f"{x} %{{x:.3g}}<br>{y} %{{y:.3g}}<br>criterion %{{text}}<extra></extra>",
        "name": "criterion",
        "showlegend": False,
    }
    return figure(
        [contour, _descents(outcome), _evaluations(outcome, x, y), _choice(outcome.best, x, y)],
        xaxis=log_axis(x, range=_log_range(landscape.x)),
        yaxis=log_axis(y, range=_log_range(landscape.y)),
        height=460,
    )


def _log_range(values: Vector) -> list[float]:
    """Return both ends as powers of ten, as plotly wants them, so that the axes end where the grid ends."""
    return to_json_numbers(np.log10([values.min(), values.max()]))


def _descents(outcome: Outcome) -> dict[str, Any]:
    """Return one line for all descents, with a gap between one and the next."""
    gap = np.full((1, 2), np.nan)
    path = np.concatenate([gap, *(np.concatenate([np.exp(path), gap]) for path in descents(outcome.trace))])
    return {
        "type": "scatter",
        "mode": "lines",
        "x": to_json_numbers(path[:, 0]),
        "y": to_json_numbers(path[:, 1]),
        "line": {"color": "rgba(224,119,47,0.7)", "width": 1},
        "showlegend": False,
        "hoverinfo": "skip",
    }


def _evaluations(outcome: Outcome, x: str, y: str) -> dict[str, Any]:
    steps = [step for step in outcome.trace if np.isfinite(step.value)]
    theta = np.exp([step.theta for step in steps])
    return {
        "type": "scatter",
        "mode": "markers",
        "x": to_json_numbers(theta[:, 0]),
        "y": to_json_numbers(theta[:, 1]),
        "customdata": [[i + 1, f"{s.value:.6g}", s.why] for i, s in enumerate(steps)],
        "marker": {"color": ORANGE, "size": 7, "line": {"color": "white", "width": 1}},
        "name": "evaluations",
        "hovertemplate": f"evaluation %{{customdata[0]}} (%{{customdata[2]}})<br>{x} %{{x:.4g}}<br>{y} %{{y:.4g}}"
        "<br>criterion %{customdata[1]}<extra></extra>",
    }


def _choice(best: Step, x: str, y: str) -> dict[str, Any]:
    return {
        "type": "scatter",
        "mode": "markers",
        "x": to_json_numbers(np.exp(best.theta[:1])),
        "y": to_json_numbers(np.exp(best.theta[1:2])),
        "marker": {"symbol": "star", "size": 17, "color": "#ffd34d", "line": {"color": "#333", "width": 1}},
        "name": "choice",
        "hovertemplate": f"choice<br>{x} %{{x:.4g}}<br>{y} %{{y:.4g}}<extra></extra>",
    }


def trace(steps: Sequence[Step], names: Sequence[str], n_final: int, unit: str) -> Figure:
    """Return the criterion at every evaluation; the last ``n_final`` used the final approximation of the matrix."""
    values = np.array([step.value for step in steps])
    numbers = list(range(1, len(values) + 1))
    dots = {
        "type": "scatter",
        "mode": "markers",
        "x": numbers,
        "y": to_json_numbers(values),
        "customdata": [[step.why, f"{1000 * step.seconds:.1f}", _theta(step, names)] for step in steps],
        "marker": {"color": BLUE, "size": 7},
        "name": "evaluation",
        "hovertemplate": "evaluation %{x} (%{customdata[0]}), %{customdata[1]} ms<br>criterion %{y:.6g}"
        "<br>%{customdata[2]}<extra></extra>",
    }
    best = {
        "type": "scatter",
        "mode": "lines",
        "x": numbers,
        "y": to_json_numbers(_best_so_far(values, n_final)),
        "line": {"color": ORANGE, "width": 2, "shape": "hv"},
        "name": "best so far",
        "hoverinfo": "skip",
    }
    return figure(
        [best, dots],
        xaxis=axis("evaluation"),
        yaxis=_value_axis(values, f"criterion ({unit})"),
        height=320,
        shapes=[_vertical_line(len(values) - n_final + 0.5)] if n_final < len(values) else [],
    )


def _best_so_far(values: Vector, n_final: int) -> Vector:
    """Return the least value up to each evaluation, starting again where the approximation was refined."""
    parts = np.split(values, [len(values) - n_final])
    return np.concatenate([np.minimum.accumulate(part) for part in parts])


def _vertical_line(x: float) -> dict[str, Any]:
    """Return a dotted line from bottom to top."""
    line = {"color": GREY, "dash": "dot", "width": 1}
    return {"type": "line", "x0": x, "x1": x, "y0": 0, "y1": 1, "yref": "paper", "line": line}


def _value_axis(values: Vector, label: str) -> dict[str, Any]:
    finite = values[np.isfinite(values)]
    if finite.min() > 0 and finite.max() > LOG_AXIS_MIN_RATIO * finite.min():
        return axis(label, type="log", exponentformat="power", dtick="D2")
    return axis(label)


def _theta(step: Step, names: Sequence[str]) -> str:
    if len(names) > HOVER_MAX_PARAMETERS:
        return f"{len(names)} parameters"
    return ", ".join(f"{PARAMETER_TITLES.get(n, n)} {v:.4g}" for n, v in zip(names, np.exp(step.theta)))


def relevance(lengths: Vector, names: Sequence[str]) -> Figure:
    """Return bars of one over the length scale, longest on top."""
    order = np.argsort(lengths)[:RELEVANCE_MAX_BARS][::-1]
    bars = {
        "type": "bar",
        "orientation": "h",
        "x": to_json_numbers(1 / lengths[order]),
        "y": list(range(len(order))),
        "customdata": [[escape_for_plotly(names[i]), f"{lengths[i]:.3g}"] for i in order],
        "marker": {"color": BLUE},
        "name": "relevance",
        "hovertemplate": "%{customdata[0]}<br>length scale %{customdata[1]}<extra></extra>",
    }
    return figure(
        [bars],
        xaxis=axis("1 / length scale"),
        yaxis=named_axis("", [names[i] for i in order]),
        height=120 + 22 * len(order),
    )


def comparison(compared: Comparison, error_name: str) -> Figure:
    """Return the mean held-out error of each criterion with its standard deviation, best on top."""
    lines = [line for line in compared.sorted_lines() if np.isfinite(line["error"])][::-1]
    unit, form = (100.0, ".1f") if error_name == "error" else (1.0, ".4g")
    errors = unit * np.array([line["error"] for line in lines])
    deviations = unit * np.nan_to_num([line["sd"] for line in lines])
    far = errors > COMPARISON_MAX_RATIO * np.median(errors)
    shown = np.where(far, 1.05 * (errors + deviations)[~far].max(), errors)
    dots = {
        "type": "scatter",
        "mode": "markers",
        "x": to_json_numbers(shown),
        "y": list(range(len(lines))),
        "error_x": {"type": "data", "array": to_json_numbers(np.where(far, 0, deviations)), "width": 3},
        "customdata": [
            [
                escape_for_plotly(line["title"], TITLE_MAX_CHARACTERS),
                format(error, form),
                f"{line['seconds']:.2f}",
            ]
            for line, error in zip(lines, errors)
        ],
        "marker": {"color": BLUE, "size": 8, "symbol": ["triangle-right" if f else "circle" for f in far]},
        "name": "held out",
        "hovertemplate": "%{customdata[0]}<br>%{customdata[1]}<br>%{customdata[2]} s<extra></extra>",
    }
    return figure(
        [dots],
        xaxis=axis(f"held-out {error_name}" + " (%)" * (error_name == "error")),
        yaxis=named_axis("", [line["criterion"] for line in lines]),
        height=120 + 22 * len(lines),
    )
