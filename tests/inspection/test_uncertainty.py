"""Displays of intervals, calibration, learning curves and suspicious rows."""

import matplotlib
import numpy as np
import pytest
from sklearn.gaussian_process.kernels import RBF
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from foldless import KernelLogisticRegression, KernelRidgeRegressor, KernelSearch, KernelSVC
from foldless.inspection import (
    CalibrationDisplay,
    IntervalDisplay,
    LearningCurveDisplay,
    SuspiciousRowsDisplay,
)

matplotlib.use("Agg")


@pytest.fixture(autouse=True)
def closed():
    yield
    matplotlib.pyplot.close("all")


@pytest.fixture
def ridge(noisy_curve):
    return make_pipeline(StandardScaler(), KernelRidgeRegressor(RBF(0.5, "fixed"), alpha=0.1)).fit(
        *noisy_curve
    )


@pytest.fixture
def logistic(three_classes):
    return KernelLogisticRegression(RBF(1.0, "fixed"), C=1.0).fit(*three_classes)


def test_intervals_are_those_of_the_estimator(ridge, noisy_curve):
    X, y = noisy_curve
    display = IntervalDisplay.from_estimator(ridge, X, y, level=0.8)
    expected = ridge[-1].predict_interval(ridge[:-1].transform(X), 0.8)
    assert display.intervals == pytest.approx(expected)
    assert display.coverage == pytest.approx(np.mean((expected[:, 0] <= y) & (y <= expected[:, 1])))
    assert display.x == pytest.approx(X[:, 0])
    assert f"{100 * display.coverage:.1f} %" in display.ax_.get_title()
    assert display.figure_ is display.ax_.figure
    assert IntervalDisplay.from_estimator(ridge, X).coverage is None


def test_intervals_of_a_search_are_drawn(noisy_curve):
    X, y = noisy_curve
    search = KernelSearch(KernelRidge(kernel="rbf", gamma=1.0), {"alpha": [0.1]}).fit(X, y)
    assert IntervalDisplay.from_estimator(search, X, y).intervals == pytest.approx(search.predict_interval(X))


def test_calibration_is_that_of_left_out_probabilities(logistic, three_classes):
    display = CalibrationDisplay.from_estimator(logistic, n_bins=4)
    assert display.right.mean() == pytest.approx(logistic.loo_score().value)
    assert display.confidence == pytest.approx(logistic.loo_proba_.max(axis=1))
    assert np.all(np.diff(display.mean_confidence) > 0)
    sizes = np.full(4, 15)
    expected = np.average(np.abs(display.share_right - display.mean_confidence), weights=sizes)
    assert display.ece == pytest.approx(expected)
    assert f"{display.ece:.3f}" in display.ax_.get_title()


def test_perfect_confidence_has_no_calibration_error():
    assert CalibrationDisplay(np.ones(10), np.ones(10), 3).ece == 0
    assert CalibrationDisplay(np.full(10, 0.5), np.arange(10) % 2, 1).ece == 0


def test_a_learning_curve_is_drawn_with_its_continuation(ridge, noisy_curve):
    display = LearningCurveDisplay.from_estimator(ridge)
    assert display.curve.rows[-1] == 40
    assert display.ax_.get_xlabel() == "rows"


def test_suspicious_rows_come_in_order(ridge, logistic):
    for model, label in ((ridge, "residual"), (logistic, "probability")):
        display = SuspiciousRowsDisplay.from_estimator(model, n_rows=7)
        inner = model[-1] if hasattr(model, "steps") else model
        assert display.rows.tolist() == inner.suspicious_[:7].tolist()
        assert label in display.ax_.get_xlabel()
        assert [text.get_text() for text in display.ax_.get_yticklabels()] == [
            str(row) for row in display.rows
        ]
    values = SuspiciousRowsDisplay.from_estimator(logistic).values
    assert np.all(np.diff(values) >= 0)


def test_estimators_that_cannot_be_drawn_say_so(ridge, logistic, noisy_curve, two_classes):
    X, y = noisy_curve
    with pytest.raises(TypeError, match="LinearRegression has no left-out models"):
        IntervalDisplay.from_estimator(LinearRegression().fit(X, y), X)
    with pytest.raises(TypeError, match="has no prediction intervals"):
        IntervalDisplay.from_estimator(logistic, np.zeros((3, 2)))
    with pytest.raises(TypeError, match="has no left-out probabilities"):
        CalibrationDisplay.from_estimator(ridge)
    posterior = KernelSVC(RBF(1.0, "fixed"), C=1.0, criterion="evidence-ep").fit(*two_classes)
    with pytest.raises(TypeError, match="has no left-out probabilities"):
        CalibrationDisplay.from_estimator(posterior)
    with pytest.raises(ValueError, match="several outputs"):
        IntervalDisplay.from_estimator(
            KernelRidgeRegressor(RBF(1.0, "fixed"), alpha=0.1).fit(X, np.column_stack([y, y])), X
        )
