"""Several pieces of work side by side: threads, with one BLAS thread for each."""

from joblib import Parallel, delayed, effective_n_jobs
from threadpoolctl import threadpool_limits


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
    The time goes into NumPy, BLAS and libsvm, which let other threads run. Threads share the data and cost nothing to
    start, where a process would copy the one and wait a second for the other.

    Examples
    --------
    >>> side_by_side([lambda: 1, lambda: 2], n_jobs=2)
    [1, 2]
    """
    if n_jobs is None and effective_n_jobs(None) == 1:
        return [task() for task in tasks]
    with threadpool_limits(1, user_api="blas"):
        return Parallel(n_jobs=n_jobs, require="sharedmem")(delayed(task)() for task in tasks)
