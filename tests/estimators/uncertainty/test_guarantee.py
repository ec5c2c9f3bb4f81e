"""What intervals and sets promise: the sentence for every case, and coverage as promised."""

import re
import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.gaussian_process.kernels import RBF

from foldless import (
    KernelClassifier,
    KernelLogisticRegression,
    KernelLSSVC,
    KernelRegressor,
    KernelRidgeRegressor,
    KernelSubsetRegressor,
    KernelSVC,
)
from foldless.core.errors import FreeParametersWarning, LeverageWarning
from foldless.estimators.uncertainty.guarantee import Conditions, sentence

FIXED = Conditions(exact=True, tuned=False)
TUNED = Conditions(exact=True, tuned=True)
APPROXIMATE = Conditions(exact=False, tuned=False)
LANDMARKS = Conditions(exact=True, tuned=False, approximated=True)
TUNED_LANDMARKS = Conditions(exact=True, tuned=True, approximated=True)
SPLIT = Conditions(exact=True, tuned=False, split=True)
MANY = Conditions(exact=True, tuned=True, n_parameters=11, n_rows=60.0)

CASES = [
    ("jackknife+", FIXED, "At least 80 % of new targets", "fixed before the rows were seen"),
    ("studentized", FIXED, "At least 80 % of new targets", "whatever the distribution"),
    ("minmax", FIXED, "At least 90 % of new targets", "whatever the distribution"),
    ("sets", FIXED, "At least 80 % of new rows have their true class", "whatever the distribution"),
    ("jackknife+", SPLIT, "At least 80 %", "tuned on other rows"),
    ("minmax", SPLIT, "At least 90 %", "tuned on other rows"),
    ("jackknife+", TUNED, "About 90 %", "tuned on the same rows"),
    ("minmax", TUNED, "About 90 %", "92 to 94 %"),
    ("jackknife+", TUNED, "About 90 %", "90 % intervals held 88 to 90 %"),
    ("sets", TUNED, "About 90 %", "90 % sets held 89 to 95 %"),
    ("sets", TUNED, "About 90 %", "calibration='split' guarantees at least 80 %"),
    ("minmax", TUNED, "About 90 %", "calibration='split' guarantees at least 90 %"),
    ("jackknife+", TUNED_LANDMARKS, "About 90 %", "calibration='split' with gram='dense' guarantees"),
    ("jackknife+", APPROXIMATE, "About 90 %", "the models without a row are approximate"),
    ("sets", APPROXIMATE, "About 90 %", "the models without a row are approximate"),
    ("jackknife+", LANDMARKS, "About 90 %", "landmarks or cells"),
    ("minmax", LANDMARKS, "About 90 %", "gram='dense' guarantees at least 90 %"),
    ("jackknife", FIXED, "About 90 %", "many rows"),
    ("jackknife", TUNED, "About 90 %", "no number of rows guarantees it"),
    ("jackknife+", MANY, "Probably fewer than 90 %", "11 parameters were tuned on the same 60 rows"),
    ("jackknife+", MANY, "Probably fewer than 90 %", "held 86, 79 and 68 % with 5, 11 and 21 parameters"),
    ("sets", MANY, "Probably fewer than 90 % of new rows", "90 % sets of 60 rows held 86, 78 and 66 %"),
    ("posterior", MANY, "Probably fewer than 90 %", "calibration='split' tunes on other rows"),
    ("posterior", FIXED, "About 90 %", "is the truth"),
    ("posterior", TUNED, "About 90 %", "nothing is promised otherwise"),
]


@pytest.mark.parametrize("construction, conditions, beginning, part", CASES)
def test_the_sentence_is_chosen_by_construction_and_condition(construction, conditions, beginning, part):
    text = sentence(construction, 0.9, conditions)
    assert text.startswith(beginning)
    assert part in text
    assert "on average over training sets and new rows" in text
    assert text.count(". ") == 0
    assert text.endswith(".")


def test_only_exact_and_untuned_constructions_promise_anything_for_any_number_of_rows():
    for construction, conditions, *_ in CASES:
        promised = sentence(construction, 0.9, conditions).startswith("At least")
        proper = conditions in (FIXED, SPLIT) and construction not in ("jackknife", "posterior")
        assert promised == proper


def test_a_low_level_promises_nothing_negative():
    assert sentence("jackknife+", 0.4, FIXED).startswith("At least 0 %")


@pytest.mark.parametrize(
    ("n_parameters", "n_rows", "many"),
    [(2, 8, False), (3, 59, True), (3, 60, False), (11, 219, True), (11, 220, False), (0, 10, False)],
)
def test_more_than_one_parameter_for_twenty_rows_are_many(n_parameters, n_rows, many):
    found = Conditions(exact=True, tuned=True, n_parameters=n_parameters, n_rows=float(n_rows))
    assert found.many_parameters == many


