"""What the default estimators owe people who do not want to choose."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.datasets import load_iris, make_moons
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from foldless import KernelClassifier, KernelLogisticRegression, KernelRegressor, KernelRidgeRegressor
from foldless.core.errors import (
    ConstantPredictionWarning,
    DataError,
    ManyLevelsWarning,
    SearchWarning,
    UnseenLevelWarning,
)
from foldless.estimators.preparation import ColumnScaler, Preparation
from foldless.estimators.prepared_columns import PreparedColumns


@pytest.fixture
def moons():
    return make_moons(80, noise=0.25, random_state=0)


@pytest.fixture
def waves(rng):
    """Numbers to predict from two columns of ten; the others are noise."""
    X = rng.normal(size=(120, 10))
    return X, np.sin(2 * X[:, 0]) + X[:, 1] + 0.1 * rng.normal(size=120)


@parametrize_with_checks([KernelClassifier(), KernelRegressor()])
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def test_the_choice_is_that_of_the_families(moons):
    X, y = moons
    model = KernelClassifier(scale=False).fit(X, y)
    families = KernelLogisticRegression(kernel="auto").fit(X, y)
    assert [trial.name for trial in model.trials_[:6]] == [trial.name for trial in families.selection_.trials]
    assert model.kernel_ == families.kernel_
    assert model.predict_proba(X) == pytest.approx(families.predict_proba(X), rel=1e-9)
    assert "a width per feature" in str(model.trials_)


def test_columns_are_standardised_inside(moons):
    X, y = moons
    wide = X * [1.0, 1e5] + [0.0, 1e6]
    inside = KernelClassifier().fit(wide, y)
    outside = KernelClassifier(scale=False).fit(StandardScaler().fit_transform(X), y)
    assert inside.predict_proba(wide) == pytest.approx(
        outside.predict_proba(StandardScaler().fit(X).transform(X)), abs=1e-5
    )


def test_a_rare_value_of_two_is_not_far_from_all_others():
    flag = np.r_[1.0, np.zeros(99)]
    X = np.column_stack([flag, np.arange(100.0)])
    prepared = Preparation.learn(X, np.ones(100))(X)
    assert np.ptp(prepared[:, 0]) == pytest.approx(2.0)
    assert prepared.mean(axis=0) == pytest.approx(np.zeros(2))
    assert prepared[:, 1].std() == pytest.approx(1.0)
    # What rows that do not count hold changes nothing.
    longer = np.vstack([X, [[0.5, 3.0]]])
    assert Preparation.learn(longer, np.r_[np.ones(100), 0.0])(X) == pytest.approx(prepared)


def test_the_step_of_a_pipeline_scales_as_the_default_estimators_do(rng):
    X = np.column_stack([rng.normal(3, 5, size=60), rng.random(60) < 0.1, rng.choice([-2.0, 7.0], size=60)])
    assert ColumnScaler().fit_transform(X) == pytest.approx(Preparation.learn(X, np.ones(60))(X))


def test_a_width_per_feature_or_a_metric_wins_where_most_columns_are_noise(waves):
    X, y = waves
    model = KernelRegressor().fit(X, y)
    one_width = KernelRidgeRegressor().fit(X, y)
    assert model.loo_score("r2").value > one_width.loo_score("r2").value + 0.02
    assert any("chosen: better" in trial.note for trial in model.trials_[6:])
    assert model.relevance_[:2].sum() > 0.9
    assert model.relevance_.sum() == pytest.approx(1.0)


def test_many_rows_may_have_a_width_per_feature_but_learn_no_metric(waves, monkeypatch):
    monkeypatch.setattr("foldless.tuning.challengers.METRIC_CHALLENGE_MAX_ROWS", 100)
    model = KernelRegressor().fit(*waves)
    assert [trial.name for trial in model.trials_[6:]] == ["softened columns", "a width per feature"]
    assert "chosen" in model.trials_[7].note


def test_a_classifier_answers_with_the_chosen_estimator(moons):
    X, y = moons
    labels = np.array(["no", "yes"])[y]
    model = KernelClassifier(scale=False).fit(X, labels)
    best = model.best_estimator_
    assert list(model.classes_) == ["no", "yes"]
    assert np.array_equal(model.predict(X), best.predict(X))
    assert np.array_equal(model.decision_function(X) > 0, model.predict(X) == "yes")
    assert np.array_equal(model.predict_set(X), best.predict_set(X))
    assert model.loo_score("neg_log_loss") == best.loo_score("neg_log_loss")
    assert model.guarantee(0.8) == best.guarantee(0.8)
    for name in ("loo_proba_", "loo_decision_", "loo_predict_", "leverage_", "label_quality_", "suspicious_"):
        assert np.array_equal(getattr(model, name), getattr(best, name)), name
    assert model.guarantee_ == best.guarantee_
    assert model.learning_curve_ is best.learning_curve_


def test_a_regressor_answers_with_the_chosen_estimator(waves):
    X, y = waves
    model = KernelRegressor().fit(X, y)
    best, Z = model.best_estimator_, StandardScaler().fit_transform(X)
    mean, sd = model.predict(X, return_std=True)
    assert mean == pytest.approx(best.predict(Z), rel=1e-8)
    assert np.all(sd > 0)
    assert model.predict_interval(X[:5], 0.8) == pytest.approx(best.predict_interval(Z[:5], 0.8), rel=1e-6)
    assert np.array_equal(model.loo_residuals_, best.loo_residuals_)
    assert model.guarantee(0.8, "minmax") == best.guarantee(0.8, "minmax")
    assert model.loo_score() == best.loo_score()


def test_several_outputs(waves):
    X, y = waves
    model = KernelRegressor().fit(X, np.column_stack([y, -y]))
    assert model.predict(X[:3]).shape == (3, 2)
    assert model.predict_interval(X[:3]).shape == (3, 2, 2)


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_categories_of_a_frame_are_understood(frame, rng):
    ward, age = rng.choice(["A", "B", "C"], 90), rng.normal(50, 10, 90)
    y = (ward == "B") ^ (age > 50) ^ (rng.random(90) < 0.1)
    X = frame({"age": age, "ward": ward, "site": ["here"] * 90})
    model = KernelClassifier().fit(X, y)
    assert model.refit_left_out().loo_score().value > 0.75
    assert list(model.feature_names_in_) == ["age", "ward", "site"]
    assert model.relevance_[2] == 0
    assert model.relevance_[:2].min() > 0
    four = frame({"age": [65.0, 65.0, 35.0, 35.0], "ward": ["A", "B", "A", "B"], "site": ["here"] * 4})
    assert model.predict(four).tolist() == [True, False, False, True]
    unseen = frame({"age": [40.0], "ward": ["Z"], "site": ["elsewhere"]})
    with pytest.warns(UnseenLevelWarning, match="'(ward|site)': '(Z|elsewhere)' did not occur in training"):
        assert model.predict_proba(unseen).shape == (1, 2)


def test_texts_that_hardly_repeat_are_pointed_out(rng):
    price = [f"${1000 + 7 * i:,}" for i in range(60)]
    X = pd.DataFrame({"x": rng.normal(size=60), "price": price, "ward": ["A", "B"] * 30})
    with pytest.warns(
        ManyLevelsWarning, match=r"column 'price' holds .* \(up to 60 .* in 60 rows\).*ColumnReader"
    ):
        KernelClassifier().fit(X, X["x"] > 0)


def test_a_missing_number_is_filled_and_noticed(rng):
    X = rng.normal(size=(100, 2))
    y = np.where(rng.random(100) < 0.5, 1, 0)
    X[y == 1, 1] = np.nan
    model = KernelClassifier().fit(X, y)
    assert model.loo_score().value == 1.0
    assert np.argmax(model.relevance_) == 1
    # A gap in a column that had none in training is the mean.
    filled = np.array([[X[:, 0].mean(), 0.3]])
    assert model.predict_proba([[np.nan, 0.3]]) == pytest.approx(model.predict_proba(filled), rel=1e-9)


def test_infinity_and_gaps_in_sparse_rows_are_refused(moons):
    X, y = moons
    X[3, 1] = np.inf
    with pytest.raises(ValueError, match="infinity"):
        KernelClassifier().fit(X, y)
    X[3, 1] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        KernelClassifier().fit(sp.csr_array(X), y)


def test_text_in_an_array_is_named(moons):
    X, y = moons
    texts = X.astype(object)
    texts[2, 1] = "high"
    with pytest.raises(DataError, match="column 1 of X holds text such as 'high'"):
        KernelClassifier().fit(texts, y)


def test_constant_columns_do_not_count(moons):
    X, y = moons
    wider = np.column_stack([np.full(len(y), 7.1), X])
    model = KernelClassifier().fit(wider, y)
    plain = KernelClassifier().fit(X, y)
    moved = wider + np.array([100.0, 0.0, 0.0])
    assert model.predict_proba(moved) == pytest.approx(plain.predict_proba(X), rel=1e-9)
    assert model.relevance_[0] == 0


def test_only_constant_columns_give_the_shares_of_the_classes():
    y = np.repeat([0, 1], [30, 10])
    with pytest.warns(ConstantPredictionWarning):
        model = KernelClassifier().fit(np.ones((40, 2)), y)
    assert model.predict_proba([[5.0, 5.0]])[0] == pytest.approx([0.75, 0.25], abs=0.01)


def test_sparse_rows_keep_their_zeros(rng):
    X = rng.normal(size=(80, 6)) * (rng.random((80, 6)) < 0.4)
    y = X[:, 0] - X[:, 1]
    rows = sp.csr_array(X)
    prepared = Preparation.learn(rows, np.ones(80))(rows)
    assert prepared.nnz == rows.nnz
    assert np.var(prepared.toarray(), axis=0) == pytest.approx(np.ones(6))
    assert KernelRegressor().fit(rows, y).score(rows, y) > 0.95


def test_more_than_two_classes():
    X, y = load_iris(return_X_y=True)
    model = KernelClassifier().fit(X, y)
    assert model.predict_proba(X).sum(axis=1) == pytest.approx(np.ones(150))
    assert model.loo_score().value > 0.95
    assert [trial.name for trial in model.trials_[6:]] == ["softened columns"]


def test_many_rows_of_many_classes_take_least_squares(monkeypatch):
    monkeypatch.setattr("foldless.estimators.default.LOGISTIC_MAX_OUTPUTS", 400)
    X, y = load_iris(return_X_y=True)
    model = KernelClassifier().fit(X, y)
    assert type(model.best_estimator_).__name__ == "KernelLSSVC"
    assert model.loo_score().value > 0.9


def test_a_time_budget_is_kept(waves):
    X, y = waves
    with pytest.warns(SearchWarning, match="time budget was spent"):
        model = KernelRegressor(time_budget=0).fit(X, y)
    assert len(model.trials_) == 6
    with pytest.raises(ValueError, match="time_budget must be seconds"):
        KernelRegressor(time_budget=-1).fit(X, y)


def test_a_copy_predicts_what_the_original_does(moons):
    X, y = moons
    model = KernelClassifier().fit(X, y)
    loaded = pickle.loads(pickle.dumps(model))  # noqa: S301
    assert np.array_equal(loaded.predict_proba(X), model.predict_proba(X))
    assert np.array_equal(clone(model).fit(X, y).predict_proba(X), model.predict_proba(X))
    assert str(loaded.trials_) == str(model.trials_)


@pytest.mark.parametrize("seed", range(3))
def test_a_metric_is_not_learned_from_noise(seed):
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(90, 12)), rng.normal(size=90)
    model = KernelRegressor().fit(X, y)
    assert "metric" not in next(trial.name for trial in model.trials_ if "chosen" in trial.note)


# Categories in an array, and the preparation as a step of a pipeline.


@pytest.fixture
def people(rng):
    """A frame with a column of numbers and two of categories, both kinds with missing values, and two classes."""
    ward, site = rng.choice(["A", "B", "C"], 90), rng.choice(["here", "there"], 90)
    age = rng.normal(50, 10, 90)
    y = (ward == "B") ^ (age > 50) ^ (rng.random(90) < 0.1)
    gaps = rng.random((2, 90)) < 0.1
    ward = np.where(gaps[0], None, ward)
    return pd.DataFrame({"age": np.where(gaps[1], np.nan, age), "ward": ward, "site": site}), y


def test_an_array_of_codes_is_the_same_as_a_frame_of_categories(people):
    frame, y = people
    X = np.column_stack([frame["age"], *(pd.factorize(frame[name])[0] for name in ("ward", "site"))])
    X = np.where(X == -1, np.nan, X)  # factorize writes -1 for a missing category
    from_frame = KernelClassifier(random_state=0).fit(frame, y)
    from_array = KernelClassifier(random_state=0, categorical_features=[1, 2]).fit(X, y)
    assert from_array.column_codes_.categorical == from_frame.column_codes_.categorical == [1, 2]
    np.testing.assert_allclose(from_array.predict_proba(X), from_frame.predict_proba(frame), rtol=1e-9)
    unseen = X[:1].copy()
    unseen[0, 1] = 99
    with pytest.warns(UnseenLevelWarning, match=r"column 1: 99\.0 did not occur"):
        assert from_array.column_codes_.encode(unseen)[0, 1] == -1


def test_named_columns_of_a_frame_hold_categories_too(people):
    frame, y = people
    coded = frame.assign(ward=pd.factorize(frame["ward"], use_na_sentinel=False)[0])
    plain = KernelClassifier(random_state=0).fit(frame, y)
    named = KernelClassifier(random_state=0, categorical_features=["ward"]).fit(coded, y)
    np.testing.assert_allclose(named.predict_proba(coded), plain.predict_proba(frame), rtol=1e-9)


@pytest.mark.parametrize(
    ("asked", "X", "words"),
    [
        ([7], np.eye(6), "categorical_features names column 7, but X has 6 columns"),
        (["age"], np.eye(6), "categorical_features holds the name 'age', which needs a data frame"),
        ([0], sp.csr_array(np.eye(6)), "categorical_features needs .* got a sparse matrix"),
    ],
)
def test_categories_that_cannot_be_found_are_named(asked, X, words):
    with pytest.raises(ValueError, match=words):
        KernelClassifier(categorical_features=asked).fit(X, [0, 1] * 3)


def test_the_step_and_the_chosen_machine_are_the_default_estimator(people):
    frame, y = people
    model = KernelClassifier(random_state=0).fit(frame, y)
    step = PreparedColumns.of(model)
    expected = model.predict_proba(frame)
    np.testing.assert_array_equal(model.best_estimator_.predict_proba(step.transform(frame)), expected)
    np.testing.assert_array_equal(PreparedColumns().fit(frame).transform(frame), step.transform(frame))
    assert step.get_feature_names_out().tolist() == ["age", "ward", "site", "age is missing"]
