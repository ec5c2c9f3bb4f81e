"""The least-squares machine that searches first where there are several classes, and evaluates the starts where there are two."""

import numpy as np
import pytest
from sklearn.datasets import make_blobs

from foldless import KernelLogisticRegression, KernelSVC
from foldless.core.errors import Undefined
from foldless.datasets import make_ripley, make_twonorm
from foldless.grams import DenseGram
from foldless.kernels import by_name
from foldless.machines import LSSVM, SmoothMachine, SquaredHingeSVM
from foldless.machines.losses import Logistic, Poisson
from foldless.searches import LBFGS
from foldless.tuning.pilot import LogRatios, PilotMachine, log_ratios, pilot_of
from foldless.tuning.search_space import START_LOG_C_OF_STEPS


@pytest.fixture(scope="module")
def four_classes():
    return make_blobs(260, n_features=3, centers=4, cluster_std=5.0, random_state=3)


@pytest.mark.parametrize("machine", [SmoothMachine(Logistic(), C=7.0), SquaredHingeSVM(C=7.0)])
def test_its_parameter_is_that_of_the_machine(machine):
    pilot = pilot_of(machine, 3)
    np.testing.assert_allclose(pilot.theta, machine.theta, rtol=1e-14)
    moved = pilot.with_theta(np.array([0.3]))
    np.testing.assert_allclose(moved.theta, [0.3], rtol=1e-14)
    np.testing.assert_allclose(moved.C, np.exp(0.3 - pilot.ratios.C), rtol=1e-14)


def test_it_fits_what_a_least_squares_machine_fits(rng):
    X, Y = rng.normal(size=(20, 2)), np.where(rng.random((20, 3)) < 0.5, 1.0, -1.0)
    gram = DenseGram(np.exp(-np.sum((X[:, None] - X) ** 2, axis=2)))
    pilot = PilotMachine(2.0, ratios=LogRatios(1.0, 0.0))
    np.testing.assert_array_equal(pilot.solve(gram, Y).alpha, LSSVM(2.0).solve(gram, Y).alpha)


def test_it_serves_only_where_it_is_cheaper_and_exists():
    assert pilot_of(LSSVM(), 1) is None
    assert pilot_of(LSSVM(), 5) is None
    assert pilot_of(SmoothMachine(Poisson()), 1) is None
    assert pilot_of(SquaredHingeSVM(weights=np.array([1.0, 0.0, 1.0])), 3) is None


@pytest.mark.parametrize("estimator", [KernelLogisticRegression, KernelSVC])
def test_the_machine_itself_has_the_last_word(four_classes, estimator):
    X, y = four_classes
    with_pilot, without = (
        model.fit(X, y).selection_.outcome for model in (estimator(), estimator(n_starts=2))
    )
    assert with_pilot.best.value == pytest.approx(without.best.value, rel=1e-3)


@pytest.mark.parametrize("estimator", [KernelLogisticRegression, KernelSVC])
def test_on_many_rows_the_machine_keeps_the_kernel_of_its_pilot_and_chooses_C(estimator):
    X, y = make_blobs(900, n_features=3, centers=5, cluster_std=5.0, random_state=3)
    selection = estimator().fit(X, y).selection_
    # The last step of the pilot stands before the first on the rows of the machine itself.
    first = next(i for i, step in enumerate(selection.outcome.trace) if step.n_rows == 800)
    pilot, own = selection.outcome.trace[:first], selection.outcome.trace[first:]
    chosen = min((step for step in pilot if step.n_rows == 900), key=lambda step: step.value).theta[0]
    wider = chosen + log_ratios(selection.machine, 5).length_scale
    np.testing.assert_allclose([step.theta[0] for step in own], wider, rtol=1e-12)
    assert len({step.theta[1] for step in own}) > 1
    assert selection.kernel.theta[0] == pytest.approx(wider, rel=1e-12)


