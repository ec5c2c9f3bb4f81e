"""No fit is worse than nearest neighbours without a word: fine structure that few rows hide is found, or a warning given."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.gaussian_process.kernels import RBF
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.svm import SVC

from foldless import (
    KernelLogisticRegression,
    KernelLSSVC,
    KernelPoissonRegressor,
    KernelRidgeRegressor,
    KernelSearch,
    KernelSVC,
)
from foldless.core.errors import LandmarkWarning, NeighbourWarning, Undefined
from foldless.kernels.precomputed import Precomputed
from foldless.machines import LSSVM, SmoothMachine
from foldless.machines.losses import Logistic, Poisson
from foldless.tuning import fit_after
from foldless.tuning.forms import FittedForm
from foldless.tuning.neighbours import Neighbours, nearest

CLASSIFIERS = (KernelLogisticRegression, KernelSVC, KernelLSSVC)
KERNEL = RBF(1.0)
X = np.random.default_rng(0).normal(size=(80, 3))
SQUARED = np.sum((X[:, None] - X[None]) ** 2, axis=2) + np.diag(np.full(80, np.inf))


def checkerboard(n, squares, seed, flipped=0.02):
    rng = np.random.default_rng(seed)
    X = rng.uniform(0, squares, size=(n, 2))
    y = np.floor(X).sum(axis=1) % 2
    return X, np.where(rng.random(n) < flipped, 1 - y, y)


def spirals(n, turns, seed):
    rng = np.random.default_rng(seed)
    angle, y = 2 * np.pi * turns * np.sqrt(rng.random(n)), rng.integers(0, 2, n)
    X = angle[:, None] * np.c_[np.cos(angle + np.pi * y), np.sin(angle + np.pi * y)]
    return X + 0.3 * rng.normal(size=(n, 2)), y


def neighbour_warnings(model, X, y):
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        model.fit(X, y)
    return [one for one in found if one.category is NeighbourWarning]


@pytest.mark.parametrize("points", [X, sp.csr_array(X)], ids=["dense", "sparse"])
def test_the_nearest_come_first_and_no_row_is_its_own_neighbour(points):
    rows = np.array([3, 50, 7])
    np.testing.assert_array_equal(nearest(KERNEL, points, rows, 6), np.argsort(SQUARED, axis=1)[rows, :6])


def test_distances_are_those_of_a_given_matrix():
    rows = np.arange(80)
    found = nearest(Precomputed(), KERNEL(X), rows, 4)
    np.testing.assert_array_equal(found, np.argsort(SQUARED, axis=1)[:, :4])


def test_a_row_that_stands_for_several_is_its_own_neighbour():
    stays = np.arange(80) == 5
    found = nearest(KERNEL, X, np.array([5, 6]), 2, stays)
    assert found[0].tolist() == [5, np.argmin(SQUARED[5])]
    assert 6 not in found[1]


def left_out_errors(model, X, y, loss):
    """The errors of scikit-learn's neighbours, refitted without each row."""
    rest = [np.delete(np.arange(len(y)), i) for i in range(len(y))]
    return [loss(model.fit(X[keep], y[keep]).predict(X[[i]])[0], y[i]) for i, keep in enumerate(rest)]


def test_errors_are_those_of_refits_without_the_row():
    y = np.where(X[:, 0] + 0.5 * np.sin(9 * X[:, 1]) > 0, 1.0, -1.0)
    found = Neighbours.of(KERNEL, X, y[:, None], LSSVM(), seed=0)
    assert sorted(found.rows) == list(range(80))
    by_number = [
        np.mean(left_out_errors(KNeighborsClassifier(k), X, y, lambda a, b: a != b)) for k in (1, 5, 15)
    ]
    assert found.mean(found.errors) == pytest.approx(min(by_number))


