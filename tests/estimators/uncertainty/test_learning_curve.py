"""Learning curves: the losses of smaller fits, and their continuation."""

import numpy as np
import pytest
from sklearn.gaussian_process.kernels import RBF

from foldless import KernelLogisticRegression, KernelRidgeRegressor, KernelSubsetRegressor
from foldless.core.errors import Undefined
from foldless.estimators.uncertainty.learning_curve import LearningCurve


@pytest.fixture
def model(rng):
    X = rng.uniform(-3, 3, size=(160, 1))
    return KernelRidgeRegressor(RBF(1.0, "fixed"), alpha=0.5).fit(
        X, np.sin(2 * X[:, 0]) + 0.3 * rng.normal(size=160)
    )


def test_the_curve_ends_at_the_leave_one_out_loss_and_falls(model):
    curve = model.learning_curve_
    assert curve.rows.tolist() == [20, 40, 80, 160]
    assert curve.values[-1] == pytest.approx(np.mean(model.loo_residuals_**2))
    assert np.all(np.diff(curve.values) < 0)
    assert np.all(np.isfinite(curve.losses))


def test_a_size_is_the_mean_of_fits_to_disjoint_blocks(model):
    curve, training = model.learning_curve_, model._training
    # The mean over blocks of 80 rows is close to that of any other two halves.
    half = np.arange(160) % 2 == 0
    losses = []
    for rows in (half, ~half):
        other = KernelRidgeRegressor(RBF(1.0, "fixed"), alpha=0.5).fit(training.X[rows], training.Y[rows, 0])
        losses.append(np.mean(other.loo_residuals_**2))
    assert curve.values[2] == pytest.approx(np.mean(losses), rel=0.1)


def test_a_power_law_is_continued(rng):
    rows = np.array([25.0, 50, 100, 200])

    def truth(n):
        return 0.5 + 3 * n**-0.8

    losses = truth(rows) + 0.3 * rng.normal(size=(400, 1)) + 0.01 * rng.normal(size=(400, 4))
    curve = LearningCurve(rows, losses)
    value, error = curve.extrapolate([400, 800])
    shared = losses.mean() - truth(rows).mean()
    assert value - shared == pytest.approx(truth(np.array([400.0, 800.0])), abs=0.01)
    assert np.all(error > 0)
    assert np.all(np.abs(value - truth(np.array([400.0, 800.0]))) < 4 * error)


def test_classifiers_have_a_curve(rng):
    X = rng.normal(size=(120, 2))
    y = X[:, 0] + 0.5 * rng.normal(size=120) > 0
    curve = KernelLogisticRegression(RBF(2.0, "fixed"), C=1.0).fit(X, y).learning_curve_
    assert curve.rows[-1] == 120
    assert curve.values[0] > curve.values[-1]


def test_what_cannot_be_cut_says_so(rng):
    X = rng.normal(size=(40, 1))
    y = X[:, 0]
    small = KernelRidgeRegressor(RBF(1.0, "fixed"), alpha=0.1).fit(X[:20], y[:20] + rng.normal(size=20))
    with pytest.raises(Undefined, match="needs three sizes"):
        small.learning_curve_.extrapolate(100)
    with pytest.raises(Undefined, match="has no points"):
        _ = KernelRidgeRegressor("precomputed", alpha=0.1).fit(X @ X.T, y).learning_curve_
    with pytest.raises(Undefined, match="its basis is tied to rows"):
        _ = KernelSubsetRegressor(RBF(1.0, "fixed"), indices=[0, 1]).fit(X, y).learning_curve_
