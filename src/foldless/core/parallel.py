"""Several tasks side by side: threads, with one BLAS thread for each."""

import time
from collections.abc import Callable, Sequence
from functools import cache
from operator import call
from typing import Any, TypeVar

from joblib import Parallel, delayed, effective_n_jobs
from threadpoolctl import ThreadpoolController

T = TypeVar("T")

# Tasks shorter than this run faster in turn than in several threads.
THREAD_MIN_SECONDS = 0.5


def side_by_side(tasks: Sequence[Callable[[], T]], n_jobs: int | None = None) -> list[T]:
    """Call functions without arguments and return their results, in order.

    Parameters
    ----------
    tasks : list of callables
    n_jobs : int, optional
        ``None`` calls one after the other and leaves BLAS its threads. A number calls so many at a time (-1: one
        per core) with BLAS held to one thread each, so that they do not compete for the cores; the results are the
        same for every number.

    Notes
    -----
    Threads share the data and start at once, where a process would copy the data and take a second to start. SciPy's
    LAPACK does not release the interpreter, so that a second thread gains little, and loses if tasks are short. The
    first task therefore always runs alone, and its time decides whether the others run in threads.

    Examples
    --------
    >>> side_by_side([lambda: 1, lambda: 2], n_jobs=2)
    [1, 2]
    """
    if n_jobs is None and effective_n_jobs(None) == 1:
        return list(map(call, tasks))
    with one_blas_thread():
        begun, done = time.perf_counter(), list(map(call, tasks[:1]))
        if time.perf_counter() - begun < THREAD_MIN_SECONDS:
            return done + list(map(call, tasks[1:]))
        return done + Parallel(n_jobs=n_jobs, require="sharedmem")(delayed(task)() for task in tasks[1:])


@cache
def _controller() -> ThreadpoolController:
    # Its constructor searches all loaded libraries, which takes time: one is enough.
    return ThreadpoolController()


def one_blas_thread() -> Any:
    """Return a context in which BLAS has one thread.

    NumPy and SciPy bring a BLAS each, with threads of their own that wait for work by spinning. A search makes many
    small calls to both: on two cores a second thread made it two to six times slower up to 2000 rows, twice from 3000 to
    20 000, and 1.8 times at 150 000, because rows are processed in strips, whose products are short.
    """
    return _controller().limit(limits=1, user_api="blas")
