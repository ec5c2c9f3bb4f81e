"""Figures of a regression, from leave-one-out predictions."""

import numpy as np

from foldless.cli.report.plotly_json import BLUE, axis, diagonal, figure, finite

MOST_POINTS = 2000


def predicted(study):
    """Actual against predicted values, with the diagonal."""
    rows = _sample(len(study.y))
    x, y = study.loo_predicted[rows], study.y[rows]
    ends = [float(min(x.min(), y.min())), float(max(x.max(), y.max()))]
    dots = {
        "type": "scatter",
        "mode": "markers",
        "x": finite(x),
        "y": finite(y),
        "marker": {"color": BLUE, "size": 6, "opacity": 0.6},
        "name": "a row",
        "hovertemplate": "predicted %{x:.4g}<br>actual %{y:.4g}<extra></extra>",
    }
    return figure([diagonal(ends, "equal"), dots], xaxis=axis("predicted"), yaxis=axis("actual"), height=400)


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


def _sample(n):
    rows = np.arange(n)
    return rows if n <= MOST_POINTS else np.random.default_rng(0).choice(rows, MOST_POINTS, replace=False)
