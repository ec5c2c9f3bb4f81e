"""What KernelLSSVC owes its users."""

import warnings
from dataclasses import replace

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_iris, make_moons
from sklearn.gaussian_process.kernels import RBF, Matern
from sklearn.metrics import log_loss
from sklearn.model_selection import cross_val_score, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from foldless import KernelLSSVC
from foldless.core.errors import CriterionWarning, LandmarkWarning, UnreadableSolution
from foldless.criteria import LOO, CenteredAlignment, Criterion, KFold, Spectral
from foldless.estimators.calibration import calibrate
from oracles import reference_set as ref
from oracles import spectral as oracles

approx = pytest.approx


@pytest.fixture(scope="module")
def moons():
    return make_moons(120, noise=0.25, random_state=0)


@parametrize_with_checks(
    [
        KernelLSSVC(),
        KernelLSSVC(C=1.0, kernel=RBF(1.0, "fixed")),
        KernelLSSVC(gram="lowrank", n_components=10, max_evaluations=200),
        KernelLSSVC(criterion="gcv"),
    ]
)
def test_scikit_learn_checks(estimator, check):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LandmarkWarning)  # some checks have fewer rows than landmarks
        check(estimator)


REFERENCE = [
    ("loo", None, True, 1.6241200868),
    ("loo", None, False, 1.5999091217),
    ("evidence", None, True, 2.1966426661e01),
    ("evidence", "balanced", True, 2.2317145853e01),
    ("spectral", None, True, -np.log(9.3760535501e-02)),
    (Spectral("trace", 3), None, True, -np.log(2.6569652643e-02)),
    ("alignment", None, True, -1.8220210885e-01),
    ("centered-alignment", None, True, -2.4172300743e-01),
    ("fsm", None, True, 1.4557296148),
]


@pytest.mark.parametrize(("criterion", "class_weight", "bias", "value"), REFERENCE)
def test_fixed_parameters_only_solve_and_read_the_criterion(criterion, class_weight, bias, value):
    """Reference numbers of the specification: lambda = 0.5 is C = 2. The evidence there is -2 log p."""
    options = {"C": 2.0, "kernel": RBF(0.7, "fixed"), "class_weight": class_weight}
    model = KernelLSSVC(criterion=criterion, bias=bias, **options).fit(ref.x[:, None], ref.labels)
    assert model.selection_.reading.parts["total"] == approx(value, rel=2e-10)
    rows = 2 * len(ref.labels) if criterion == "evidence" else 1
    assert model.criterion_value_ == approx(value / rows, rel=2e-10)
    assert model.n_evaluations_ == 1
    assert model.C_ == 2.0


@pytest.mark.parametrize(("bias", "value"), [(True, 1.6830417317), (False, 1.6262635837)])
def test_the_specification_counts_every_row_once(bias, value):
    """Its number for balanced weights is that of the machine without costs; the estimator weighs the errors too."""
    options = {"C": 2.0, "kernel": RBF(0.7, "fixed"), "class_weight": "balanced"}
    model = KernelLSSVC(bias=bias, **options).fit(ref.x[:, None], ref.labels)
    solution = model.selection_.solution
    plain = replace(solution.machine, costs=None).solve(solution.gram, solution.Y)
    assert LOO()(plain).value == approx(value, rel=2e-10)
    weighted = np.average(solution.loo_residuals[:, 0] ** 2, weights=solution.machine.weights)
    assert model.criterion_value_ == approx(weighted, rel=1e-12)


def test_leave_one_out_outputs_are_those_of_refits(moons):
    X, y = moons
    model = KernelLSSVC().fit(X, y)
    left = oracles.left_out(model.kernel_(X), np.where(y == 1, 1.0, -1.0), 1 / model.C_)
    assert model.loo_decision_ == approx(left, rel=1e-6)


def test_several_classes_leave_out_like_refits():
    X, y = load_iris(return_X_y=True)
    # One flower stands twice in the table.
    X, y = np.delete(X, 142, axis=0), np.delete(y, 142)
    model = KernelLSSVC(C=3.0, kernel=RBF(1.5, "fixed")).fit(X, y)
    for k in range(3):
        left = oracles.left_out(model.kernel_(X), np.where(y == k, 1.0, -1.0), 1 / 3.0)
        assert model.loo_decision_[:, k] == approx(left, rel=1e-7)
    assert model.predict_proba(X).sum(axis=1) == approx(np.ones(149))
    assert np.array_equal(model.classes_[np.argmax(model.predict_proba(X), axis=1)], model.predict(X))


