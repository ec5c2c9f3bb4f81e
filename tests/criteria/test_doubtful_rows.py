"""Rows for which one step is too short: their rule against refits."""

import numpy as np
import pytest
from sklearn.gaussian_process.kernels import RBF

from foldless.criteria.derivatives.second_steps import second_steps
from foldless.criteria.doubtful_rows import (
    SECOND_STEP_LIMIT,
    doubtful_rows,
    has_long_second_step,
    softmax_second_steps,
)
from foldless.criteria.left_out import left_out_outputs
from foldless.criteria.left_out_models import coefficients_without, leverages
from foldless.grams import DenseGram
from foldless.kernels import gram
from foldless.machines import LSSVM, SmoothMachine, SoftmaxMachine
from foldless.machines.losses import Logistic, Poisson

MACHINES = {"one against the rest": SmoothMachine(Logistic(), C=40.0), "softmax": SoftmaxMachine(C=40.0)}


def many_classes(seed, n=90, k=15):
    """Overlapping classes of six rows each: kernel values and signs."""
    rng = np.random.default_rng(seed)
    index = np.arange(n) % k
    X = rng.normal(size=(k, 5))[index] + 0.7 * rng.normal(size=(n, 5))
    return DenseGram(gram(RBF(2.5), X, X)), np.where(index[:, None] == np.arange(k), 1.0, -1.0)


def refitted_outputs(solution, K, Y):
    """The output (n, k) of every row from a fit without it."""
    found = []
    for i in range(K.n):
        alpha, b = coefficients_without(solution.machine, K, Y, i)
        found.append(K.matmul(alpha)[i] + b)
    return np.array(found)


@pytest.mark.parametrize("name, k", [("one against the rest", 15), ("softmax", 6)])
def test_the_other_rows_have_the_outputs_of_refits(name, k):
    K, Y = many_classes(0, n=6 * k, k=k)
    solution = MACHINES[name].solve(K, Y)
    error = np.max(np.abs(left_out_outputs(solution) - refitted_outputs(solution, K, Y)), axis=1)
    doubtful = doubtful_rows(solution)
    assert np.max(np.delete(error, doubtful)) < 3 * SECOND_STEP_LIMIT
    # That is not so for the rows of low leverage.
    assert np.max(error[leverages(solution) <= 0.7]) > 3 * SECOND_STEP_LIMIT
    # Few are doubtful for nothing.
    assert np.mean(error[has_long_second_step(solution)] > SECOND_STEP_LIMIT / 2) > 0.9


@pytest.mark.parametrize("bias", [True, False])
def test_second_steps_of_two_classes_are_those_of_logistic_regression(bias):
    K, Y = many_classes(2, n=30, k=2)
    # The outputs of the two classes are half of the one output, with opposite signs.
    two = SoftmaxMachine(C=10.0, bias=bias).solve(K, Y)
    one = SmoothMachine(Logistic(), C=20.0, bias=bias).solve(K, Y[:, 1:]).columns[0]
    expected = np.abs(second_steps(one, np.arange(30))) / 2
    assert softmax_second_steps(two) == pytest.approx(expected, rel=1e-6, abs=1e-12)


def test_a_row_that_stands_for_two_has_the_second_step_of_each():
    K, Y = many_classes(3, n=24, k=3)
    twice = np.r_[np.arange(24), 5]
    counts = np.ones(24)
    counts[5] = 2
    apart = SoftmaxMachine(C=10.0).solve(K.subset(twice), Y[twice])
    together = SoftmaxMachine(C=10.0, weights=counts, row_counts=counts).solve(K, Y)
    assert softmax_second_steps(together) == pytest.approx(softmax_second_steps(apart)[:24], rel=1e-6)


def test_bounds_hide_no_long_step():
    K, Y = many_classes(4)
    for column in MACHINES["one against the rest"].solve(K, Y).columns:
        steps = np.abs(second_steps(column, np.arange(K.n)))
        assert has_long_second_step(column).tolist() == (steps > SECOND_STEP_LIMIT).tolist()


def test_counts_are_asked_too_and_exact_machines_are_not(rng):
    K, Y = many_classes(5, n=40, k=2)
    counts = rng.poisson(2, size=(40, 1)).astype(float)
    counts[0] = 60
    solution = SmoothMachine(Poisson(), C=5.0).solve(K, counts)
    assert has_long_second_step(solution)[0]
    assert not np.any(has_long_second_step(LSSVM(C=1e3).solve(K, Y)))
