"""Copies of rows are one observation: fitted as one row, left out together, and no reason to repeat noisy targets."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.gaussian_process.kernels import RBF
from sklearn.kernel_ridge import KernelRidge
from sklearn.svm import SVC

from foldless import (
    KernelClassifier,
    KernelLogisticRegression,
    KernelLSSVC,
    KernelPoissonRegressor,
    KernelRegressor,
    KernelRidgeRegressor,
    KernelSearch,
    KernelSubsetRegressor,
    KernelSVC,
)
from foldless.estimators.copies import _values, fitted_rows, without_copies

KERNEL = RBF(1.5, "fixed")
CLASSIFIERS = [KernelLogisticRegression, KernelSVC, KernelLSSVC]
REGRESSORS = [KernelRidgeRegressor, KernelSubsetRegressor, KernelRegressor]


def waves(n, seed):
    """A function of two of four columns, hidden by as much noise as it varies."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))
    function = np.sin(2 * X[:, 0]) + X[:, 1]
    return X, function, function + rng.normal(size=n)


def with_copies(*arrays, n):
    """The first n rows once more, and all of them in another order."""
    order = np.random.default_rng(7).permutation(len(arrays[0]) + n)
    return [np.concatenate([array, array[:n]])[order] for array in arrays]


def error(model, X, y, is_class):
    """Part of the new rows whose better class is missed, or of the variance of the function."""
    X_new, function, _ = waves(3000, seed=1)
    predicted = model.fit(X, y > 0 if is_class else y).predict(X_new)
    return (
        np.mean(predicted != (function > 0))
        if is_class
        else np.mean((predicted - function) ** 2) / np.var(function)
    )


@pytest.mark.filterwarnings("ignore::foldless.core.errors.FoldlessWarning")
@pytest.mark.parametrize(
    ("model", "is_class"),
    [
        *((kind(), True) for kind in [*CLASSIFIERS, KernelClassifier]),
        *((kind(), False) for kind in REGRESSORS),
        (KernelRidgeRegressor(criterion="evidence"), False),
        (KernelRidgeRegressor(criterion="gcv"), False),
        (KernelLSSVC(criterion="evidence"), True),
        (KernelSearch(SVC()), True),
        (KernelSearch(KernelRidge(kernel="rbf")), False),
    ],
    ids=str,
)
@pytest.mark.parametrize("n_copies", [150, 300])
def test_copies_do_not_make_a_fit_repeat_the_noise(model, is_class, n_copies):
    """Where one of two copies was left out and the other told its target, errors were 2 to 7 times as large."""
    X, _, y = waves(300, seed=0)
    alone = error(model, X, y, is_class)
    assert error(model, *with_copies(X, y, n=n_copies), is_class) < 1.6 * alone


def refitted(model, X, y, rows, answer):
    """The answers at some rows of fits without these and all their copies."""
    found = []
    for row in rows:
        stays = np.any(X[row] != X, axis=1)
        found.append(answer(model.fit(X[stays], y[stays]))(X[row : row + 1])[0])
    return found


@pytest.mark.parametrize(
    ("model", "names"),
    [
        (KernelLSSVC(KERNEL, C=3.0), ("decision_function", "loo_decision_")),
        (KernelRidgeRegressor(KERNEL, alpha=0.3), ("predict", "loo_predict_")),
        (KernelLogisticRegression(KERNEL, C=0.5), ("decision_function", "loo_decision_")),
        (KernelPoissonRegressor(KERNEL, alpha=2.0), ("predict", "loo_predict_")),
    ],
    ids=lambda value: str(value) if hasattr(value, "fit") else "",
)
def test_copies_are_left_out_together(model, names):
    """Exactly so once these rows are refitted, which the first two need not be."""
    X, _, y = waves(60, seed=0)
    X, y = with_copies(X, np.round(np.exp(y / 2)), n=20)
    y = y > 1 if "loo_decision_" in names else y
    rows = range(0, len(y), 7)
    left_out = getattr(model.fit(X, y).refit_left_out(rows), names[1])
    assert len(left_out) == 80
    expected = refitted(model, X, y, rows, lambda fitted: getattr(fitted, names[0]))
    assert left_out[rows] == pytest.approx(np.array(expected), abs=1e-9)