@pytest.mark.parametrize("criterion", ["loo", "evidence", KFold(5)])
def test_tuning_generalises(criterion):
    X, y = load_breast_cancer(return_X_y=True)
    model = make_pipeline(StandardScaler(), KernelLSSVC(criterion=criterion))
    train, test, a, b = train_test_split(X, y, test_size=0.4, random_state=0, stratify=y)
    assert model.fit(train, a).score(test, b) > 0.95


@pytest.mark.parametrize("criterion", ["loo", "gcv", "evidence", KFold(5)])
def test_the_optimum_is_no_worse_than_a_grid(moons, criterion):
    X, y = moons
    model = KernelLSSVC(criterion=criterion, gram="dense").fit(X, y)
    grid = [
        KernelLSSVC(C=C, kernel=RBF(w, "fixed"), criterion=criterion).fit(X, y).criterion_value_
        for C in np.logspace(-2, 4, 9)
        for w in np.logspace(-1.5, 1.5, 9)
    ]
    assert model.criterion_value_ <= min(grid) * 1.001


@pytest.mark.parametrize("criterion", ["spectral", CenteredAlignment()])
def test_blind_criteria_have_the_regularisation_tuned_after_them(moons, criterion):
    X, y = moons
    model = KernelLSSVC(criterion=criterion, gram="dense").fit(X, y)
    given = [
        KernelLSSVC(C=C, kernel=RBF(model.kernel_.length_scale, "fixed"), criterion=LOO())
        .fit(X, y)
        .criterion_value_
        for C in [*np.logspace(-3, 5, 30), model.C_]
    ]
    assert given[-1] <= min(given) * 1.001


def test_a_list_of_kernels_is_chosen_from(moons):
    X, y = moons
    model = KernelLSSVC(kernel=["linear", "rbf", Matern(nu=1.5)], criterion="spectral").fit(X, y)
    each = [KernelLSSVC(kernel=k, criterion="spectral").fit(X, y) for k in ("linear", "rbf", Matern(nu=1.5))]
    assert model.criterion_value_ == approx(min(m.criterion_value_ for m in each), rel=1e-6)


def test_choices_by_the_printed_normaliser_are_warned_about(moons):
    with pytest.warns(CriterionWarning, match="trace"):
        KernelLSSVC(criterion=Spectral("sum", 3)).fit(*moons)


def test_probabilities_are_calibrated_without_folds():
    X, y = make_moons(600, noise=0.35, random_state=2)
    model = KernelLSSVC().fit(X[:200], y[:200])
    p = model.predict_proba(X[200:])
    assert log_loss(y[200:], p) < 0.40
    confident = np.max(p, axis=1) > 0.9
    hit = np.mean(np.argmax(p, axis=1)[confident] == y[200:][confident])
    assert abs(hit - np.max(p, axis=1)[confident].mean()) < 0.05


def test_the_sigmoid_finds_the_slope(rng):
    f = rng.normal(size=(400, 1))
    y = np.where(rng.uniform(size=(400, 1)) < 1 / (1 + np.exp(-2 * f)), 1.0, -1.0)
    assert calibrate(f, y).slope == approx(2, abs=0.5)
    two = np.hstack([-f / 2, f / 2])
    assert calibrate(two, np.hstack([-y, y])).slope == approx(calibrate(f, y).slope, rel=1e-6)
    copies = rng.integers(1, 4, size=400)
    rows = np.repeat(np.arange(400), copies)
    assert calibrate(f, y, copies.astype(float)).slope == approx(calibrate(f[rows], y[rows]).slope, rel=1e-6)


def test_separable_outputs_keep_a_finite_slope():
    y = np.repeat([-1.0, 1.0], 10)[:, None]
    p = calibrate(3 * y, y)(3 * y)
    assert p[-1, 1] == approx(11 / 12, abs=1e-3)


def test_accuracy_is_that_of_cross_validation(moons):
    score = cross_val_score(KernelLSSVC(), *moons, cv=5).mean()
    assert score > 0.88


def test_a_criterion_of_another_machine_lists_those_that_can(moons):
    class Odd(Criterion):
        pass

    with pytest.raises(
        UnreadableSolution, match=r"no formula for KernelLSSVC.*evidence.*gcv.*kfold.*loo.*spectral"
    ):
        KernelLSSVC(criterion=Odd(), C=1.0, kernel=RBF(1.0, "fixed")).fit(*moons)


def test_bad_parameters_are_named(moons):
    with pytest.raises(ValueError, match="C must be positive"):
        KernelLSSVC(C=-1.0).fit(*moons)
