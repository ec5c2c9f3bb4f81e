"""Several tasks side by side: threads, with one BLAS thread for each."""

import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from contextlib import contextmanager
from contextvars import ContextVar, copy_context
from functools import cache
from itertools import islice
from operator import call
from typing import Any, TypeVar

from joblib import effective_n_jobs
from threadpoolctl import ThreadpoolController

T = TypeVar("T")

# Tasks of a long sequence that are handed to the threads at a time, for each of them.
TASKS_PER_THREAD = 4

# Threads that the code running now may use: set for the time of a fit, and 1 inside a thread; None outside of fits.
_WORKERS: ContextVar[int | None] = ContextVar("workers", default=None)
# Set when the tasks that run beside this one are no longer wanted.
_CANCELLED: ContextVar[threading.Event | None] = ContextVar("cancelled", default=None)


def n_workers(n_jobs: int | None = None) -> int:
    """Return how many threads may run: inside a fit what it was given, inside one of its threads 1, else ``n_jobs``."""
    given = _WORKERS.get()
    return int(effective_n_jobs(n_jobs)) if given is None else given


@contextmanager
def workers(n_jobs: int | None) -> Iterator[None]:
    """Let everything inside use so many threads, and BLAS one for each of them.

    The number of threads changes how long a fit takes and no digit of its result: tasks are cut in the same way for every
    number, and sums are taken in a fixed order.
    """
    token = _WORKERS.set(n_workers(n_jobs))
    try:
        with one_blas_thread():
            yield
    finally:
        _WORKERS.reset(token)


def side_by_side(tasks: Sequence[Callable[[], T]], n_jobs: int | None = None) -> list[T]:
    """Call functions without arguments and return their results, in order.

    Parameters
    ----------
    tasks : list of callables
    n_jobs : int, optional
        How many run at a time: ``None`` stands for one (or for what joblib's ``parallel_config`` says), -1 for one per
        core. Inside a fit its own number counts; a task that calls this function again runs its own tasks in turn.

    Raises
    ------
    Exception
        The error of the first task that failed; tasks that have not begun are dropped.

    Notes
    -----
    Threads share the data and start at once, where a process would copy the data and take a second to start. They run at
    the same time because the linear algebra releases the interpreter's lock; see :mod:`foldless.core.blas`.

    Examples
    --------
    >>> side_by_side([lambda: 1, lambda: 2], n_jobs=2)
    [1, 2]
    """
    n_threads = min(len(tasks), n_workers(n_jobs))
    if n_threads <= 1:
        return list(map(call, tasks))
    with one_blas_thread():
        return _in_threads(tasks, n_threads)


def in_order(tasks: Iterable[Callable[[], T]]) -> Iterator[T]:
    """Call functions without arguments, some of them ahead in threads, and yield their results in order.

    Only a few results exist at a time, however many tasks there are. The number of threads is that of the fit.
    """
    n_threads = n_workers()
    if n_threads <= 1:
        yield from map(call, tasks)
        return
    waiting = iter(tasks)
    while batch := list(islice(waiting, TASKS_PER_THREAD * n_threads)):
        yield from side_by_side(batch)


def _in_threads(tasks: Sequence[Callable[[], T]], n_threads: int) -> list[T]:
    pool, cancelled = ThreadPoolExecutor(n_threads), threading.Event()
    try:
        # Every task sees the settings of the caller, such as NumPy's handling of errors.
        futures = [pool.submit(copy_context().run, _alone, task, cancelled) for task in tasks]
        wait(futures, return_when=FIRST_EXCEPTION)
        # If one has failed, those that are done are asked in order, until its error is raised.
        return [future.result() for future in futures if future.done()]
    except BaseException:
        # After an error or Ctrl-C the caller goes on at once; tasks that are running end at their next evaluation.
        cancelled.set()
        raise
    finally:
        pool.shutdown(wait=not cancelled.is_set(), cancel_futures=True)


def _alone(task: Callable[[], T], cancelled: threading.Event) -> T:
    """Call a task that must not start threads of its own."""
    _WORKERS.set(1)
    _CANCELLED.set(cancelled)
    return task()


def is_cancelled() -> bool:
    """Return whether the result of the running task is no longer wanted, because another one failed or by Ctrl-C."""
    cancelled = _CANCELLED.get()
    return cancelled is not None and cancelled.is_set()


@cache
def _controller() -> ThreadpoolController:
    # Its constructor searches all loaded libraries, which takes time: one is enough.
    return ThreadpoolController()


class _OneThread:
    """Holds BLAS to one thread while anybody needs that; fits in several threads of a program may overlap."""

    def __init__(self) -> None:
        self._lock, self._users = threading.Lock(), 0
        self._limit: Any = None

    def __enter__(self) -> None:
        with self._lock:
            if self._users == 0:
                self._limit = _controller().limit(limits=1, user_api="blas")
            self._users += 1

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._users -= 1
            if self._users == 0:
                self._limit.restore_original_limits()


_ONE_THREAD = _OneThread()


def one_blas_thread() -> _OneThread:
    """Return a context in which BLAS has one thread; the last one to leave it restores what was set before.

    NumPy and SciPy bring a BLAS each, with threads of their own that wait for work by spinning. A search makes many
    small calls to both: on two cores a second thread made it two to six times slower up to 2000 rows, twice from 3000 to
    20 000, and 1.8 times at 150 000, because rows are processed in strips, whose products are short.
    """
    return _ONE_THREAD
