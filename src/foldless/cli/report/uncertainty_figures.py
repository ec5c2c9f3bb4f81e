"""Rows to look at: those that surprise the model without them most."""

from foldless.cli.experiment import Experiment
from foldless.cli.report.plotly_json import BLUE, Figure, axis, figure, named_axis, to_json_numbers
from foldless.inspection.uncertainty import suspicious_rows

SUSPICIOUS_MAX_BARS = 15


def suspicious(experiment: Experiment) -> Figure:
    """Return bars of the most suspicious rows, the first one on top; rows are counted from 1."""
    rows, values, label = suspicious_rows(experiment.estimator)
    rows, values = rows[:SUSPICIOUS_MAX_BARS][::-1], values[:SUSPICIOUS_MAX_BARS][::-1]
    bars = {
        "type": "bar",
        "orientation": "h",
        "x": to_json_numbers(values),
        "y": list(range(len(rows))),
        "customdata": [[f"row {row + 1}"] for row in rows.tolist()],
        "marker": {"color": BLUE},
        "name": "rows",
        "hovertemplate": "%{customdata[0]}<br>%{x:.3g}<extra></extra>",
    }
    names = [f"row {row + 1}" for row in rows.tolist()]
    return figure([bars], xaxis=axis(label), yaxis=named_axis("", names), height=120 + 22 * len(rows))
