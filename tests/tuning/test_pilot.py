"""The least-squares machine that searches first where there are several classes."""

import numpy as np
import pytest
from sklearn.datasets import make_blobs

from foldless import KernelLogisticRegression, KernelSVC
from foldless.grams import DenseGram
from foldless.machines import LSSVM, SmoothMachine, SquaredHingeSVM
from foldless.machines.losses import Logistic
from foldless.tuning.pilot import LogRatios, PilotMachine, log_ratios, pilot_of


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
    machine = SmoothMachine(Logistic())
    assert pilot_of(machine, 1) is None
    assert pilot_of(machine, 2) is None
    assert pilot_of(LSSVM(), 5) is None
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
    wider = chosen + log_ratios(selection.machine).length_scale
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
