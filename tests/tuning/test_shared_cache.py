"""Searches that share: fewer Grams and fits, the same numbers."""

import numpy as np
import pytest
from sklearn.gaussian_process.kernels import RBF

from foldless import KernelLogisticRegression, KernelLSSVC
from foldless.datasets import make_ripley
from foldless.grams.builders import DenseBuilder, NystromBuilder
from foldless.tuning.shared_cache import FIRST, sharing


@pytest.fixture(scope="module")
def ripley():
    return make_ripley(60, random_state=1)


@pytest.mark.parametrize("rows", [60, 300])  # a whole matrix, landmarks
def test_criteria_share_the_coarse_look_and_choose_what_they_choose_alone(rows):
    X, y = make_ripley(rows, random_state=1)
    criteria = ("loo", "evidence", "gacv")
    fit = lambda criterion: KernelLogisticRegression(criterion=criterion).fit(X, y)
    alone = [fit(criterion) for criterion in criteria]
    with sharing() as pool:
        together = [fit(criterion) for criterion in criteria]
    for one, other in zip(alone, together, strict=True):
        assert other.C_ == one.C_
        assert other.kernel_ == one.kernel_
        assert other.criterion_value_ == one.criterion_value_
    assert pool.asked - pool.computed >= 2 * 10  # fits of the coarse look, for two of the three criteria
    assert pool.saved > 0


def test_machines_share_the_grams_of_the_coarse_look(ripley):
    with sharing() as pool:
        KernelLogisticRegression().fit(*ripley)
        before = pool.asked - pool.computed
        KernelLSSVC().fit(*ripley)
    assert pool.asked - pool.computed >= before + 5  # widths


def test_other_rows_are_not_confused(ripley):
    X, y = ripley
    alone = KernelLogisticRegression().fit(X[:40], y[:40])
    with sharing():
        KernelLogisticRegression().fit(X, y)
        assert KernelLogisticRegression().fit(X[:40], y[:40]).criterion_value_ == alone.criterion_value_
        labels = np.roll(y[:40], 7)
        other = KernelLogisticRegression().fit(X[:40], labels).criterion_value_
    assert other == KernelLogisticRegression().fit(X[:40], labels).criterion_value_


def test_representations_are_equal_when_their_points_are(ripley):
    X, _ = ripley
    with sharing() as pool:
        first = pool.builder(DenseBuilder(X))
        assert pool.builder(DenseBuilder(X.copy())) is first
        assert pool.builder(DenseBuilder(X[1:])) is not first
        marks = pool.builder(NystromBuilder(X, np.arange(5)))
        assert pool.builder(NystromBuilder(X.copy(), np.arange(5))) is marks
        assert pool.builder(NystromBuilder(X, np.arange(6))) is not marks


def test_no_more_is_kept_than_the_coarse_look_needs(ripley):
    with sharing() as pool:
        dense = pool.builder(DenseBuilder(ripley[0]))
        for i in range(2 * FIRST):
            pool.get((dense, RBF(1.0 + i)), lambda: 0)
    assert sum(map(len, pool.kept.values())) == FIRST
