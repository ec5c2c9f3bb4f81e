"""Threads: how many BLAS has while others work."""

import threading

import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from foldless.core import parallel as jobs
from foldless.core.parallel import one_blas_thread, side_by_side


def blas_threads():
    return {pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"}


def test_blas_has_one_thread_and_its_own_again_afterwards():
    with threadpool_limits(2, user_api="blas"):
        with one_blas_thread():
            assert blas_threads() == {1}
        assert blas_threads() == {2}


@pytest.mark.parametrize(("worth", "together"), [(3600.0, False), (0.0, True)])
def test_workers_are_called_only_for_tasks_that_take_long(worth, together, monkeypatch):
    monkeypatch.setattr(jobs, "THREAD_MIN_SECONDS", worth)
    here = [
        thread is threading.main_thread() for thread in side_by_side([threading.current_thread] * 4, n_jobs=2)
    ]
    assert here == [True, *[not together] * 3]
