"""Figures as plain data for plotly.js. Texts from the user's file pass through :func:`inert`, always.

Plotly reads a small HTML in every text (``<b>``, ``<a href>``) and a template language in hover texts. Names from a
file are therefore escaped, never part of a template, and stand on numbered axes, where they cannot be taken for
dates or merged.
"""

import html

import numpy as np
from sklearn.metrics import confusion_matrix

BLUE, ORANGE, GREY = "#3b7dd8", "#e0772f", "#8a94a3"
SCALE = [[0.0, "#14315f"], [0.3, "#2f6db5"], [0.6, "#86b5dc"], [1.0, "#e9eef3"]]
COUNTS = [[0.0, "rgba(59,125,216,0.05)"], [1.0, "rgba(59,125,216,0.6)"]]
LONGEST = 22  # characters of a name in a figure
MOST_BARS, MOST_CLASSES, MOST_POINTS = 40, 30, 2000
BINS, FULL = 10, 12  # groups of a reliability diagram, and the cases each should have
WORDS = {"length_scale": "width"}


def inert(name):
    """A text that plotly shows letter by letter."""
    text = "".join(c if c.isprintable() else "�" for c in str(name))
    text = text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"
    return html.escape(text, quote=False).replace("$", "&#36;")


def finite(values):
    """Numbers for JSON: three-digit accuracy is not enough to redraw, six is; no number where there is none."""
    values = np.asarray(values, dtype=float)
    if values.ndim == 2:
        return [finite(row) for row in values]
    return [float(f"{value:.6g}") if np.isfinite(value) else None for value in values]


def axis(title, **options):
    """An axis with a title and room for its numbers."""
    return {"title": {"text": title, "standoff": 10}, "automargin": True, "zeroline": False, **options}


def log_axis(title):
    """A logarithmic axis labelled by powers of ten."""
    return axis(title, type="log", exponentformat="power", dtick=1, minor={"showgrid": False})


def figure(data, **layout):
    """Data and layout; colours of text and lines are the page's."""
    return {
        "data": data,
        "layout": {
            "showlegend": len(data) > 1,
            "legend": {"orientation": "h", "x": 0, "y": 1.02, "yanchor": "bottom"},
            **layout,
        },
    }


def surface(landscape, outcome):
    """Contours of the criterion over the two tuned parameters, with the path of the search."""
    x, y = (WORDS.get(name, name) for name in landscape.names)
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
        xaxis=log_axis(x),
        yaxis=log_axis(y),
        height=460,
    )


def _descent(outcome):
    steps = [step for step in outcome.trace if step.why != "start" and np.isfinite(step.value)]
    return {
        "type": "scatter",
        "mode": "lines",
        "x": finite(np.exp([step.theta[0] for step in steps])),
        "y": finite(np.exp([step.theta[1] for step in steps])),
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


def trace(steps, names):
    """Values of the criterion in the order of the search."""
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
        "y": finite(np.minimum.accumulate(values)),
        "line": {"color": ORANGE, "width": 2, "shape": "hv"},
        "name": "best so far",
        "hoverinfo": "skip",
    }
    return figure([best, dots], xaxis=axis("evaluation"), yaxis=_value_axis(values), height=320)


def _value_axis(values):
    positive = values[np.isfinite(values)]
    wide = positive.min() > 0 and positive.max() > 20 * positive.min()
    return axis("criterion", type="log", exponentformat="power", dtick="D2") if wide else axis("criterion")


def _theta(step, names):
    if len(names) > 4:
        return f"{len(names)} parameters"
    return ", ".join(f"{WORDS.get(n, n)} {v:.4g}" for n, v in zip(names, np.exp(step.theta)))


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
    ticks = {"tickvals": list(range(len(order))), "ticktext": [inert(names[i]) for i in order]}
    return figure(
        [bars], xaxis=axis("1 / length scale"), yaxis=axis("", **ticks), height=120 + 22 * len(order)
    )


