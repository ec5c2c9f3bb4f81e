"""Residuals of rows that are left out of the tuning as well, against regressions and searches without them."""

import numpy as np
import pytest
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, WhiteKernel
from sklearn.kernel_ridge import KernelRidge

from foldless import KernelPoissonRegressor, KernelRidgeRegressor, KernelSearch, KernelSubsetRegressor
from foldless.estimators.uncertainty.intervals import METHODS
from foldless.estimators.uncertainty.retuning import LARGEST_LEVERAGE, retuned_residuals

N = 40


@pytest.fixture
def data(rng):
    X = rng.uniform(-3, 3, size=(N, 2))
    return X, np.sin(X[:, 0]) + 0.3 * rng.normal(size=N), rng.uniform(-4, 4, size=(7, 2))


@pytest.mark.parametrize("k", [1, 2])
def test_where_predictions_are_linear_in_the_parameters_rows_are_left_out_exactly(k, rng):
    n, p = 25, 3
    J, Y = rng.normal(size=(n, k, p)), rng.normal(size=(n, k))
    counts, deviations = rng.integers(1, 4, size=n).astype(float), rng.uniform(0.5, 2, size=(n, k))

    def residuals(counts):
        roots = np.sqrt(counts)[:, None] / deviations
        columns = (J * roots[:, :, None]).reshape(n * k, p)
        return Y - J @ np.linalg.lstsq(columns, (roots * Y).ravel())[0]

    found = retuned_residuals(residuals(counts), J, counts, deviations)
    for i in range(n):
        without = residuals(counts - (np.arange(n) == i))
        assert found[i] == pytest.approx(without[i], abs=1e-10)


def test_units_of_the_parameters_and_repeated_or_idle_ones_change_nothing(rng):
    J, r = rng.normal(size=(20, 1, 2)), rng.normal(size=(20, 1))
    expected = retuned_residuals(r, J, np.ones(20))
    assert np.sum(1 - r / expected) == pytest.approx(2)
    for other in (J * [1e3, 1e-3], J[:, :, [0, 1, 0]], np.pad(J, ((0, 0), (0, 0), (0, 1)))):
        assert retuned_residuals(r, other, np.ones(20)) == pytest.approx(expected, rel=1e-9)


def test_a_row_that_fixes_the_parameters_has_a_limit(rng):
    r = rng.normal(size=(5, 1))
    found = retuned_residuals(r, rng.normal(size=(5, 1, 8)), np.ones(5))
    assert found == pytest.approx(r / (1 - LARGEST_LEVERAGE))


@pytest.mark.parametrize("method", METHODS)
def test_without_tuned_parameters_intervals_stay_to_the_last_bit(method, data, monkeypatch):
    X, y, new = data
    model = KernelRidgeRegressor(RBF(1.0, "fixed"), alpha=0.2).fit(X, y)
    found = model.predict_interval(new, 0.8, method)
    monkeypatch.setattr(KernelRidgeRegressor, "_retuned_residuals", KernelRidgeRegressor._residual_columns)
    assert np.array_equal(found, model.predict_interval(new, 0.8, method))


def derivatives(make, X, y, theta):
    """Central differences (n, p) of the predictions of refits without one row each, in the logarithms of parameters."""
    rest = [np.delete(np.arange(len(y)), i) for i in range(len(y))]

    def left_out(theta):
        fits = (make(theta).fit(X[kept], y[kept]) for kept in rest)
        return np.array([model.predict(X[[i]])[0] for i, model in enumerate(fits)])

    steps = 1e-4 * np.eye(len(theta))
    return np.array([(left_out(theta + step) - left_out(theta - step)) / 2e-4 for step in steps]).T


def retuned_by_definition(r, J, deviations=1.0):
    """Residuals over one minus the diagonal of the projector on the columns of J."""
    scaled = J / np.reshape(deviations, (-1, 1))
    return r / (1 - np.diag(scaled @ np.linalg.pinv(scaled)))