def test_errors_of_numbers_are_squared():
    y = X[:, 0] ** 2
    found = Neighbours.of(KERNEL, X, y[:, None], LSSVM(), seed=0)
    by_number = [
        np.mean(left_out_errors(KNeighborsRegressor(k), X, y, lambda a, b: (a - b) ** 2)) for k in (1, 5, 15)
    ]
    assert found.mean(found.errors) == pytest.approx(min(by_number))


def test_outputs_that_are_no_predictions_have_no_neighbours():
    counts = np.arange(80.0)[:, None]
    assert Neighbours.of(KERNEL, X, counts, SmoothMachine(Poisson()), seed=0) is None


@pytest.mark.parametrize("estimator", CLASSIFIERS)
@pytest.mark.parametrize("seed", range(2))
def test_squares_of_eight_rows_are_found(estimator, seed):
    # A search on blocks of 400 rows, one or two for each of 256 squares, finds nothing: half of the labels are wrong.
    X, y = checkerboard(2000, 16, seed)
    model = estimator(random_state=seed)
    assert not neighbour_warnings(model, X, y)
    X_new, y_new = checkerboard(1000, 16, 100 + seed, flipped=0)
    assert model.score(X_new, y_new) > 0.75


@pytest.mark.parametrize("estimator", CLASSIFIERS)
@pytest.mark.parametrize("seed", range(3))
def test_spirals_are_followed(estimator, seed):
    X, y = spirals(1000, 5, seed)
    assert estimator(random_state=seed).fit(X, y).score(*spirals(1000, 5, 100 + seed)) > 0.95


def test_fine_waves_are_found():
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(3000, 2))
    y = np.sin(60 * X[:, 0]) * np.cos(50 * X[:, 1])
    model = KernelRidgeRegressor().fit(X[:2000], y[:2000])
    assert model.score(X[2000:], y[2000:]) > 0.9


def test_the_search_that_is_not_fooled_is_the_second_one(monkeypatch):
    X, y = checkerboard(2000, 16, 0)
    monkeypatch.setattr(fit_after, "search_wider", lambda *_: None)
    near = KernelLSSVC(random_state=0).fit(X, y).score(X, y)
    monkeypatch.setattr(Neighbours, "are_better", lambda *_: False)
    assert KernelLSSVC(random_state=0).fit(X, y).score(X, y) < 0.6 < 0.9 < near


def test_where_nothing_helps_it_is_said():
    angle = np.random.default_rng(0).uniform(0, 2 * np.pi, 300)
    rings = np.c_[np.cos(angle), np.sin(angle)] * np.where(np.arange(300) < 150, 1.0, 2.0)[:, None]
    (found,) = neighbour_warnings(KernelLogisticRegression("linear"), rings, np.arange(300) < 150)
    assert "nearest" in str(found.message)
    assert "against 0." in str(found.message)


@pytest.mark.parametrize("estimator", CLASSIFIERS)
@pytest.mark.parametrize("n", [60, 300, 1500])
def test_noise_and_smooth_borders_give_no_warning(estimator, n):
    rng = np.random.default_rng(n)
    X = rng.normal(size=(n, 4))
    assert not neighbour_warnings(estimator(), X, rng.random(n) < 0.5)
    # With as many rows of both classes a fit that knows nothing is wrong for every row that is left out.
    assert not neighbour_warnings(estimator(), X, np.arange(n) % 2)
    assert not neighbour_warnings(estimator(), X, X[:, 0] + rng.normal(size=n) > 0)


def test_counts_are_fitted_as_before():
    rng = np.random.default_rng(0)
    assert not neighbour_warnings(KernelPoissonRegressor(), X, rng.poisson(np.exp(X[:, 0])))


def test_a_budget_of_evaluations_covers_the_second_search():
    X, y = checkerboard(2000, 16, 0)
    for budget in (25, 30):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = KernelLSSVC(max_evaluations=budget, random_state=0).fit(X, y)
        assert model.n_evaluations_ <= budget


