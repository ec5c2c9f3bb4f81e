"""Threads: how many BLAS has while others work."""

import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from foldless.jobs import FEW, one_blas_thread


def blas_threads():
    return {pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"}


@pytest.mark.parametrize("rows, inside", [(FEW, {1}), (FEW + 1, {2})])
def test_blas_has_one_thread_up_to_some_rows_and_its_own_again_afterwards(rows, inside):
    with threadpool_limits(2, user_api="blas"):
        with one_blas_thread(rows):
            assert blas_threads() == inside
        assert blas_threads() == {2}
