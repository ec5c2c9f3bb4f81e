"""kernel="auto" on data frames with categories, texts and truth values."""

import pickle
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.gaussian_process.kernels import RBF
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from foldless import (
    KernelLogisticRegression,
    KernelLSSVC,
    KernelPoissonRegressor,
    KernelRegressor,
    KernelRidgeRegressor,
    KernelSubsetRegressor,
    KernelSVC,
)
from foldless.core.errors import DataError, InputScaleWarning, UnseenLevelWarning
from foldless.estimators.columns import learn_codes
from foldless.kernels import Categorical, Columns

RNG = np.random.default_rng(0)
N = 90
SIZE, WARD, SMOKES = RNG.normal(size=N), RNG.choice(["A", "B", "C"], N), RNG.random(N) < 0.5
FRAME = pd.DataFrame({"size": SIZE, "ward": WARD, "smokes": SMOKES})
EFFECT = np.where(WARD == "B", -1, 1) * np.sin(2 * SIZE) + SMOKES
NOISE = 0.1 * RNG.normal(size=N)
CLASSIFIERS = [KernelLogisticRegression, KernelSVC, KernelLSSVC]
REGRESSORS = [KernelRidgeRegressor, KernelSubsetRegressor]


@pytest.mark.parametrize("estimator", CLASSIFIERS)
def test_every_classifier_takes_categories(estimator):
    y = np.where(EFFECT + NOISE > 0.5, "yes", "no")
    model = estimator("auto").fit(FRAME, y)
    assert model.score(FRAME, y) > 0.9
    assert model.score(FRAME, y) > estimator().fit(FRAME[["size"]], y).score(FRAME[["size"]], y) + 0.05
    assert model.column_codes_.levels == {"ward": ["A", "B", "C"], "smokes": [False, True]}
    assert list(model.feature_names_in_) == ["size", "ward", "smokes"]


@pytest.mark.parametrize("estimator", REGRESSORS)
def test_every_regressor_takes_categories(estimator):
    model = estimator("auto").fit(FRAME, EFFECT + NOISE)
    assert model.score(FRAME, EFFECT) > 0.9


def test_counts_too():
    counts = RNG.poisson(np.exp(EFFECT))
    rate = KernelPoissonRegressor("auto").fit(FRAME, counts).predict(FRAME)
    assert np.corrcoef(rate, np.exp(EFFECT))[0, 1] > 0.8


def test_every_way_to_write_a_frame_is_the_same_model():
    y = EFFECT + NOISE
    expected = KernelRidgeRegressor("auto").fit(FRAME, y)
    others = [
        FRAME.astype({"ward": "category", "smokes": "category"}),
        FRAME.astype({"ward": object, "smokes": object}),
        FRAME.set_index(np.arange(N)[::-1]),
        pl.DataFrame({"size": SIZE, "ward": WARD.tolist(), "smokes": SMOKES}),
        pl.DataFrame({"size": SIZE, "ward": WARD.tolist(), "smokes": SMOKES}).cast({"ward": pl.Categorical}),
    ]
    for frame in others:
        model = KernelRidgeRegressor("auto").fit(frame, y)
        assert model.predict(FRAME) == pytest.approx(expected.predict(FRAME), rel=1e-12)
        assert expected.predict(frame) == pytest.approx(expected.predict(FRAME), rel=1e-12)


def test_an_unseen_category_matches_nothing():
    model = KernelRidgeRegressor("auto").fit(FRAME, EFFECT + NOISE)
    new = pd.DataFrame({"size": [0.3, 0.3, 0.3], "ward": ["Z", "Q", None], "smokes": [True, True, True]})
    with pytest.warns(UnseenLevelWarning, match="'ward': 'Z', 'Q' and missing values did .*; 3 rows are"):
        first, second, missing = model.predict(new)
    assert np.isfinite(first)
    assert second == pytest.approx(first)
    assert missing == pytest.approx(first)
    with pytest.warns(UnseenLevelWarning):
        assert model.column_codes_.encode(new)["ward"].tolist() == [-1, -1, -1]


