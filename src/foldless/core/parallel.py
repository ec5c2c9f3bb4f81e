"""Several tasks side by side: threads, with one BLAS thread for each."""

import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Executor, ThreadPoolExecutor, wait
from contextlib import contextmanager
from contextvars import ContextVar, copy_context
from functools import cache
from itertools import islice
from operator import call
from typing import Any, Generic, TypeVar

from joblib import effective_n_jobs
from threadpoolctl import ThreadpoolController

from foldless.core.freed_memory import keep_freed_memory

T = TypeVar("T")

# Tasks of a long sequence that are handed to the threads at a time, for each of them.
TASKS_PER_THREAD = 4

# Threads that the code running now may use: set for the time of a fit, and 1 inside a thread; None outside of fits.
_WORKERS: ContextVar[int | None] = ContextVar("workers", default=None)
# The threads of a fit besides its own; they live as long as it does, since starting one takes as long as a short task.
_HELPERS: ContextVar[Executor | None] = ContextVar("helpers", default=None)
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
    keep_freed_memory()
    n_threads = n_workers(n_jobs)
    token = _WORKERS.set(n_threads)
    try:
        with one_blas_thread(), _helpers(n_threads - 1):
            yield
    finally:
        _WORKERS.reset(token)


@contextmanager
def _helpers(n: int) -> Iterator[None]:
    """Start the threads of a fit besides its own, unless there are some or none is needed."""
    if n < 1 or _HELPERS.get() is not None:
        yield
        return
    with _threads(n) as pool:
        token = _HELPERS.set(pool)
        try:
            yield
        finally:
            _HELPERS.reset(token)


@contextmanager
def _threads(n: int) -> Iterator[Executor]:
    pool = ThreadPoolExecutor(n)
    try:
        yield pool
    finally:
        # A task that is no longer wanted ends at its next evaluation, and nobody waits for it.
        pool.shutdown(wait=False, cancel_futures=True)


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
    shared = _Shared(tasks)
    with one_blas_thread(), _helpers(n_threads - 1):
        helpers = _HELPERS.get()
        assert helpers is not None
        with shared.given_to(helpers, n_threads - 1):
            shared.work()
    return shared.results()


def in_background(tasks: Sequence[Callable[[], T]], n_jobs: int | None = None) -> list[T]:
    """Call functions without arguments and return their results, in order, while the caller only waits.

    This is for long tasks that may handle an interrupt themselves, where :func:`side_by_side` would let the caller take part:
    Ctrl-C reaches the caller at once, and through it all of them.
    """
    n_threads = min(len(tasks), n_workers(n_jobs))
    if n_threads <= 1:
        return list(map(call, tasks))
    shared = _Shared(tasks)
    with one_blas_thread(), _threads(n_threads) as pool, shared.given_to(pool, n_threads):
        pass
    return shared.results()


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


class _Shared(Generic[T]):
    """Tasks that several threads take one after the other."""

    def __init__(self, tasks: Sequence[Callable[[], T]]) -> None:
        # Every task sees the settings of the caller, such as NumPy's handling of errors.
        self._waiting = [(i, copy_context(), task) for i, task in reversed(list(enumerate(tasks)))]
        self._found, self._errors = dict[int, T](), dict[int, BaseException]()
        self._cancelled = threading.Event()

    @contextmanager
    def given_to(self, pool: Executor, n_threads: int) -> Iterator[None]:
        """Let threads work on the tasks, and wait for them at the end, until all are done or one has failed."""
        try:
            futures = [pool.submit(self.work) for _ in range(n_threads)]
            yield
            # Threads that have not begun would find nothing left, unless the caller took no part.
            running = {future for future in futures if self._waiting or not future.cancel()}
            while running and not self._cancelled.is_set():
                running = wait(running, return_when=FIRST_COMPLETED).not_done
        except BaseException:
            # After Ctrl-C the caller goes on at once; tasks that are running end at their next evaluation.
            self._cancelled.set()
            raise

    def work(self) -> None:
        """Do one task after the other until none is left or one has failed."""
        while not self._cancelled.is_set():
            try:
                # Two threads never take the same one: this is a single step of the interpreter.
                i, context, task = self._waiting.pop()
            except IndexError:
                return
            try:
                self._found[i] = context.run(_alone, task, self._cancelled)
            except BaseException as error:
                self._errors[i] = error
                self._cancelled.set()

    def results(self) -> list[T]:
        """Return what the tasks returned, in order, or raise the error of the first one that failed."""
        if self._errors:
            raise self._errors[min(self._errors)]
        return [self._found[i] for i in sorted(self._found)]


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
