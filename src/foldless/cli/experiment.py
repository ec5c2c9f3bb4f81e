"""One experiment: a table, a machine tuned on it, and its error on rows it has not seen."""

import inspect
import time
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.pipeline import Pipeline, make_pipeline

from foldless.cli.files.encoding import Encoder, IndicatorColumns
from foldless.cli.files.read_table import Table
from foldless.core.contracts import Matrix
from foldless.core.errors import DataError
from foldless.core.memo import cached_property
from foldless.core.targets import MIN_ROWS, class_index
from foldless.estimators.choice import BaseDefault
from foldless.estimators.preparation import ColumnScaler
from foldless.estimators.prepared_columns import PreparedColumns
from foldless.estimators.registry import AUTOMATIC, entry_of, look_up
from foldless.inspection.comparison import Comparison
from foldless.inspection.metrics import prediction_error
from foldless.tuning.validation_split import split_rows


@dataclass(frozen=True, eq=False)
class HeldOut:
    """Rows held out before tuning, and what the model predicts for them.

    Attributes
    ----------
    places : array of int
        Their numbers in the file, from 0.
    X, y, predicted : arrays
    probabilities : array of shape (rows, classes) or None
    error : float
        Fraction of wrong classes, or root mean squared error.
    """

    places: NDArray[np.intp]
    X: Matrix
    y: NDArray[Any]
    predicted: NDArray[Any]
    probabilities: Matrix | None
    error: float

    @property
    def rows(self) -> int:
        """Number of rows held out."""
        return len(self.y)


@dataclass(frozen=True, eq=False)
class Experiment:
    """A finished experiment.

    Attributes
    ----------
    source, command : str
        Where the data came from, and the command that reproduces the experiment.
    table : Table
        All of the data.
    X, y : arrays
        The training rows: values of the table as they were read, not scaled.
    places : array of int
        The numbers of the training rows in the file, from 0.
    model : Pipeline
        What prepares the columns, then the fitted estimator.
    seconds : float
        Time that ``fit`` took.
    held_out : HeldOut or None
    comparison : Comparison or None
        Other criteria on the same rows, if that was asked for.
    """

    source: str
    command: str
    table: Table
    X: Matrix
    y: NDArray[Any]
    places: NDArray[np.intp]
    model: Pipeline
    seconds: float
    held_out: HeldOut | None = None
    comparison: Comparison | None = None

    @property
    def estimator(self) -> Any:
        """The fitted estimator."""
        return self.model[-1]

    @property
    def is_scaled(self) -> bool:
        """Whether the features were scaled to mean 0 and variance 1."""
        steps = list(self.model[:-1])
        return any(isinstance(step, ColumnScaler) for step in steps) or (
            self.sees_categories and steps[0].scale
        )

    @property
    def sees_categories(self) -> bool:
        """Whether the machine sees categories as such, and not as columns of 0 and 1."""
        return isinstance(self.model[0], PreparedColumns)

    @property
    def feature_names(self) -> list[str]:
        """Names of the columns that the machine sees."""
        if not self.sees_categories:
            return self.table.feature_names
        return self.model[0].get_feature_names_out(self.table.encoder.value_names).tolist()

    def indicators(self, X: Matrix) -> Matrix:
        """Return rows for models that read numbers only: categories as columns of 0 and 1, no missing values."""
        return self.table.encoder.indicators(X)

    @property
    def is_classification(self) -> bool:
        """Whether classes are predicted, not numbers."""
        return self.table.task == "classification"

    @cached_property
    def loo_outputs(self) -> Matrix | None:
        """Leave-one-out outputs (n, k); None if the estimator has none."""
        found = getattr(self.estimator, "loo_decision_", None)
        return None if found is None else np.asarray(found).reshape(len(self.y), -1)

    @cached_property
    def loo_predicted(self) -> NDArray[Any] | None:
        """Leave-one-out predictions, from :attr:`loo_outputs`."""
        outputs = self.loo_outputs
        if outputs is None:
            return None
        if self.is_classification:
            return self.estimator.classes_[class_index(outputs)]
        return entry_of(self.estimator).inverse_link(outputs[:, 0])

    @property
    def loo_probabilities(self) -> Matrix | None:
        """Leave-one-out probabilities (n, classes); None if the estimator has none."""
        return getattr(self.estimator, "loo_proba_", None)

    @cached_property
    def loo_error(self) -> float | None:
        """Leave-one-out error in the unit of :attr:`HeldOut.error`; None if the estimator has no such outputs."""
        if self.loo_predicted is None:
            return None
        return prediction_error(self.y, self.loo_predicted, self.is_classification)

    @property
    def loo_standard_error(self) -> float | None:
        """Standard error of :attr:`loo_error`, from its spread over rows; None without one."""
        if self.loo_error is None or self.loo_predicted is None:
            return None
        n = len(self.y)
        if self.is_classification:
            return float(np.sqrt(self.loo_error * (1 - self.loo_error) / max(1, n - 1)))
        squares = (self.y - self.loo_predicted) ** 2
        # The root of a mean has half the relative error of the mean.
        return (
            float(np.std(squares, ddof=1) / np.sqrt(n) / (2 * self.loo_error)) if self.loo_error > 0 else 0.0
        )


