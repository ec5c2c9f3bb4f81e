"""Intervals, sets and scores of scikit-learn's own machines, against refits of them."""

import pickle

import numpy as np
import pytest
from scipy.stats import norm
from sklearn.base import clone, is_classifier
from sklearn.gaussian_process import GaussianProcessClassifier, GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, WhiteKernel
from sklearn.kernel_ridge import KernelRidge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR, NuSVC

from foldless import KernelLSSVC, KernelRidgeRegressor, KernelSearch, load, save
from foldless.core.errors import DataError, Undefined, UnknownName

# The parameters stay as they are: there is one value to choose from.
RIDGE = (KernelRidge(kernel="rbf", gamma=0.5, alpha=0.3), {"alpha": [0.3]})
PROCESS = (
    GaussianProcessRegressor(RBF(1.0, "fixed"), alpha=0.3, normalize_y=True),
    {"kernel": [RBF(1.0, "fixed")]},
)


def left_out(model, X, y, new):
    """Predictions (p, n) of refits without one row each, and their residuals (n,)."""
    at_new, R = [], []
    for i in range(len(y)):
        rest = np.delete(np.arange(len(y)), i)
        other = clone(model).fit(X[rest], y[rest])
        at_new.append(other.predict(new))
        R.append(abs(y[i] - other.predict(X[[i]])[0]))
    return np.array(at_new).T, np.array(R)


def test_kernel_ridge_has_the_intervals_of_refits(noisy_curve):
    X, y = noisy_curve
    search = KernelSearch(*RIDGE).fit(X, y)
    mu, R = left_out(search.best_estimator_, X, y, X[:5] + 0.1)
    high = int(np.ceil(0.9 * 41))
    expected = np.column_stack([np.sort(mu - R)[:, 40 - high], np.sort(mu + R)[:, high - 1]])
    assert search.predict_interval(X[:5] + 0.1) == pytest.approx(expected, abs=1e-8)
    assert search.loo_score("neg_mean_absolute_error").value == pytest.approx(-R.mean())
    assert "tuned on the same rows" in search.guarantee_
    again = pickle.loads(pickle.dumps(search))  # noqa: S301
    assert again.predict_interval(X[:5] + 0.1) == pytest.approx(expected, abs=1e-8)
    del again._twin
    with pytest.raises(Undefined, match="were not saved with this search, by an older version"):
        again.predict_interval(X)


@pytest.mark.parametrize(
    "machine", [KernelRidge(kernel="rbf"), GaussianProcessRegressor(RBF(1.0) + WhiteKernel()), SVC(),
                GaussianProcessClassifier(1.0 * RBF(1.0))], ids=lambda machine: type(machine).__name__
)  # fmt: skip
@pytest.mark.parametrize("way", ["pickle", "file"])
# Left-out models of the Gaussian process classifier are rough here, in the same way before and after.
@pytest.mark.filterwarnings("ignore::foldless.core.errors.LeverageWarning")
def test_a_loaded_search_answers_as_before(machine, way, noisy_curve, tmp_path):
    X, y = noisy_curve
    classes = is_classifier(machine)
    search = KernelSearch(make_pipeline(StandardScaler(), machine)).fit(X, y > 0 if classes else y)
    # Nobody asked before it was saved.
    if way == "file":
        save(search, tmp_path / "search.skops")
        again = load(tmp_path / "search.skops")
    else:
        again = pickle.loads(pickle.dumps(search))  # noqa: S301
    answers = [model.predict_set(X) if classes else model.predict_interval(X) for model in (search, again)]
    assert np.array_equal(*answers)
    assert np.array_equal(search.suspicious_, again.suspicious_)
    assert search.loo_score() == pytest.approx(again.loo_score(), nan_ok=True)
    assert search.guarantee(0.8) == again.guarantee(0.8)


def test_a_search_has_the_diagnostics_of_its_left_out_model(noisy_curve, two_classes):
    X, y = noisy_curve
    numbers = KernelSearch(*RIDGE).fit(X, y)
    _, R = left_out(numbers.best_estimator_, X, y, X[:1])
    assert np.abs(numbers.loo_residuals_) == pytest.approx(R)
    assert numbers.loo_predict_ + numbers.loo_residuals_ == pytest.approx(y)
    K = np.exp(-0.5 * (X - X.T) ** 2)
    assert numbers.leverage_ == pytest.approx(np.diag(K @ np.linalg.inv(K + 0.3 * np.eye(40))))
    assert numbers.learning_curve_.values[-1] == pytest.approx(np.mean(R**2))
    assert "minmax" in numbers.guarantee(0.8, "minmax")
    X, y = two_classes
    classes = KernelSearch(SVC(gamma=0.5), {"C": [1.0]}).fit(X, y)
    assert np.array_equal(classes.suspicious_, np.argsort(classes.label_quality_, kind="stable"))
    before = classes.loo_predict_.copy()
    row = int(classes.suspicious_[0])
    assert classes.refit_left_out([row]).loo_predict_[row] == before[row]
    with pytest.raises(DataError, match="method is for intervals"):
        classes.guarantee(0.9, "minmax")


