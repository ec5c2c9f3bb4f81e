"""Estimators that share a cache: fewer Grams, the same choice."""

import numpy as np
import pytest
from sklearn.gaussian_process.kernels import RBF

from foldless import KernelLogisticRegression, KernelLSSVC
from foldless.datasets import make_ripley
from foldless.grams.builders import DenseBuilder, NystromBuilder
from foldless.tuning.shared_cache import GramCache, SharedGrams


@pytest.fixture(scope="module")
def ripley():
    return make_ripley(60, random_state=1)


def shared(cache):
    return SharedGrams("auto", cache)


@pytest.mark.parametrize("rows", [60, 300])  # a whole matrix, landmarks
def test_criteria_share_the_grams_of_the_coarse_grid_and_choose_what_they_choose_alone(rows):
    X, y = make_ripley(rows, random_state=1)
    cache = GramCache()
    for criterion in ("loo", "evidence", "gacv"):
        alone = KernelLogisticRegression(criterion=criterion).fit(X, y)
        together = KernelLogisticRegression(criterion=criterion, gram=shared(cache)).fit(X, y)
        # The Gram is the same and the path of the search too, up to the rounding of another memory layout.
        assert together.selection_.machine.theta == pytest.approx(alone.selection_.machine.theta, abs=1e-6)
        assert together.kernel_.length_scale == pytest.approx(alone.kernel_.length_scale, rel=1e-6)
        assert together.criterion_value_ == pytest.approx(alone.criterion_value_, rel=1e-9)
    assert cache.n_reused >= 2 * 5  # five widths, for two of the three criteria
    assert cache.saved_seconds > 0


def test_machines_share_the_grams_of_the_coarse_grid(ripley):
    cache = GramCache()
    KernelLogisticRegression(gram=shared(cache)).fit(*ripley)
    before = cache.n_reused
    KernelLSSVC(gram=shared(cache)).fit(*ripley)
    assert cache.n_reused >= before + 5


def test_other_rows_are_not_confused(ripley):
    X, y = ripley
    cache = GramCache()
    alone = KernelLogisticRegression().fit(X[:40], y[:40])
    KernelLogisticRegression(gram=shared(cache)).fit(X, y)
    together = KernelLogisticRegression(gram=shared(cache)).fit(X[:40], y[:40])
    assert together.criterion_value_ == pytest.approx(alone.criterion_value_, rel=1e-9)


def test_builders_are_equal_if_their_points_are(ripley):
    X, _ = ripley
    cache = GramCache()
    first = cache.builder(DenseBuilder(X))
    assert cache.builder(DenseBuilder(X.copy())) is first
    assert cache.builder(DenseBuilder(X[1:])) is not first
    landmarks = cache.builder(NystromBuilder(X, np.arange(5)))
    assert cache.builder(NystromBuilder(X.copy(), np.arange(5))) is landmarks
    assert cache.builder(NystromBuilder(X, np.arange(6))) is not landmarks


def test_a_kept_gram_is_that_of_the_same_kernel_with_the_same_parameters(ripley):
    builder = GramCache().builder(DenseBuilder(ripley[0]))
    narrow = builder.gram(RBF(0.5))
    assert builder.gram(RBF(0.5)) is narrow
    assert np.array_equal(builder.gram(RBF(2.0)).K, DenseBuilder(ripley[0]).gram(RBF(2.0)).K)
    assert builder.gram(RBF(0.5, "fixed")) is not narrow


def test_the_memory_of_a_cache_is_limited(ripley):
    cache = GramCache(free_entries=3 * 60**2)
    builder = cache.builder(DenseBuilder(ripley[0]))
    grams = [builder.gram(RBF(1.0 + i)) for i in range(5)]
    again = [builder.gram(RBF(1.0 + i)) for i in range(5)]
    assert [a is b for a, b in zip(grams, again, strict=True)] == [True, True, True, False, False]
