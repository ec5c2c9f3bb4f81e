"""Kernel logistic regression with ``multi_class="multinomial"``, leave-one-out probabilities and what they tell."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.gaussian_process.kernels import RBF, DotProduct
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split
from sklearn.utils.estimator_checks import parametrize_with_checks

from foldless import KernelLogisticRegression
from foldless.core.errors import UnreadableSolution
from foldless.inspection import ReliabilityDisplay
from foldless.inspection.metrics import target_information


@pytest.fixture(scope="module")
def iris():
    X, y = load_iris(return_X_y=True)
    return train_test_split(X, np.array(["a", "b", "c"])[y], train_size=90, random_state=0, stratify=y)


@parametrize_with_checks(
    [
        KernelLogisticRegression(multi_class="multinomial"),
        KernelLogisticRegression(multi_class="multinomial", C=1.0, kernel=RBF(1.0, "fixed")),
    ]
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def test_it_tunes_and_predicts_probabilities_that_sum_to_one(iris):
    X, Z, y, t = iris
    model = KernelLogisticRegression(multi_class="multinomial").fit(X, y)
    p = model.predict_proba(Z)
    np.testing.assert_allclose(p.sum(axis=1), 1)
    assert model.score(Z, t) > 0.9
    assert log_loss(t, p) < 0.25
    np.testing.assert_array_equal(model.predict(Z), model.classes_[np.argmax(p, axis=1)])
    assert model.decision_function(Z).shape == (60, 3)
    assert model.loo_proba_.shape == (90, 3)
    assert log_loss(y, model.loo_proba_) == pytest.approx(model.criterion_value_, rel=1e-6)
    assert set(clone(model).get_params()) == set(model.get_params())


def test_a_linear_kernel_is_scikit_learn_s_logistic_regression(iris):
    X, Z, y, _ = iris
    ours = KernelLogisticRegression(
        DotProduct(0.0, "fixed"), C=0.7, multi_class="multinomial", gram="dense"
    ).fit(X, y)
    theirs = LogisticRegression(C=0.7, tol=1e-10, max_iter=10_000).fit(X, y)
    np.testing.assert_allclose(ours.predict_proba(Z), theirs.predict_proba(Z), atol=1e-5)


def test_landmarks_and_the_whole_matrix_agree(iris):
    X, Z, y, _ = iris
    options = {"kernel": RBF(1.5, "fixed"), "C": 2.0, "multi_class": "multinomial"}
    thin = KernelLogisticRegression(gram="lowrank", n_components=90, **options).fit(X, y)
    dense = KernelLogisticRegression(gram="dense", **options).fit(X, y)
    np.testing.assert_allclose(thin.predict_proba(Z), dense.predict_proba(Z), atol=1e-6)
    assert thin.criterion_value_ == pytest.approx(dense.criterion_value_, rel=1e-6)


def test_two_classes_are_the_same_model(iris):
    X, Z, y, _ = iris
    two = y != "c"
    options = {"kernel": RBF(1.5, "fixed"), "C": 2.0}
    one = KernelLogisticRegression(multi_class="multinomial", **options).fit(X[two], y[two])
    other = KernelLogisticRegression(**options).fit(X[two], y[two])
    np.testing.assert_allclose(one.predict_proba(Z), other.predict_proba(Z))


def test_class_weights_and_row_weights_count(iris):
    X, Z, y, _ = iris
    options = {"kernel": RBF(1.5, "fixed"), "C": 2.0, "multi_class": "multinomial"}
    w = np.where(y == "a", 2.0, 1.0)
    weighted = KernelLogisticRegression(**options).fit(X, y, sample_weight=w)
    classes = KernelLogisticRegression(class_weight={"a": 2.0, "b": 1.0, "c": 1.0}, **options).fit(X, y)
    np.testing.assert_allclose(weighted.predict_proba(Z), classes.predict_proba(Z), atol=1e-8)


def test_bad_options_are_named(iris):
    X, _, y, _ = iris
    with pytest.raises(ValueError, match="multi_class must be one of multinomial, ovr; got 'crammer'"):
        KernelLogisticRegression(multi_class="crammer").fit(X, y)
    with pytest.raises(
        UnreadableSolution, match=r"'evidence' has no formula for KernelLogisticRegression .*loo"
    ):
        KernelLogisticRegression(multi_class="multinomial", criterion="evidence").fit(X, y)


# ---- what probabilities tell


def test_frequencies_tell_nothing_and_certainty_tells_the_entropy():
    y = np.array([0, 0, 0, 1])
    assert target_information(y, np.full(4, 0.25)) == pytest.approx(0)
    assert target_information(y, y.astype(float)) == pytest.approx(
        -0.75 * np.log2(0.75) - 0.25 * np.log2(0.25)
    )
    assert target_information(y, np.full(4, 0.5), baseline="uniform") == pytest.approx(0)
    assert target_information(y, y.astype(float), baseline="uniform") == pytest.approx(1)
    assert target_information(y, 1.0 - y) == -np.inf


def test_it_is_the_paper_s_measure_with_a_uniform_baseline():
    rng = np.random.default_rng(0)
    y, p = rng.integers(0, 2, 50), rng.uniform(0.05, 0.95, 50)
    paper = 1 + np.mean(y * np.log2(p) + (1 - y) * np.log2(1 - p))
    assert target_information(y, p, baseline="uniform") == pytest.approx(paper)


def test_labels_and_shapes_are_checked():
    with pytest.raises(ValueError, match="baseline must be"):
        target_information([0, 1], [0.1, 0.2], baseline="prior")
    with pytest.raises(ValueError, match=r"proba must have shape \(2, 2\)"):
        target_information([0, 1], np.ones((2, 3)) / 3)
    with pytest.raises(ValueError, match="not among classes"):
        target_information([0, 2], [0.1, 0.2], classes=[0, 1])


def test_leave_one_out_probabilities_are_calibrated_and_plotted():
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    rng = np.random.default_rng(0)
    X = rng.normal(size=(240, 2))
    y = np.where(rng.logistic(size=240) < 2 * X[:, 0], "yes", "no")
    model = KernelLogisticRegression().fit(X, y)
    display = ReliabilityDisplay.from_estimator(model, n_bins=4)
    assert np.max(np.abs(display.prob_true - display.prob_pred)) < 0.15
    assert "leave-one-out" in display.estimator_name
    held_out = target_information(y, model.loo_proba_, model.classes_)
    assert 0.1 < held_out < target_information(y, model.predict_proba(X), model.classes_)