def margins(study):
    """Leave-one-out margins in bins, wrong ones in another colour."""
    outputs, codes = study.loo_outputs, np.searchsorted(study.estimator.classes_, study.y)
    margin = _margins(outputs, codes)
    low, high = np.quantile(margin, [0.005, 0.995])
    edges = np.linspace(min(low, -1e-9), max(high, 1e-9), 41)
    edges -= edges[np.argmin(np.abs(edges))]  # one edge at zero
    counts, _ = np.histogram(np.clip(margin, edges[0], edges[-1]), edges)
    centres, width = (edges[1:] + edges[:-1]) / 2, edges[1] - edges[0]
    parts = [("right", centres > 0, BLUE), ("wrong", centres <= 0, ORANGE)]
    bars = [
        {
            "type": "bar",
            "x": finite(centres[mask]),
            "y": counts[mask].tolist(),
            "width": float(width),
            "marker": {"color": colour},
            "name": name,
            "hovertemplate": "margin about %{x:.3g}<br>%{y} rows<extra></extra>",
        }
        for name, mask, colour in parts
    ]
    return figure(bars, xaxis=axis("leave-one-out margin"), yaxis=axis("rows"), bargap=0.05, height=320)


def _margins(outputs, codes):
    """Signed outputs of two classes; of more, the own output minus the best other one."""
    if outputs.shape[1] == 1:
        return np.where(codes == 1, 1.0, -1.0) * outputs[:, 0]
    rows = np.arange(len(codes))
    others = outputs.copy()
    others[rows, codes] = -np.inf
    return outputs[rows, codes] - others.max(axis=1)


def reliability(study):
    """Observed shares against given probabilities, with Wilson intervals."""
    p, codes = study.loo_probabilities, np.searchsorted(study.estimator.classes_, study.y)
    if p.shape[1] == 2:
        given, came = p[:, 1], codes == 1
        label = f"probability of {inert(study.estimator.classes_[1])}"
    else:
        given, came = p.ravel(), (codes[:, None] == np.arange(p.shape[1])).ravel()
        label = "probability of a class"
    groups = _groups(given)
    filled = np.unique(groups)
    x = np.array([given[groups == g].mean() for g in filled])
    n = np.array([(groups == g).sum() for g in filled])
    share = np.array([came[groups == g].mean() for g in filled])
    low, high = _wilson(share, n)
    diagonal = {
        "type": "scatter",
        "mode": "lines",
        "x": [0, 1],
        "y": [0, 1],
        "line": {"color": GREY, "dash": "dash", "width": 1},
        "name": "as they say",
        "hoverinfo": "skip",
    }
    dots = {
        "type": "scatter",
        "mode": "markers",
        "x": finite(x),
        "y": finite(share),
        "error_y": {
            "type": "data",
            "array": finite(high - share),
            "arrayminus": finite(share - low),
            "thickness": 1.2,
            "width": 3,
        },
        "customdata": [[int(k)] for k in n],
        "marker": {"color": BLUE, "size": 8},
        "name": "observed",
        "hovertemplate": "given %{x:.3f}<br>came true %{y:.3f}<br>%{customdata[0]} cases<extra></extra>",
    }
    return figure(
        [diagonal, dots],
        xaxis=axis(label, range=[-0.03, 1.03]),
        yaxis=axis("share that came true", range=[-0.03, 1.03]),
        height=380,
    )


def _groups(given):
    """Number of the group of each probability: ten of equal width, joined with the next until they are full enough."""
    bins = np.minimum((given * BINS).astype(int), BINS - 1)
    sizes, group, filled = np.bincount(bins, minlength=BINS), 0, 0
    group_of = np.zeros(BINS, dtype=int)
    for b in range(BINS):
        group_of[b] = group
        filled += sizes[b]
        if filled >= FULL and sizes[b + 1 :].sum() >= FULL:
            group, filled = group + 1, 0
    return group_of[bins]


def _wilson(share, n, z=1.96):
    """Interval of a binomial share that stays inside [0, 1]."""
    centre = (share + z**2 / (2 * n)) / (1 + z**2 / n)
    half = z / (1 + z**2 / n) * np.sqrt(share * (1 - share) / n + z**2 / (4 * n**2))
    return np.minimum(centre - half, share), np.maximum(centre + half, share)


