"""Verbs that every Gram shares: norms, adjoints in factors, weighted spectra; and strips in little memory."""

import tracemalloc

import numpy as np
import pytest
from sklearn.gaussian_process.kernels import RBF

from foldless.criteria import CenteredAlignment, Spectral
from foldless.grams import ChunkedGram, DenseGram, LowRankGram
from foldless.grams.builders import ChunkedBuilder
from foldless.machines import NoMachine

approx = pytest.approx


@pytest.fixture(params=["dense", "lowrank", "chunked"])
def pair(request, rng):
    """A Gram and its matrix."""
    X = rng.normal(size=(30, 2))
    K = RBF(1.2)(X)
    if request.param == "dense":
        return DenseGram(K), K
    if request.param == "lowrank":
        F = rng.normal(size=(30, 5))
        return LowRankGram(F), F @ F.T
    return ChunkedGram(RBF(1.2), X, 7), K


def test_norms_are_those_of_the_matrix(pair):
    gram, K = pair
    J = np.eye(30) - 1 / 30
    assert gram.norm() == approx(np.linalg.norm(K), rel=1e-12)
    assert gram.centred_norm() == approx(np.linalg.norm(J @ K @ J), rel=1e-12)
    assert gram.diag() == approx(np.diag(K))


def test_the_centred_norm_of_a_wide_kernel_keeps_its_digits(rng):
    X = rng.normal(size=(40, 2))
    J = np.eye(40) - 1 / 40
    wide = 1e6  # K = 1 - d^2 / (2 l^2), and the constant goes
    squared = ((X[:, None] - X) ** 2).sum(-1)
    expected = np.linalg.norm(J @ squared @ J) / (2 * wide**2)
    assert DenseGram(RBF(wide)(X)).centred_norm() == approx(expected, rel=1e-3)
    assert ChunkedGram(RBF(wide), X, 9).centred_norm() == approx(expected, rel=1e-3)


def test_adjoints_are_assembled_from_factors(pair, rng):
    gram, K = pair
    P, Q = rng.normal(size=(2, 30, 3))
    G = gram.adjoint(P, Q, identity=0.7, itself=-0.3)
    expected = (P @ Q.T + Q @ P.T) / 2 + 0.7 * np.eye(30) - 0.3 * K
    assert G @ np.eye(30) == approx(expected, rel=1e-10, abs=1e-12)
    assert gram.inner(G) == approx(np.sum(expected * K), rel=1e-10)


@pytest.mark.parametrize("bias", [True, False])
def test_weighted_spectra_rebuild_the_matrix(pair, rng, bias):
    gram, K = pair
    if isinstance(gram, ChunkedGram):
        pytest.skip("a chunked Gram has no spectrum")
    v = rng.uniform(0.2, 3, size=30)
    d = np.sqrt(v)
    pairs = gram.weighted_spectrum(v, bias)
    u = d / np.linalg.norm(d)
    N = np.eye(30) - bias * np.outer(u, u)
    assert (pairs.Q * pairs.nu) @ pairs.Q.T == approx(N @ (K * d[:, None] * d) @ N, rel=1e-9, abs=1e-10)
    assert approx(np.eye(len(pairs.nu)), abs=1e-10) == pairs.Q.T @ pairs.Q
    if bias:
        assert pairs.Q.T @ u == approx(np.zeros(len(pairs.nu)), abs=1e-8)
    assert np.all(np.diff(pairs.nu) <= 1e-12)
    assert gram.weighted_spectrum(v, bias) is pairs


@pytest.mark.parametrize("criterion", [Spectral(), Spectral("frobenius", 3), CenteredAlignment()], ids=repr)
def test_strips_need_a_fraction_of_the_matrix(criterion, rng):
    n, chunk = 2000, 20
    X = rng.normal(size=(n, 3))
    Y = np.sign(X[:, :1])
    way = ChunkedBuilder(X, chunk)
    tracemalloc.start()
    gram = way.gram(RBF(1.0))
    reading = criterion(NoMachine().solve(gram, Y))
    gradient = way.pullback(RBF(1.0), gram, reading.adjoint)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert np.isfinite(gradient).all()
    assert peak < n * n * 8 / 5  # the matrix itself would be 32 MB