def make_pipeline_for(
    task: str, machine: str | None, scale: bool, options: dict[str, Any], encoder: Encoder
) -> Pipeline:
    """Return an unfitted pipeline for the values of a table, with the machine called ``machine``, or the usual one for ``task``.

    ``"auto"`` prepares the columns itself. Other machines see categories as columns of 0 and 1, then scaled.
    """
    if machine == "auto":
        own = {"scale": scale, "categorical_features": encoder.categorical}
        return make_pipeline(_made(AUTOMATIC[task], {**options, **own}))
    scaling = ColumnScaler() if scale else "passthrough"
    return make_pipeline(IndicatorColumns(encoder), scaling, _made(look_up(machine, task).estimator, options))


def _made(estimator: type[Any], options: dict[str, Any]) -> Any:
    unknown = sorted(options.keys() - inspect.signature(estimator).parameters.keys())
    if unknown:
        raise DataError(f"the machine {estimator.__name__} has no option {', '.join(unknown)}.")
    return estimator(**options)


def check_holdout(table: Table, holdout: float) -> None:
    """Raise if this fraction of a table cannot be held out."""
    n, (y, task) = table.n_rows, table.target()
    if not 0 <= holdout < 1:
        raise DataError(f"--holdout must be a fraction of the rows between 0 and 1, got {holdout:g}.")
    if holdout == 0:
        return
    if task == "classification" and np.unique(y, return_counts=True)[1].min() < 2:
        raise DataError("--holdout needs two rows of every class, one class has a single row. Leave it out.")
    if n * (1 - holdout) < MIN_ROWS or n * holdout < 1:
        raise DataError(f"--holdout {holdout:g} of {n} rows leaves too few on one side.")


def split_table(table: Table, holdout: float, seed: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return the numbers of the rows to train on and of those held out, stratified by class."""
    check_holdout(table, holdout)
    if holdout == 0:
        return np.arange(table.n_rows), np.arange(0)
    return split_rows(table.n_rows, holdout, seed, table.y if table.task == "classification" else None)


def run_experiment(
    table: Table,
    machine: str | None = None,
    *,
    holdout: float = 0.0,
    scale: bool = True,
    random_state: int = 0,
    source: str = "a table",
    command: str = "",
    **options: Any,
) -> Experiment:
    """Tune a machine on a table.

    Parameters
    ----------
    table : Table
        From :func:`foldless.cli.read_table`, with a target.
    machine : str, optional
        ``"logistic"``, ``"svc"``, ``"lssvc"``, ``"ridge"``, ``"subset"``, ``"poisson"``, or ``"auto"``, which chooses
        the machine and its kernel; by default ``"logistic"`` for classes and ``"ridge"`` for numbers.
    holdout : float, default=0.0
        Fraction of the rows to hold out before tuning, to measure the error.
    scale : bool, default=True
        Whether to scale the features to mean 0 and variance 1 first.
    random_state : int, default=0
        Seed of the split and of the estimator.
    source, command : str
        Shown in the report: where the data came from, and the command that reproduces the experiment.
    **options
        Passed to the estimator: ``kernel``, ``criterion``, ``search``, ``time_budget``, ... None leaves the default.

    Returns
    -------
    experiment : Experiment
    """
    target, task = table.target()
    given = {name: value for name, value in options.items() if value is not None}
    train, test = split_table(table, holdout, random_state)
    if len(test):
        table = table.filled_from(train)
    model = make_pipeline_for(task, machine, scale, {"random_state": random_state, **given}, table.encoder)
    # A copy of a large table would take as much memory once more.
    X, y = (table.values[train], target[train]) if len(test) else (table.values, target)
    begun = time.perf_counter()
    model = _with_chosen_machine(model.fit(X, y))
    seconds = time.perf_counter() - begun
    held_out = (
        _predict_held_out(model, table.values[test], target[test], table.places[test], task)
        if len(test)
        else None
    )
    return Experiment(source, command, table, X, y, table.places[train], model, seconds, held_out)


def _predict_held_out(
    model: Pipeline, X: Matrix, y: NDArray[Any], places: NDArray[np.intp], task: str
) -> HeldOut:
    predicted = model.predict(X)
    probabilities = model.predict_proba(X) if hasattr(model, "predict_proba") else None
    error = prediction_error(y, predicted, task == "classification")
    return HeldOut(places, X, y, predicted, probabilities, error)


def _with_chosen_machine(model: Pipeline) -> Pipeline:
    """Return a fitted pipeline with the estimator that chose taken apart: what prepares the columns, and the chosen machine."""
    last = model[-1]
    if not isinstance(last, BaseDefault):
        return model
    return make_pipeline(PreparedColumns.of(last), last.best_estimator_)
