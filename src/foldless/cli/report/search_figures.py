"""Figures of the search: the criterion around the choice, the looks in their order, what the choice says of features."""

import numpy as np

from foldless.cli.report.plotly_json import (
    BLUE,
    GREY,
    ORANGE,
    axis,
    figure,
    finite,
    inert,
    log_axis,
    named_axis,
)
from foldless.inspection.criterion_surface import PARAMETER_TITLES, descents

SCALE = [[0.0, "#14315f"], [0.3, "#2f6db5"], [0.6, "#86b5dc"], [1.0, "#e9eef3"]]
MOST_BARS = 40
FAR = 3.0  # times the median error beyond which a criterion is drawn at the edge


def surface(landscape, outcome):
    """Contours of the criterion over the two tuned parameters, with the path of the search."""
    x, y = (PARAMETER_TITLES.get(name, name) for name in landscape.names)
    value = landscape.value
    ceiling = np.quantile(value[np.isfinite(value)], 0.7)
    shown = np.where(np.isfinite(value), np.minimum(value, ceiling), ceiling)
    contour = {
        "type": "contour",
        "x": finite(landscape.x),
        "y": finite(landscape.y),
        "z": finite(shown),
        "text": [[f"{v:.5g}" for v in row] for row in value],
        "colorscale": SCALE,
        "ncontours": 24,
        "line": {"width": 0.4, "color": "rgba(255,255,255,0.5)"},
        "colorbar": {"title": {"text": "criterion"}, "thickness": 12, "outlinewidth": 0},
        "hovertemplate": f"{x} %{{x:.3g}}<br>{y} %{{y:.3g}}<br>criterion %{{text}}<extra></extra>",
        "name": "criterion",
        "showlegend": False,
    }
    return figure(
        [contour, _descent(outcome), _looks(outcome, x, y), _choice(outcome.best, x, y)],
        xaxis=log_axis(x, range=_ends(landscape.x)),
        yaxis=log_axis(y, range=_ends(landscape.y)),
        height=460,
    )


def _ends(values):
    """Both ends in powers of ten, as plotly wants them: nothing is drawn where nothing was computed."""
    return finite(np.log10([values.min(), values.max()]))


def _descent(outcome):
    gap = np.full((1, 2), np.nan)  # between one descent and the next
    path = np.concatenate([gap, *(np.concatenate([np.exp(path), gap]) for path in descents(outcome.trace))])
    return {
        "type": "scatter",
        "mode": "lines",
        "x": finite(path[:, 0]),
        "y": finite(path[:, 1]),
        "line": {"color": "rgba(224,119,47,0.7)", "width": 1},
        "showlegend": False,
        "hoverinfo": "skip",
    }


def _looks(outcome, x, y):
    steps = [step for step in outcome.trace if np.isfinite(step.value)]
    theta = np.exp([step.theta for step in steps])
    return {
        "type": "scatter",
        "mode": "markers",
        "x": finite(theta[:, 0]),
        "y": finite(theta[:, 1]),
        "customdata": [[i + 1, f"{s.value:.6g}", s.why] for i, s in enumerate(steps)],
        "marker": {"color": ORANGE, "size": 7, "line": {"color": "white", "width": 1}},
        "name": "looks of the search",
        "hovertemplate": f"look %{{customdata[0]}} (%{{customdata[2]}})<br>{x} %{{x:.4g}}<br>{y} %{{y:.4g}}"
        "<br>criterion %{customdata[1]}<extra></extra>",
    }


def _choice(best, x, y):
    return {
        "type": "scatter",
        "mode": "markers",
        "x": finite(np.exp(best.theta[:1])),
        "y": finite(np.exp(best.theta[1:2])),
        "marker": {"symbol": "star", "size": 17, "color": "#ffd34d", "line": {"color": "#333", "width": 1}},
        "name": "the choice",
        "hovertemplate": f"the choice<br>{x} %{{x:.4g}}<br>{y} %{{y:.4g}}<extra></extra>",
    }


