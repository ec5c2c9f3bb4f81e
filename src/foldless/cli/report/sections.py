"""The sections of the page: each with a heading, a few sentences, tables and figures."""

import warnings
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from foldless.cli.numbers import number, percent
from foldless.cli.report import class_figures, column_figures, regression_figures
from foldless.cli.report.data_sections import columns_section, data_section, suspicious_section
from foldless.cli.report.more_rows import more_rows_section
from foldless.cli.report.parts import Grid, Measured, Panel, Section, filled
from foldless.cli.report.scores import Unseen, decisive_name, find, scores
from foldless.cli.report.text import promise
from foldless.cli.report.threshold import cost_table
from foldless.cli.report.verdict import Findings, interval_text, score_rows, score_text
from foldless.core.errors import FoldlessError, UncertaintyWarning
from foldless.estimators.uncertainty.interval_mixin import IntervalMixin
from foldless.estimators.uncertainty.set_mixin import SetMixin

LEVEL, LEVEL_TEXT = 0.9, "90 %"
UNCERTAIN_MAX_ROWS, INTERVALS_MAX_SHOWN = 150, 60


def sections(findings: Findings) -> list[Section]:
    """Return the sections for a boss and a colleague, in the order in which they ask; the search is not among them."""
    parts = (
        _models,
        _mistakes,
        _certainty,
        _costs,
        more_rows_section,
        columns_section,
        suspicious_section,
        data_section,
    )
    found = [section for part in parts for section in part(findings)]
    return [replace(section, panels=filled(section.panels)) for section in found]


def cards(findings: Findings) -> list[tuple[str, str, str]]:
    """Return the numbers a reader wants first, as (label, value, interval)."""
    if findings.ours is None:
        return []
    rows = "held out" if findings.held_out else "left out"
    return [
        (f"{score.name}, rows {rows}", score_text(score), f"95 % interval {interval_text(score)}")
        for score in scores(findings.ours)
    ]


def _models(findings: Findings) -> Iterator[Section]:
    if not findings.compared:
        return
    names, found = score_rows(findings)
    decisive = decisive_name(findings.compared)
    rows = [
        [name, *(Measured(score_text(s), interval_text(s)) for s in line), one.rows]
        for name, line, one in zip(names, found, findings.compared)
    ]
    chart = column_figures.models(names, [find(decisive, one) for one in findings.compared])
    yield Section(
        "models",
        "Compared with simple models",
        ["The 95 % interval stands below each value."],
        Grid(("model", *(score.name for score in found[0]), "judged by"), rows, "models"),
        [
            Panel(
                "compared",
                f"{decisive[:1].upper()}{decisive[1:]} of each model",
                "Dots with 95 % intervals.",
                chart,
            )
        ],
    )


def _mistakes(findings: Findings) -> Iterator[Section]:
    ours = findings.ours
    if ours is None:
        return
    where = f"Rows {'held out' if findings.held_out else 'left out in turn'}"
    if ours.classes is None:
        panels = [
            Panel("predicted", "Predicted and actual", f"{where}: the actual value against the prediction.",
                  regression_figures.predicted(ours)),
            Panel("residuals", "Residuals", f"{where}: actual minus predicted.", regression_figures.residuals(ours)),
        ]  # fmt: skip
        yield Section("mistakes", "What it gets wrong", panels=panels)
        return
    panels = [
        Panel("confusion", "Confusion matrix", f"{where}, by their true class and by the predicted one.",
              class_figures.confusion(ours)),
    ]  # fmt: skip
    if ours.probabilities is not None:
        which = f"“{ours.classes[1]}”" if len(ours.classes) == 2 else "each class against the rest"
        panels += [
            Panel("roc", "ROC curve", f"{where}: how much of {which} is found, against false alarms, at every threshold.",
                  class_figures.roc(ours)),
            Panel("precision", "Precision and recall", "The share of reported rows that are right, against the share of the class that is found.",
                  class_figures.precision_recall(ours)),
        ]  # fmt: skip
    yield Section("mistakes", "What it gets wrong", panels=panels)