@pytest.mark.filterwarnings("ignore::foldless.core.errors.AdviceWarning")
@pytest.mark.parametrize("kind", [KernelRidgeRegressor, KernelLSSVC, KernelLogisticRegression])
def test_many_free_length_scales_are_warned_about_wherever_the_rows_are_those_of_the_tuning(kind, rng):
    X = rng.normal(size=(50, 4))
    y = X[:, 0] + 0.5 * rng.normal(size=50)
    y = y if kind is KernelRidgeRegressor else y > 0

    def ask(model):
        model.fit(X, y)
        return model.predict_interval(X[:2]) if kind is KernelRidgeRegressor else model.predict_set(X[:2])

    free = kind(RBF(np.ones(4)))
    with pytest.warns(
        FreeParametersWarning, match=r"5 parameters were tuned on these 50 rows.*'rbf-ard'.*'split'"
    ):
        ask(free)
    assert free.guarantee_.startswith("Probably fewer than 90 %")
    if kind is KernelRidgeRegressor:
        with pytest.warns(FreeParametersWarning):
            free.predict_interval(X[:2], method="posterior")
    cures = [
        kind(),
        kind("rbf-ard"),
        kind(RBF(np.ones(4)), calibration="split"),
        kind(RBF(np.ones(4), "fixed")),
    ]
    for cured in cures:
        with warnings.catch_warnings():
            warnings.simplefilter("error", FreeParametersWarning)
            warnings.simplefilter("ignore", LeverageWarning)
            ask(cured)
        assert "Probably" not in cured.guarantee_


KERNEL = RBF(1.0, "fixed")
ESTIMATORS = [
    (KernelRidgeRegressor(KERNEL, alpha=0.1), "At least 80 %"),
    (KernelRidgeRegressor(KERNEL), "About 90 %.*tuned on the same rows"),
    (KernelRidgeRegressor(RBF(1.0), alpha=0.1), "About 90 %.*tuned on the same rows"),
    (KernelRidgeRegressor([KERNEL, RBF(2.0, "fixed")], alpha=0.1), "About 90 %.*tuned on the same rows"),
    (KernelRidgeRegressor(KERNEL, alpha=0.1, penalty="I"), "About 90 %.*approximate"),
    (KernelRidgeRegressor(KERNEL, alpha=0.1, gram="lowrank", n_components=20), "About 90 %.*landmarks"),
    (KernelRidgeRegressor(calibration="split"), "At least 80 %.*tuned on other rows"),
    (KernelSubsetRegressor(KERNEL, indices=[0, 1, 2]), "About 90 %.*approximate"),
    (KernelLSSVC(KERNEL, C=1.0), "At least 80 %"),
    (KernelLSSVC(KERNEL), "About 90 %.*tuned on the same rows"),
    (KernelLSSVC(calibration="split"), "At least 80 %.*tuned on other rows"),
    (KernelLogisticRegression(KERNEL, C=1.0), "About 90 %.*approximate"),
    (KernelSVC(KERNEL, C=1.0), "About 90 %.*approximate"),
]


@pytest.mark.filterwarnings("ignore::foldless.core.errors.AdviceWarning")
@pytest.mark.parametrize("estimator, expected", ESTIMATORS)
def test_every_fit_knows_its_case(estimator, expected, noisy_curve):
    X, y = noisy_curve
    classifies = hasattr(estimator, "predict_set")
    model = estimator.fit(X, y > 0 if classifies else y)
    assert re.match(expected, model.guarantee_)


@pytest.mark.filterwarnings("ignore::foldless.core.errors.AdviceWarning")
@pytest.mark.parametrize("kind", [KernelRidgeRegressor, KernelLSSVC, KernelLogisticRegression, KernelSVC])
def test_split_tunes_on_one_half_and_fits_the_other(kind, rng):
    X = rng.normal(size=(60, 2))
    z = X[:, 0] + 0.3 * rng.normal(size=60)
    y = z if kind is KernelRidgeRegressor else z > 0
    model = kind(calibration="split").fit(X, y)
    assert len(model.loo_predict_) == 30
    other = np.setdiff1d(np.arange(60), model.suspicious_)
    # The parameters are those that the other half alone gives.
    tuned = kind().fit(X[other], y[other])
    assert np.exp(model.kernel_.theta).size == 0
    assert model.kernel_.length_scale == pytest.approx(tuned.kernel_.length_scale)
    assert model.n_evaluations_ == tuned.n_evaluations_ > 1
    fixed = kind(**tuned._chosen_params()).fit(X[np.sort(model.suspicious_)], y[np.sort(model.suspicious_)])
    assert model.predict(X) == pytest.approx(fixed.predict(X))
    assert model.get_params()["calibration"] == "split"
    assert model.get_params()["kernel"] == "rbf"


def test_split_needs_points(rng):
    X = rng.normal(size=(20, 2))
    with pytest.raises(ValueError, match="calibration='split' needs points"):
        KernelRidgeRegressor("precomputed", calibration="split").fit(X @ X.T, X[:, 0])


