"""The unit and the origin of the targets change no choice."""

import numpy as np
import pytest
from sklearn.datasets import load_diabetes
from sklearn.gaussian_process.kernels import RBF

from foldless import KernelRidgeRegressor
from foldless.core.contracts import Stop
from foldless.criteria import BY_NAME
from foldless.grams import DenseGram
from foldless.machines import Ridge

# Any unit, and an origin far away: a constant that the evidence has besides n times the logarithm of the unit.
CHANGES = {"hundredths": lambda y: 1e-2 * y, "10000": lambda y: 1e4 * y, "shifted": lambda y: y + 1e6}


@pytest.fixture(scope="module")
def diabetes():
    X, y = load_diabetes(return_X_y=True, scaled=False)
    return (X - X.mean(axis=0)) / X.std(axis=0), y


@pytest.mark.parametrize("rows", [120, 442])  # a whole matrix; landmarks first
@pytest.mark.parametrize("criterion", ["loo", "gcv", "evidence", "abic"])
def test_the_unit_of_the_targets_does_not_change_the_kernel(diabetes, criterion, rows):
    X, y = diabetes[0][:rows], diabetes[1][:rows]
    plain = KernelRidgeRegressor(criterion=criterion).fit(X, y)
    for name, change in CHANGES.items():
        other = KernelRidgeRegressor(criterion=criterion).fit(X, change(y))
        ratio = other.kernel_.length_scale / plain.kernel_.length_scale
        assert np.log(ratio) == pytest.approx(0, abs=1e-3), name
        assert other.selection_.outcome.stop == plain.selection_.outcome.stop, name


@pytest.mark.parametrize("route", ["factor", "spectrum"])
@pytest.mark.parametrize("criterion", ["loo", "gcv", "evidence", "abic", "kfold"])
def test_targets_far_from_zero_keep_the_digits_of_the_criterion(diabetes, criterion, route):
    X, y = diabetes
    gram, machine, read = DenseGram(RBF(3.0)(X)), Ridge(0.1, bias=True, route=route), BY_NAME[criterion]()
    near, far = (read(machine.solve(gram, targets[:, None])).value for targets in (y, y + 1e6))
    # y + 1e6 is rounded by 1e-10 / 77 of its spread; without its mean no further digits are lost.
    assert far == pytest.approx(near, rel=1e-10)


@pytest.mark.parametrize("criterion", ["loo", "gcv", "evidence", "abic"])
def test_a_search_that_says_it_converged_is_at_a_minimum(diabetes, criterion):
    X, y = diabetes
    model = KernelRidgeRegressor(criterion=criterion, gram="dense").fit(X, y)
    selection = model.selection_
    assert selection.outcome.stop is Stop.CONVERGED
    best = selection.outcome.best.theta
    value = selection.objective(best).value
    scale = abs(value) if selection.objective.value_scale is None else selection.objective.value_scale
    for i in range(len(best)):
        for step in (-0.2, 0.2):
            there = selection.objective(best + step * np.eye(len(best))[i])
            assert there.value > value - 1e-4 * scale
