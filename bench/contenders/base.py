"""What every contender has: a name, what it can do, and one method that measures it on a split."""

import importlib.metadata
import importlib.util
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import Any, ClassVar

from bench.measure import error, one_minus_auc, probability_loss, timed
from bench.problems import Split, Task

Details = dict[str, float | int | str | None]


@dataclass(frozen=True)
class Measurement:
    """What one fit took and what came out.

    ``error`` is in percent for classes and a root mean squared error for numbers; ``log_loss`` is in nats per row; ``auc``
    is one minus the area under the curve of two classes, so that less is better; ``megabytes`` is the largest growth of memory,
    known where a fit has a process of its own; ``details`` are the numbers of one table only.
    """

    seconds: float
    cpu_seconds: float
    error: float | None = None
    log_loss: float | None = None
    evaluations: int | None = None
    megabytes: float | None = None
    details: Details = field(default_factory=dict)
    auc: float | None = None


@dataclass(frozen=True)
class Contender(ABC):
    """Something to be measured on a split."""

    name: str
    max_rows: int | None = field(default=None, kw_only=True)

    tasks: ClassVar[tuple[Task, ...]] = ("classes", "numbers")
    # Names of the details that it measures.
    details: ClassVar[tuple[str, ...]] = ()
    # Whether a small fit that is not counted goes before the first one.
    warms_up: ClassVar[bool] = True
    # A package beyond the dependencies of foldless.
    package: ClassVar[str | None] = None

    @abstractmethod
    def run(self, split: Split, task: Task, jobs: int) -> Measurement:
        """Do the work on one split with ``jobs`` workers or threads, and return what was measured."""

    def takes(self, task: Task, rows: int, number: int) -> bool:
        """Return whether the contender runs on such a problem: its task, the training rows, the number of the split."""
        return task in self.tasks and (self.max_rows is None or rows <= self.max_rows)

    def missing(self) -> str | None:
        """Return what is not installed and how to get it, or ``None``."""
        if self.package is None or importlib.util.find_spec(self.package) is not None:
            return None
        return f"{self.package} is not installed: pip install {self.package}"

    def versions(self) -> dict[str, str]:
        """Return the versions of packages that only this contender needs."""
        return {} if self.package is None else {self.package: importlib.metadata.version(self.package)}


@dataclass(frozen=True)
class EstimatorContender(Contender):
    """An estimator; it standardises the inputs itself, so that this is timed too."""

    @abstractmethod
    def build(self, task: Task, jobs: int) -> Any:
        """Return the estimator before it is fitted."""

    def run(self, split: Split, task: Task, jobs: int) -> Measurement:
        """Fit on the training rows, predict the test rows and return what was measured; only the fit is timed."""
        model = self.build(task, jobs)
        _, times = timed(lambda: model.fit(split.X, split.y))
        wrong = error(task, split.y_test, model.predict(split.X_test))
        counted, more = self.evaluations(model), self.measure_details(model, split)
        loss, order = probability_loss(model, split), one_minus_auc(model, split)
        return Measurement(*times, wrong, loss, counted, details=more, auc=order)

    def evaluations(self, model: Any) -> int | None:
        """Return how many times a criterion was evaluated or a machine fitted to choose parameters."""
        return None

    def measure_details(self, model: Any, split: Split) -> Details:
        """Return what else one table wants to know of a fitted model."""
        return {}
