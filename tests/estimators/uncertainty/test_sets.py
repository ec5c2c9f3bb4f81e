"""Sets of classes against their definition, by refits."""

import pickle
import warnings

import numpy as np
import pytest
from sklearn.gaussian_process.kernels import RBF
from sklearn.metrics import accuracy_score, log_loss, make_scorer, roc_auc_score

from foldless import KernelLogisticRegression, KernelLSSVC, KernelRidgeRegressor, KernelSVC
from foldless.core.errors import DataError, LeverageWarning, ResolutionWarning, Undefined, UnknownName
from foldless.estimators.uncertainty.score import (
    PER_ROW,
    left_out_classifier,
    left_out_regressor,
    loo_score,
)
from foldless.estimators.uncertainty.sets import adaptive_score, filled, margin_score, probability_score

KERNEL = RBF(1.2, "fixed")
KINDS = (KernelLogisticRegression, KernelLSSVC, KernelSVC)


@pytest.fixture
def data(three_classes, rng):
    X, y = three_classes
    return X, np.array(["a", "b", "c"])[y], 3 * rng.normal(size=(9, 2))


def machine(kind, **options):
    return kind(KERNEL, C=1.0, **options)


def columns(outputs):
    return outputs.reshape(len(outputs), -1)


def by_refits(kind, X, y, new, level, score, probabilities=False, **options):
    """The set (p, n_classes) of equation (1), with a refit for every row."""
    classes, own, count = np.unique(y), [], []
    for i in range(len(y)):
        rest = np.delete(np.arange(len(y)), i)
        model = machine(kind, **options).fit(X[rest], y[rest])
        outputs = (
            model.predict_proba
            if probabilities
            else lambda Z, model=model: columns(model.decision_function(Z))
        )
        own.append(score(outputs(X[[i]]))[0, classes == y[i]][0])
        count.append(own[-1] >= score(outputs(new)))
    p = (1 + np.sum(count, axis=0)) / (len(y) + 1)
    return p > 1 - level


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("level", [0.7, 0.9])
def test_least_squares_sets_are_those_of_refits(n_classes, level, data):
    X, y, new = data
    kept = np.isin(y, ["a", "b", "c"][:n_classes])
    X, y = X[kept], y[kept]
    found = machine(KernelLSSVC).fit(X, y).predict_set(new, level)
    expected = by_refits(KernelLSSVC, X, y, new, level, margin_score)
    filled_in = expected.any(axis=1)
    assert np.array_equal(found[filled_in], expected[filled_in])


@pytest.mark.parametrize("options", [{}, {"multi_class": "multinomial"}])
@pytest.mark.parametrize("score", ["probability", "adaptive"])
def test_logistic_sets_are_close_to_those_of_refits(options, score, data):
    X, y, new = data
    function = {"probability": probability_score, "adaptive": adaptive_score}[score]
    found = machine(KernelLogisticRegression, **options).fit(X, y).predict_set(new, 0.9, score)
    expected = by_refits(KernelLogisticRegression, X, y, new, 0.9, function, True, **options)
    filled_in = expected.any(axis=1)
    assert filled_in.sum() > 5
    assert np.mean(found[filled_in] == expected[filled_in]) > 0.95


@pytest.mark.parametrize("kind", KINDS)
def test_sets_grow_with_the_level_and_hold_the_prediction(kind, data):
    X, y, new = data
    model = machine(kind).fit(X, y)
    small, large = (model.predict_set(new, level) for level in (0.6, 0.95))
    assert small.shape == (9, 3)
    assert small.dtype == bool
    # A set that was empty got its class by hand.
    assert np.all(large[np.arange(9), np.searchsorted(model.classes_, model.predict(new))])
    assert np.all(small.sum(axis=1) >= 1)
    assert np.all(large.sum(axis=1) >= small.sum(axis=1))


