"""Outputs and losses of left-out rows, against refits."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.special import softmax
from sklearn.gaussian_process.kernels import RBF

from foldless.criteria.left_out import LeftOutLosses, constant_outputs, left_out_outputs, row_losses
from foldless.grams import DenseGram
from foldless.kernels import gram
from foldless.machines import LSSVM, HingeSVM, Ridge, SmoothMachine, SoftmaxMachine, SquaredHingeSVM
from foldless.machines.losses import Logistic

# The share of the largest change that an approximation may miss; rounding for formulas that are exact.
MACHINES = [
    (SmoothMachine(Logistic(), 2.0), 0.05),
    (LSSVM(2.0), 1e-8),
    (Ridge(0.3, True), 1e-8),
    (SquaredHingeSVM(0.5), 0.05),
]


def refitted(machine, K, Y):
    outputs = np.empty(Y.shape)
    for i in range(len(Y)):
        rest = np.delete(np.arange(len(Y)), i)
        solution = machine.on_rows(rest).solve(DenseGram(K[np.ix_(rest, rest)]), Y[rest])
        outputs[i] = K[i, rest] @ np.asarray(solution.alpha).reshape(len(rest), -1) + solution.b
    return outputs


@pytest.mark.parametrize("machine, missed", MACHINES, ids=lambda value: type(value).__name__)
def test_left_out_outputs_are_those_of_refits(machine, missed, three_classes):
    X, y = three_classes
    K, Y = gram(RBF(1.5), X), np.where(y[:, None] == [0, 1], 1.0, -1.0)
    solution = machine.solve(DenseGram(K), Y)
    fitted = K @ np.asarray(solution.alpha) + solution.b
    expected = refitted(machine, K, Y)
    largest = np.max(np.abs(fitted - expected))
    assert left_out_outputs(solution) == pytest.approx(expected, abs=missed * largest)


def test_weights_do_not_scale_the_left_out_outputs_of_ridge(noisy_curve, rng):
    X, y = noisy_curve
    machine = Ridge(0.3, True, weights=rng.uniform(0.5, 2, size=len(y)))
    K, Y = gram(RBF(1.0), X), y[:, None]
    assert left_out_outputs(machine.solve(DenseGram(K), Y)) == pytest.approx(
        refitted(machine, K, Y), abs=1e-8
    )


def test_losses_are_those_of_the_machine():
    Y, Z = np.array([[1.0], [-1.0]]), np.array([[0.5], [2.0]])
    assert row_losses(LSSVM(1.0), Y, Z) == pytest.approx([0.25, 9])
    assert row_losses(HingeSVM(1.0), Y, Z) == pytest.approx([0.5, 3])
    assert row_losses(SquaredHingeSVM(1.0), Y, Z) == pytest.approx([0.125, 4.5])
    assert row_losses(SmoothMachine(Logistic()), Y, Z) == pytest.approx(np.log1p(np.exp([-0.5, 2])))


def test_weights_repeat_the_rows_when_two_fits_are_compared(rng):
    one, other, counts = rng.normal(size=20), rng.normal(size=20), rng.integers(1, 5, size=20)
    weighted = LeftOutLosses(one, counts.astype(float)).excess(LeftOutLosses(other, counts.astype(float)))
    repeated = LeftOutLosses(np.repeat(one, counts)).excess(LeftOutLosses(np.repeat(other, counts)))
    assert weighted == pytest.approx(repeated, rel=1e-12)


def test_the_unit_of_weights_that_are_no_counts_does_not_matter(rng):
    losses, weights = rng.normal(size=20), rng.uniform(1, 2, size=20)
    small, smaller = (
        LeftOutLosses(losses, scale * weights).excess(LeftOutLosses(0 * losses)) for scale in (1e-2, 1e-5)
    )
    assert small == pytest.approx(smaller, rel=1e-12)


def test_losses_of_classes_that_are_fitted_together_are_minus_log_probabilities(rng):
    Z, own = rng.normal(size=(5, 3)), np.array([0, 1, 2, 1, 0])
    Y = 2.0 * np.eye(3)[own] - 1
    expected = -np.log(softmax(Z, axis=1)[np.arange(5), own])
    assert row_losses(SoftmaxMachine(1.0), Y, Z) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize(
    "machine",
    [LSSVM(1.0), HingeSVM(1.0), SquaredHingeSVM(1.0), SmoothMachine(Logistic()), SoftmaxMachine(1.0)],
)
def test_no_constant_has_a_lower_loss_than_the_best_one(machine, rng):
    columns = 3 if isinstance(machine, SoftmaxMachine) else 1
    Y = 2.0 * np.eye(3)[rng.choice(3, size=50, p=[0.6, 0.3, 0.1])][:, :columns] - 1
    weighted = replace(machine, weights=rng.uniform(1, 3, size=50))
    mean_loss = lambda constant: LeftOutLosses.of(weighted, Y, np.broadcast_to(constant, Y.shape)).mean
    best = constant_outputs(weighted, Y)
    assert all(mean_loss(best) <= mean_loss(best + step) + 1e-12 for step in rng.normal(size=(50, columns)))
