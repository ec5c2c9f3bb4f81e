"""Prediction intervals against their definitions, by refits, and the words about them."""

import pickle
import warnings

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from scipy.stats import norm
from sklearn.exceptions import NotFittedError
from sklearn.gaussian_process.kernels import RBF

from foldless import KernelPoissonRegressor, KernelRidgeRegressor, KernelSubsetRegressor
from foldless.core.errors import LeverageWarning, ResolutionWarning, Undefined, UnknownName
from foldless.estimators.uncertainty.intervals import METHODS
from foldless.kernels import gram

KERNEL = RBF(1.0, "fixed")
N = 40


@pytest.fixture
def data(rng):
    X = rng.uniform(-3, 3, size=(N, 1))
    return X, np.sin(X[:, 0]) + 0.3 * rng.normal(size=N), rng.uniform(-4, 4, size=(7, 1))


def ridge(**options):
    return KernelRidgeRegressor(KERNEL, alpha=0.2, **options)


def refits(X, y, new, repeats=None):
    """Predictions (p, n) of models without one row each, and their residuals (n,)."""
    at_new, residuals = [], []
    for i in range(len(y)):
        rest = np.delete(np.arange(len(y)), i)
        model = ridge().fit(X[rest], y[rest])
        at_new.append(model.predict(new))
        residuals.append(abs(y[i] - model.predict(X[[i]])[0]))
    return np.array(at_new).T, np.array(residuals)


def by_definition(method, mu, fitted, R, level):
    """The intervals of Barber et al. (2021), in their own words: floors and ceilings of (1 - alpha)(n + 1)."""
    n, alpha = len(R), 1 - level
    high = int(np.ceil(round((1 - alpha) * (n + 1), 9)))
    low = int(np.floor(round(alpha * (n + 1), 9)))
    if method == "jackknife+":
        return np.column_stack([np.sort(mu - R)[:, low - 1], np.sort(mu + R)[:, high - 1]])
    q = np.sort(R)[high - 1]
    if method == "minmax":
        return np.column_stack([mu.min(axis=1) - q, mu.max(axis=1) + q])
    return np.column_stack([fitted - q, fitted + q])


@pytest.mark.parametrize("level", [0.5, 0.8, 0.9, 0.95])
@pytest.mark.parametrize("method", ["jackknife+", "minmax", "jackknife"])
def test_intervals_are_those_of_refits(method, level, data):
    X, y, new = data
    model = ridge().fit(X, y)
    mu, R = refits(X, y, new)
    expected = by_definition(method, mu, model.predict(new), R, level)
    assert model.predict_interval(new, level, method) == pytest.approx(expected, abs=1e-9)
    assert model.loo_residuals_ == pytest.approx(y - model.loo_predict_)
    assert np.abs(model.loo_residuals_) == pytest.approx(R, abs=1e-9)


def test_studentized_intervals_divide_by_the_deviation_of_the_left_out_models(data):
    X, y, new = data
    at_new, reach = [], []
    for i in range(N):
        rest = np.delete(np.arange(N), i)
        model = ridge().fit(X[rest], y[rest])

        def deviation(points, model=model):
            sd = model.predict(points, return_std=True)[1]
            return np.sqrt(1 + sd**2 / model.noise_variance_[0])

        at_new.append(model.predict(new))
        residual = abs(y[i] - model.predict(X[[i]])[0])
        reach.append(residual / deviation(X[[i]])[0] * deviation(new))
    mu, reach = np.array(at_new).T, np.array(reach).T
    high = int(np.ceil(0.9 * (N + 1)))
    expected = np.column_stack([np.sort(mu - reach)[:, N - high], np.sort(mu + reach)[:, high - 1]])
    found = ridge().fit(X, y).predict_interval(new, 0.9, "studentized")
    assert found == pytest.approx(expected, abs=1e-8)


def test_the_posterior_interval_is_that_of_the_gaussian_process(data):
    X, y, new = data
    model = ridge().fit(X, y)
    mean, sd = model.predict(new, return_std=True)
    total = np.sqrt(sd**2 + model.noise_variance_[0])
    expected = np.column_stack([mean - norm.ppf(0.95) * total, mean + norm.ppf(0.95) * total])
    assert model.predict_interval(new, 0.9, "posterior") == pytest.approx(expected)


@pytest.mark.parametrize("method", METHODS)
def test_several_outputs_have_the_intervals_of_each(method, data):
    X, y, new = data
    Y = np.column_stack([y, -2 * y + 1])
    both = ridge().fit(X, Y).predict_interval(new, 0.8, method)
    assert both.shape == (7, 2, 2)
    for column in range(2):
        alone = ridge().fit(X, Y[:, column]).predict_interval(new, 0.8, method)
        assert both[:, :, column] == pytest.approx(alone, abs=1e-9)


@pytest.mark.parametrize("method", METHODS)
def test_a_weight_of_two_is_the_row_twice_and_zero_is_none(method, data):
    X, y, new = data
    counts = np.where(np.arange(N) % 4 == 0, 2, np.where(np.arange(N) % 7 == 1, 0, 1))
    weighted = ridge().fit(X, y, counts)
    repeated = ridge().fit(np.repeat(X, counts, axis=0), np.repeat(y, counts))
    assert weighted.predict_interval(new, 0.8, method) == pytest.approx(
        repeated.predict_interval(new, 0.8, method), abs=1e-8
    )


