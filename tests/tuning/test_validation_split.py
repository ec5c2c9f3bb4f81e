"""Early stopping: the step kept is the one that is best on rows the search did not see."""

import numpy as np
import pytest
from sklearn.gaussian_process.kernels import RBF

from foldless import KernelLogisticRegression
from foldless.machines import SmoothMachine
from foldless.machines.losses import Logistic
from foldless.searches import LBFGS, EarlyStopping
from foldless.tuning.select import select
from foldless.tuning.validation_split import held_out_cost, improvements, set_aside


@pytest.fixture
def noisy(rng):
    """Sixty points, of eight features one matters: length scales over-fit."""
    X = rng.normal(size=(60, 8))
    return X, np.where(X[:, 0] + 0.8 * rng.normal(size=60) > 0, 1.0, -1.0)[:, None]


def tune(data, search, **options):
    X, Y = data
    kernel = RBF(np.full(8, 3.0), (0.03, 300.0))
    return select(
        X, Y, kernel=kernel, machine=SmoothMachine(Logistic()), criterion="loo", search=search, **options
    )


def test_the_step_kept_is_the_best_on_the_rows_held_out(noisy):
    X, Y = noisy
    search = EarlyStopping(LBFGS(), 0.3, seed=1)
    chosen = tune(noisy, search)
    train, test = set_aside(Y, 0.3, 1)
    plain = tune((X[train], Y[train]), LBFGS())
    costs = [
        held_out_cost(plain.objective, s.theta, X[test], Y[test])
        for s in improvements(plain.steps_on_last_rows)
    ]
    kept = improvements(plain.steps_on_last_rows)[int(np.argmin(costs))]
    assert np.array_equal(chosen.outcome.best.theta, kept.theta)
    assert min(costs) < costs[-1]  # it did stop early here
    assert chosen.solution.gram.n == 60  # and the fit is to all rows


def test_the_cost_on_other_rows_is_that_of_the_estimator(noisy):
    X, Y = noisy
    plain = tune((X[:40], Y[:40]), LBFGS())
    model = KernelLogisticRegression(plain.objective.kernel).fit(X[:40], Y[:40, 0])
    f = model.decision_function(X[40:])
    expected = np.mean(np.logaddexp(0, -Y[40:, 0] * f))
    assert held_out_cost(plain.objective, plain.outcome.best.theta, X[40:], Y[40:]) == pytest.approx(
        expected, rel=1e-9
    )


def test_rows_set_aside_keep_the_classes_in_proportion(rng):
    Y = np.repeat([1.0, -1.0], [30, 10])[:, None]
    train, test = set_aside(Y, 0.2, 0)
    assert sorted([*train, *test]) == list(range(40))
    assert np.sum(Y[test] > 0) == 6


def test_an_estimator_takes_it_as_a_search(noisy):
    X, Y = noisy
    model = KernelLogisticRegression("rbf-ard-free", search=EarlyStopping(LBFGS(), seed=4)).fit(X, Y[:, 0])
    late = KernelLogisticRegression("rbf-ard-free").fit(X, Y[:, 0])
    assert model.criterion_value_ > late.criterion_value_
    assert len(model.loo_decision_) == 60


def test_what_cannot_be_is_refused(noisy):
    with pytest.raises(ValueError, match="validation must be a share of the rows between 0 and 1, got 1"):
        EarlyStopping(LBFGS(), 1)
    with pytest.raises(ValueError, match="early stopping needs points"):
        select(
            RBF(1.0)(noisy[0]),
            noisy[1],
            kernel="precomputed",
            machine=SmoothMachine(Logistic()),
            criterion="loo",
            search=EarlyStopping(LBFGS()),
        )
