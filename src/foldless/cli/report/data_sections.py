"""The sections about the columns and rows of the file."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from foldless.cli.experiment import Experiment
from foldless.cli.files.encoding import Code
from foldless.cli.files.sheet import count
from foldless.cli.numbers import from_table, listing, number, percent
from foldless.cli.report import column_figures
from foldless.cli.report.columns import (
    OriginalColumn,
    dependence,
    importance,
    known_values,
    original_columns,
)
from foldless.cli.report.parts import Drawn, Grid, Panel, Section
from foldless.cli.report.scores import Unseen
from foldless.cli.report.verdict import Findings
from foldless.core.contracts import Vector
from foldless.inspection.uncertainty import suspicious_rows

SUSPICIOUS_MAX_ROWS, COLUMNS_MAX_ROWS = 15, 300
# A row whose own class is likelier than this when it is left out is no surprise.
SUSPICIOUS_MAX_PROBABILITY = 0.5
DEPENDENCE_PANELS = 4
# Columns whose shuffling costs less than this share of what the most important one costs are not drawn.
DEPENDENCE_MIN_SHARE = 0.02
# With more bars than this a figure is as high as two others.
TALL_MIN_BARS = 14


def columns_section(findings: Findings) -> Iterator[Section]:
    """Yield which columns matter, with the partial dependence of the first ones, if there are unseen rows to tell by."""
    experiment = findings.experiment
    constant = [column.name for column in original_columns(experiment) if column.is_constant]
    found = importance(experiment)
    if found is None:
        return
    classes = list(experiment.estimator.classes_) if experiment.is_classification else None
    unit = "log loss" if experiment.is_classification else "RMSE"
    where = "on the rows held out" if found.on_held_out else "for rows left out"
    words = [
        f"How much worse the predictions get {where} when the values of one column are shuffled. This shows what the model uses, not "
        "what causes what. If two columns carry the same information, each of them may look unimportant."
    ]
    if constant:
        words.append(f"Not listed, because the value is always the same: {listing(constant)}.")
    n = min(len(found.columns), column_figures.IMPORTANCE_MAX_BARS)
    shown = "Every column" if n == len(found.columns) else f"The first {n} of {len(found.columns)} columns"
    caption = f"{shown}. Grey lines show the spread over several shuffles."
    chart = column_figures.important(found, unit)
    panels = [Panel("importance", "Importance", caption, chart, tall=n > TALL_MIN_BARS)]
    least = DEPENDENCE_MIN_SHARE * found.rise[0]
    top = [column for column, rise in zip(found.columns, found.rise) if rise > max(0, least)]
    top = top[:DEPENDENCE_PANELS]
    effects = [dependence(experiment, column) for column in top]
    y = column_figures.answer_axis(effects, classes, str(experiment.table.target_name))
    what = f"{y.title[:1].upper()}{y.title[1:]}"
    for i, effect in enumerate(effects):
        chart = column_figures.dependent(effect, classes, y)
        panels.append(
            Panel(
                f"dependence{i}",
                effect.column.name,
                f"{what} when every row is given this value (partial dependence).",
                chart,
            )
        )
    yield Section("columns", "Which columns matter", words, panels=panels)


def suspicious_section(findings: Findings) -> Iterator[Section]:
    """Yield the rows that surprise the model without them most, if it has left-out predictions."""
    experiment, left_out = findings.experiment, findings.left_out
    if left_out is None or (left_out.classes is not None and left_out.probabilities is None):
        return
    rows, values, _ = suspicious_rows(experiment.estimator)
    if experiment.is_classification:
        rows = rows[values < SUSPICIOUS_MAX_PROBABILITY]
    rows, values = rows[:SUSPICIOUS_MAX_ROWS], values[:SUSPICIOUS_MAX_ROWS]
    if not len(rows):
        yield Section(
            "suspicious", "Rows to look at", ["None: no row surprises the model that has not seen it."]
        )
        return
    yield Section(
        "suspicious",
        "Rows to look at",
        [
            "Each row was predicted by the model without that row. These are the rows whose value in the table is furthest from that "
            "prediction: perhaps wrong labels or measurements, perhaps unusual cases. Rows are counted from 1, without the header."
        ],
        Grid(*_suspicious_cells(left_out, rows, values, _row_names(experiment)), "suspicious"),
    )


def _row_names(experiment: Experiment) -> list[str]:
    """Return for every training row its number in the file, after its name if it has one."""
    table, numbers = experiment.table, [f"row {place + 1}" for place in experiment.places]
    if table.ids is None:
        return numbers
    names = dict(zip(table.places.tolist(), table.ids))
    return [f"{names[place]} ({row})" for place, row in zip(experiment.places.tolist(), numbers)]


def _suspicious_cells(
    unseen: Unseen, rows: Any, values: Vector, names: list[str]
) -> tuple[tuple[str, ...], list[list[Any]]]:
    if unseen.classes is None:
        cells = [
            [names[i], number(float(unseen.y[i])), number(float(unseen.predicted[i])),
             number(float(unseen.y[i] - unseen.predicted[i]))]
            for i in rows.tolist()
        ]  # fmt: skip
        return ("row", "in the table", "predicted without it", "difference"), cells
    cells = [
        [names[i], str(unseen.y[i]), str(unseen.predicted[i]), percent(value)]
        for i, value in zip(rows.tolist(), values.tolist())
    ]
    return ("row", "in the table", "predicted without it", "probability of the value in the table"), cells


def data_section(findings: Findings) -> Iterator[Section]:
    """Yield the summary of the file, a line per column."""
    experiment = findings.experiment
    found = original_columns(experiment)
    words = (
        [] if len(found) <= COLUMNS_MAX_ROWS else [f"The first {COLUMNS_MAX_ROWS} of {len(found)} columns."]
    )
    rows = [_column_cells(experiment, column) for column in found[:COLUMNS_MAX_ROWS]]
    headings = ("column", "kind", "missing", "values", "distribution", "how it is used")
    yield Section("data", "The data", words, Grid(headings, rows, "features"))


def _column_cells(experiment: Experiment, column: OriginalColumn) -> list[Any]:
    missing = experiment.table.missing.get(column.name, 0)
    rows = experiment.table.n_rows
    absent = f"{missing} ({percent(missing / rows)})" if missing else "none"
    if column.code.kind == "number":
        x = known_values(experiment, column)
        low, middle, high = (from_table(float(v)) for v in (x.min(), np.median(x), x.max()))
        values = f"{low} to {high}, median {middle}" if not column.is_constant else f"always {low}"
        return [
            column.name,
            "number",
            absent,
            values,
            Drawn(column_figures.histogram_of(x)),
            _use(experiment, column),
        ]
    if column.code.kind == "date":
        days = known_values(experiment, column)
        first, last = (str(np.datetime64(int(day), "D")) for day in np.floor([days.min(), days.max()]))
        picture = Drawn(column_figures.histogram_of(1970 + days / 365.2425))
        return [column.name, "date", absent, f"{first} to {last}", picture, _use(experiment, column)]
    levels, sizes = column.code.levels, _level_counts(experiment, column)
    picture = Drawn(column_figures.histogram_of_levels(levels, sizes))
    return [column.name, "category", absent, count(len(levels), "level"), picture, _use(experiment, column)]


def _level_counts(experiment: Experiment, column: OriginalColumn) -> Any:
    if not column.places:
        return np.array([len(experiment.y)])
    codes = known_values(experiment, column).astype(int)
    return np.bincount(codes[codes >= 0], minlength=len(column.code.levels))


def _scaling(x: Vector) -> str:
    return "scaled to mean 0 and " + ("a distance of 2" if len(np.unique(x)) == 2 else "variance 1")


def _use(experiment: Experiment, column: OriginalColumn) -> str:
    """Return in words how a column became numbers."""
    code = column.code
    if column.is_constant:
        return "carries no information: always the same"
    if code.kind == "category":
        return _category_use(experiment, code)
    x = known_values(experiment, column)
    if code.kind == "date":
        how = f"as numbers: {', '.join(code.parts)}"
    else:
        how = _scaling(x) if experiment.is_scaled else "as it is"
    if not code.has_gaps:
        return how
    # The default model fills by the training rows, and the encoding for other machines by the whole file.
    mean = float(x.mean()) if experiment.sees_categories else code.fill
    fill = "a date in the middle" if code.kind == "date" else _quoted(mean)
    return f"{how}; missing values become {fill}, and a column of 0 and 1 tells where"


def _category_use(experiment: Experiment, code: Code) -> str:
    if experiment.sees_categories:
        gaps = "; a missing value is a level of its own" if code.has_gaps else ""
        return f"as a category: two rows have the same level or not{gaps}"
    if len(code.levels) == 2:
        how = f"1 for “{code.levels[1]}”, 0 for “{code.levels[0]}”"
    else:
        how = f"{len(code.shown)} columns of 0 and 1, one per level"
    gaps = f"; missing values become {_quoted(code.fill)}, and a column of 0 and 1 tells where"
    return how + (gaps if code.has_gaps else "")


def _quoted(fill: Any) -> str:
    return number(fill) if isinstance(fill, float) else f"“{fill}”"
