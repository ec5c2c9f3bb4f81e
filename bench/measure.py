"""Seconds, processor seconds, error and log loss of one fit."""

import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeVar

import numpy as np
import psutil
from numpy.typing import NDArray
from sklearn.metrics import log_loss, roc_auc_score

from bench.problems import Split, Task

T = TypeVar("T")


class Times(NamedTuple):
    """Seconds on the clock, and of all processors."""

    seconds: float
    cpu_seconds: float


def timed(work: Callable[[], T]) -> tuple[T, Times]:
    """Return what ``work`` returns, and the time it took."""
    cpu, begun = cpu_seconds(), time.perf_counter()
    result = work()
    seconds = time.perf_counter() - begun
    return result, Times(seconds, cpu_seconds() - cpu)


def cpu_seconds() -> float:
    """Return the processor seconds of this process and of its workers, ended ones too."""
    process = psutil.Process()
    workers = (worker.cpu_times() for worker in process.children(recursive=True))
    # The clock of this process has nanoseconds, those of its children hundredths of a second.
    ended = process.cpu_times()[2:4]
    return float(time.process_time() + sum(ended) + sum(sum(times[:2]) for times in workers))


def error(task: Task, truth: NDArray[Any], prediction: NDArray[Any]) -> float:
    """Return the share of wrong classes in percent, or the root mean squared error of numbers."""
    if task == "classes":
        return 100 * float(np.mean(truth != prediction))
    return float(np.sqrt(np.mean((truth - prediction) ** 2)))


def probability_loss(model: Any, split: Split) -> float | None:
    """Return the log loss in nats per row; ``None`` if the model has no probabilities."""
    # Searches of scikit-learn have the method only if their best estimator has it.
    if not hasattr(model, "predict_proba"):
        return None
    return float(log_loss(split.y_test, model.predict_proba(split.X_test), labels=model.classes_))


def one_minus_auc(model: Any, split: Split) -> float | None:
    """Return the share of pairs of rows of two classes in the wrong order; ``None`` for other tasks."""
    classes: Sequence[Any] = getattr(model, "classes_", ())
    if len(classes) != 2:
        return None
    if hasattr(model, "predict_proba"):
        scores = model.predict_proba(split.X_test)[:, 1]
    else:
        scores = model.decision_function(split.X_test)
    return 1 - float(roc_auc_score(split.y_test == classes[1], scores))