def test_empty_sets_are_filled_and_counted(data):
    X, y, new = data
    model = machine(KernelLogisticRegression).fit(X, y)
    low = model.predict_set(new, 0.05)
    assert model.n_filled_sets_ > 0
    assert np.all(low.sum(axis=1) == 1)
    model.predict_set(new, 0.98)
    assert model.n_filled_sets_ == 0


@pytest.mark.parametrize("kind", KINDS)
def test_a_weight_of_zero_is_no_row_and_a_loaded_model_agrees(kind, data):
    X, y, new = data
    weights = np.where(np.arange(60) % 5 == 0, 0.0, 1.0)
    model, fewer = machine(kind).fit(X, y, weights), machine(kind).fit(X[weights > 0], y[weights > 0])
    expected = fewer.predict_set(new, 0.8)
    assert np.array_equal(model.predict_set(new, 0.8), expected)
    again = pickle.loads(pickle.dumps(model))  # noqa: S301
    assert np.array_equal(again.predict_set(new, 0.8), expected)
    assert np.array_equal(again.suspicious_, model.suspicious_)
    assert not np.any(np.isin(model.suspicious_, np.flatnonzero(weights == 0)))


@pytest.mark.parametrize("kind", KINDS)
def test_landmarks_and_cells_have_sets(kind, data, monkeypatch):
    monkeypatch.setattr("foldless.tuning.last_fit.CELL_ROWS", 40)
    X, y, new = data
    whole = machine(kind).fit(X, y).predict_set(new, 0.8)
    landmarks = machine(kind, gram="lowrank", n_components=60).fit(X, y)
    assert np.array_equal(landmarks.predict_set(new, 0.8), whole)
    cells = machine(kind, gram="cells").fit(X, y)
    found = cells.predict_set(new, 0.9)
    assert np.all(found[np.arange(9), np.searchsorted(cells.classes_, cells.predict(new))])


def test_empty_sets_get_their_class():
    members, n = filled(np.array([[False, False], [True, True]]), np.array([1, 0]))
    assert members.tolist() == [[False, True], [True, True]]
    assert n == 1


def test_too_few_rows_give_all_classes_and_a_warning(data):
    X, y, new = data
    model = machine(KernelLSSVC).fit(X, y)
    with pytest.warns(ResolutionWarning, match="at least 99 rows, got 60: every set has all classes"):
        assert model.predict_set(new, 0.99).all()


def test_bad_requests_get_one_sentence(data):
    X, y, new = data
    model = machine(KernelLogisticRegression).fit(X, y)
    with pytest.raises(ValueError, match="level must be a number between 0 and 1"):
        model.predict_set(new, 1.5)
    for level in (0, 1, np.nan, "a", None, [0.9], True):
        with pytest.raises(ValueError, match="level must be a number between 0 and 1"):
            model.predict_set(new, level)
    with pytest.raises(UnknownName, match="score must be one of adaptive, margin, probability; got 'best'"):
        model.predict_set(new, score="best")
    with pytest.raises(ValueError, match="at least two classes, got one class"):
        machine(KernelLogisticRegression).fit(X, np.zeros(60))
    with pytest.raises(UnknownName, match="calibration must be one of same, split"):
        machine(KernelLogisticRegression, calibration="half").fit(X, y)
    posterior = KernelSVC(RBF(1.0, "fixed"), C=1.0, criterion="evidence-ep").fit(X, y)
    with pytest.raises(Undefined, match="the posterior of an evidence criterion has no left-out models"):
        posterior.predict_set(new)
    with pytest.raises(Undefined, match="no left-out models"):
        _ = posterior.suspicious_
    with pytest.raises(Undefined, match="no left-out models"):
        _ = posterior.guarantee_
    alone = np.where(np.arange(60) == 0, "d", y)
    with pytest.raises(ValueError, match="calibration='split' needs two rows of every class"):
        machine(KernelLogisticRegression, calibration="split").fit(X, alone)


def test_the_adaptive_score_sums_the_likelier_classes(rng):
    p = rng.dirichlet(np.ones(4), size=20)
    expected = np.array([[np.sum(row[row >= own]) for own in row] for row in p])
    assert adaptive_score(p) == pytest.approx(expected)