def test_a_fixed_regularisation_is_not_searched_by_another_machine(four_classes):
    X, y = four_classes
    assert KernelLogisticRegression(C=3.0).fit(X, y).C_ == 3.0


def test_a_budget_that_ends_in_the_pilot_gives_a_model(four_classes):
    X, y = four_classes
    with pytest.warns(UserWarning, match="ended after 5 evaluations"):
        model = KernelLogisticRegression(max_evaluations=5).fit(X, y)
    assert model.n_evaluations_ == 5
    assert model.score(X, y) > 0.5


def scanned(model):
    return [step for step in model.selection_.outcome.trace if step.is_scan]


@pytest.mark.parametrize("estimator", [KernelLogisticRegression, KernelSVC])
def test_with_two_classes_the_pilot_evaluates_the_starts_on_some_rows(estimator):
    X, y = make_ripley(300, random_state=3)
    model = estimator().fit(X, y)
    own = model.selection_.outcome.trace[len(scanned(model)) :]
    assert {step.n_rows for step in scanned(model)} == {125}
    assert {step.n_rows for step in own} == {300}
    # The starts are those of a least-squares machine, in units of this one.
    expected = [
        [width + step, C + log_ratios(model.selection_.machine, 1).C]
        for width in by_name.named_kernel("rbf", X).theta
        for step, values in START_LOG_C_OF_STEPS.items()
        for C in values
    ]
    np.testing.assert_allclose([step.theta for step in scanned(model)], expected, rtol=1e-12)
    # The search goes on at the best of them.
    best = min(scanned(model), key=lambda step: step.value)
    assert any(np.array_equal(step.theta, best.theta) for step in own)


@pytest.mark.parametrize("estimator", [KernelLogisticRegression, KernelSVC])
@pytest.mark.parametrize("make", [make_ripley, make_twonorm])
def test_a_scan_leads_where_the_starts_of_the_machine_itself_do(estimator, make):
    X, y = make(100, random_state=5)
    scans, without = (estimator(search=search).fit(X, y) for search in ("lbfgs", LBFGS(n_starts=2)))
    assert scanned(scans)
    assert not scanned(without)
    # A tenth of a nat, or of an error, in all.
    assert scans.selection_.outcome.best.value <= without.selection_.outcome.best.value + 0.1 / len(y)


@pytest.mark.parametrize("estimator", [KernelLogisticRegression, KernelSVC])
def test_a_budget_that_ends_in_a_scan_gives_a_model(estimator):
    X, y = make_ripley(100, random_state=3)
    with pytest.warns(UserWarning, match="ended after 4 evaluations"):
        model = estimator(max_evaluations=4).fit(X, y)
    assert len(scanned(model)) == 4
    assert model.score(X, y) > 0.85


def test_where_the_pilot_is_undefined_the_machine_itself_evaluates_the_starts(monkeypatch):
    X, y = make_ripley(100, random_state=3)

    def undefined(self, gram, Y, start=None):
        raise Undefined("nothing is known.")

    monkeypatch.setattr(PilotMachine, "solve", undefined)
    model = KernelLogisticRegression().fit(X, y)
    assert not scanned(model)
    assert model.score(X, y) > 0.85


def test_a_scan_is_continued_from_a_checkpoint(tmp_path):
    X, y = make_ripley(100, random_state=3)
    search = LBFGS(checkpoint=tmp_path / "steps")
    first, again = (KernelLogisticRegression(search=search).fit(X, y) for _ in range(2))
    assert scanned(first)
    assert len(again.trace_) == len(first.trace_)
    assert again.C_ == first.C_


def test_values_of_a_scan_are_not_the_best():
    X, y = make_ripley(100, random_state=3)
    model = KernelLogisticRegression().fit(X, y)
    lowest = min(step.value for step in model.trace_ if not step.is_scan)
    assert f"best value {lowest:.6g}" in repr(model.trace_)