def _certainty(findings: Findings) -> Iterator[Section]:
    ours = findings.ours
    if ours is None:
        return
    words, panels = _sets(findings) if ours.classes is not None else _intervals(findings, ours)
    if ours.probabilities is not None:
        where = "held out" if findings.held_out else "left out in turn"
        panels = [
            Panel("calibration", "Calibration", f"Rows {where}, grouped by their probability, against the frequency of the "
                  "class among them. On the diagonal the probabilities are right; bars are 95 % intervals.",
                  class_figures.calibration(ours)),
            *panels,
        ]  # fmt: skip
    yield Section("certainty", "How sure it is", words, panels=panels)


def _sets(findings: Findings) -> tuple[list[str], list[Panel]]:
    model, held = findings.experiment.estimator, findings.experiment.held_out
    if not isinstance(model, SetMixin) or findings.experiment.loo_outputs is None:
        return [], []
    words = [promise(model, LEVEL)]
    if held is None:
        return words, []
    points = findings.experiment.model[:-1].transform(held.X[:UNCERTAIN_MAX_ROWS])
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UncertaintyWarning)
            members = model.predict_set(points, LEVEL)
    except FoldlessError:
        return words, []
    y = held.y[:UNCERTAIN_MAX_ROWS]
    hit = members[np.arange(len(y)), np.searchsorted(model.classes_, y)].mean()
    one = np.mean(members.sum(axis=1) == 1)
    return [
        f"For each of {len(y)} rows held out, the model gave the classes that it could not rule out at {LEVEL_TEXT}. The true class was "
        f"among them for {percent(float(hit))} of the rows, and only one class was left for {percent(float(one))}.",
        *words,
    ], []


def _intervals(findings: Findings, ours: Unseen) -> tuple[list[str], list[Panel]]:
    distance = np.abs(ours.y - ours.predicted)
    reach = np.quantile(distance, LEVEL)
    words = [f"{LEVEL_TEXT} of these predictions are within ±{number(float(reach))} of the actual value."]
    model, held = findings.experiment.estimator, findings.experiment.held_out
    if not isinstance(model, IntervalMixin) or findings.experiment.loo_outputs is None:
        return words, []
    words.append(promise(model, LEVEL))
    if held is None:
        return words, []
    rows = slice(None, UNCERTAIN_MAX_ROWS)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UncertaintyWarning)
            ends = model.predict_interval(findings.experiment.model[:-1].transform(held.X[rows]), LEVEL)
    except FoldlessError:
        return words, []
    if not np.all(np.isfinite(ends)):
        return words, []
    y = held.y[rows]
    inside = np.mean((ends[:, 0] <= y) & (y <= ends[:, 1]))
    words.insert(
        0,
        f"The {LEVEL_TEXT} prediction intervals contain the actual value for {percent(float(inside))} of {len(y)} rows held out.",
    )
    shown = slice(None, INTERVALS_MAX_SHOWN)
    chart = regression_figures.intervals(y[shown], held.predicted[rows][shown], ends[shown])
    caption = f"{LEVEL_TEXT} prediction intervals for rows held out; the dots are the actual values."
    return words, [Panel("intervals", "Prediction intervals", caption, chart)]


def _costs(findings: Findings) -> Iterator[Section]:
    ours = findings.ours
    if ours is None or ours.classes is None or ours.probabilities is None or len(ours.classes) != 2:
        return
    positive = str(ours.classes[1])
    yield Section(
        "costs",
        "Which threshold to use",
        [
            f"If a missed “{positive}” costs more than a false alarm, answer “{positive}” already at a lower probability. The "
            "threshold with the least expected cost is the cost of a false alarm divided by the sum of both; the counts are those "
            "of the rows "
            f"{'held out' if findings.held_out else 'left out'}."
        ],
        Grid(
            ("a miss costs", "a false alarm costs", "threshold", "missed", "false alarms", "right"),
            cost_table(ours),
            "costs",
        ),
        costs=positive,
    )
