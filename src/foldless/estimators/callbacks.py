"""scikit-learn's callbacks, such as its progress bar: every evaluation is a task. Without effect before scikit-learn 1.9."""

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock
from typing import Any

from foldless.core.contracts import Step, Watch

try:
    from sklearn.callback import CallbackSupportMixin
    from sklearn.callback._callback_support import callback_management_context
except ImportError:

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """Stands for the class that scikit-learn has from version 1.9 on."""

    callback_management_context = None


class TaskReporter:
    """The task of one fit, whose subtasks are reported to the callbacks of an estimator.

    Parameters
    ----------
    estimator : estimator
    context : CallbackContext or None
        The root task; without one nothing is reported.
    """

    def __init__(self, estimator: Any, context: Any) -> None:
        self.estimator, self.context, self._lock = estimator, context, Lock()

    def evaluation(self, step: Step) -> None:
        """Report one evaluation of the criterion, when it is over."""
        with self._lock:
            task = self.context.subcontext(task_name=f"evaluation ({step.why})")
            task.call_on_fit_task_begin(estimator=self.estimator)
            task.call_on_fit_task_end(estimator=self.estimator)

    @property
    def watch(self) -> Watch | None:
        """What a search calls with every step; None without callbacks."""
        return None if self.context is None else self.evaluation

    @contextmanager
    def inner_fit(self, model: Any, name: str) -> Iterator[None]:
        """Make the fit of another estimator a subtask of this one."""
        if self.context is None:
            yield
            return
        task = self.context.subcontext(task_name=name)
        with task.propagate_callback_context(model):
            task.call_on_fit_task_begin(estimator=self.estimator)
            yield
            task.call_on_fit_task_end(estimator=self.estimator)


class CallbackMixin(CallbackSupportMixin):
    """Adds ``set_callbacks`` to an estimator, if scikit-learn has it."""

    @contextmanager
    def _reported_task(self) -> Iterator[TaskReporter]:
        """Open the task of a fit, and close it however the fit ends."""
        asked = hasattr(self, "_skl_callbacks") or hasattr(self, "_parent_callback_ctx")
        if callback_management_context is None or not asked:
            yield TaskReporter(self, None)
            return
        with callback_management_context(self):
            context = self._init_callback_context(max_subtasks=None)
            context.call_on_fit_task_begin(estimator=self)
            yield TaskReporter(self, context)
            context.call_on_fit_task_end(estimator=self)


def both(first: Watch | None, second: Watch | None) -> Watch | None:
    """Return a watch that calls two, either of which may be missing."""
    if first is None or second is None:
        return first or second

    def watch(step: Step) -> None:
        first(step)
        second(step)

    return watch
