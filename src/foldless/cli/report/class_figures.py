"""Figures of a classification, from leave-one-out outputs: margins, calibration, confusion matrix."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import confusion_matrix

from foldless.cli.experiment import Experiment
from foldless.cli.report.plotly_json import (
    BLUE,
    ORANGE,
    PHONE_NAME_MAX_CHARACTERS,
    Figure,
    axis,
    diagonal,
    escape_for_plotly,
    figure,
    named_axis,
    to_json_numbers,
)
from foldless.core.contracts import Vector
from foldless.inspection.margins import loo_margins

COUNT_COLOURS = [[0.0, "rgba(59,125,216,0.05)"], [1.0, "rgba(59,125,216,0.6)"]]
CONFUSION_MAX_CLASSES, CONFUSION_MAX_LABELLED_CLASSES = 30, 12
CALIBRATION_BINS, CALIBRATION_MIN_CASES = 10, 12
MARGIN_BINS = 40


def margins(experiment: Experiment) -> Figure:
    """Return a histogram of leave-one-out margins, with the wrong ones in another colour."""
    margin = loo_margins(np.asarray(experiment.loo_outputs), _class_codes(experiment))
    edges = _margin_edges(margin)
    counts, _ = np.histogram(np.clip(margin, edges[0], edges[-1]), edges)
    centres, width = (edges[1:] + edges[:-1]) / 2, edges[1] - edges[0]
    parts = [("right", centres > 0, BLUE), ("wrong", centres <= 0, ORANGE)]
    bars = [
        {
            "type": "bar",
            "x": to_json_numbers(centres[mask]),
            "y": counts[mask].tolist(),
            "width": float(width),
            "marker": {"color": colour},
            "name": name,
            "hovertemplate": "margin about %{x:.3g}<br>%{y} rows<extra></extra>",
        }
        for name, mask, colour in parts
    ]
    return figure(bars, xaxis=axis("leave-one-out margin"), yaxis=axis("rows"), bargap=0.05, height=320)


def _margin_edges(margin: Vector) -> Vector:
    """Return bin edges, one of them zero, with at least one bin for negative margins if there are any."""
    low, high = np.quantile(margin, [0.005, 0.995])
    below_zero = -(high - low) / MARGIN_BINS if np.any(margin <= 0) else -1e-9
    edges = np.linspace(min(low, below_zero), max(high, 1e-9), MARGIN_BINS + 1)
    return edges - edges[np.argmin(np.abs(edges))]


def _class_codes(experiment: Experiment) -> NDArray[np.intp]:
    return np.searchsorted(experiment.estimator.classes_, experiment.y)


def calibration(experiment: Experiment) -> Figure:
    """Return observed frequencies against predicted probabilities, with Wilson intervals."""
    p, codes = np.asarray(experiment.loo_probabilities), _class_codes(experiment)
    if p.shape[1] == 2:
        given, came_true = p[:, 1], codes == 1
        label = f"probability of {escape_for_plotly(experiment.estimator.classes_[1])}"
    else:
        given, came_true = p.ravel(), (codes[:, None] == np.arange(p.shape[1])).ravel()
        label = "probability of a class"
    return figure(
        [diagonal([0, 1], "calibrated"), _frequencies(given, came_true)],
        xaxis=axis(label, range=[-0.03, 1.03]),
        yaxis=axis("observed frequency", range=[-0.03, 1.03]),
        height=380,
    )


def _frequencies(given: Vector, came_true: NDArray[np.bool_]) -> dict[str, Any]:
    """Return one dot per group of similar probabilities: their mean, and how often they came true."""
    groups = _groups(given)
    members = [groups == g for g in np.unique(groups)]
    n = np.array([mask.sum() for mask in members])
    frequency = np.array([came_true[mask].mean() for mask in members])
    low, high = _wilson(frequency, n)
    return {
        "type": "scatter",
        "mode": "markers",
        "x": to_json_numbers([given[mask].mean() for mask in members]),
        "y": to_json_numbers(frequency),
        "error_y": {
            "type": "data",
            "array": to_json_numbers(high - frequency),
            "arrayminus": to_json_numbers(frequency - low),
            "thickness": 1.2,
            "width": 3,
        },
        "customdata": [[int(k)] for k in n],
        "marker": {"color": BLUE, "size": 8},
        "name": "observed",
        "hovertemplate": "probability %{x:.3f}<br>observed %{y:.3f}<br>%{customdata[0]} cases<extra></extra>",
    }


def _groups(given: Vector) -> NDArray[np.intp]:
    """Return the group of each probability: ten bins of equal width, merged until each holds enough cases."""
    bins = np.minimum((given * CALIBRATION_BINS).astype(int), CALIBRATION_BINS - 1)
    sizes, group, filled = np.bincount(bins, minlength=CALIBRATION_BINS), 0, 0
    group_of = np.zeros(CALIBRATION_BINS, dtype=int)
    for b in range(CALIBRATION_BINS):
        group_of[b] = group
        filled += sizes[b]
        if filled >= CALIBRATION_MIN_CASES and sizes[b + 1 :].sum() >= CALIBRATION_MIN_CASES:
            group, filled = group + 1, 0
    return group_of[bins]


def _wilson(frequency: Vector, n: NDArray[np.intp], z: float = 1.96) -> tuple[Vector, Vector]:
    """Return Wilson's interval of a binomial frequency, which stays inside [0, 1]."""
    centre = (frequency + z**2 / (2 * n)) / (1 + z**2 / n)
    half = z / (1 + z**2 / n) * np.sqrt(frequency * (1 - frequency) / n + z**2 / (4 * n**2))
    return np.minimum(centre - half, frequency), np.maximum(centre + half, frequency)