def test_the_posterior_of_a_gaussian_process_is_its_own(noisy_curve):
    X, y = noisy_curve
    process = GaussianProcessRegressor(
        RBF(1.0, "fixed") + WhiteKernel(0.2, "fixed"), alpha=0.1, normalize_y=True
    )
    search = KernelSearch(process, {"alpha": [0.1]}).fit(X, 10 * y)
    mean, deviation = search.best_estimator_.predict(X, return_std=True)
    total = np.sqrt(deviation**2 + 0.1 * np.var(10 * y))
    found = search.predict_interval(X, 0.9, "posterior")
    assert found == pytest.approx(np.column_stack([norm.ppf(0.05, mean, total), norm.ppf(0.95, mean, total)]))


def test_a_gaussian_process_is_scaled_back(noisy_curve):
    X, y = noisy_curve
    search = KernelSearch(*PROCESS).fit(X, 100 + 10 * y)
    found = search.predict_interval(X[:5])
    assert np.all((found[:, 0] < search.predict(X[:5])) & (search.predict(X[:5]) < found[:, 1]))
    # Mean and deviation of the targets are those of all rows.
    z = (y - y.mean()) / y.std()
    plain = GaussianProcessRegressor(RBF(1.0, "fixed"), alpha=0.3)
    mu, R = left_out(plain, X, z, X[:5])
    high = int(np.ceil(0.9 * 41))
    expected = np.column_stack([np.sort(mu - R)[:, 40 - high], np.sort(mu + R)[:, high - 1]])
    assert found == pytest.approx(100 + 10 * (y.mean() + y.std() * expected), abs=1e-6)
    assert search.left_out_model_.loo_predict_ + search.left_out_model_.loo_residuals_ == pytest.approx(
        100 + 10 * y
    )


@pytest.mark.parametrize("machine", [SVC(), GaussianProcessClassifier(1.0 * RBF(1.0))])
def test_classifiers_have_sets_and_scores(machine, two_classes):
    X, y = two_classes
    search = KernelSearch(make_pipeline(StandardScaler(), machine)).fit(X, y)
    found = search.predict_set(X[:6], 0.8)
    assert found.shape == (6, 2)
    assert np.all(found.any(axis=1))
    assert 0.5 < search.loo_score().value <= 1
    assert 0.5 < search.loo_score("roc_auc").value <= 1
    assert not hasattr(search, "predict_interval")


def test_the_equivalent_machine_has_the_outputs_of_the_machine(two_classes):
    X, y = two_classes
    space = {"svc__C": [2.0], "svc__gamma": [0.3]}
    search = KernelSearch(make_pipeline(StandardScaler(), SVC(tol=1e-8)), space).fit(X, y)
    outputs = search.left_out_model_.decision_function(search._machine_points(X))
    assert outputs == pytest.approx(search.decision_function(X), abs=1e-6)


def test_weights_of_zero_leave_rows_out(noisy_curve):
    X, y = noisy_curve
    weight = np.where(np.arange(40) % 4 == 0, 0.0, 1.0)
    search = KernelSearch(*RIDGE).fit(X, y, sample_weight=weight)
    fewer = KernelSearch(*RIDGE).fit(X[weight > 0], y[weight > 0])
    assert search.predict_interval(X[:5]) == pytest.approx(fewer.predict_interval(X[:5]), abs=1e-9)
    assert set(search.left_out_model_.suspicious_) == set(np.flatnonzero(weight))


def test_a_precomputed_kernel_has_intervals(noisy_curve):
    X, y = noisy_curve
    K = np.exp(-0.5 * (X - X.T) ** 2)
    search = KernelSearch(KernelRidge(kernel="precomputed"), {"alpha": [0.3]}).fit(K, y)
    expected = KernelSearch(*RIDGE).fit(X, y).predict_interval(X[:5])
    assert search.predict_interval(K[:5]) == pytest.approx(expected, abs=1e-8)


@pytest.mark.filterwarnings("ignore::foldless.core.errors.AdviceWarning")
def test_estimators_of_foldless_answer_themselves(noisy_curve):
    X, y = noisy_curve
    search = KernelSearch(make_pipeline(StandardScaler(), KernelRidgeRegressor())).fit(X, y)
    inner = search.best_estimator_[-1]
    expected = inner.predict_interval(search.best_estimator_[:-1].transform(X))
    assert search.predict_interval(X) == pytest.approx(expected)
    classes = KernelSearch(KernelLSSVC()).fit(X, y > 0)
    assert np.array_equal(classes.predict_set(X), classes.best_estimator_.predict_set(X))