def test_one_column_of_outputs_has_the_margins_of_two():
    z = np.array([[0.5], [-2.0]])
    assert np.array_equal(margin_score(z), [[0.5, -0.5], [-2.0, 2.0]])


@pytest.mark.parametrize("kind", KINDS)
def test_scores_are_those_of_left_out_predictions(kind, data):
    X, y, _ = data
    model = machine(kind).fit(X, y)
    right = model.loo_predict_ == y
    found = model.loo_score()
    assert found.value == pytest.approx(right.mean())
    assert found.standard_error == pytest.approx(right.std(ddof=1) / np.sqrt(60))
    loss = model.loo_score("neg_log_loss")
    assert loss.value == pytest.approx(-log_loss(y, model.loo_proba_))
    assert loss.standard_error == pytest.approx(np.log(model.loo_own_proba_).std(ddof=1) / np.sqrt(60))
    area = model.loo_score("roc_auc_ovr")
    assert area.value == pytest.approx(roc_auc_score(y, model.loo_proba_, multi_class="ovr"))
    assert 0 < area.standard_error < 0.1
    assert model.loo_score(lambda truth, guess: float(np.mean(truth == guess))).value == found.value
    assert model.loo_score(make_scorer(lambda t, g: float(np.sum(t == g)))).value == right.sum()


def test_regressors_have_scores_with_standard_errors(noisy_curve):
    X, y = noisy_curve
    model = KernelRidgeRegressor(KERNEL, alpha=0.1).fit(X, y)
    squares = model.loo_residuals_**2
    found = model.loo_score("neg_mean_squared_error")
    assert found.value == pytest.approx(-squares.mean())
    assert found.standard_error == pytest.approx(squares.std(ddof=1) / np.sqrt(40))
    r2 = model.loo_score("r2")
    assert r2.value == pytest.approx(1 - squares.sum() / np.sum((y - y.mean()) ** 2))
    assert 0 < r2.standard_error < 1 - r2.value
    # Without one row at a time the jackknife of a mean is its usual standard error.
    by_hand = model.loo_score(lambda truth, guess: float(np.mean((truth - guess) ** 2)))
    assert by_hand.standard_error == pytest.approx(found.standard_error)


def test_the_jackknife_gives_the_spread_of_an_area(rng):
    """Fifty groups know a standard error to a tenth; the limit is three times that."""

    def drawn():
        y = np.arange(300) % 3 == 0
        return y, rng.normal(size=300) + y

    areas = [roc_auc_score(*drawn()) for _ in range(1000)]
    y, decision = drawn()
    classes, counts = np.array([False, True]), np.ones(300)
    found = loo_score("roc_auc", left_out_classifier(classes, decision, None), y, counts)
    assert found.value == pytest.approx(roc_auc_score(y, decision))
    assert found.standard_error == pytest.approx(np.std(areas), rel=0.3)


def test_a_metric_that_does_not_exist_without_some_rows_has_no_standard_error():
    y = np.arange(20) == 7
    model = left_out_classifier(np.array([False, True]), np.where(y, 1.0, -1.0), None)
    assert np.isnan(loo_score("roc_auc", model, y, np.ones(20)).standard_error)


@pytest.mark.parametrize("metric", PER_ROW)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_the_standard_error_is_that_of_the_mean_that_the_score_is(metric, n_classes, rng):
    y, P = np.arange(30) % n_classes, rng.dirichlet(np.ones(n_classes), size=30)
    counts = 1.0 + (np.arange(30) < 12)
    classifier = left_out_classifier(np.arange(n_classes), P[:, 1] - 0.5 if n_classes == 2 else P, P)
    numbers = metric.startswith("neg_mean")
    model = left_out_regressor(rng.uniform(0.1, 3, size=30)) if numbers else classifier
    if metric == "neg_brier_score" and n_classes > 2 and not takes_several_classes(metric):
        pytest.skip("this scikit-learn has the score for two classes only")
    score, per_row = loo_score(metric, model, y, counts), PER_ROW[metric](model, y)
    repeated = np.repeat(per_row, counts.astype(int))
    assert score.value == pytest.approx(repeated.mean())
    assert score.standard_error == pytest.approx(repeated.std(ddof=1) / np.sqrt(len(repeated)))


