"""Why a search ends: a small gradient is convergence, in the scale that the objective declares; all else is said."""

import numpy as np
import pytest

from foldless.core.contracts import Box, Evaluation, HasScale, Stop
from foldless.searches import LBFGS, HMCAscent, NelderMead, RandomWalk

BOX = Box(np.full(2, -3.0), np.full(2, 3.0))
START = np.array([2.0, -2.0])


class Valley(HasScale):
    """A curved valley whose value has an arbitrary constant, such as a log density in another unit."""

    value_scale = 1.0

    def __init__(self, constant=0.0):
        self.constant = constant

    def __call__(self, theta, warm_start=None):
        a, b = theta
        value = (1 - a) ** 2 + 10 * (b - a * a) ** 2 + self.constant
        return Evaluation(value, lambda: np.array([-2 * (1 - a) - 40 * a * (b - a * a), 20 * (b - a * a)]))


@pytest.mark.parametrize("search", [LBFGS(), NelderMead(), RandomWalk(), HMCAscent(tolerance=1e-2)])
@pytest.mark.parametrize("constant", [-1.0, 1e3, -1e5])
def test_a_constant_of_the_objective_changes_no_search(search, constant):
    plain, other = (search(Valley(c), BOX, [START]) for c in (0.0, constant))
    # The constant costs digits of the value, by which the simplex and the walk decide.
    assert other.best.theta == pytest.approx(plain.best.theta, abs=0.02)
    assert other.stop is plain.stop
    assert abs(len(other.trace) - len(plain.trace)) <= 0.1 * len(plain.trace)


def test_a_descent_that_converged_has_a_small_gradient():
    outcome = LBFGS()(Valley(1e3), BOX, [START])
    assert outcome.stop is Stop.CONVERGED
    assert np.max(np.abs(outcome.best.gradient)) < 1e-2
    tight = LBFGS(tolerance=1e-12)(Valley(), BOX, [START])
    assert np.max(np.abs(tight.best.gradient)) < 1e-6


def test_a_gradient_that_points_out_of_the_box_is_no_reason_to_go_on():
    slope = lambda theta, warm_start=None: Evaluation(float(theta.sum()) + 10.0, lambda: np.ones(2))
    outcome = LBFGS()(slope, BOX, [START])
    assert outcome.stop is Stop.CONVERGED
    assert np.array_equal(outcome.best.theta, BOX.low)


def test_a_descent_that_ends_at_a_kink_has_stalled():
    def kink(theta, warm_start=None):
        away = theta - [0.3, -0.7]
        return Evaluation(float(np.sum(np.abs(away))) + 1.0, lambda: np.sign(away))

    outcome = LBFGS()(kink, BOX, [START])
    assert outcome.stop is Stop.STALLED
    assert outcome.best.value < kink(START).value


def test_a_descent_with_a_wrong_gradient_has_stalled():
    uphill = lambda theta, warm_start=None: Evaluation(1.0 + float(theta @ theta), lambda: -2 * theta)
    assert LBFGS()(uphill, BOX, [START]).stop is Stop.STALLED
