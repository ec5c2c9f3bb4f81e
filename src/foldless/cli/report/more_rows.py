"""Would more rows help? The learning curve, in a unit that a reader knows."""

import warnings
from collections.abc import Iterator

import numpy as np

from foldless.cli.numbers import as_precise, percent, with_spread
from foldless.cli.report import column_figures
from foldless.cli.report.parts import Panel, Section
from foldless.cli.report.root_curve import RootCurve
from foldless.cli.report.verdict import Findings
from foldless.core.errors import FoldlessError
from foldless.estimators.registry import name_of
from foldless.estimators.uncertainty.learning_curve import LearningCurve

# A fall of the loss by less than this fraction is hardly worth twice the rows.
WORTHWHILE_FALL = 0.02
# Machines whose loss is the squared error.
SQUARED_MACHINES = ("ridge", "subset")


def more_rows_section(findings: Findings) -> Iterator[Section]:
    """Yield what more rows would bring, if the machine has left-out outputs of fits to parts of the rows."""
    curve, loss = _curve(findings)
    if curve is None or len(curve.rows) < 3:
        return
    caption = (
        f"The {loss} of rows left out, of fits to parts of the rows at the chosen parameters, continued by a power law; bars and band "
        "are two standard errors."
    )
    panel = Panel("learning", "Learning curve", caption, column_figures.learning(curve, loss))
    yield Section("rows", "Would more rows help?", [answer(curve, loss)], panels=[panel])


def _curve(findings: Findings) -> tuple[LearningCurve | RootCurve | None, str]:
    """Return the learning curve, or None, and what it is a curve of."""
    estimator = findings.experiment.estimator
    if findings.experiment.loo_outputs is None:
        return None, ""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            curve = estimator.learning_curve_
    except (FoldlessError, np.linalg.LinAlgError):
        return None, ""
    return (RootCurve(curve), "RMSE") if name_of(estimator) in SQUARED_MACHINES else (curve, "loss")


def answer(curve: LearningCurve | RootCurve, loss: str) -> str:
    """Return in words whether twice as many rows would lower the loss."""
    n, now = int(curve.rows[-1]), float(curve.values[-1])
    value, error = curve.extrapolate([n, 2 * n])
    fall, spread = float(value[0] - value[1]), float(np.hypot(*error))
    then = with_spread(float(value[1]), 2 * float(error[1]))
    numbers = f"(For rows left out: {as_precise(now, now)} with {n} rows, about {then} with {2 * n}.)"
    if fall <= max(WORTHWHILE_FALL * abs(now), spread):
        return f"Hardly: twice as many rows would not clearly lower the {loss}. {numbers}"
    return f"Yes: twice as many rows would lower the {loss} by about {percent(fall / abs(now))}. {numbers}"