def test_the_number_of_workers_changes_nothing():
    X, y = checkerboard(2000, 16, 0)
    one, two = (KernelLSSVC(random_state=0, n_jobs=n).fit(X, y) for n in (1, 2))
    assert one.criterion_value_ == two.criterion_value_
    np.testing.assert_array_equal(one.dual_coef_, two.dual_coef_)


def spike(n, seed):
    """Flat but for one place, which a hundredth of the rows show."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, size=(n, 2))
    return X, 50 * np.exp(-200 * np.sum(X**2, axis=1)) + 0.1 * rng.normal(size=n)


def test_cells_are_tuned_where_the_function_varies():
    X, y = spike(8000, 0)
    model = KernelRidgeRegressor(gram="cells", cell_size=400, random_state=0).fit(X, y)
    X_new, y_new = spike(4000, 1)
    # The noise alone leaves 0.01.
    assert np.mean((model.predict(X_new) - y_new) ** 2) < 0.02


def test_cells_that_lose_to_blocks_of_rows_are_named():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 6))
    y = X.sum(axis=1) + 0.5 * rng.normal(size=3000)
    with pytest.warns(LandmarkWarning, match=r"cells are too small .* Raise cell_size"):
        KernelRidgeRegressor(gram="cells", cell_size=30, random_state=0).fit(X, y)


@pytest.mark.parametrize("seed", range(2))
def test_a_search_for_scikit_learns_machine_is_not_fooled_either(seed):
    X, y = checkerboard(2000, 16, seed)
    found = KernelSearch(SVC(), random_state=seed).fit(X, y)
    X_new, y_new = checkerboard(1000, 16, 100 + seed, flipped=0)
    assert found.score(X_new, y_new) > 0.75


def test_a_grid_that_was_asked_for_stays_one():
    X, y = checkerboard(600, 12, 0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = KernelLSSVC(search="grid", random_state=0).fit(X, y)
    assert {step.why for step in model.trace_} == {"grid"}


def test_a_rare_class_is_asked_for_more_than_its_share():
    """With one row of a hundred every error counts for little, and to answer one class only is nearly right."""
    X = np.random.default_rng(0).normal(size=(8000, 3))
    Y = np.where(X[:, 0] + X[:, 1] ** 2 > 7, 1.0, -1.0)[:, None]
    found = Neighbours.of(KERNEL, X, Y, LSSVM(), seed=0)
    own = np.flatnonzero(Y[found.rows, 0] > 0)
    assert np.mean(Y > 0) < 0.01
    assert len(own) == min(125, np.sum(Y > 0))
    one_class = -np.ones_like(Y)
    assert found.mean(found.errors_of_fit(Y, one_class)) == pytest.approx(np.mean(Y > 0))
    assert found.are_better(Y, one_class)
    assert not found.are_better(Y, Y)


def test_errors_count_by_the_weights_of_the_classes():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(150, 2)), np.arange(150) % 15 == 0
    assert not neighbour_warnings(KernelLSSVC(class_weight="balanced"), X, y)
    Y = np.where(y, 1.0, -1.0)[:, None]
    weights = np.where(y, 14.0, 1.0)
    found = Neighbours.of(KERNEL, X, Y, SmoothMachine(Logistic(), weights=weights), seed=0)
    # To answer the commonest class is wrong for half of the weight.
    assert found.mean(found.errors_of_fit(Y, -np.ones((150, 1)))) == pytest.approx(0.5)


def test_a_fit_without_left_out_outputs_stays(monkeypatch):
    def undefined(*_):
        raise Undefined("nothing is left out.")

    X, y = checkerboard(600, 12, 0)
    expected = KernelLSSVC(C=2.0, random_state=0).fit(X, y)
    for owner, name, broken in (
        (FittedForm, "left_out", property(undefined)),
        (fit_after, "near_fit", undefined),
    ):
        with monkeypatch.context() as patched, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            patched.setattr(owner, name, broken)
            model = KernelLSSVC(C=2.0, random_state=0).fit(X, y)
        assert model.predict(X).shape == expected.predict(X).shape
