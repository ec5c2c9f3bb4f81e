"""Figures of a classification, from leave-one-out outputs: margins, reliability, confusion."""

import numpy as np
from sklearn.metrics import confusion_matrix

from foldless.cli.report.plotly_json import (
    BLUE,
    ORANGE,
    SHORT,
    axis,
    diagonal,
    figure,
    finite,
    inert,
    named_axis,
)

COUNTS = [[0.0, "rgba(59,125,216,0.05)"], [1.0, "rgba(59,125,216,0.6)"]]
MOST_CLASSES = 30
BINS, FULL = 10, 12  # groups of a reliability diagram, and the cases each should have


def margins(study):
    """Leave-one-out margins in bins, wrong ones in another colour."""
    outputs, codes = study.loo_outputs, np.searchsorted(study.estimator.classes_, study.y)
    margin = _margins(outputs, codes)
    low, high = np.quantile(margin, [0.005, 0.995])
    room = -(high - low) / 40 if np.any(margin <= 0) else -1e-9  # a bar for the wrong ones, however few
    edges = np.linspace(min(low, room), max(high, 1e-9), 41)
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
        [diagonal([0, 1], "as they say"), dots],
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


def commonest(study):
    """Names of the classes to show: all, without the rarest if there are very many."""
    names, sizes = np.unique(study.y, return_counts=True)
    return names[np.sort(np.argsort(-sizes, kind="stable")[:MOST_CLASSES])]


def confusion(study):
    """Counts of rows by true and given class."""
    names = commonest(study)
    counts = confusion_matrix(study.y, study.loo_predicted, labels=names)
    ticks = list(range(len(names)))
    labels = [inert(name) for name in names]
    heat = {
        "type": "heatmap",
        "x": ticks,
        "y": ticks,
        "z": counts.tolist(),
        "text": [[str(c) for c in row] for row in counts],
        "texttemplate": "%{text}" if len(names) <= 12 else "",
        "customdata": [[[labels[i], labels[j]] for j in ticks] for i in ticks],
        "colorscale": COUNTS,
        "showscale": False,
        "xgap": 2,
        "ygap": 2,
        "hovertemplate": "is %{customdata[0]}<br>called %{customdata[1]}<br>%{z} rows<extra></extra>",
    }
    return figure(
        [heat],
        xaxis=named_axis("class given when left out", names, showgrid=False),
        yaxis=named_axis("true class", names, autorange="reversed", showgrid=False),
        height=260 + 22 * min(len(names), 20),
    )


def reliability_on_a_phone(study):
    """What of the layout differs on a narrow screen: a shorter title."""
    return {"xaxis": {"title": {"text": "probability given"}}}


def confusion_on_a_phone(study):
    """What of the layout differs on a narrow screen: shorter names, a shorter title."""
    short = [inert(name, SHORT) for name in commonest(study)]
    return {"xaxis": {"ticktext": short, "title": {"text": "given"}}, "yaxis": {"ticktext": short}}
