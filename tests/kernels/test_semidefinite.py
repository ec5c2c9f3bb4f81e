"""Kernels that are said to be positive semi-definite are, and the others are checked where it matters."""

import numpy as np
import pytest
from sklearn.gaussian_process.kernels import (
    RBF,
    ConstantKernel,
    DotProduct,
    ExpSineSquared,
    Matern,
    RationalQuadratic,
    WhiteKernel,
)

from foldless.core.errors import NotPositiveDefinite
from foldless.grams import DenseGram, LowRankGram
from foldless.grams.builders import DenseBuilder
from foldless.kernels import Laplacian, Sigmoid, gram
from foldless.kernels.evaluate import is_semidefinite
from foldless.machines import HingeSVM

X = np.random.default_rng(0).normal(size=(60, 3))
SURE = [
    RBF(0.5),
    RBF([0.3, 2.0, 5.0]),
    Matern(1.0, nu=0.5),
    Matern(2.0, nu=2.2),
    RationalQuadratic(1.0, 0.3),
    Laplacian(1.0),
    DotProduct(0.5),
    DotProduct(1.0) ** 3,
    2.0 * RBF(1.0) * Matern(0.7) + WhiteKernel(0.1) + ConstantKernel(0.5),
]


@pytest.mark.parametrize("kernel", SURE, ids=str)
def test_what_is_said_to_be_semidefinite_is(kernel):
    K = gram(kernel, X)
    assert is_semidefinite(kernel)
    assert np.linalg.eigvalsh(K)[0] > -1e-13 * np.trace(K)
    assert DenseBuilder(X).gram(kernel).semidefinite


@pytest.mark.parametrize(
    "kernel",
    [
        Sigmoid(1.0, -1.0),
        RBF(1.0) * Sigmoid(1.0, -1.0),
        RBF(1.0) ** 0.5,
        ExpSineSquared(),
        DotProduct(1.0) + Sigmoid(),
    ],
    ids=str,
)
def test_nothing_is_said_about_the_others(kernel):
    assert not is_semidefinite(kernel)
    assert not DenseBuilder(X).gram(kernel).semidefinite


def test_a_gram_that_somebody_vouches_for_is_not_factored(monkeypatch):
    y = np.tile([1.0, -1.0], 30)[:, None]
    K = gram(RBF(0.5), X)
    expected = HingeSVM().solve(DenseGram(K), y).alpha
    monkeypatch.setattr(DenseGram, "factor", lambda *_: pytest.fail("factored"))
    np.testing.assert_array_equal(HingeSVM().solve(DenseGram(K, semidefinite=True), y).alpha, expected)


def test_an_indefinite_gram_is_refused():
    K = np.diag(np.r_[np.ones(9), -1e-3])
    y = np.tile([1.0, -1.0], 5)[:, None]
    with pytest.raises(NotPositiveDefinite):
        HingeSVM().solve(DenseGram(K), y)
    assert LowRankGram(X).semidefinite
