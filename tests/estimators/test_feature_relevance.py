"""relevance_: the share of every column in the gradient of the fitted function."""

import pickle

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.svm import SVC

from foldless import KernelLogisticRegression, KernelRidgeRegressor, KernelSearch, KernelSVC
from foldless.inspection import RelevanceDisplay

RNG = np.random.default_rng(0)
X = RNG.normal(size=(150, 4))
Y = 3 * X[:, 0] - X[:, 2]


def test_a_linear_function_has_its_squared_coefficients():
    model = KernelRidgeRegressor("linear", alpha=1e-8).fit(X, Y)
    expected = np.array([9, 0, 1, 0]) * np.var(X, axis=0)
    assert model.relevance_ == pytest.approx(expected / expected.sum(), abs=1e-5)


@pytest.mark.parametrize("kernel", ["rbf", "laplacian", "matern", "additive", "rbf-ard", "rbf-metric"])
def test_every_kernel_finds_the_columns_that_matter(kernel):
    model = KernelRidgeRegressor(kernel).fit(X, Y)
    assert model.relevance_.sum() == pytest.approx(1)
    assert np.argsort(model.relevance_)[::-1][:2].tolist() == [0, 2]
    assert model.relevance_[[1, 3]].max() < 0.1


def test_units_do_not_matter():
    scales = np.array([1.0, 10.0, 0.1, 5.0])
    one = KernelRidgeRegressor("linear", alpha=1e-8).fit(X, Y).relevance_
    two = KernelRidgeRegressor("linear", alpha=1e-8).fit(X * scales, Y).relevance_
    assert one == pytest.approx(two, abs=1e-4)


def test_classifiers_landmarks_cells_and_sparse_points_have_it():
    labels = Y > 0
    models = [
        KernelLogisticRegression().fit(X, labels),
        KernelLogisticRegression(gram="lowrank", n_components=40).fit(X, labels),
        KernelRidgeRegressor().fit(sp.csr_array(X), Y),
        pickle.loads(pickle.dumps(KernelLogisticRegression().fit(X, labels))),  # noqa: S301 - our own bytes
    ]
    for model in models:
        assert np.argmax(model.relevance_) == 0
        assert model.relevance_[[1, 3]].max() < 0.15


def test_a_support_vector_machine_spreads_over_all_rows():
    # Support vectors lie along the border, where the two columns that matter have nearly the same spread.
    model = KernelSVC().fit(X, Y > 0)
    assert model.relevance_[0] > 0.8
    loaded = pickle.loads(pickle.dumps(model))  # noqa: S301 - our own bytes
    assert loaded.relevance_.tolist() == model.relevance_.tolist()


def test_gradients_are_averaged_over_the_rows_of_the_fit():
    points = X[:60]
    model = KernelSVC("linear", C=1.0).fit(points, Y[:60] > 0)
    slope = model.decision_function(np.vstack([np.zeros(4), np.eye(4)]))
    expected = (slope[1:] - slope[0]) ** 2 * np.var(points, axis=0)
    assert model.relevance_ == pytest.approx(expected / expected.sum(), rel=1e-10)


def test_cells_have_it():
    points = RNG.normal(size=(900, 2))
    model = KernelRidgeRegressor(gram="cells").fit(points, np.sin(2 * points[:, 1]))
    assert model.cells_ is not None
    assert model.relevance_[1] > 0.95


def test_categories_count_by_what_they_change():
    frame = pd.DataFrame(
        {"number": X[:, 0], "ward": RNG.choice(["A", "B", "C"], 150), "other": RNG.random(150) < 0.5}
    )
    y = X[:, 0] + 2.0 * (frame["ward"] == "A")
    relevance = KernelRidgeRegressor("auto").fit(frame, y).relevance_
    # The variance of the second term is 4 * p * (1 - p).
    p = np.mean(frame["ward"] == "A")
    expected = np.array([np.var(X[:, 0]), 4 * p * (1 - p), 0.0])
    assert relevance == pytest.approx(expected / expected.sum(), abs=0.08)


def test_without_points_there_is_none():
    assert not hasattr(KernelRidgeRegressor(), "relevance_")
    assert not hasattr(KernelRidgeRegressor("precomputed").fit(X @ X.T, Y), "relevance_")


def test_a_constant_function_has_zeros():
    model = KernelRidgeRegressor("rbf").fit(np.ones((20, 2)), np.arange(20.0))
    assert model.relevance_.tolist() == [0, 0]


def test_the_display_shows_it_for_one_width():
    model = KernelRidgeRegressor("rbf").fit(X, Y)
    display = RelevanceDisplay.from_estimator(model)
    assert display.relevance == pytest.approx(model.relevance_)
    assert "gradient" in display.ax_.get_xlabel()
    with pytest.raises(ValueError, match="one length scale"):
        RelevanceDisplay.from_estimator(KernelSearch(SVC()).fit(X, Y > 0))