def most_frequent_classes(experiment: Experiment) -> NDArray[Any]:
    """Return the names of the classes to show: all, or the most frequent ones of very many."""
    names, sizes = np.unique(experiment.y, return_counts=True)
    return names[np.sort(np.argsort(-sizes, kind="stable")[:CONFUSION_MAX_CLASSES])]


def confusion(experiment: Experiment) -> Figure:
    """Return the confusion matrix: numbers of rows by true and by predicted class."""
    names = most_frequent_classes(experiment)
    counts = confusion_matrix(experiment.y, experiment.loo_predicted, labels=names)
    ticks = list(range(len(names)))
    labels = [escape_for_plotly(name) for name in names]
    heat = {
        "type": "heatmap",
        "x": ticks,
        "y": ticks,
        "z": counts.tolist(),
        "text": [[str(c) for c in row] for row in counts],
        "texttemplate": "%{text}" if len(names) <= CONFUSION_MAX_LABELLED_CLASSES else "",
        "customdata": [[[labels[i], labels[j]] for j in ticks] for i in ticks],
        "colorscale": COUNT_COLOURS,
        "showscale": False,
        "xgap": 2,
        "ygap": 2,
        "hovertemplate": "true %{customdata[0]}<br>predicted %{customdata[1]}<br>%{z} rows<extra></extra>",
    }
    return figure(
        [heat],
        xaxis=named_axis("predicted class (row left out)", names, showgrid=False),
        yaxis=named_axis("true class", names, autorange="reversed", showgrid=False),
        height=260 + 22 * min(len(names), 20),
    )


def calibration_on_a_phone() -> dict[str, Any]:
    """Return the layout that differs on a narrow screen: a shorter title."""
    return {"xaxis": {"title": {"text": "probability"}}}


def confusion_on_a_phone(experiment: Experiment) -> dict[str, Any]:
    """Return the layout that differs on a narrow screen: shorter names and a shorter title."""
    short = [escape_for_plotly(name, PHONE_NAME_MAX_CHARACTERS) for name in most_frequent_classes(experiment)]
    return {"xaxis": {"ticktext": short, "title": {"text": "predicted"}}, "yaxis": {"ticktext": short}}