def takes_several_classes(metric):
    y, P = np.arange(3), np.full((3, 3), 1 / 3)
    try:
        loo_score(metric, left_out_classifier(y, P, P), y, np.ones(3))
    except ValueError:
        return False
    return True


def test_counted_rows_count_in_scores(noisy_curve):
    X, y = noisy_curve
    counts = np.where(np.arange(40) < 10, 2, 1)
    weighted = KernelRidgeRegressor(KERNEL, alpha=0.1).fit(X, y, counts)
    repeated = KernelRidgeRegressor(KERNEL, alpha=0.1).fit(np.repeat(X, counts, axis=0), np.repeat(y, counts))
    for metric in ("r2", "neg_mean_absolute_error"):
        assert weighted.loo_score(metric) == pytest.approx(repeated.loo_score(metric), nan_ok=True)


@pytest.mark.parametrize("kind", KINDS)
def test_flipped_labels_are_suspicious(kind, data):
    X, y, _ = data
    # The rows that are best told apart get another class.
    sure = machine(kind).fit(X, y).suspicious_[-4:]
    flipped = y.copy()
    flipped[sure] = np.where(y[sure] == "a", "b", "a")
    assert set(sure) <= set(machine(kind).fit(X, flipped).suspicious_[:12].tolist())


def test_wrong_numbers_are_suspicious(noisy_curve):
    X, y = noisy_curve
    wrong = y.copy()
    wrong[[3, 17]] += 2
    assert set(KernelRidgeRegressor(KERNEL, alpha=0.3).fit(X, wrong).suspicious_[:2].tolist()) == {3, 17}


def test_refits_replace_the_outputs_of_doubtful_rows(data):
    X, y, new = data
    X = np.vstack([X, [[12.0, 0.0]]])
    y = np.append(y, "b")
    model = KernelLogisticRegression(KERNEL, C=50.0).fit(X, y)
    doubtful = np.flatnonzero(model.leverage_ > 0.7)
    assert len(doubtful)
    with pytest.warns(LeverageWarning):
        model.predict_set(new)
    model.refit_left_out()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.predict_set(new)
    i = doubtful[-1]
    rest = np.delete(np.arange(61), i)
    other = KernelLogisticRegression(KERNEL, C=50.0).fit(X[rest], y[rest])
    assert model.loo_decision_[i] == pytest.approx(other.decision_function(X[[i]])[0], abs=1e-5)
    assert model.loo_proba_[i] == pytest.approx(other.predict_proba(X[[i]])[0], abs=1e-6)


@pytest.fixture
def many_classes(rng):
    index = np.arange(70) % 14
    return rng.normal(size=(14, 5))[index] + 0.7 * rng.normal(size=(70, 5)), index


def test_without_a_warning_left_out_probabilities_of_many_classes_are_those_of_refits(many_classes):
    X, y = many_classes
    options = {"kernel": RBF(2.5, "fixed"), "C": 40.0}
    model = KernelLogisticRegression(**options).fit(X, y)
    refits = []
    for i in range(70):
        rest = np.delete(np.arange(70), i)
        refits.append(KernelLogisticRegression(**options).fit(X[rest], y[rest]).predict_proba(X[[i]])[0])
    with pytest.warns(LeverageWarning, match=r"or an output that a second step would move by more than 0\.1"):
        model.predict_set(X[:2])
    # Rows of high leverage are not those that matter most.
    low = model.leverage_ <= 0.7
    assert np.max(np.abs(model.loo_proba_ - refits)[low]) > 0.05
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.refit_left_out().predict_set(X[:2])
    assert np.max(np.abs(model.loo_proba_ - refits)) < 0.03
    assert 0 < len(model._refitted) < 70


