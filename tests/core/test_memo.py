"""Caches: computed once for the same arguments, and never taken for others."""

import weakref

import numpy as np
import pytest

from foldless.core.memo import Latest, Memo


def counted():
    """A function that returns 1, 2, ... at its calls."""
    calls = []
    return lambda: calls.append(None) or len(calls)


def test_a_result_is_computed_once_for_a_name_and_its_arguments():
    memo, compute, weights = Memo(), counted(), np.ones(3)
    assert [memo.get("a", True, weights, compute=compute) for _ in range(3)] == [1, 1, 1]
    assert memo.get("a", False, weights, compute=compute) == 2
    assert memo.get("b", True, weights, compute=compute) == 3
    assert memo.get("a", True, weights.copy(), compute=compute) == 4  # arrays are told apart by identity
    assert memo.get("a", True, None, compute=compute) == 5
    assert memo.get("text", "".join(["K", "L"]), compute=compute) == memo.get("text", "KL", compute=compute)


def test_no_other_array_takes_the_place_of_a_freed_one():
    memo, compute = Memo(), counted()
    found = [memo.get("a", np.ones(3), compute=compute) for _ in range(50)]
    assert found == list(range(1, 51))


def test_a_failed_computation_leaves_nothing_behind():
    memo, latest = Memo(), Latest()
    for cache in (lambda c: memo.get("a", compute=c), lambda c: latest.get("a", c)):
        with pytest.raises(ZeroDivisionError):
            cache(lambda: 1 / 0)
        assert cache(lambda: 2) == 2


def test_only_the_latest_result_is_kept():
    latest, compute = Latest(), counted()
    assert [latest.get(key, compute) for key in (b"x", b"x", b"y", b"y", b"x")] == [1, 1, 2, 2, 3]


def test_the_old_result_is_freed_before_the_next_is_computed():
    latest = Latest()
    old = weakref.ref(latest.get(1, lambda: np.ones(3)))
    assert old() is not None
    assert latest.get(2, lambda: old() is None)