def test_the_leverage_of_ridge_is_that_of_refits(data):
    X, y, new = data
    model = KernelRidgeRegressor().fit(X, y)
    theta = np.r_[model.kernel_.theta, np.log(model.alpha_)]

    def ridge(theta):
        return KernelRidgeRegressor(RBF(np.exp(theta[0]), "fixed"), alpha=np.exp(theta[1]))

    expected = retuned_by_definition(model.loo_residuals_, derivatives(ridge, X, y, theta))
    assert model._retuned_residuals()[:, 0] == pytest.approx(expected, rel=1e-4)
    # The jackknife is the prediction and a quantile of the residuals.
    reach = np.sort(np.abs(expected))[int(np.ceil(0.9 * (N + 1))) - 1]
    ends = model.predict(new)[:, None] + reach * np.array([-1, 1])
    assert model.predict_interval(new, 0.9, "jackknife") == pytest.approx(ends, rel=1e-4)


def test_the_leverage_of_counts_weighs_them_by_their_rates(data, rng):
    X, signal, _ = data
    y = rng.poisson(np.exp(1 + signal))
    model = KernelPoissonRegressor().fit(X, y)
    theta = np.r_[model.kernel_.theta, np.log(model.alpha_)]

    def poisson(theta):
        return KernelPoissonRegressor(RBF(np.exp(theta[0]), "fixed"), alpha=np.exp(theta[1]))

    J = derivatives(poisson, X, y, theta)
    expected = retuned_by_definition(model.loo_residuals_, J, np.sqrt(model.loo_predict_))
    # One Newton step is close to a refit.
    growth = model._retuned_residuals()[:, 0] / model.loo_residuals_
    assert growth == pytest.approx(expected / model.loo_residuals_, abs=0.02)
    assert growth.max() > 1.1


def test_residuals_come_closer_to_those_of_searches_without_the_row(rng):
    X = rng.normal(size=(30, 3))
    y = X[:, 0] + np.sin(2 * X[:, 1]) + 0.5 * rng.normal(size=30)
    model = KernelRidgeRegressor().fit(X, y)
    retuned = np.empty(30)
    for i in range(30):
        rest = np.delete(np.arange(30), i)
        retuned[i] = y[i] - KernelRidgeRegressor().fit(X[rest], y[rest]).predict(X[[i]])[0]
    before, after = np.abs(model.loo_residuals_), np.abs(model._retuned_residuals()[:, 0])
    true = np.mean(np.abs(retuned))
    assert before.mean() < after.mean() < 1.02 * true
    assert np.mean(np.abs(after - np.abs(retuned))) < np.mean(np.abs(before - np.abs(retuned)))


@pytest.mark.filterwarnings("ignore::foldless.core.errors.FreeParametersWarning")
@pytest.mark.parametrize(
    ("model", "n_tuned"),
    [
        (KernelRidgeRegressor(), 2),
        (KernelRidgeRegressor(alpha=0.1), 1),
        (KernelRidgeRegressor(RBF(1.0, "fixed")), 1),
        (KernelRidgeRegressor(RBF(np.ones(2))), 3),
        (KernelRidgeRegressor("rbf-ard-free"), 3),
        (KernelRidgeRegressor(gram="lowrank", n_components=20), 2),
        (KernelRidgeRegressor(criterion="evidence"), 2),
        (KernelRidgeRegressor(calibration="split"), 0),
        (KernelSubsetRegressor(), 1),
        (KernelSearch(KernelRidge(kernel="rbf")), 2),
        (KernelSearch(KernelRidge(kernel="rbf", gamma=0.5), {"alpha": [0.1, 1.0]}), 1),
        (KernelSearch(KernelRidge(kernel="rbf", gamma=0.5), {"alpha": [0.1]}), 0),
        (KernelSearch(GaussianProcessRegressor(RBF(1.0) + WhiteKernel())), 2),
    ],
    ids=repr,
)
def test_the_leverages_sum_to_the_number_of_tuned_parameters(model, n_tuned, data):
    X, y, new = data
    fitted = model.fit(X, y)
    inner = getattr(fitted, "left_out_model_", fitted)
    growth = inner._retuned_residuals() / inner._residual_columns()
    assert np.sum(1 - 1 / growth) == pytest.approx(n_tuned, abs=1e-4)
    assert np.all(np.isfinite(fitted.predict_interval(new)))


