"""Figures of a classification on rows the model has not seen: margins, calibration, confusion matrix, ROC, precision and recall."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import confusion_matrix, precision_recall_curve, roc_curve

from foldless.cli.experiment import Experiment
from foldless.cli.numbers import number, percent
from foldless.cli.report.chart import (
    Axis,
    Boxes,
    Chart,
    Dots,
    Line,
    axis,
    axis_from_zero,
    columns,
    diagonal,
    named_axis,
    shortened,
)
from foldless.cli.report.scores import Unseen, wilson
from foldless.core.contracts import Vector
from foldless.inspection.margins import loo_margins

CONFUSION_MAX_CLASSES, CONFUSION_MAX_LABELLED_CLASSES = 30, 12
CALIBRATION_BINS, CALIBRATION_MIN_CASES = 10, 12
MARGIN_BINS = 40
CURVE_MAX_POINTS, CURVE_MAX_CLASSES = 150, 4
CURVE_COLOURS = ("blue", "orange", "green", "purple")


def margins(experiment: Experiment) -> Chart:
    """Return a histogram of leave-one-out margins, with the wrong ones in another colour."""
    codes = np.searchsorted(experiment.estimator.classes_, experiment.y)
    margin = loo_margins(np.asarray(experiment.loo_outputs), codes)
    edges = _margin_edges(margin)
    counts, _ = np.histogram(np.clip(margin, edges[0], edges[-1]), edges)
    middle = int(np.argmin(np.abs(edges)))
    parts = [("right", slice(middle, None), "blue"), ("wrong", slice(None, middle), "orange")]
    marks = tuple(
        columns(
            edges[part.start : None if part.stop is None else part.stop + 1],
            counts[part],
            [
                f"margin about {number(float(c))}: {n} rows"
                for c, n in zip((edges[1:] + edges[:-1])[part] / 2, counts[part])
            ],
            colour,
            name,
        )
        for name, part, colour in parts
    )
    return Chart(marks, axis("leave-one-out margin", edges), axis_from_zero("rows", counts, whole=True), 300)


def _margin_edges(margin: Vector) -> Vector:
    """Return bin edges, one of them zero, with at least one bin for negative margins if there are any."""
    low, high = np.quantile(margin, [0.005, 0.995])
    below_zero = -(high - low) / MARGIN_BINS if np.any(margin <= 0) else -1e-9
    edges = np.linspace(min(low, below_zero), max(high, 1e-9), MARGIN_BINS + 1)
    return edges - edges[np.argmin(np.abs(edges))]


def calibration(unseen: Unseen) -> Chart:
    """Return observed frequencies against predicted probabilities, with Wilson intervals."""
    p, codes, classes = np.asarray(unseen.probabilities), unseen.codes, np.asarray(unseen.classes)
    if p.shape[1] == 2:
        given, came_true = p[:, 1], codes == 1
        label = f"probability of “{shortened(classes[1])}”"
    else:
        given, came_true = p.ravel(), (codes[:, None] == np.arange(p.shape[1])).ravel()
        label = "probability of a class"
    ends = [-0.02, 1.02]
    return Chart(
        (diagonal(0, 1, "calibrated"), _frequencies(given, came_true)),
        Axis(label, ends[0], ends[1], percent=True),
        Axis("observed frequency", ends[0], ends[1], percent=True),
        360,
    )


def _frequencies(given: Vector, came_true: NDArray[np.bool_]) -> Dots:
    """Return one dot per group of similar probabilities: their mean, and how often they came true."""
    groups = _groups(given)
    members = [groups == g for g in np.unique(groups)]
    n = np.array([mask.sum() for mask in members])
    frequency = np.array([came_true[mask].mean() for mask in members])
    mean = np.array([given[mask].mean() for mask in members])
    low, high = wilson(frequency, n)
    tips = [
        f"probability {percent(p)}, observed {percent(f)}, {k} cases" for p, f, k in zip(mean, frequency, n)
    ]
    return Dots(mean, frequency, tips, name="observed", low=low, high=high, radius=4)


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


def most_frequent_classes(unseen: Unseen, limit: int = CONFUSION_MAX_CLASSES) -> NDArray[Any]:
    """Return the names of the classes to show, in their order: all, or the most frequent ones of very many."""
    sizes = np.bincount(unseen.codes, minlength=len(np.asarray(unseen.classes)))
    return np.asarray(unseen.classes)[np.sort(np.argsort(-sizes, kind="stable")[:limit])]


def confusion(unseen: Unseen) -> Chart:
    """Return the confusion matrix: numbers of rows by true and by predicted class, the first class on top."""
    names = most_frequent_classes(unseen)
    counts = confusion_matrix(unseen.y, unseen.predicted, labels=names)[::-1]
    k = len(names)
    row, column = np.repeat(np.arange(k), k), np.tile(np.arange(k), k)
    true, answer = names[::-1][row], names[column]
    n = counts.ravel()
    tips = [f"true {printed(t)}, predicted {printed(a)}: {c} rows" for t, a, c in zip(true, answer, n)]
    cells = Boxes(
        column - 0.47, column + 0.47, row - 0.47, row + 0.47, tips,
        opacity=0.06 + 0.6 * n / max(1, n.max()),
        texts=[str(c) for c in n] if k <= CONFUSION_MAX_LABELLED_CLASSES else (),
    )  # fmt: skip
    return Chart(
        (cells,),
        named_axis("predicted class", names),
        named_axis("true class", names[::-1]),
        200 + 30 * min(k, 14),
    )


def printed(label: object) -> str:
    """Return the name of a class, short enough for a note under the pointer."""
    return shortened(label, 40)


def roc(unseen: Unseen) -> Chart:
    """Return the ROC curve of the second of two classes, or of each of the commonest classes against the rest."""
    lines = []
    for name, colour, p, positive in _against_the_rest(unseen):
        false_alarms, found, _ = roc_curve(positive, p)
        lines.append(_curve(false_alarms, found, colour, name))
    return Chart(
        (diagonal(0, 1, "guessing"), *lines),
        Axis("false alarms among the other rows", -0.02, 1.02, percent=True),
        Axis("found", -0.02, 1.02, percent=True),
        340,
    )


def precision_recall(unseen: Unseen) -> Chart:
    """Return precision against recall of the same classes as :func:`roc`."""
    lines = []
    for name, colour, p, positive in _against_the_rest(unseen):
        precision, recall, _ = precision_recall_curve(positive, p)
        lines.append(_curve(recall, precision, colour, name))
    return Chart(
        tuple(lines),
        Axis("found (recall)", -0.02, 1.02, percent=True),
        Axis("right among those reported (precision)", -0.02, 1.02, percent=True),
        340,
    )


def _curve(x: Vector, y: Vector, colour: str, name: str) -> Line:
    rows = np.unique(np.linspace(0, len(x) - 1, min(len(x), CURVE_MAX_POINTS)).astype(int))
    return Line(x[rows], y[rows], colour, name)


def _against_the_rest(unseen: Unseen) -> list[tuple[str, str, Vector, NDArray[np.bool_]]]:
    """Return name, colour, probabilities and membership of the classes to draw."""
    p, classes = np.asarray(unseen.probabilities), np.asarray(unseen.classes)
    shown = classes[1:] if len(classes) == 2 else most_frequent_classes(unseen, CURVE_MAX_CLASSES)
    return [
        (shortened(name, 14), colour, p[:, int(np.searchsorted(classes, name))], unseen.y == name)
        for name, colour in zip(shown, CURVE_COLOURS)
        if 0 < np.sum(unseen.y == name) < len(unseen.y)
    ]