@pytest.mark.parametrize("missing", [None, np.nan, pd.NA])
def test_a_missing_category_is_a_level_of_its_own(missing):
    gaps = FRAME.assign(ward=[missing if ward == "C" else ward for ward in WARD])
    model = KernelRidgeRegressor("auto").fit(gaps, EFFECT + NOISE)
    assert model.column_codes_.levels["ward"] == ["A", "B", None]
    assert model.predict(gaps) == pytest.approx(
        KernelRidgeRegressor("auto").fit(FRAME, EFFECT + NOISE).predict(FRAME)
    )


def test_only_categories():
    frame = FRAME[["ward", "smokes"]]
    model = KernelRidgeRegressor("auto").fit(frame, SMOKES + (WARD == "A"))
    assert isinstance(model.kernel_, Columns)
    assert model.score(frame, SMOKES + (WARD == "A")) > 0.99
    assert [trial.name for trial in model.selection_.trials] == ["categorical"]


def test_a_frame_of_numbers_and_an_array_are_the_same():
    X = np.column_stack([SIZE, SMOKES.astype(float)])
    frame = pd.DataFrame(X, columns=["a", "b"])
    one, two = (KernelRidgeRegressor("auto").fit(Z, EFFECT) for Z in (X, frame))
    assert one.column_codes_ is None
    assert two.column_codes_ is None
    assert one.kernel_ == two.kernel_


def test_another_fit_forgets_the_categories():
    model = KernelRidgeRegressor("auto").fit(FRAME, EFFECT)
    model.set_params(kernel="rbf").fit(FRAME[["size"]], EFFECT)
    assert model.column_codes_ is None


def test_weights_of_zero_leave_rows_out():
    weight = (np.arange(N) < 70).astype(float)
    part = KernelRidgeRegressor("auto").fit(FRAME[:70], EFFECT[:70])
    # A level may occur only in rows without weight: it then matches nothing.
    whole = KernelRidgeRegressor("auto").fit(FRAME, EFFECT, sample_weight=weight)
    assert whole.predict(FRAME) == pytest.approx(part.predict(FRAME), rel=1e-9)


def test_fitted_models_can_be_pickled_and_cloned():
    model = KernelLogisticRegression("auto").fit(FRAME, EFFECT > 0.5)
    assert clone(model).kernel == "auto"
    copied = pickle.loads(pickle.dumps(model))  # noqa: S301 - our own bytes
    assert copied.predict_proba(FRAME) == pytest.approx(model.predict_proba(FRAME))


def test_numbers_can_be_scaled_before():
    scale = make_column_transformer(
        (StandardScaler(), make_column_selector(dtype_include="number")),
        remainder="passthrough",
        verbose_feature_names_out=False,
    ).set_output(transform="pandas")
    big = FRAME.assign(size=1000 * SIZE, other=RNG.normal(size=N))
    model = make_pipeline(scale, KernelRidgeRegressor("auto")).fit(big, EFFECT + NOISE)
    assert model.score(big, EFFECT) > 0.9


# What bad input gets.


def test_other_columns_at_prediction_are_refused():
    model = KernelRidgeRegressor("auto").fit(FRAME, EFFECT)
    for frame in (FRAME[["size", "ward"]], FRAME.assign(more=1.0), FRAME[["ward", "size", "smokes"]]):
        with pytest.raises(ValueError, match="feature names"):
            model.predict(frame)
    with pytest.raises(DataError, match=r"column 'size' of X holds text such as 'big'"):
        model.predict(FRAME.assign(size="big"))


def test_other_kernels_name_the_column_and_the_cure():
    with pytest.raises(DataError, match=r"column 'ward' of X holds text.*kernel='auto'"):
        KernelRidgeRegressor().fit(FRAME, EFFECT)
    with pytest.raises(DataError, match="column 1 of X holds text"):
        KernelRidgeRegressor("auto").fit(FRAME.to_numpy(dtype=object), EFFECT)


def test_columns_of_dates_are_named():
    days = pd.date_range("2020-01-01", periods=N)
    for frame in (FRAME[["size"]].assign(day=days), FRAME.assign(day=days - days[0])):
        for model in (KernelRidgeRegressor("auto"), KernelRegressor()):
            with pytest.raises(DataError, match="column 'day' of X holds dates or times"):
                model.fit(frame, EFFECT)