@pytest.mark.parametrize("n", [1, 2, 7])
def test_split_needs_rows_for_two_fits(n, rng):
    X = rng.normal(size=(n, 2))
    with pytest.raises(
        ValueError, match=rf"calibration='split' needs at least 8 rows, 4 for each half; got {n}\."
    ):
        KernelRidgeRegressor(calibration="split").fit(X, X[:, 0])


def test_a_subset_cannot_be_split_and_says_why():
    with pytest.raises(
        TypeError, match=r"has no parameter .calibration.*KernelRidgeRegressor.calibration=.split.. does"
    ):
        KernelSubsetRegressor(calibration="split")


def test_coverage_is_as_promised(rng):
    hits = {"jackknife+": [], "minmax": [], "studentized": []}
    for _ in range(60):
        X = rng.normal(size=(60, 3))
        y = X[:, 0] + np.sin(2 * X[:, 1]) + 0.5 * rng.normal(size=60)
        model = KernelRidgeRegressor(RBF(2.0, "fixed"), alpha=0.3).fit(X[:30], y[:30])
        for method, found in hits.items():
            ends = model.predict_interval(X[30:], 0.9, method)
            found.append(np.mean((ends[:, 0] <= y[30:]) & (y[30:] <= ends[:, 1])))
    for method, found in hits.items():
        error = np.std(found, ddof=1) / np.sqrt(len(found))
        assert np.mean(found) > 0.9 - 2 * error, method
        assert np.mean(found) < 0.97


@pytest.mark.filterwarnings("ignore::foldless.core.errors.AdviceWarning")
@pytest.mark.filterwarnings("ignore::foldless.core.errors.FreeParametersWarning")
def test_free_length_scales_cover_less_and_tied_ones_what_they_say(rng):
    hits = {"free": [], "tied": []}
    for _ in range(20):
        X = rng.normal(size=(360, 20))
        y = np.sin(2 * X[:, 0]) + X[:, 1] + X[:, 2] * X[:, 3] / 2 + 0.5 * rng.normal(size=360)
        for name, kernel in (("free", RBF(np.ones(20))), ("tied", "rbf-ard")):
            ends = KernelRidgeRegressor(kernel).fit(X[:60], y[:60]).predict_interval(X[60:])
            hits[name].append(np.mean((ends[:, 0] <= y[60:]) & (y[60:] <= ends[:, 1])))
    mean, error = (
        {k: f(v) for k, v in hits.items()} for f in (np.mean, lambda v: np.std(v, ddof=1) / np.sqrt(20))
    )
    assert mean["free"] < 0.9 - 4 * error["free"]
    assert 0.88 - 2 * error["tied"] < mean["tied"] < 0.92 + 2 * error["tied"]


def test_sets_cover_as_promised(rng):
    hits = []
    for _ in range(40):
        X = rng.normal(size=(80, 2))
        y = X[:, 0] + 0.7 * rng.normal(size=80) > 0
        found = KernelLSSVC(RBF(2.0, "fixed"), C=1.0).fit(X[:40], y[:40]).predict_set(X[40:], 0.9)
        hits.append(np.mean(found[np.arange(40), y[40:].astype(int)]))
    assert np.mean(hits) > 0.9 - 2 * np.std(hits, ddof=1) / np.sqrt(40)


@pytest.mark.parametrize("kind", [KernelRegressor, KernelClassifier])
@pytest.mark.parametrize("seed", [None, 3])
def test_default_estimators_choose_on_one_half_and_fit_the_other(kind, seed, rng):
    X = rng.normal(size=(80, 3)) * [1.0, 10.0, 0.1]
    y = np.sin(X[:, 0]) + 0.3 * rng.normal(size=80)
    y = y if kind is KernelRegressor else (y > 0).astype(int)
    model = kind(calibration="split", random_state=seed).fit(X, y)
    fitted = np.sort(model.suspicious_)
    tuning = np.setdiff1d(np.arange(80), fitted)
    assert len(fitted) == 40
    # Scales, family and parameters are those of the first half alone.
    chosen = kind(random_state=seed).fit(X[tuning], y[tuning])
    Z = chosen.preparation_(X)
    assert model.preparation_(X) == pytest.approx(Z)
    expected = clone(chosen.best_estimator_).set_params(**chosen.best_estimator_._chosen_params())
    expected.fit(Z[fitted], y[fitted])
    outputs = "predict" if kind is KernelRegressor else "decision_function"
    assert getattr(model, outputs)(X) == pytest.approx(getattr(expected, outputs)(Z), rel=1e-6)
    assert [trial.value for trial in model.trials_] == pytest.approx(
        [trial.value for trial in chosen.trials_]
    )
    words = "At least 80 %" if kind is KernelRegressor else "the models without a row are approximate"
    assert words in model.guarantee(0.9)
