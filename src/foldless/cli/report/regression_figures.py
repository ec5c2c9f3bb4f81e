"""Figures of a regression on rows the model has not seen."""

import numpy as np
from numpy.typing import NDArray

from foldless.cli.numbers import number
from foldless.cli.report.chart import Chart, Dots, axis, axis_from_zero, columns, diagonal
from foldless.cli.report.scores import Unseen
from foldless.core.contracts import Matrix

SCATTER_MAX_POINTS = 1000


def predicted(unseen: Unseen) -> Chart:
    """Return actual values against predictions, with the diagonal."""
    rows = _sample(len(unseen.y))
    x, y = np.asarray(unseen.predicted)[rows], unseen.y[rows]
    ends = float(min(x.min(), y.min())), float(max(x.max(), y.max()))
    tips = [f"predicted {number(float(a))}, actual {number(float(b))}" for a, b in zip(x, y)]
    dots = Dots(x, y, tips, name="a row", opacity=0.6)
    return Chart((diagonal(*ends, "equal"), dots), axis("predicted", x, ends), axis("actual", y, ends), 380)


def residuals(unseen: Unseen) -> Chart:
    """Return a histogram of actual minus predicted."""
    r = unseen.y - np.asarray(unseen.predicted)
    counts, edges = np.histogram(r, bins=min(40, max(8, int(np.sqrt(len(r))))))
    tips = [f"about {number(float(c))}: {n} rows" for c, n in zip((edges[1:] + edges[:-1]) / 2, counts)]
    bars = columns(edges, counts, tips)
    return Chart(
        (bars,), axis("actual minus predicted", edges), axis_from_zero("rows", counts, whole=True), 300
    )


def intervals(y: NDArray[np.float64], predicted: NDArray[np.float64], ends: Matrix) -> Chart:
    """Return intervals of rows in the order of their predictions, with the actual values as dots."""
    order = np.argsort(predicted, kind="stable")
    places = np.arange(len(order))
    low, high, y = ends[order, 0], ends[order, 1], y[order]
    inside = (low <= y) & (y <= high)
    marks = []
    for name, mask, colour in (("inside", inside, "blue"), ("outside", ~inside, "orange")):
        tips = [
            f"{number(float(a))} to {number(float(b))}, actual {number(float(v))}"
            for a, b, v in zip(low[mask], high[mask], y[mask])
        ]
        marks.append(Dots(places[mask], y[mask], tips, colour, 3.5, name, low[mask], high[mask]))
    return Chart(
        tuple(marks),
        axis("rows, in the order of their predictions", places, whole=True),
        axis("target", low, high, y),
        340,
    )


def _sample(n: int) -> NDArray[np.intp]:
    rows = np.arange(n)
    if n <= SCATTER_MAX_POINTS:
        return rows
    return np.random.default_rng(0).choice(rows, SCATTER_MAX_POINTS, replace=False)