@pytest.mark.parametrize(
    "kernel", [Categorical(0.0), Categorical(-1.0), RBF(np.inf), RBF([1.0, 0.0])], ids=repr
)
def test_widths_that_are_not_positive_are_refused(kernel):
    codes = np.round(RNG.normal(size=(N, 2)))
    with pytest.raises(ValueError, match="must lie between"):
        KernelRidgeRegressor(kernel).fit(codes, EFFECT)


def test_columns_of_one_name_are_refused():
    frame = FRAME.set_axis(["a", "b", "b"], axis=1)
    with pytest.raises(DataError, match="several columns called 'b'"):
        KernelRidgeRegressor("auto").fit(frame, EFFECT)


def test_missing_numbers_are_refused_as_ever():
    with pytest.raises(ValueError, match="NaN"):
        KernelRidgeRegressor("auto").fit(FRAME.assign(size=np.nan), EFFECT)


def test_constant_columns_give_a_constant_model():
    frame = pd.DataFrame({"a": np.ones(20), "b": ["x"] * 20})
    y = np.arange(20.0)
    model = KernelRidgeRegressor("auto").fit(frame, y)
    assert model.predict(frame) == pytest.approx(np.full(20, 9.5), abs=1e-6)
    assert KernelRidgeRegressor("auto").fit(np.ones((20, 2)), y).predict(np.ones((1, 2))) == pytest.approx(
        [9.5]
    )


def test_codes_are_for_frames():
    assert learn_codes(np.array([["a"]], dtype=object)) is None
    codes = learn_codes(FRAME)
    assert codes.categorical == [1, 2]
    array = np.zeros((2, 3))
    assert codes.encode(array) is array


# Kernels that name the columns with categories themselves.


def test_a_kernel_for_categories_takes_texts():
    kernel = Columns(RBF(1.0), ["size"]) * Columns(Categorical(1.0), ["ward", "smokes"])
    model = KernelRidgeRegressor(kernel).fit(FRAME, EFFECT + NOISE)
    codes = FRAME.assign(ward=pd.factorize(FRAME["ward"])[0], smokes=SMOKES.astype(int))
    expected = KernelRidgeRegressor(kernel).fit(codes, EFFECT + NOISE)
    assert model.predict(FRAME) == pytest.approx(expected.predict(codes))
    assert list(model.column_codes_.levels) == ["ward", "smokes"]


def test_texts_that_some_kernel_reads_as_numbers_are_refused():
    for kernel in (RBF() + Columns(Categorical(), ["ward"]), [Columns(Categorical(), ["ward"]), "rbf"]):
        with pytest.raises(DataError, match="column 'ward' of X holds text"):
            KernelRidgeRegressor(kernel).fit(FRAME, EFFECT)


def test_a_fitted_kernel_can_be_fitted_again():
    model = KernelRidgeRegressor("auto").fit(FRAME, EFFECT + NOISE)
    again = KernelRidgeRegressor(**model.params_at(model.selection_.outcome.best.theta)).fit(
        FRAME, EFFECT + NOISE
    )
    assert again.predict(FRAME) == pytest.approx(model.predict(FRAME), rel=1e-6)


def test_intervals_and_sets_take_frames():
    for calibration in ("same", "split"):
        model = KernelRidgeRegressor("auto", calibration=calibration).fit(FRAME, EFFECT + NOISE)
        low, high = model.predict_interval(FRAME).T
        assert np.mean((low <= EFFECT) & (high >= EFFECT)) > 0.7
        labels = KernelLSSVC("auto", calibration=calibration).fit(FRAME, EFFECT > 0.5)
        assert labels.predict_set(FRAME).shape == (N, 2)


def test_widths_of_single_columns_need_no_common_scale():
    big = FRAME.assign(large=1000 * RNG.normal(size=N))[["size", "large"]]
    apart = Columns(RBF(1.0), "size") + Columns(RBF(1000.0), "large")
    with warnings.catch_warnings():
        warnings.simplefilter("error", InputScaleWarning)
        KernelRidgeRegressor(apart).fit(big, EFFECT)
    for kernel in (Columns(RBF(1.0), ["size", "large"]), "auto"):
        frame = FRAME.assign(large=big["large"]) if kernel == "auto" else big
        with pytest.warns(InputScaleWarning, match="'size'.*'large'"):
            KernelRidgeRegressor(kernel).fit(frame, EFFECT)
