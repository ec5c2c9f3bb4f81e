"""Fits that are likely to disappoint warn: once, with the reason and a cure that works."""

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.gaussian_process.kernels import RBF
from sklearn.kernel_ridge import KernelRidge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from foldless import KernelLogisticRegression, KernelLSSVC, KernelRidgeRegressor, KernelSearch
from foldless.core.errors import (
    AdviceWarning,
    BoundWarning,
    ConstantPredictionWarning,
    CopiesWarning,
    InputScaleWarning,
    ManyParametersWarning,
    NoGainWarning,
)
from foldless.datasets import make_ripley
from foldless.estimators.advice import no_gain_warning
from foldless.estimators.registry import MACHINES
from foldless.machines import LSSVM, SmoothMachine
from foldless.machines.losses import Logistic

TUNED = [name for name in MACHINES if name != "subset"]


def advice(estimator, X, y, **options):
    """Types of the advice of one fit, with repetitions."""
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always", AdviceWarning)
        estimator.fit(X, y, **options)
    assert all(
        warning.filename == __file__ for warning in found if issubclass(warning.category, AdviceWarning)
    )
    return [warning.category for warning in found if issubclass(warning.category, AdviceWarning)]


def problem(task, n=120):
    X, y = make_ripley(n, random_state=1)
    return X, y if task == "classification" else np.random.default_rng(0).poisson(
        np.exp(1 + np.sin(3 * X[:, 0]))
    )


@pytest.mark.parametrize("name", MACHINES)
def test_an_ordinary_fit_gives_no_advice(name):
    estimator = MACHINES[name].estimator()
    assert advice(estimator, *problem(MACHINES[name].task)) == []


@pytest.mark.parametrize("name", MACHINES)
def test_columns_of_different_scales_are_named_and_scaling_cures_it(name):
    X, y = problem(MACHINES[name].task)
    wide = pd.DataFrame(X * [1.0, 200.0], columns=["length", "mass"])
    estimator = MACHINES[name].estimator
    with pytest.warns(InputScaleWarning, match="column 'length'.*column 'mass'.*StandardScaler"):
        estimator().fit(wide, y)
    assert advice(estimator(), wide, y).count(InputScaleWarning) == 1
    assert InputScaleWarning not in advice(estimator(), StandardScaler().fit_transform(wide), y)
    assert InputScaleWarning not in advice(estimator("rbf-ard"), wide, y)


def test_a_search_around_a_machine_of_scikit_learn_sees_the_scales_too():
    X, y = problem("classification")
    assert advice(KernelSearch(SVC()), X * [1.0, 200.0], y) == [InputScaleWarning]
    assert advice(KernelSearch(make_pipeline(StandardScaler(), SVC())), X * [1.0, 200.0], y) == []
    assert advice(KernelSearch(SVC(kernel="precomputed")), X @ np.diag([1.0, 4e4]) @ X.T, y) == []


@pytest.mark.parametrize("kind", [KernelRidgeRegressor, KernelLogisticRegression, KernelLSSVC])
def test_weights_that_count_as_copies_are_named_and_dividing_them_cures_it(kind):
    """In a table of few values a row of weight 2 may be two observations; if it is none, a left-out one is told by the other."""
    rng = np.random.default_rng(0)
    X = rng.integers(-3, 3, size=(300, 2)).astype(float)
    y = np.round(np.sin(X[:, 0]) + 2 * rng.normal(size=300))
    y, weights = y if kind is KernelRidgeRegressor else y > 0, rng.integers(0, 3, 300).astype(float)
    assert CopiesWarning in advice(kind(), X, y, sample_weight=weights)
    for harmless in (weights / 2, np.where(rng.random(300) < 0.03, 2.0, 1.0)):
        assert CopiesWarning not in advice(kind(), X, y, sample_weight=harmless)
    assert CopiesWarning not in advice(kind(criterion="evidence"), X, y, sample_weight=weights)
    fixed = {"alpha" if kind is KernelRidgeRegressor else "C": 1.0}
    assert advice(kind(RBF(1.0, "fixed"), **fixed), X, y, sample_weight=weights) == []


def test_scales_up_to_thirty_give_no_advice():
    X, y = problem("classification")
    X = StandardScaler().fit_transform(X)
    assert InputScaleWarning not in advice(KernelLSSVC(), X * [1.0, 29.9], y)
    assert InputScaleWarning in advice(KernelLSSVC(), X * [1.0, 30.1], y)
    assert InputScaleWarning not in advice(KernelLSSVC(), np.c_[X, np.ones(len(X))], y)


@pytest.mark.parametrize("name", TUNED)
def test_more_than_one_parameter_per_twenty_rows_is_too_many(name):
    X, y = problem(MACHINES[name].task, 40)
    estimator = MACHINES[name].estimator
    assert ManyParametersWarning not in advice(estimator(), X, y)
    assert advice(estimator("rbf-ard"), X, y).count(ManyParametersWarning) == 1
    fixed = {"alpha": 1.0} if MACHINES[name].task == "regression" else {"C": 1.0}
    assert ManyParametersWarning not in advice(estimator("rbf-ard", **fixed), X, y)


def test_a_constant_class_is_noticed(rng):
    X, y = rng.normal(size=(150, 2)), (np.arange(150) % 15 == 0).astype(int)
    with pytest.warns(ConstantPredictionWarning, match="the same class .* class_weight='balanced'"):
        KernelLSSVC().fit(X, y)
    assert ConstantPredictionWarning not in advice(KernelLSSVC(class_weight="balanced"), X, y)