def test_a_weight_of_two_is_the_row_twice_in_the_tuning_too(data):
    X, y, new = data
    counts = np.where(np.arange(N) % 4 == 0, 2, np.where(np.arange(N) % 7 == 1, 0, 1))
    weighted = KernelRidgeRegressor().fit(X, y, counts)
    repeated = KernelRidgeRegressor().fit(np.repeat(X, counts, axis=0), np.repeat(y, counts))
    # Two searches end at the same minimum to a few digits.
    expected = repeated._retuned_residuals()
    assert weighted._retuned_residuals() == pytest.approx(expected, abs=1e-3)
    assert np.max(np.abs(expected - repeated._residual_columns())) > 0.02
    assert weighted.predict_interval(new) == pytest.approx(repeated.predict_interval(new), abs=1e-2)


@pytest.mark.filterwarnings("ignore::foldless.core.errors.AdviceWarning")
def test_tied_length_scales_that_stay_equal_are_one(rng):
    X = rng.normal(size=(50, 6))
    y = np.sin(X.sum(axis=1) / 2) + 0.3 * rng.normal(size=50)
    tied = KernelRidgeRegressor("rbf-ard").fit(X, y)
    assert np.ptp(tied.kernel_.length_scale) == 0
    growth = tied._retuned_residuals() / tied._residual_columns()
    assert np.sum(1 - 1 / growth) == pytest.approx(2, abs=1e-4)
    assert tied._rows_of_fit().n_free(tied.kernel_) == 2
    free = KernelRidgeRegressor("rbf-ard-free").fit(X, y)
    assert free._rows_of_fit().n_free(free.kernel_) == 7


@pytest.mark.filterwarnings("ignore::foldless.core.errors.AdviceWarning")
def test_tied_length_scales_that_differ_are_several(rng):
    X = rng.normal(size=(80, 2))
    y = np.sin(3 * X[:, 0]) + 0.1 * rng.normal(size=80)
    model = KernelRidgeRegressor("rbf-ard").fit(X, y)
    assert np.ptp(model.kernel_.length_scale) > 0
    growth = model._retuned_residuals() / model._residual_columns()
    assert np.sum(1 - 1 / growth) == pytest.approx(3, abs=1e-4)


def test_the_leverage_of_a_fit_by_cells_is_that_of_all_cells(data):
    X, y, _ = data
    cells = {"gram": "cells", "cell_size": 20}
    model = KernelRidgeRegressor(**cells).fit(X, y)
    assert model.cells_.tree.n_cells > 1
    theta = np.r_[model.kernel_.theta, np.log(model.alpha_)]

    def left_out(theta):
        kernel = RBF(np.exp(theta[0]), "fixed")
        return KernelRidgeRegressor(kernel, alpha=np.exp(theta[1]), **cells).fit(X, y).loo_predict_

    steps = 1e-4 * np.eye(2)
    J = np.array([(left_out(theta + step) - left_out(theta - step)) / 2e-4 for step in steps]).T
    expected = retuned_by_definition(model.loo_residuals_, J)
    assert model._retuned_residuals()[:, 0] == pytest.approx(expected, rel=1e-4)
    assert np.sum(1 - model.loo_residuals_ / expected) == pytest.approx(2)


def test_cells_with_many_rows_for_every_parameter_keep_their_residuals(data, monkeypatch):
    X, y, _ = data
    monkeypatch.setattr("foldless.estimators.uncertainty.retuning.NEGLIGIBLE_LEVERAGE", 2 / N)
    model = KernelRidgeRegressor(gram="cells", cell_size=20).fit(X, y)
    assert np.array_equal(model._retuned_residuals(), model._residual_columns())
