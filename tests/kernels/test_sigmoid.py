"""The sigmoid kernel: scikit-learn's values, derivatives by differences."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.metrics.pairwise import sigmoid_kernel

from foldless.kernels import Sigmoid, gram, pullback
from foldless.kernels.evaluate import diagonal

FREE = Sigmoid(0.3, 0.7, coef0_bounds=(1e-3, 1e3))


def test_it_is_scikit_learns(rng):
    X, Y = rng.normal(size=(7, 3)), rng.normal(size=(4, 3))
    for kernel in (Sigmoid(0.3, -0.7), FREE):
        expected = sigmoid_kernel(X, Y, gamma=kernel.gamma, coef0=kernel.coef0)
        assert kernel(X, Y) == pytest.approx(expected, rel=1e-12)
        assert gram(kernel, X, Y) == pytest.approx(expected, rel=1e-12)
        assert diagonal(kernel, X) == pytest.approx(np.diag(kernel(X)), rel=1e-12)


@pytest.mark.parametrize("kernel", [FREE, Sigmoid(0.4, -0.2), Sigmoid(1.0, 1.0, "fixed")])
def test_derivatives_are_those_of_the_logarithms(kernel, rng):
    X, A = rng.normal(size=(6, 2)), rng.normal(size=(6, 6))
    moves = [
        (kernel.clone_with_theta(kernel.theta + e)(X) - kernel.clone_with_theta(kernel.theta - e)(X)) / 2e-6
        for e in 1e-6 * np.eye(len(kernel.theta))
    ]
    expected = np.array([np.vdot(A, move) for move in moves])
    assert pullback(kernel, X, A) == pytest.approx(expected, rel=1e-6, abs=1e-8)
    tensor = kernel(X, eval_gradient=True)[1]
    assert tensor.shape == (6, 6, len(kernel.theta))
    assert np.tensordot(A, tensor, axes=2) == pytest.approx(expected, rel=1e-6, abs=1e-8)


def test_it_clones_and_is_not_stationary():
    assert clone(FREE) == FREE
    assert not FREE.is_stationary()
