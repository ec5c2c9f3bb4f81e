"""The noisy ascent: why it ends."""

import numpy as np

from foldless.core.contracts import Box, Evaluation, Stop
from foldless.searches import HMCAscent


def drifting(theta, warm_start=None):
    """A bowl in the first parameter, a slope that fades along the second, and standard errors that fade faster."""
    x, z = theta
    fade = np.exp(z)
    gradient = np.array([x - 1, fade])
    return Evaluation(
        1 + (x - 1) ** 2 / 2 + fade,
        derive=lambda: gradient,
        gradient_error=lambda: np.array([0.05, 1e-4 * fade]),
    )


def test_a_derivative_too_small_to_matter_ends_the_walk_however_sure_it_is():
    box = Box(np.array([-5.0, -40.0]), np.array([5.0, 5.0]))
    outcome = HMCAscent()(drifting, box, [np.array([0.0, 0.0])])
    last = outcome.trace[-1]
    assert outcome.stop is Stop.NOISE
    assert abs(last.gradient[0]) <= 2 * 0.05
    assert 1e-4 < last.gradient[1] <= 1e-3 * last.value
    assert last.gradient[1] > 100 * last.error[1]
