"""Several pieces of work side by side: threads, with one BLAS thread for each."""

import time
from functools import cache

from joblib import Parallel, delayed, effective_n_jobs
from threadpoolctl import ThreadpoolController

WORTH = 0.5  # seconds a task must take for workers not to get in each other's way


def side_by_side(tasks, n_jobs=None):
    """Call functions without arguments and return what they gave, in order.

    Parameters
    ----------
    tasks : list of callables
    n_jobs : int, optional
        ``None`` calls one after the other and leaves BLAS its threads. A number calls so many at a time (-1: one
        per core) with BLAS held to one thread each, so that they do not fight for the cores; what comes back is the
        same for every number.

    Notes
    -----
    Threads share the data and cost nothing to start, where a process would copy the one and wait a second for the other.
    SciPy's LAPACK does not let go of the interpreter, so that a second worker gains little, and loses where tasks are
    short. The first task is therefore always done alone, and tells whether the others are worth it.

    Examples
    --------
    >>> side_by_side([lambda: 1, lambda: 2], n_jobs=2)
    [1, 2]
    """
    if n_jobs is None and effective_n_jobs(None) == 1:
        return [task() for task in tasks]
    with one_blas_thread():
        begun, done = time.perf_counter(), [task() for task in tasks[:1]]
        if time.perf_counter() - begun < WORTH:
            return done + [task() for task in tasks[1:]]
        return done + Parallel(n_jobs=n_jobs, require="sharedmem")(delayed(task)() for task in tasks[1:])


@cache
def _controller():
    return ThreadpoolController()  # it looks through all loaded libraries: once is enough


def one_blas_thread():
    """Return a context in which BLAS has one thread.

    NumPy and SciPy bring a BLAS each, with threads of their own that wait for work by spinning. A search makes many
    small calls to both: on two cores a second thread made it two to six times slower up to 2000 rows, twice from 3000 to
    20 000, and 1.8 times at 150 000: rows are worked through in strips, whose products are short.
    """
    return _controller().limit(limits=1, user_api="blas")
