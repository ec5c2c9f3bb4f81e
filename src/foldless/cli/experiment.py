"""One study: a table, what was asked of it, the tuned model, and how it does on rows it has not seen."""

import inspect
import time
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from sklearn.model_selection import train_test_split
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler

from foldless.cli.files.read_table import DataError, Table
from foldless.estimators.base import class_index
from foldless.estimators.registry import entry_of, look_up

FEWEST = 4  # rows that must be left to train on


@dataclass(frozen=True)
class TuneRequest:
    """What is asked for; None leaves a choice to the machine.

    Parameters
    ----------
    machine : str, optional
        A name of the catalogue; by default the usual one for the task.
    kernel : tuple of str
        One kernel, or candidates of which the criterion chooses one.
    criterion, search : str, optional
    holdout : float
        Share of the rows set aside before tuning to measure the error; 0 keeps them all.
    scale : bool
        Whether the features are brought to mean 0 and variance 1 first.
    seed, jobs, time_budget, verbose
        As ``random_state``, ``n_jobs``, ``time_budget`` and ``verbose`` of the estimators.
    """

    machine: str | None = None
    kernel: tuple[str, ...] = ("rbf",)
    criterion: str | None = None
    search: str | None = None
    holdout: float = 0.0
    scale: bool = True
    seed: int = 0
    jobs: int | None = None
    time_budget: float | None = None
    verbose: int = 0

    def options(self):
        """Parameters of the estimator that were asked for."""
        asked = {
            "kernel": self.kernel[0] if len(self.kernel) == 1 else list(self.kernel),
            "criterion": self.criterion,
            "search": self.search,
            "random_state": self.seed,
            "n_jobs": self.jobs,
            "time_budget": self.time_budget,
            "verbose": self.verbose,
        }
        return {name: value for name, value in asked.items() if value is not None}


@dataclass(frozen=True)
class HeldOut:
    """Rows set aside before tuning, and the error on them."""

    rows: int
    error: float  # share of wrong classes, or root mean squared error


@dataclass(frozen=True, eq=False)
class Experiment:
    """A finished study.

    Attributes
    ----------
    source, command : str
        Where the data came from, and what reproduces the study.
    request : TuneRequest
    table : Table
        All of the data.
    X, y : arrays
        The rows that were trained on, not scaled.
    model : Pipeline
        Scaling, then the fitted estimator.
    seconds : float
        Time that ``fit`` took.
    held_out : HeldOut or None
    comparison : Comparison or None
        Other criteria on the same rows, if that was asked for.
    """

    source: str
    command: str
    request: TuneRequest
    table: Table
    X: np.ndarray
    y: np.ndarray
    model: Pipeline
    seconds: float
    held_out: HeldOut | None = None
    comparison: Any = None

    @property
    def estimator(self) -> Any:
        """The fitted estimator."""
        return self.model[-1]

    @property
    def is_classification(self) -> bool:
        """Whether classes are predicted, not numbers."""
        return self.table.task == "classification"

    @cached_property
    def points(self):
        """The training rows as the estimator saw them."""
        return self.model[:-1].transform(self.X)

    @cached_property
    def loo_outputs(self):
        """Outputs (n, k) at each row of the machine that was not shown it; None where nothing gives them."""
        found = getattr(self.estimator, "loo_decision_", None)
        return None if found is None else np.asarray(found).reshape(len(self.y), -1)

    @cached_property
    def loo_predicted(self):
        """Predictions that belong to :attr:`loo_outputs`."""
        outputs = self.loo_outputs
        if outputs is None:
            return None
        if self.is_classification:
            return self.estimator.classes_[class_index(outputs)]
        return entry_of(self.estimator).respond(outputs[:, 0])

    @property
    def loo_probabilities(self):
        """Probabilities (n, k) that belong to :attr:`loo_outputs`; None for machines without."""
        return getattr(self.estimator, "loo_proba_", None)

    @cached_property
    def loo_error(self):
        """Leave-one-out error, in the units of :attr:`HeldOut.error`; None where nothing gives it."""
        if self.loo_predicted is None:
            return None
        return prediction_error(self.y, self.loo_predicted, self.is_classification)


def prediction_error(y, predicted, classes):
    """Share of wrong classes, or root mean squared error."""
    return float(np.mean(predicted != y)) if classes else float(np.sqrt(np.mean((predicted - y) ** 2)))


def build(request, task):
    """Return the pipeline that ``request`` asks for, not fitted."""
    estimator = look_up(request.machine, task).estimator
    options = request.options()
    foreign = sorted(options.keys() - inspect.signature(estimator).parameters.keys())
    if foreign:
        raise DataError(f"the machine {estimator.__name__} has no option {', '.join(foreign)}.")
    return make_pipeline(StandardScaler() if request.scale else "passthrough", estimator(**options))


def split(table, holdout, seed):
    """Return rows to train on and rows held out, both as (X, y); stratified by class."""
    if not 0 <= holdout < 1:
        raise DataError(f"--holdout must be a share of the rows between 0 and 1, got {holdout:g}.")
    if holdout == 0:
        return (table.X, table.y), None
    X, y, classes = table.X, table.y, table.task == "classification"
    if classes and np.unique(y, return_counts=True)[1].min() < 2:
        raise DataError("--holdout needs two rows of every class, one class has a single row. Leave it out.")
    if len(y) * (1 - holdout) < FEWEST or len(y) * holdout < 1:
        raise DataError(f"--holdout {holdout:g} of {len(y)} rows leaves too few on one side.")
    parts = train_test_split(X, y, test_size=holdout, random_state=seed, stratify=y if classes else None)
    return (parts[0], parts[2]), (parts[1], parts[3])


def run_experiment(table, request, source, command):
    """Tune what ``request`` asks for on ``table``.

    Parameters
    ----------
    table : Table
        From :func:`foldless.cli.files.read_table.read_table`.
    request : TuneRequest
    source, command : str
        Kept in the study.

    Returns
    -------
    study : Experiment
    """
    model = build(request, table.task)
    train, held = split(table, request.holdout, request.seed)
    begun = time.perf_counter()
    model.fit(*train)
    seconds = time.perf_counter() - begun
    error = (
        None
        if held is None
        else prediction_error(held[1], model.predict(held[0]), table.task == "classification")
    )
    held_out = None if held is None else HeldOut(len(held[1]), error)
    return Experiment(source, command, request, table, *train, model, seconds, held_out)
