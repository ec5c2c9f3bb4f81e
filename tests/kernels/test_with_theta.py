"""Kernels with other parameters, without scikit-learn's detour."""

import numpy as np
import pytest
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, Matern, RationalQuadratic

from foldless.kernels.evaluate import with_theta


class Renamed(RBF):
    """A kernel of a user's own."""


KERNELS = [
    RBF(2.0, (0.1, 9.0)),
    RBF([2.0, 3.0], [(0.1, 9.0), (0.2, 8.0)]),
    RBF([2.0], (0.1, 9.0)),
    RBF([2.0, 3.0], (0.1, 9.0)),
    Matern(2.0, (0.1, 9.0), nu=0.5),
    Matern([2.0, 3.0], nu=2.5),
    Renamed(2.0, (0.1, 9.0)),
    ConstantKernel(2.0) * RBF(1.0, "fixed"),
    RationalQuadratic(),
]


@pytest.mark.parametrize("kernel", KERNELS, ids=str)
def test_it_is_the_clone_of_scikit_learn(kernel, rng):
    theta = rng.normal(size=len(kernel.theta))
    found, expected = with_theta(kernel, theta), kernel.clone_with_theta(theta)
    assert type(found) is type(expected)
    assert found == expected
    assert str(found.get_params()) == str(expected.get_params())
    np.testing.assert_array_equal(found.bounds, expected.bounds)
    X = rng.normal(size=(5, 2))
    np.testing.assert_array_equal(found(X), expected(X))
