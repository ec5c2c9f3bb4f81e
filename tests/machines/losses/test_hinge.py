"""The normalising constant of the hinge losses, against its definition and the reference numbers."""

import numpy as np
import pytest

from foldless.machines.losses import Hinge, SquaredHinge
from foldless.machines.losses.hinge import balance

approx = pytest.approx


@pytest.mark.parametrize("loss", [Hinge(), SquaredHinge()])
@pytest.mark.parametrize("C", [0.05, 0.7, 1.01, 1.3, 4.0, 9.0])
def test_kappa_is_the_largest_admissible_constant(loss, C):
    total = lambda z: np.exp(-C * loss.value(z)) + np.exp(-C * loss.value(-z))
    best = np.max(total(np.linspace(-3, 3, 600_001)))  # the kinks are on the grid
    assert loss.log_kappa(C)[0] == approx(-np.log(best), abs=1e-9)


@pytest.mark.parametrize("loss", [Hinge(), SquaredHinge()])
@pytest.mark.parametrize("C", [0.3, 1.7, 6.0])
def test_slope_is_the_derivative(loss, C):
    step = 1e-5
    expected = (loss.log_kappa(C + step)[0] - loss.log_kappa(C - step)[0]) / (2 * step)
    assert loss.log_kappa(C)[1] == approx(expected, abs=1e-9)


def test_reference_numbers():
    C = np.array([0.25, 1, 1.5, 2, 5])
    value, slope = SquaredHinge().log_kappa(C)
    assert [balance(c) for c in C] == approx([0, 0, 0.8585596366, 0.9575040241, 0.9999091217], abs=6e-11)
    assert value == approx(
        [-0.5681471806, -0.1931471806, -0.0583413494, -0.0196710680, -0.0000454195], abs=6e-11
    )
    assert slope == approx([0.5, 0.5, 0.1314376752, 0.0415930219, 0.0000908742], abs=6e-11)


@pytest.mark.parametrize("loss", [Hinge(), SquaredHinge()])
def test_pull_is_minus_the_derivative(loss):
    s = np.array([-2.3, 0.2, 0.9, 1.4])
    assert loss.pull(s) == approx(-(loss.value(s + 1e-6) - loss.value(s - 1e-6)) / 2e-6, abs=1e-8)