def confusion(study):
    """Counts of rows by true and given class; the rarest classes are left out if there are very many."""
    names, sizes = np.unique(study.y, return_counts=True)
    kept = np.sort(np.argsort(-sizes, kind="stable")[:MOST_CLASSES])
    counts = confusion_matrix(study.y, study.loo_predicted, labels=names[kept])
    ticks = list(range(len(kept)))
    labels = [inert(name) for name in names[kept]]
    heat = {
        "type": "heatmap",
        "x": ticks,
        "y": ticks,
        "z": counts.tolist(),
        "text": [[str(c) for c in row] for row in counts],
        "texttemplate": "%{text}" if len(kept) <= 12 else "",
        "customdata": [[[labels[i], labels[j]] for j in ticks] for i in ticks],
        "colorscale": COUNTS,
        "showscale": False,
        "xgap": 2,
        "ygap": 2,
        "hovertemplate": "is %{customdata[0]}<br>called %{customdata[1]}<br>%{z} rows<extra></extra>",
    }
    named = {"tickvals": ticks, "ticktext": labels, "showgrid": False}
    return figure(
        [heat],
        xaxis=axis("class given when left out", **named),
        yaxis=axis("true class", autorange="reversed", **named),
        height=260 + 22 * min(len(kept), 20),
    )


def predicted(study):
    """Actual against predicted values, with the diagonal."""
    rows = _sample(len(study.y))
    x, y = study.loo_predicted[rows], study.y[rows]
    ends = [float(min(x.min(), y.min())), float(max(x.max(), y.max()))]
    diagonal = {
        "type": "scatter",
        "mode": "lines",
        "x": ends,
        "y": ends,
        "line": {"color": GREY, "dash": "dash", "width": 1},
        "name": "equal",
        "hoverinfo": "skip",
    }
    dots = {
        "type": "scatter",
        "mode": "markers",
        "x": finite(x),
        "y": finite(y),
        "marker": {"color": BLUE, "size": 6, "opacity": 0.6},
        "name": "a row",
        "hovertemplate": "predicted %{x:.4g}<br>actual %{y:.4g}<extra></extra>",
    }
    return figure([diagonal, dots], xaxis=axis("predicted"), yaxis=axis("actual"), height=400)


def residuals(study):
    """Leave-one-out residuals in bins."""
    r = study.y - study.loo_predicted
    counts, edges = np.histogram(r, bins=min(40, max(8, int(np.sqrt(len(r))))))
    bars = {
        "type": "bar",
        "x": finite((edges[1:] + edges[:-1]) / 2),
        "y": counts.tolist(),
        "marker": {"color": BLUE},
        "name": "rows",
        "hovertemplate": "about %{x:.3g}<br>%{y} rows<extra></extra>",
    }
    return figure([bars], xaxis=axis("actual - predicted"), yaxis=axis("rows"), bargap=0.05, height=300)


def comparison(compared, word):
    """Mean held-out error of each criterion, with its spread over the splits; best on top."""
    lines = [line for line in compared.lines() if np.isfinite(line["error"])]
    lines.sort(key=lambda line: -line["error"])
    dots = {
        "type": "scatter",
        "mode": "markers",
        "x": finite([line["error"] for line in lines]),
        "y": list(range(len(lines))),
        "error_x": {
            "type": "data",
            "array": finite(np.nan_to_num([line["sd"] for line in lines])),
            "width": 3,
        },
        "customdata": [[inert(line["criterion"]), f"{line['seconds']:.2f}"] for line in lines],
        "marker": {"color": BLUE, "size": 8},
        "name": "held out",
        "hovertemplate": "%{customdata[0]}<br>%{x:.4g}<br>%{customdata[1]} s<extra></extra>",
    }
    ticks = {"tickvals": list(range(len(lines))), "ticktext": [inert(line["criterion"]) for line in lines]}
    return figure(
        [dots], xaxis=axis(f"held-out {word}"), yaxis=axis("", **ticks), height=120 + 22 * len(lines)
    )


def _sample(n):
    rows = np.arange(n)
    return rows if n <= MOST_POINTS else np.random.default_rng(0).choice(rows, MOST_POINTS, replace=False)