@pytest.mark.parametrize("method", ["jackknife+", "minmax", "jackknife", "studentized"])
def test_levels_are_nested_and_the_prediction_is_inside(method, data):
    X, y, new = data
    model = ridge().fit(X, y)
    inner, outer = (model.predict_interval(new, level, method) for level in (0.6, 0.9))
    assert np.all(outer[:, 0] <= inner[:, 0])
    assert np.all(inner[:, 1] <= outer[:, 1])
    assert np.all((outer[:, 0] < model.predict(new)) & (model.predict(new) < outer[:, 1]))


def test_too_few_rows_give_infinite_intervals_and_a_warning(data):
    X, y, new = data
    model = ridge().fit(X[:18], y[:18])
    with pytest.warns(ResolutionWarning, match="at least 19 rows, got 18"):
        found = model.predict_interval(new, 0.95)
    assert np.all(np.isinf(found))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert np.all(np.isfinite(ridge().fit(X[:19], y[:19]).predict_interval(new, 0.95)))


@pytest.mark.parametrize("level", [0, 1, 1.0, 0.0, -0.1, 90, "0.9", None])
def test_a_level_that_is_none_is_refused(level, data):
    X, y, new = data
    with pytest.raises(ValueError, match="level must be a number between 0 and 1"):
        ridge().fit(X, y).predict_interval(new, level)


def test_an_unknown_method_is_refused(data):
    X, y, new = data
    with pytest.raises(UnknownName, match="method must be one of jackknife"):
        ridge().fit(X, y).predict_interval(new, method="bayes")


def test_a_model_that_is_not_fitted_says_so(data):
    with pytest.raises(NotFittedError):
        ridge().predict_interval(data[2])


def test_methods_that_a_machine_lacks_are_refused_in_one_sentence(data, rng):
    X, y, new = data
    with pytest.raises(Undefined, match="method='posterior' needs a Gaussian process"):
        KernelSubsetRegressor(KERNEL, indices=[0, 3, 9]).fit(X, y).predict_interval(new, method="posterior")
    counts = rng.poisson(2, size=N)
    with pytest.raises(Undefined, match="method='posterior' needs a Gaussian process"):
        KernelPoissonRegressor(KERNEL, alpha=1.0).fit(X, counts).predict_interval(new, method="posterior")


def test_forms_of_the_data_agree(data):
    X, y, new = data
    expected = ridge().fit(X, y).predict_interval(new)
    sparse = ridge().fit(csr_matrix(X), y)
    assert sparse.predict_interval(csr_matrix(new)) == pytest.approx(expected, abs=1e-9)
    precomputed = KernelRidgeRegressor("precomputed", alpha=0.2).fit(gram(KERNEL, X), y)
    assert precomputed.predict_interval(gram(KERNEL, new, X)) == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("method", ["jackknife+", "studentized", "posterior"])
def test_as_many_landmarks_as_rows_change_nothing(method, data):
    X, y, new = data
    expected = ridge().fit(X, y).predict_interval(new, method=method)
    landmarks = ridge(gram="lowrank", n_components=N).fit(X, y)
    assert landmarks.predict_interval(new, method=method) == pytest.approx(expected, abs=1e-5)


def test_cells_leave_a_row_out_of_every_cell_it_is_in(data, monkeypatch):
    monkeypatch.setattr("foldless.tuning.last_fit.CELL_ROWS", 20)
    X, y, new = data
    model = ridge(gram="cells").fit(X, y)
    tree = model.cells_.tree
    assert tree.n_cells > 1
    new = np.vstack([new, X[:3]])
    # Every cell refitted without the row, blended by the weights of the tree.
    mu = np.zeros((len(new), N))
    cells = {number: rows for number, rows, _ in tree.route(X)}
    for number, reached, weights in tree.route(new):
        for i in range(N):
            rest = np.setdiff1d(cells[number], i)
            cell = ridge().fit(X[rest], y[rest])
            mu[reached, i] += weights * cell.predict(new[reached])
    R = np.abs(model.loo_residuals_)
    expected = by_definition("jackknife+", mu, model.predict(new), R, 0.8)
    assert model.predict_interval(new, 0.8) == pytest.approx(expected, abs=1e-8)
    with pytest.raises(Undefined, match="a fit by cells has no common posterior"):
        model.predict_interval(new, 0.8, "studentized")


def test_small_blocks_change_nothing(data, monkeypatch):
    X, y, new = data
    model = ridge().fit(X, y)
    expected = model.predict_interval(new, method="studentized")
    monkeypatch.setattr("foldless.estimators.uncertainty.left_out.BLOCK_MAX_ENTRIES", 2 * N)
    assert model.predict_interval(new, method="studentized") == pytest.approx(expected)


