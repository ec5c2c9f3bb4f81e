"""kernel="rbf-metric": rounds of learning a metric, judged by rows that it has not seen."""

import numpy as np
import pytest
from sklearn.gaussian_process.kernels import RBF

from foldless import KernelLogisticRegression, KernelRidgeRegressor, KernelSVC
from foldless.core.errors import SearchWarning
from foldless.kernels import Columns, Metric

RNG = np.random.default_rng(0)
X, NEW = RNG.normal(size=(160, 8)), RNG.normal(size=(500, 8))
DIRECTION = np.r_[1.0, -1.0, 1.0, np.zeros(5)] / np.sqrt(3)


def one_direction(points):
    """A function of one direction that is no column."""
    return np.sin(2.5 * points @ DIRECTION)


Y = one_direction(X) + 0.05 * RNG.normal(size=160)


@pytest.mark.parametrize("name", ["rbf-metric", "laplacian-metric"])
def test_the_direction_that_matters_is_found(name):
    model = KernelRidgeRegressor(name).fit(X, Y)
    plain = KernelRidgeRegressor(name.removesuffix("-metric")).fit(X, Y)
    assert 1 - model.score(NEW, one_direction(NEW)) < 0.5 * (1 - plain.score(NEW, one_direction(NEW)))
    leading = model.kernel_.directions[:, np.argmax(model.kernel_.eigenvalues)]
    assert abs(leading @ DIRECTION) > 0.95


def test_a_metric_that_does_not_help_is_not_taken():
    """On noise the metric of all rows makes leave-one-out fall; that of the other half does not."""
    noise = RNG.normal(size=160)
    model = KernelRidgeRegressor("rbf-metric").fit(X, noise)
    plain = KernelRidgeRegressor("rbf").fit(X, noise)
    assert model.kernel_.eigenvalues is None
    assert model.criterion_value_ == pytest.approx(plain.criterion_value_, rel=1e-6)
    assert model.predict(NEW) == pytest.approx(plain.predict(NEW), abs=1e-6)


def test_the_criterion_of_a_learned_metric_is_not_optimistic():
    model = KernelRidgeRegressor("rbf-metric").fit(X, Y)
    test_error = np.mean((model.predict(NEW) - one_direction(NEW)) ** 2)
    # The criterion is a mean of 160 squared errors: two of its standard errors, if these are normal.
    assert model.criterion_value_ * (1 + 2 * np.sqrt(2 / len(X))) > test_error


def test_classifiers_learn_it_too():
    labels = one_direction(X) > 0
    for machine in (KernelLogisticRegression, KernelSVC):
        model, plain = (machine(name).fit(X, labels) for name in ("rbf-metric", "rbf"))
        truth = one_direction(NEW) > 0
        assert model.score(NEW, truth) > plain.score(NEW, truth) + 0.02


def test_it_is_one_of_several_candidates():
    model = KernelRidgeRegressor(["rbf", "rbf-metric"]).fit(X, Y)
    assert isinstance(model.kernel_, Metric)
    assert len(model.selection_.trials) == 2


def test_a_budget_is_for_all_rounds():
    with pytest.warns(SearchWarning, match="ended after"):
        few = KernelRidgeRegressor("rbf-metric", max_evaluations=8).fit(X, Y)
    assert few.n_evaluations_ == 8
    with pytest.warns(SearchWarning, match="ended after 40 evaluations"):
        more = KernelRidgeRegressor("rbf-metric", max_evaluations=40).fit(X, Y)
    assert more.n_evaluations_ == 40


def test_the_same_seed_gives_the_same_model():
    one, two = (KernelRidgeRegressor("rbf-metric", random_state=3).fit(X, Y) for _ in range(2))
    assert np.array_equal(one.predict(NEW), two.predict(NEW))


def test_a_metric_on_some_columns_is_refused():
    kernel = Columns(Metric(1.0, rounds=1), [0, 1]) + RBF()
    with pytest.raises(ValueError, match="learns its metric on all columns"):
        KernelRidgeRegressor(kernel).fit(X, Y)


def test_without_rounds_nothing_is_learned():
    model = KernelRidgeRegressor(Metric(1.0)).fit(X, Y)
    assert model.kernel_.eigenvalues is None