@pytest.mark.filterwarnings("ignore::foldless.core.errors.FoldlessWarning")
@pytest.mark.parametrize("kind", [*CLASSIFIERS, KernelRidgeRegressor])
def test_every_row_has_the_answers_of_its_copies_wherever_they_stand(kind):
    X, _, y = waves(120, seed=0)
    y = y if kind is KernelRidgeRegressor else y > 0
    many, labels = np.concatenate([X, X[:40]]), np.concatenate([y, y[:40]])
    order = np.random.default_rng(3).permutation(160)
    one, other = kind().fit(many, labels), kind().fit(many[order], labels[order])
    assert np.array_equal(one.predict(X), other.predict(X))
    for name in ("loo_predict_", "leverage_"):
        values = getattr(one, name)
        assert len(values) == 160
        assert np.array_equal(values[:40], values[120:])
        assert np.array_equal(values[order], getattr(other, name))
    assert sorted(one.suspicious_) == list(range(160))
    assert set(one.suspicious_[:2]) <= {
        *np.flatnonzero((many == many[one.suspicious_[0]]).all(axis=1)),
        one.suspicious_[1],
    }
    assert one.loo_score() == other.loo_score()


def test_a_score_counts_observations():
    """Its value is that of all rows, its error that of the distinct ones, where all have as many copies."""
    X, _, y = waves(90, seed=0)
    model = KernelRidgeRegressor(KERNEL, alpha=0.5)
    alone = model.fit(X, y, sample_weight=np.full(90, 2.0)).loo_score("neg_mean_squared_error")
    twice = model.fit(np.repeat(X, 2, axis=0), np.repeat(y, 2)).loo_score("neg_mean_squared_error")
    assert alone == twice
    residuals = model.loo_residuals_[::2] ** 2
    assert twice.value == pytest.approx(-residuals.mean())
    assert twice.standard_error == pytest.approx(residuals.std(ddof=1) / np.sqrt(90))


def test_intervals_of_a_table_that_stands_twice_are_those_of_the_table():
    """Weights of 2 with twice the ridge are the same fit, and so are its intervals: copies are no further evidence."""
    X, _, y = waves(90, seed=0)
    alone = KernelRidgeRegressor(KERNEL, alpha=0.5).fit(X, y)
    twice = KernelRidgeRegressor(KERNEL, alpha=1.0).fit(np.repeat(X, 2, axis=0), np.repeat(y, 2))
    new = waves(20, seed=2)[0]
    assert twice.predict_interval(new) == pytest.approx(alone.predict_interval(new), rel=1e-9)


def observations(kind):
    """Inputs and targets of tables in which equal rows are observations of their own."""
    rng = np.random.default_rng(0)
    few = rng.integers(0, 3, size=(400, 3)).astype(float)
    if kind == "chance":
        return few, few[:, 0] > 1
    if kind == "mixed labels":
        X = np.column_stack([few, few[:, 0] + few[:, 1]])
        return X, rng.random(400) < 0.5
    if kind == "repeated measurements":
        X = np.repeat(rng.normal(size=(100, 2)), 4, axis=0)
        return X, X[:, 0] + rng.normal(size=400)
    return rng.normal(size=(400, 3)), rng.random(400) < 0.5


@pytest.mark.parametrize("kind", ["chance", "mixed labels", "repeated measurements", "nothing repeats"])
@pytest.mark.parametrize("sparse", [False, True])
def test_observations_that_agree_are_no_copies(kind, sparse):
    X, y = observations(kind)
    found = fitted_rows(sp.csr_array(X) if sparse else X, np.asarray(y, float)[:, None], np.ones(400))
    assert found.place is None
    assert np.array_equal(found.first, np.arange(400))
    assert np.array_equal(found.counts, np.ones(400))


