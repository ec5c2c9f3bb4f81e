"""The slope that turns left-out outputs into probabilities."""

import numpy as np
import pytest
from scipy.special import expit

from foldless.estimators.calibration import SLOPE_BOUNDS, calibrate


@pytest.mark.parametrize("size", [1e-3, 1.0, 1e4])
def test_the_cost_is_flat_at_the_slope(rng, size):
    f = size * rng.normal(size=200)
    y = np.where(f / size + rng.normal(size=200) > 0, 1.0, -1.0)
    counts = rng.integers(1, 4, 200).astype(float)
    n = {sign: counts[y == sign].sum() for sign in (-1.0, 1.0)}
    target = np.where(y > 0, (n[1.0] + 1) / (n[1.0] + 2), 1 / (n[-1.0] + 2))
    slope = calibrate(f[:, None], y[:, None], counts).slope
    # The derivative of the cross-entropy changes its sign within 1e-11 of the slope; sums of 200 terms know it to 1e-13.
    below, above = (
        np.sum(counts * (expit(slope * (1 + change) * f) - target) * f) for change in (-1e-11, 1e-11)
    )
    assert below < 0 < above


def test_outputs_that_are_always_wrong_get_the_least_slope():
    y = np.array([1.0, -1.0, 1.0, -1.0])[:, None]
    # In units of the root mean square of the two logits, which are half of the outputs.
    assert calibrate(-y, y).slope == pytest.approx(2 * SLOPE_BOUNDS[0])