@pytest.mark.parametrize(
    "options", [{}, {"gram": "lowrank", "n_components": 20}, {"alpha": None}, {"calibration": "split"}]
)
@pytest.mark.parametrize("method", METHODS)
def test_a_loaded_model_has_the_same_intervals(options, method, data):
    X, y, new = data
    model = ridge().set_params(**options).fit(X, y)
    again = pickle.loads(pickle.dumps(model))  # noqa: S301
    assert again.predict_interval(new, method=method) == pytest.approx(
        model.predict_interval(new, method=method), abs=1e-8
    )
    assert again.guarantee_ == model.guarantee_
    assert again.leverage_ == pytest.approx(model.leverage_, abs=1e-9)


@pytest.mark.parametrize("method", ["jackknife+", "minmax", "jackknife", "studentized"])
def test_counts_have_intervals_of_rates(method, data, rng):
    X, _, new = data
    y = rng.poisson(np.exp(1 + np.sin(X[:, 0])))
    model = KernelPoissonRegressor(KERNEL, alpha=1.0).fit(X, y)
    found = model.predict_interval(new, 0.9, method)
    assert np.all(found[:, 0] >= 0)
    assert np.all(found[:, 0] <= model.predict(new))
    assert model.loo_predict_ == pytest.approx(np.exp(model.loo_decision_))
    # The approximate models are close to refits.
    mu = []
    for i in range(N):
        rest = np.delete(np.arange(N), i)
        mu.append(KernelPoissonRegressor(KERNEL, alpha=1.0).fit(X[rest], y[rest]).predict(new))
    mu = np.array(mu).T
    R = np.abs(model.loo_residuals_)
    if method != "studentized":
        expected = by_definition(method, mu, model.predict(new), R, 0.9)
        assert found == pytest.approx(np.maximum(expected, 0), abs=0.05)


def test_subsets_have_the_intervals_of_linear_regression(data):
    X, y, new = data
    model = KernelSubsetRegressor(KERNEL, indices=[0, 3, 9]).fit(X, y)
    Z, at_new = (np.column_stack([gram(KERNEL, A, X[[0, 3, 9]]), np.ones(len(A))]) for A in (X, new))
    mu, reach, R = np.empty((7, N)), np.empty((7, N)), np.empty(N)
    for i in range(N):
        rest = np.delete(np.arange(N), i)
        coefficients = np.linalg.lstsq(Z[rest], y[rest])[0]
        covariance = np.linalg.inv(Z[rest].T @ Z[rest])
        mu[:, i], R[i] = at_new @ coefficients, abs(y[i] - Z[i] @ coefficients)
        tau = np.sqrt(1 + np.einsum("ij,jk,ik->i", at_new, covariance, at_new))
        reach[:, i] = R[i] / np.sqrt(1 + Z[i] @ covariance @ Z[i]) * tau
    high = int(np.ceil(0.9 * (N + 1)))
    expected = np.column_stack([np.sort(mu - reach)[:, N - high], np.sort(mu + reach)[:, high - 1]])
    assert model.predict_interval(new, 0.9, "studentized") == pytest.approx(expected, abs=1e-7)
    assert model.predict_interval(new) == pytest.approx(
        by_definition("jackknife+", mu, model.predict(new), R, 0.9), abs=1e-8
    )


def test_an_exact_fit_says_that_leave_one_out_is_undefined(data):
    X, y, new = data
    model = KernelRidgeRegressor(RBF(0.01, "fixed"), alpha=1e-15, criterion="gcv").fit(X, y)
    with pytest.raises(Undefined, match="a row fixes its own output"):
        model.predict_interval(new)


def test_high_leverages_are_warned_about_and_refitted(rng):
    X = np.r_[rng.normal(size=(30, 1)), [[9.0]]]
    y = np.r_[rng.poisson(3, size=30), 40]
    model = KernelPoissonRegressor(RBF(1.0, "fixed"), alpha=0.05).fit(X, y)
    assert model.leverage_.argmax() == 30
    with pytest.warns(LeverageWarning, match="of the rows have a leverage above 0.7"):
        model.predict_interval(X[:2])
    before = model.loo_predict_[30]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.refit_left_out().predict_interval(X[:2])
    expected = KernelPoissonRegressor(RBF(1.0, "fixed"), alpha=0.05).fit(X[:30], y[:30]).predict(X[30:])[0]
    assert model.loo_predict_[30] == pytest.approx(expected, abs=1e-6)
    assert abs(before - expected) > 1e-5
    again = pickle.loads(pickle.dumps(model))  # noqa: S301
    assert again.predict_interval(X[:2]) == pytest.approx(model.predict_interval(X[:2]), abs=1e-6)
    with pytest.raises(ValueError, match="rows must be numbers of training rows"):
        model.refit_left_out([77])


def test_exact_machines_are_not_warned_about(rng):
    X = np.r_[rng.normal(size=(30, 1)), [[9.0]]]
    model = KernelRidgeRegressor(KERNEL, alpha=0.1).fit(X, X[:, 0])
    assert model.leverage_.max() > 0.7
    expected = model.loo_predict_.copy()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.predict_interval(X[:2])
    assert model.refit_left_out([30, 2]).loo_predict_ == pytest.approx(expected, abs=1e-9)