def trace(steps, names, last):
    """Values of the criterion in the order of the search; the ``last`` so many are on the last representation."""
    values = np.array([step.value for step in steps])
    looks = list(range(1, len(values) + 1))
    dots = {
        "type": "scatter",
        "mode": "markers",
        "x": looks,
        "y": finite(values),
        "customdata": [[step.why, f"{1000 * step.seconds:.1f}", _theta(step, names)] for step in steps],
        "marker": {"color": BLUE, "size": 7},
        "name": "a look",
        "hovertemplate": "look %{x} (%{customdata[0]}), %{customdata[1]} ms<br>criterion %{y:.6g}"
        "<br>%{customdata[2]}<extra></extra>",
    }
    best = {
        "type": "scatter",
        "mode": "lines",
        "x": looks,
        "y": finite(_best_so_far(values, last)),
        "line": {"color": ORANGE, "width": 2, "shape": "hv"},
        "name": "best so far",
        "hoverinfo": "skip",
    }
    return figure(
        [best, dots],
        xaxis=axis("evaluation"),
        yaxis=_value_axis(values),
        height=320,
        shapes=[_boundary(len(values) - last + 0.5)] if last < len(values) else [],
    )


def _best_so_far(values, last):
    """Least value up to each step, begun anew where the representation became finer."""
    first = len(values) - last
    return np.concatenate(
        [np.minimum.accumulate(part) for part in (values[:first], values[first:]) if len(part)]
    )


def _boundary(x):
    """A dotted line from bottom to top."""
    line = {"color": GREY, "dash": "dot", "width": 1}
    return {"type": "line", "x0": x, "x1": x, "y0": 0, "y1": 1, "yref": "paper", "line": line}


def _value_axis(values):
    positive = values[np.isfinite(values)]
    wide = positive.min() > 0 and positive.max() > 20 * positive.min()
    return axis("criterion", type="log", exponentformat="power", dtick="D2") if wide else axis("criterion")


def _theta(step, names):
    if len(names) > 4:
        return f"{len(names)} parameters"
    return ", ".join(f"{PARAMETER_TITLES.get(n, n)} {v:.4g}" for n, v in zip(names, np.exp(step.theta)))


def length_scales(study):
    """Length scale of every feature, or None for kernels that have only one."""
    kernel = study.estimator.kernel_
    for name, value in sorted(kernel.get_params().items()):
        if name.rpartition("__")[2] == "length_scale" and np.size(value) == study.X.shape[1] > 1:
            return np.asarray(value, dtype=float)
    return None


def relevance(lengths, names):
    """Bars of one over the length scale, longest on top."""
    order = np.argsort(lengths)[:MOST_BARS][::-1]
    bars = {
        "type": "bar",
        "orientation": "h",
        "x": finite(1 / lengths[order]),
        "y": list(range(len(order))),
        "customdata": [[inert(names[i]), f"{lengths[i]:.3g}"] for i in order],
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


def comparison(compared, word):
    """Mean held-out error of each criterion, with its spread over the splits; best on top, far ones at the edge."""
    lines = [line for line in compared.lines() if np.isfinite(line["error"])]
    lines.sort(key=lambda line: -line["error"])
    unit, form = (100.0, ".1f") if word == "error" else (1.0, ".4g")
    errors = unit * np.array([line["error"] for line in lines])
    spread = unit * np.nan_to_num([line["sd"] for line in lines])
    far = errors > FAR * np.median(errors)
    shown = np.where(far, 1.05 * (errors + spread)[~far].max(), errors)
    dots = {
        "type": "scatter",
        "mode": "markers",
        "x": finite(shown),
        "y": list(range(len(lines))),
        "error_x": {
            "type": "data",
            "array": finite(np.where(far, 0, spread)),
            "width": 3,
        },
        "customdata": [
            [inert(line["criterion"]), format(error, form), f"{line['seconds']:.2f}"]
            for line, error in zip(lines, errors)
        ],
        "marker": {"color": BLUE, "size": 8, "symbol": ["triangle-right" if f else "circle" for f in far]},
        "name": "held out",
        "hovertemplate": "%{customdata[0]}<br>%{customdata[1]}<br>%{customdata[2]} s<extra></extra>",
    }
    return figure(
        [dots],
        xaxis=axis(f"held-out {word}" + " (%)" * (word == "error")),
        yaxis=named_axis("", [line["criterion"] for line in lines]),
        height=120 + 22 * len(lines),
    )
