r"""The columns of the file: what is in them, how they became numbers, which matter, and what the model makes of them.

A column of the file may have become several columns of X (the parts of a date). It is shuffled, varied and listed as one.

**Importance.** On rows held out, the rise of the loss when the values of the column are dealt out anew among the rows. Without such
rows, the same for left-out rows: their left-out output is moved by what shuffling changes in the fitted function,

.. math:: \log p_{-i}(x_i^\pi) = \log p_{-i}(x_i) + \log p(x_i^\pi) - \log p(x_i) + \text{const},  \tag{1}

and a left-out number likewise by :math:`f(x_i^\pi) - f(x_i)`, so that no row is judged by a fit that has seen it.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from foldless.cli.experiment import Experiment
from foldless.cli.files.dates import date_parts
from foldless.cli.files.encoding import Code
from foldless.cli.report.scores import row_log_losses
from foldless.core.contracts import Matrix, Vector
from foldless.inspection.metrics import prediction_error

IMPORTANCE_MAX_ROWS, IMPORTANCE_MIN_ROWS, IMPORTANCE_MAX_PREDICTIONS = 500, 50, 20_000
IMPORTANCE_MAX_COLUMNS = 200
SHUFFLES = 4
DEPENDENCE_MAX_ROWS, DEPENDENCE_POINTS = 100, 24
DEPENDENCE_MAX_LEVELS, DEPENDENCE_DATES = 12, 8


@dataclass(frozen=True)
class OriginalColumn:
    """A column of the file and the columns of X that it became."""

    code: Code
    places: tuple[int, ...]
    is_constant: bool

    @property
    def name(self) -> str:
        """Its name in the file."""
        return self.code.name


def original_columns(experiment: Experiment) -> list[OriginalColumn]:
    """Return the columns of the file, in its order, without the target."""
    found, start = [], 0
    for code in experiment.table.encoder.codes:
        width = len(code.value_names)
        places = tuple(range(start, start + width))
        constant = all(len(np.unique(experiment.X[:, place])) < 2 for place in places)
        found.append(OriginalColumn(code, places, constant))
        start += width
    return found


def known_values(experiment: Experiment, column: OriginalColumn) -> Vector:
    """Return what is in a column of the training rows and not missing: numbers, codes of levels, or the first part of dates."""
    x = experiment.X[:, column.places[0]]
    return x[~np.isnan(x)]


@dataclass(frozen=True, eq=False)
class Importance:
    """Columns by the rise of the loss when they are shuffled, the largest first, with the spread over shuffles."""

    columns: list[OriginalColumn]
    rise: Vector
    spread: Vector
    on_held_out: bool


def importance(experiment: Experiment) -> Importance | None:
    """Return which columns matter; None if the machine has neither left-out outputs nor rows held out to tell by."""
    columns = [column for column in original_columns(experiment) if not column.is_constant]
    if not columns or len(columns) > IMPORTANCE_MAX_COLUMNS:
        return None
    judge = _judge(experiment, len(columns))
    if judge is None:
        return None
    rng = np.random.default_rng(0)
    rises = np.array([judge.rises(column, rng) for column in columns])
    order = np.argsort(-rises.mean(axis=1), kind="stable")
    spread = rises.std(axis=1, ddof=1)
    return Importance(
        [columns[i] for i in order], rises.mean(axis=1)[order], spread[order], judge.on_held_out
    )


@dataclass(frozen=True, eq=False)
class _Judge:
    """The rows on which columns are shuffled, and the model without the row where it has seen them."""

    experiment: Experiment
    X: Matrix
    y: NDArray[Any]
    unseen: NDArray[Any]  # probabilities (n, classes) or numbers (n,) by the model that has not seen the row
    fitted: NDArray[Any]  # the same by the model itself
    on_held_out: bool

    def rises(self, column: OriginalColumn, rng: np.random.Generator) -> Vector:
        """Return the rise of the loss in each of a few shuffles."""
        before = self._loss(self.unseen)
        return np.array([self._loss(self._moved(column, rng)) - before for _ in range(SHUFFLES)])

    def _moved(self, column: OriginalColumn, rng: np.random.Generator) -> NDArray[Any]:
        X, places = self.X.copy(), list(column.places)
        X[:, places] = X[rng.permutation(len(X))][:, places]
        shuffled = answers(self.experiment, X)
        if not self.experiment.is_classification:
            return self.unseen + shuffled - self.fitted
        tiny = np.finfo(float).tiny
        p = np.log(np.maximum(self.unseen, tiny)) + np.log(np.maximum(shuffled, tiny))
        p -= np.log(np.maximum(self.fitted, tiny))  # eq. (1)
        p = np.exp(p - p.max(axis=1, keepdims=True))
        return p / p.sum(axis=1, keepdims=True)

    def _loss(self, given: NDArray[Any]) -> float:
        """Return the mean log loss of probabilities, or the root mean squared error of numbers."""
        if not self.experiment.is_classification:
            return prediction_error(self.y, given, False)
        codes = np.searchsorted(self.experiment.estimator.classes_, self.y)
        return float(row_log_losses(given, codes).mean())


def answers(experiment: Experiment, X: Matrix) -> NDArray[Any]:
    """Return probabilities (n, classes), or numbers (n,), of the fitted model."""
    return experiment.model.predict_proba(X) if experiment.is_classification else experiment.model.predict(X)


def _judge(experiment: Experiment, n_columns: int) -> _Judge | None:
    if experiment.is_classification and not hasattr(experiment.model, "predict_proba"):
        return None
    held = experiment.held_out
    unseen = experiment.loo_probabilities if experiment.is_classification else experiment.loo_predicted
    if held is None and unseen is None:
        return None
    X, y = (experiment.X, experiment.y) if held is None else (held.X, held.y)
    rows = _sample(len(y), n_columns)
    fitted = answers(experiment, X[rows])
    return _Judge(
        experiment, X[rows], y[rows], fitted if held else np.asarray(unseen)[rows], fitted, held is not None
    )


def _sample(n: int, n_columns: int) -> NDArray[np.intp]:
    """Return some rows, fewer if there are many columns."""
    affordable = IMPORTANCE_MAX_PREDICTIONS // (SHUFFLES * n_columns)
    size = int(np.clip(affordable, IMPORTANCE_MIN_ROWS, IMPORTANCE_MAX_ROWS))
    return np.sort(np.random.default_rng(1).permutation(n)[:size])


@dataclass(frozen=True, eq=False)
class Dependence:
    """The mean answer of the model when every row is given the same value of a column.

    ``values`` are numbers, days since 1970, or the levels of a category; ``answers`` has one row per value: probabilities, or one
    number.
    """

    column: OriginalColumn
    values: list[Any]
    answers: Matrix


def dependence(experiment: Experiment, column: OriginalColumn) -> Dependence:
    """Return the partial dependence of the model on a column."""
    rows = np.sort(np.random.default_rng(2).permutation(len(experiment.y))[:DEPENDENCE_MAX_ROWS])
    values, found = [], []
    for value, cells in _settings(experiment, column):
        X = experiment.X[rows].copy()
        X[:, list(column.places)] = cells
        values.append(value)
        found.append(np.atleast_1d(answers(experiment, X).mean(axis=0)))
    return Dependence(column, values, np.array(found))


def _settings(experiment: Experiment, column: OriginalColumn) -> Iterator[tuple[Any, Any]]:
    """Yield values to try, and what they are in X."""
    if column.code.kind == "number":
        x = known_values(experiment, column)
        low, high = np.quantile(x, [0.01, 0.99])
        low, high = (low, high) if low < high else (x.min(), x.max())
        different = np.unique(x)
        grid = different if len(different) <= 10 else np.linspace(low, high, DEPENDENCE_POINTS)
        yield from ((float(value), value) for value in grid)
        return
    if column.code.kind == "date":
        days = known_values(experiment, column)
        when = (np.linspace(days.min(), days.max(), DEPENDENCE_DATES) * 86_400).astype("datetime64[s]")
        yield from zip(when.astype(float) / 86_400, date_parts(when, column.code.parts))
        return
    yield from ((level, float(code)) for code, level in enumerate(column.code.levels[:DEPENDENCE_MAX_LEVELS]))
