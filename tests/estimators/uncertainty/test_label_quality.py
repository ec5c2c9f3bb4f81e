"""The second look at labels against refits with the same weights."""

import pickle

import numpy as np
import pytest
from sklearn.gaussian_process.kernels import RBF
from sklearn.metrics import average_precision_score

from foldless import KernelLogisticRegression, KernelLSSVC, KernelSVC
from foldless.core.targets import encode_labels
from foldless.datasets import make_twonorm
from foldless.estimators.uncertainty.label_quality import WRONG_SHARE, probability_right
from foldless.estimators.uncertainty.training_rows import TrainingRows
from foldless.grams import DenseGram
from foldless.machines import LSSVM

KERNEL = RBF(1.2, "fixed")
KINDS = (KernelLogisticRegression, KernelLSSVC, KernelSVC)


def test_a_label_is_right_by_the_rule_of_bayes(rng):
    k, p = 4, rng.uniform(size=5)
    given_right, given_wrong = 1 - WRONG_SHARE, WRONG_SHARE / (k - 1)
    odds = p / (1 - p) * given_right / given_wrong
    assert probability_right(p, k) == pytest.approx(odds / (1 + odds))
    assert probability_right(np.array([0.0, 1.0]), k).tolist() == [0, 1]


def test_the_quality_of_a_label_is_that_of_a_refit_with_doubtful_rows_counting_less(three_classes):
    X, y = three_classes
    model = KernelLSSVC(KERNEL, C=1.0).fit(X, y)
    weights = probability_right(model.loo_own_proba_, 3)
    K, (_, Y) = KERNEL(X), encode_labels(y)
    for i in range(0, len(y), 7):
        rest = np.delete(np.arange(len(y)), i)
        fit = LSSVM(1.0, weights=weights[rest]).solve(DenseGram(K[np.ix_(rest, rest)]), Y[rest])
        expected = model.calibration_((K[i, rest] @ fit.alpha + fit.b)[None])[0, y[i]]
        assert model.label_quality_[i] == pytest.approx(expected, rel=1e-8)


@pytest.mark.parametrize("kind", [KernelLogisticRegression, KernelLSSVC])
def test_a_row_of_weight_two_is_the_row_twice(kind, two_classes):
    X, y = two_classes
    counts = np.where(np.arange(len(y)) % 3 == 0, 2, 1)
    weighted = kind(KERNEL, C=1.0).fit(X, y, counts)
    repeated = kind(KERNEL, C=1.0).fit(np.repeat(X, counts, axis=0), np.repeat(y, counts))
    assert np.repeat(weighted.label_quality_, counts) == pytest.approx(repeated.label_quality_, abs=1e-6)


@pytest.mark.parametrize("kind", KINDS)
def test_the_second_look_finds_no_fewer_flipped_labels(kind):
    found = []
    for seed in range(5):
        X, y = make_twonorm(150, random_state=seed)
        flipped = np.random.default_rng(seed).choice(150, 15, replace=False)
        wrong = np.isin(np.arange(150), flipped)
        model = kind(RBF(6.0, "fixed"), C=1.0).fit(X, np.where(wrong, -y, y))
        looks = model.loo_own_proba_, model.label_quality_
        found.append([average_precision_score(wrong, -look) for look in looks])
    first, second = np.mean(found, axis=0)
    assert second > first


def test_cells_have_one_look(two_classes):
    X, y = two_classes
    model = KernelLSSVC(KERNEL, C=1.0, gram="cells", cell_size=20).fit(X, y)
    assert np.array_equal(model.label_quality_, model.loo_own_proba_)


def test_a_precomputed_kernel_and_landmarks_at_all_rows_change_nothing(two_classes):
    X, y = two_classes
    whole = KernelLSSVC(KERNEL, C=1.0).fit(X, y)
    precomputed = KernelLSSVC("precomputed", C=1.0).fit(KERNEL(X), y)
    landmarks = KernelLSSVC(KERNEL, C=1.0, gram="lowrank", landmarks=np.arange(len(y))).fit(X, y)
    for other in (precomputed, landmarks):
        assert other.label_quality_ == pytest.approx(whole.label_quality_, abs=1e-6)


@pytest.mark.parametrize("form", [{"gram": "dense"}, {"gram": "lowrank", "n_components": 15}])
@pytest.mark.parametrize("kind", KINDS)
def test_the_second_look_begins_at_the_first_and_ends_where_it_ends_without(
    kind, form, three_classes, monkeypatch
):
    X, y = three_classes
    model = kind(KERNEL, C=1.0, **form).fit(X, y)
    # A model that was read back has no first fit to begin at.
    again = pickle.loads(pickle.dumps(model))  # noqa: S301
    assert not hasattr(again, "selection_")
    expected = again.label_quality_

    def rebuilt(training):
        raise AssertionError("the kernel matrix was computed once more")

    monkeypatch.setattr(TrainingRows, "builder", rebuilt)
    assert model.label_quality_ == pytest.approx(expected, abs=1e-8)