@pytest.mark.parametrize("sparse", [False, True])
def test_agreement_that_is_no_chance_makes_copies_of_rows_of_few_values(sparse):
    """Thirty columns of two values agree in 3e-5 pairs of 300 rows; all labels of equal rows are equal."""
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, size=(300, 30)).astype(float)
    rows = np.r_[0:300, 0:25]
    y = rng.random(300) < 0.5
    found = fitted_rows(
        (sp.csr_array(X) if sparse else X)[rows], y[rows][:, None].astype(float), np.ones(325)
    )
    assert len(found.first) == 300
    assert found.counts is None
    assert sorted(found.weight) == [1.0] * 275 + [2.0] * 25
    assert np.array_equal(X[rows][found.first][found.place], X[rows])


def test_rows_with_another_target_are_no_copies():
    X, _, y = waves(50, seed=0)
    found = fitted_rows(
        np.concatenate([X, X[:10]]), np.concatenate([y, y[:10] + [0, 1] * 5])[:, None], np.ones(60)
    )
    assert len(found.first) == 55


@pytest.mark.parametrize("sparse", [False, True])
def test_rows_that_differ_far_below_the_largest_value_of_a_column_are_no_copies(sparse):
    X = np.column_stack([np.arange(30.0), np.full(30, 1e-310)])
    X[0, 0], y = 1e40, np.zeros((40, 1))
    X = np.concatenate([X, X[:10]])
    found = fitted_rows(sp.csr_array(X) if sparse else X, y, np.ones(40))
    assert np.array_equal(X[found.first][found.place], X)


def test_values_are_counted_as_one_by_one():
    rng = np.random.default_rng(0)
    X = rng.integers(-1, 3, size=(60, 5)).astype(float)
    X[:, 3], X[:, 4] = 2.0, rng.normal(size=60)
    n = rng.integers(1, 4, size=60).astype(float)
    every = np.repeat(X, n.astype(int), axis=0)
    for columns in (X, sp.csr_array(X)):
        found = _values(columns, n)
        assert list(found.n) == [len(np.unique(column)) for column in X.T]
        pairs = [np.mean(column[:, None] == column) for column in every.T]
        assert found.agreement == pytest.approx(np.array(pairs))


def test_rows_of_a_given_gram_matrix_are_joined_with_their_columns():
    X, _, y = waves(80, seed=0)
    many, targets = with_copies(X, y, n=30)
    model = KernelRidgeRegressor(KERNEL, alpha=0.4)
    points = model.fit(many, targets).loo_predict_
    given = KernelRidgeRegressor("precomputed", alpha=0.4).fit(KERNEL(many), targets)
    assert given.loo_predict_ == pytest.approx(points, rel=1e-9)
    assert given.predict(KERNEL(X, many)) == pytest.approx(model.predict(X), rel=1e-9)


@pytest.mark.parametrize(
    "machine", [SVC(class_weight="balanced"), SVC(gamma="scale"), KernelRidge(kernel="rbf")], ids=str
)
def test_the_twin_of_a_fit_with_copies_is_that_fit(machine):
    """Copies count in what "balanced" and "scale" stand for, as they do in scikit-learn."""
    X, _, y = waves(100, seed=0)
    X, y = with_copies(X, y if isinstance(machine, KernelRidge) else (y > 0.7), n=40)
    space = {"alpha": (0.1, 10.0)} if isinstance(machine, KernelRidge) else {"C": (0.1, 10.0)}
    search = KernelSearch(machine, space).fit(X, y)
    own = search.predict if isinstance(machine, KernelRidge) else search.decision_function
    assert len(search.loo_predict_) == 140
    outputs = search._twin._outputs_at(X)[:, 0]
    # libsvm ends at a gap of 1e-3.
    assert outputs == pytest.approx(own(X), abs=1e-8 if isinstance(machine, KernelRidge) else 5e-3)


def test_nothing_is_copied_where_nothing_is_joined():
    X, _, y = waves(50, seed=0)
    same, targets, weight, _ = without_copies(X, y, None)
    assert same is X
    assert targets is y
    assert weight is None
