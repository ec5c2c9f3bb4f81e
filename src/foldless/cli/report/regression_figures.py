"""Figures of a regression, from leave-one-out predictions."""

import numpy as np
from numpy.typing import NDArray

from foldless.cli.experiment import Experiment
from foldless.cli.report.plotly_json import BLUE, Figure, axis, diagonal, figure, to_json_numbers

SCATTER_MAX_POINTS = 2000


def predicted(experiment: Experiment) -> Figure:
    """Return actual values against leave-one-out predictions, with the diagonal."""
    rows = _sample(len(experiment.y))
    x, y = np.asarray(experiment.loo_predicted)[rows], experiment.y[rows]
    ends = [float(min(x.min(), y.min())), float(max(x.max(), y.max()))]
    dots = {
        "type": "scatter",
        "mode": "markers",
        "x": to_json_numbers(x),
        "y": to_json_numbers(y),
        "marker": {"color": BLUE, "size": 6, "opacity": 0.6},
        "name": "a row",
        "hovertemplate": "predicted %{x:.4g}<br>actual %{y:.4g}<extra></extra>",
    }
    return figure([diagonal(ends, "equal"), dots], xaxis=axis("predicted"), yaxis=axis("actual"), height=400)


def residuals(experiment: Experiment) -> Figure:
    """Return a histogram of leave-one-out residuals."""
    r = experiment.y - np.asarray(experiment.loo_predicted)
    counts, edges = np.histogram(r, bins=min(40, max(8, int(np.sqrt(len(r))))))
    bars = {
        "type": "bar",
        "x": to_json_numbers((edges[1:] + edges[:-1]) / 2),
        "y": counts.tolist(),
        "marker": {"color": BLUE},
        "name": "rows",
        "hovertemplate": "about %{x:.3g}<br>%{y} rows<extra></extra>",
    }
    return figure([bars], xaxis=axis("actual - predicted"), yaxis=axis("rows"), bargap=0.05, height=300)


def _sample(n: int) -> NDArray[np.intp]:
    rows = np.arange(n)
    if n <= SCATTER_MAX_POINTS:
        return rows
    return np.random.default_rng(0).choice(rows, SCATTER_MAX_POINTS, replace=False)