def test_machines_without_left_out_models_say_so(noisy_curve):
    X, y = noisy_curve
    folds = KernelSearch(SVR(), {"C": [1.0]}, criterion="cv").fit(X, y)
    with pytest.raises(Undefined, match="SVR has no left-out models"):
        folds.predict_interval(X)
    nu = KernelSearch(NuSVC()).fit(X, y > 0)
    with pytest.raises(Undefined, match="NuSVC has no left-out models"):
        nu.predict_set(X)
    with pytest.raises(Undefined, match="SVR has no left-out models"):
        pickle.loads(pickle.dumps(folds)).predict_interval(X)  # noqa: S301
    with pytest.raises(AttributeError, match="predict_set"):
        folds.predict_set(X)


@pytest.mark.filterwarnings("ignore::foldless.core.errors.AdviceWarning")
@pytest.mark.parametrize(
    "machine",
    [KernelRidge(kernel="rbf"), GaussianProcessRegressor(RBF(1.0) + WhiteKernel()), SVC(), KernelRidgeRegressor(), KernelLSSVC()],
    ids=lambda machine: type(machine).__name__,
)  # fmt: skip
def test_split_tunes_on_one_half_and_fits_the_other(machine, rng):
    X = rng.normal(size=(80, 2)) * [1.0, 10.0]
    z = np.sin(X[:, 0]) + 0.3 * rng.normal(size=80)
    y = (z > 0).astype(int) if is_classifier(machine) else z
    pipeline = make_pipeline(StandardScaler(), machine)
    search = KernelSearch(pipeline, calibration="split").fit(X, y)
    fitted = np.sort(search.suspicious_)
    tuning = np.setdiff1d(np.arange(80), fitted)
    assert len(fitted) == len(search.loo_predict_) == 40
    # Scales and parameters are those of the first half alone, the machine that of the second.
    chosen = KernelSearch(pipeline).fit(X[tuning], y[tuning])
    assert str(search.best_params_) == str(chosen.best_params_)
    scaler, best = chosen.best_estimator_[0], clone(chosen.best_estimator_).set_params(**chosen.best_params_)
    expected = best[-1].fit(scaler.transform(X[fitted]), y[fitted])
    assert search.best_estimator_[0].mean_ == pytest.approx(scaler.mean_)
    assert search.predict(X) == pytest.approx(expected.predict(scaler.transform(X)), abs=1e-6)
    exact = not isinstance(machine, SVC)
    assert search.guarantee_.startswith("At least 80 %" if exact else "About 90 %")
    assert ("tuned on other rows" in search.guarantee_) == exact
    again = pickle.loads(pickle.dumps(search))  # noqa: S301
    assert again.guarantee_ == search.guarantee_
    if not is_classifier(machine):
        ends = search.predict_interval(X[:5])
        mu, R = left_out(expected, scaler.transform(X[fitted]), y[fitted], scaler.transform(X[:5]))
        high = int(np.ceil(0.9 * 41))
        by_refits = np.column_stack([np.sort(mu - R)[:, 40 - high], np.sort(mu + R)[:, high - 1]])
        assert ends == pytest.approx(by_refits, abs=1e-6)
        assert again.predict_interval(X[:5]) == pytest.approx(ends, abs=1e-9)


def test_split_cuts_weights_too(noisy_curve):
    X, y = noisy_curve
    weight = np.where(np.arange(40) % 5 == 0, 0.0, 1.0)
    search = KernelSearch(KernelRidge(kernel="rbf"), calibration="split").fit(X, y, sample_weight=weight)
    assert len(search.suspicious_) < 20
    assert np.all(weight[search.suspicious_] > 0)
    other = KernelSearch(KernelRidge(kernel="rbf")).fit(X, y, sample_weight=weight)
    assert len(other.suspicious_) == 32


def test_split_refuses_what_it_cannot_cut(noisy_curve):
    X, y = noisy_curve
    with pytest.raises(ValueError, match="calibration='split' needs points"):
        KernelSearch(KernelRidge(kernel="precomputed"), calibration="split").fit(X @ X.T, y)
    with pytest.raises(UnknownName, match="calibration must be one of same, split"):
        KernelSearch(KernelRidge(kernel="rbf"), calibration="half").fit(X, y)
    with pytest.raises(ValueError, match="needs two rows of every class"):
        KernelSearch(SVC(), calibration="split").fit(X, np.r_[1, np.zeros(39)])