@pytest.mark.parametrize("name", ["ridge", "poisson"])
def test_a_constant_number_is_noticed(name, rng):
    with pytest.warns(ConstantPredictionWarning, match="the same number everywhere"):
        MACHINES[name].estimator().fit(np.ones((60, 2)), rng.poisson(3.0, size=60))


@pytest.mark.parametrize("name", TUNED)
def test_noise_is_hardly_ever_taken_for_a_relation_in_silence(name):
    """The best of some twenty criteria is below that of a constant by chance, in half of all fits; with a relation no advice comes."""
    silent = 0
    for seed in range(8):
        rng = np.random.default_rng(seed)
        X, noise = rng.normal(size=(100, 3)), rng.poisson(2.0, size=100)
        y = noise % 2 if MACHINES[name].task == "classification" else noise
        found = advice(MACHINES[name].estimator(), X, y)
        silent += not {NoGainWarning, ConstantPredictionWarning} & set(found)
    assert silent <= 1
    assert NoGainWarning not in advice(MACHINES[name].estimator(), *problem(MACHINES[name].task))


def test_outputs_that_tell_rare_classes_apart_are_a_gain(rng):
    """No label is ever better than the commonest one here, and yet the probabilities say something."""
    X = rng.uniform(-1, 1, size=(400, 1))
    y = (rng.uniform(size=400) < 0.2 + 0.2 * X[:, 0]).astype(int)
    assert NoGainWarning not in advice(KernelLogisticRegression(), X, y)


def test_a_constant_target_is_predicted_without_advice(rng):
    X = rng.normal(size=(60, 2))
    assert ConstantPredictionWarning not in advice(KernelRidgeRegressor(), X, np.full(60, 2.0))


def test_a_loss_that_is_lower_by_chance_is_no_gain():
    Y = np.where(np.arange(100) % 2, 1.0, -1.0)[:, None]
    is_right = (np.arange(100) % 4 < 2)[:, None]
    machine = SmoothMachine(Logistic())
    # Half of the rows are wrong, as by a constant; the mean gain is 0.9 of its standard errors, then 3.3.
    by_chance, clear = (np.where(is_right, right, -0.01) * Y for right in (0.012, 0.02))
    assert isinstance(no_gain_warning(machine, Y, by_chance), NoGainWarning)
    assert no_gain_warning(machine, Y, clear) is None


def test_fewer_errors_by_chance_are_no_gain():
    """Of 100 rows with 40 of the rarer class, 38 errors are by chance, 20 are not; the losses are all higher than those of a constant."""
    Y = np.where(np.arange(100) < 40, 1.0, -1.0)[:, None]
    machine = SmoothMachine(Logistic())
    for n_errors, warns in ((38, True), (20, False)):
        wrong = (np.arange(100) % 50 < n_errors / 2)[:, None]
        warning = no_gain_warning(machine, Y, np.where(wrong, -9.0, 9.0) * Y)
        assert isinstance(warning, NoGainWarning) == warns


def test_a_regression_that_is_better_by_chance_is_no_gain():
    Y = np.where(np.arange(100) % 2, 1.0, -1.0)[:, None]
    better = (np.arange(100) % 4 < 2)[:, None]
    # Squared errors of 0.9^2 and 1.1^2, or 0.5^2 and 1.1^2, where the mean has 1.
    for best, warns in ((0.9, True), (0.5, False)):
        residuals = np.where(better, best, 1.1) * Y
        assert isinstance(no_gain_warning(LSSVM(), Y + 5, Y + 5 - residuals), NoGainWarning) == warns


def test_kernel_search_says_that_it_found_nothing(rng):
    X, y = rng.normal(size=(300, 4)), rng.integers(0, 2, 300)
    with pytest.warns(NoGainWarning, match="no better than by the commonest class"):
        KernelSearch(SVC()).fit(X, y)
    with pytest.warns(NoGainWarning, match="no better than by the mean"):
        KernelSearch(KernelRidge()).fit(X, rng.normal(size=300))
    X, y = problem("classification")
    assert NoGainWarning not in advice(KernelSearch(SVC()), X, y)


def test_a_regularisation_at_its_bound_is_named(rng):
    """Clusters far apart are fitted better by every larger C, targets orthogonal to the inputs by every larger alpha."""
    y = np.repeat([0, 1], 40)
    apart = rng.normal(size=(80, 1)) + 20 * y[:, None]
    line, noise = np.c_[np.ones(80), apart], rng.normal(size=80)
    unrelated = noise - line @ np.linalg.lstsq(line, noise)[0]
    model = KernelLogisticRegression("linear")
    with pytest.warns(BoundWarning, match="loo chose C at the end .* fits as closely .* fix C"):
        model.fit(apart, y)
    assert advice(model.set_params(C=model.C_), apart, y) == []
    with pytest.warns(BoundWarning, match="loo chose alpha at the end .* fits as loosely .* fix alpha"):
        KernelRidgeRegressor("linear", search="grid").fit(apart, unrelated)


def test_what_the_user_fixed_gives_no_advice(rng):
    X, y = rng.normal(size=(12, 2)) * [1.0, 1e3], np.arange(12) % 2
    assert advice(KernelLogisticRegression(RBF(1.0, "fixed"), C=1e-9), X, y) == []