def test_a_few_long_second_steps_among_many_rows_are_not_told(rng):
    X = rng.normal(size=(150, 2))
    y = X[:, 0] + rng.logistic(size=150) > 0
    model = KernelLogisticRegression(RBF(2.0, "fixed"), C=1.0).fit(X, y)
    model._cache["doubtful"] = np.arange(7)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.predict_set(X[:2])
    model._cache["doubtful"] = np.arange(8)
    with pytest.warns(LeverageWarning, match=r"5\.3% of the rows"):
        model.predict_set(X[:2])


@pytest.mark.filterwarnings("ignore::foldless.core.errors.JitterWarning")
def test_the_hinge_is_refitted_if_leave_one_out_was_asked_for(two_classes):
    X, y = two_classes
    options = {"loss": "hinge", "bias": "free", "criterion": "loo"}
    model = KernelSVC(KERNEL, C=1.0, **options).fit(X, y)
    new = X[:4] + 0.3
    expected = []
    for i in range(40):
        rest = np.delete(np.arange(40), i)
        expected.append(KernelSVC(KERNEL, C=1.0, **options).fit(X[rest], y[rest]).decision_function(new))
    block = next(model._left_out_models().blocks(new))
    assert block.left_out[:, :, 0] == pytest.approx(np.array(expected).T, abs=1e-6)


# Refits that cannot be made.


def test_a_mask_is_no_list_of_rows(data):
    X, y, _ = data
    model = machine(KernelLogisticRegression).fit(X, y)
    with pytest.raises(ValueError, match="rows must be numbers of training rows"):
        model.refit_left_out(np.arange(len(y)) == 3)


def test_the_hinge_asks_for_the_rows_to_refit(two_classes):
    X, y = two_classes
    model = machine(KernelSVC, loss="hinge").fit(X, y)
    with pytest.raises(Undefined, match=r"no leverages.*name the rows to refit: refit_left_out\(rows\)"):
        model.refit_left_out()
    assert model.refit_left_out([3]).loo_score().value > 0.5


def test_cells_say_why_no_row_is_refitted(two_classes):
    X, y = two_classes
    model = machine(KernelLSSVC, gram="cells", cell_size=20).fit(X, y)
    with pytest.raises(Undefined, match=r"no leverages and no refits without a row\. Use gram='lowrank'"):
        model.refit_left_out([3])


# Metrics that do not suit.


def test_a_metric_for_classes_is_refused_by_a_regressor(rng):
    X = rng.normal(size=(30, 2))
    model = KernelRidgeRegressor(RBF(1.0, "fixed"), 1.0).fit(X, X[:, 0])
    for metric, name in {
        "accuracy": "'accuracy'",
        "neg_log_loss": "'neg_log_loss'",
        accuracy_score: "accuracy_score",
    }.items():
        with pytest.raises(DataError, match=f"the metric {name} is for classes, .* numbers. Ask for .* 'r2'"):
            model.loo_score(metric)


def test_a_metric_for_numbers_is_refused_by_labels_that_are_texts(two_classes):
    X, y = two_classes
    model = KernelLogisticRegression(RBF(1.0, "fixed"), 1.0).fit(X, np.where(y > 0, "up", "down"))
    with pytest.raises(DataError, match=r"the metric 'r2' is for numbers, .* classes such as .* 'accuracy'"):
        model.loo_score("r2")
    # Classes that are numbers may be grades, whose distance means something.
    assert KernelLogisticRegression(RBF(1.0, "fixed"), 1.0).fit(X, y).loo_score("r2").value < 1


def test_a_metric_that_does_not_exist_is_asked_about(two_classes):
    model = KernelLogisticRegression(RBF(1.0, "fixed"), 1.0).fit(*two_classes)
    with pytest.raises(DataError, match=r"got 'acuracy'. Did you mean 'accuracy'\?"):
        model.loo_score("acuracy")
