"""Verbs of the Grams that support vector machines brought along, against the array they stand for."""

import numpy as np
import pytest

from foldless.grams import LowRankGram
from foldless.grams.adjoints import embed
from oracles.svm import GRAMS, matrix, problem

approx = pytest.approx


@pytest.mark.parametrize("make", GRAMS)
def test_entries_extremes_and_diagonals_are_those_of_the_array(make):
    K, y = problem(20, seed=1)
    K = K * np.outer(y, y)
    gram, rows, cols, d = make(K), np.array([3, 0, 7]), np.array([1, 19]), np.arange(20.0)
    assert gram.block(rows, cols) == approx(K[np.ix_(rows, cols)], abs=1e-12)
    for some in (cols, np.arange(1, 17), np.zeros(0, int)):  # few columns, most, none
        v = np.cos(np.arange(len(some)))
        assert gram.combine(some, v) == approx(K[:, some] @ v, abs=1e-12)
    assert gram.extremes() == approx((K.min(), K.max()), abs=1e-12)
    assert matrix(gram.diagonal(d)) == approx(np.diag(d))


def test_extremes_see_every_strip():
    F = np.random.default_rng(0).normal(size=(2300, 2))
    assert LowRankGram(F).extremes() == approx(((F @ F.T).min(), (F @ F.T).max()))


@pytest.mark.parametrize("make", GRAMS)
@pytest.mark.parametrize("bias", [False, True])
def test_a_root_squares_to_the_covariance(make, bias):
    K, _ = problem(15, seed=2)
    factor = make(K).factor(np.linspace(0.1, 2, 15), bias)
    root = factor.covariance_root()
    assert root @ root.T == approx(factor.covariance(np.eye(15)), abs=1e-9)


@pytest.mark.parametrize("make", GRAMS)
def test_embedding_puts_a_block_in_its_place(make):
    K, _ = problem(12, seed=3)
    rows = np.array([1, 4, 10])
    small = make(K).subset(rows).factor(np.ones(3)).resolvent()
    expected = np.zeros((12, 12))
    expected[np.ix_(rows, rows)] = matrix(small)
    assert matrix(embed(small, rows, 12)) == approx(expected, abs=1e-12)
