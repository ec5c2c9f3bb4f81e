"""Threads: how many there are, how many BLAS has meanwhile, and what an error or an interrupt leaves behind."""

import threading
import time
from functools import partial

import joblib
import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from foldless.core.parallel import (
    in_background,
    in_order,
    is_cancelled,
    n_workers,
    one_blas_thread,
    side_by_side,
    workers,
)


def blas_threads():
    return {pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"}


def test_blas_has_one_thread_and_its_own_again_afterwards():
    with threadpool_limits(2, user_api="blas"):
        with one_blas_thread():
            assert blas_threads() == {1}
        assert blas_threads() == {2}


def test_overlapping_fits_leave_blas_as_they_found_it():
    with threadpool_limits(2, user_api="blas"):
        first, second = one_blas_thread(), one_blas_thread()
        first.__enter__()
        second.__enter__()
        first.__exit__(None, None, None)
        assert blas_threads() == {1}
        second.__exit__(None, None, None)
        assert blas_threads() == {2}


def test_an_error_leaves_blas_as_it_was():
    with threadpool_limits(2, user_api="blas"):
        with pytest.raises(ZeroDivisionError):
            side_by_side([lambda: 1 / 0, lambda: 1], n_jobs=2)
        assert blas_threads() == {2}


def test_tasks_run_at_the_same_time():
    meeting = threading.Barrier(2, timeout=30)
    assert sorted(side_by_side([meeting.wait, meeting.wait], n_jobs=2)) == [0, 1]


def test_none_runs_in_turn_and_joblib_may_say_otherwise():
    assert side_by_side([threading.current_thread] * 2) == [threading.current_thread()] * 2
    meeting = threading.Barrier(2, timeout=30)
    with joblib.parallel_config(n_jobs=2):
        assert sorted(side_by_side([meeting.wait, meeting.wait])) == [0, 1]
        assert threading.current_thread() not in in_background([threading.current_thread] * 2)


def test_a_task_has_one_thread():
    with workers(3):
        assert n_workers() == 3
        assert side_by_side([n_workers, partial(n_workers, 2)]) == [1, 1]
    assert n_workers() == 1


def test_tasks_see_the_settings_of_the_caller():
    with np.errstate(divide="raise"):
        found = side_by_side([np.geterr, np.geterr], n_jobs=2)
    assert [setting["divide"] for setting in found] == ["raise", "raise"]


@pytest.mark.parametrize("n_jobs", [1, 2, 3])
def test_long_sequences_come_in_order(n_jobs):
    with workers(n_jobs):
        assert list(in_order(partial(int, i) for i in range(40))) == list(range(40))


@pytest.mark.parametrize("run", [side_by_side, in_background])
def test_the_others_learn_of_an_error(run):
    told, begun = threading.Event(), threading.Barrier(2, timeout=30)

    def wait():
        begun.wait()
        for _ in range(3000):
            if is_cancelled():
                told.set()
                return
            time.sleep(0.01)

    def fail():
        begun.wait()
        raise KeyError("the first error")

    with pytest.raises(KeyError, match="the first error"):
        run([wait, fail], n_jobs=2)
    assert told.wait(30)
