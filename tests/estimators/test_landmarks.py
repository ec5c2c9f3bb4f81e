"""Landmarks and sizes of cells that a user gives, and the record of the forms that were compared."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.gaussian_process.kernels import RBF, WhiteKernel

from foldless import (
    KernelLogisticRegression,
    KernelLSSVC,
    KernelPoissonRegressor,
    KernelRidgeRegressor,
    KernelSVC,
)

ROWS = np.arange(0, 120, 7)
OPTIONS = {"kernel": RBF(1.0, "fixed")}


@pytest.fixture(scope="module")
def data():
    X = np.random.default_rng(0).normal(size=(120, 2))
    return X, np.abs(np.round(2 * np.sin(2 * X[:, 0]) + X[:, 1] ** 2))


@pytest.mark.parametrize(
    "kind", [KernelLogisticRegression, KernelSVC, KernelLSSVC, KernelRidgeRegressor, KernelPoissonRegressor]
)
def test_row_numbers_and_points_are_the_same_landmarks(kind, data):
    X, y = data
    y = y if "Regressor" in kind.__name__ else y > 1
    rows, points = (kind(**OPTIONS, landmarks=landmarks).fit(X, y) for landmarks in (ROWS, X[ROWS]))
    np.testing.assert_array_equal(np.sort(points.X_fit_, axis=0), np.sort(X[ROWS], axis=0))
    np.testing.assert_array_equal(rows.predict(X), points.predict(X))
    assert rows.selection_.form == f"{len(ROWS)} landmarks"
    assert clone(rows).landmarks is not None


def test_landmarks_need_not_be_rows_and_may_be_searched_on(data):
    X, y = data
    grid = np.stack(np.meshgrid(*[np.linspace(-2, 2, 5)] * 2), axis=-1).reshape(-1, 2)
    model = KernelRidgeRegressor(landmarks=grid).fit(X, y)
    assert {tuple(point) for point in model.X_fit_} <= {tuple(point) for point in grid}
    assert model.score(X, y) > 0.6
    sparse = KernelRidgeRegressor(landmarks=sp.csr_array(grid)).fit(sp.csr_array(X), y)
    np.testing.assert_allclose(sparse.predict(sp.csr_array(X)), model.predict(X), rtol=1e-4, atol=1e-4)


def test_rows_without_weight_may_be_landmarks(data):
    X, y = data
    weight = np.ones(len(y))
    weight[ROWS] = 0
    model = KernelRidgeRegressor(RBF(1.0, "fixed"), alpha=0.1, landmarks=ROWS).fit(X, y, weight)
    kept = np.flatnonzero(weight)
    there = KernelRidgeRegressor(RBF(1.0, "fixed"), alpha=0.1, landmarks=X[ROWS]).fit(X[kept], y[kept])
    np.testing.assert_allclose(model.predict(X), there.predict(X))


def test_the_halves_of_a_split_have_the_landmarks_of_the_whole(data):
    X, y = data
    model = KernelRidgeRegressor(RBF(1.0, "fixed"), alpha=0.1, landmarks=ROWS, calibration="split").fit(X, y)
    np.testing.assert_array_equal(np.sort(model.X_fit_, axis=0), np.sort(X[ROWS], axis=0))
    np.testing.assert_array_equal(model.landmarks, ROWS)


@pytest.mark.parametrize(
    "options, message",
    [
        ({"landmarks": [0, 120]}, "X has the rows 0 to 119, got 120"),
        ({"landmarks": [-1, 3]}, "got -1"),
        ({"landmarks": [0.5, 1.0]}, "must be row numbers.*got numbers of type float64"),
        ({"landmarks": []}, "got an empty list"),
        ({"landmarks": np.zeros((3, 4))}, "X has 2, the landmarks have 4"),
        ({"landmarks": [[np.nan, 0.0]]}, "NaN"),
        ({"landmarks": ROWS, "gram": "dense"}, "gram='dense' has no landmarks; use gram='lowrank'"),
        ({"landmarks": ROWS, "gram": "cells"}, "gram='cells' has no landmarks"),
        ({"landmarks": ROWS, "n_components": 5}, "leave one of them out"),
        ({"landmarks": ROWS, "kernel": RBF() + WhiteKernel()}, "cannot hold the WhiteKernel"),
        ({"cell_size": 2}, "at least 4 rows, or None to have it chosen; got 2"),
        ({"cell_size": 20.5}, "whole number"),
        ({"cell_size": 20, "gram": "lowrank"}, "gram='lowrank' has no cells"),
    ],
)
def test_what_contradicts_itself_is_refused(options, message, data):
    with pytest.raises(ValueError, match=message):
        KernelRidgeRegressor(**{"alpha": 0.1, **options}).fit(*data)


def test_cells_have_the_size_that_was_asked_for(data):
    X, y = data
    model = KernelRidgeRegressor(**OPTIONS, gram="cells", cell_size=40).fit(X, y)
    sizes = [len(fit.rows) for fit in model.selection_.solution.fits]
    assert len(sizes) > 2
    assert max(sizes) <= 40
    assert (
        KernelRidgeRegressor(**OPTIONS, gram="cells", cell_size=np.int64(500)).fit(X, y).cells_.n_points
        == 120
    )


def test_auto_records_what_every_form_scored(monkeypatch):
    monkeypatch.setattr("foldless.tuning.last_fit.WHOLE_MAX_ROWS", 300)
    monkeypatch.setattr("foldless.tuning.last_fit.SMALL_WHOLE_MAX_ROWS", 300)
    rng = np.random.default_rng(0)
    X = rng.uniform(-2, 2, size=(700, 2))
    y = np.sin(7 * X[:, 0]) * np.sin(7 * X[:, 1]) + 0.1 * rng.normal(size=700)
    model = KernelRidgeRegressor(RBF(0.15, "fixed"), alpha=0.02, cell_size=100).fit(X, y)
    forms = model.selection_.forms
    assert forms[0].name == "100 landmarks"
    assert model.selection_.form in {form.name for form in forms}
    chosen = next(form for form in forms if form.name == model.selection_.form)
    assert chosen.loss == min(form.loss for form in forms)
    assert chosen.loss == pytest.approx(np.mean(model.loo_residuals_**2))
    assert "left-out loss" in str(forms)
    assert not KernelRidgeRegressor(RBF(0.15, "fixed"), gram="cells").fit(X[:50], y[:50]).selection_.forms
