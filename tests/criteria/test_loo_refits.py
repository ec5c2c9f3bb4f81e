"""Leave-one-out where one Newton step is too short: which rows are refitted, their derivatives, and what a search finds."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.datasets import make_blobs, make_classification
from sklearn.gaussian_process.kernels import RBF

from foldless.criteria import LOO, HyperPrior, loo_outputs
from foldless.criteria.derivatives.refits import Refits
from foldless.criteria.derivatives.second_steps import (
    NEGLIGIBLE_CHANGES,
    one_step_outputs,
    second_step_bounds,
    second_step_changes,
    second_steps,
)
from foldless.datasets import make_ripley
from foldless.grams import DenseGram, LowRankGram
from foldless.grams.builders import DenseBuilder
from foldless.machines import LSSVM, SmoothMachine, nearby_fits
from foldless.machines.losses import LogCosh, Logistic, Poisson
from foldless.tuning.objective import Objective
from foldless.tuning.row_blocks import BlockObjective
from foldless.tuning.select import select
from oracles.klr import directional, random_problem, refit_outputs, root, singles, slope
from oracles.units import as_printed

FORMS = {"dense": DenseGram, "lowrank": lambda K: LowRankGram(root(K))}
ROWS = (0, 3, 7, 8)


@pytest.fixture(params=sorted(FORMS))
def form(request):
    return FORMS[request.param]


def solve(gram, y, C=1.0, bias=True, **options):
    return SmoothMachine(Logistic(), C=C, bias=bias, **options).solve(gram, y[:, None])


def read(gram, y, C=1.0, bias=True, rows=ROWS, **options):
    """Leave-one-out as a sum over the rows."""
    return as_printed(LOO(rows)(solve(gram, y, C, bias, **options)))


def exact_loss(K, y, C, bias=True):
    return np.sum(np.logaddexp(0, -y * refit_outputs(K, y, C, bias, singles(len(y)))))


def nearly_separable(seed, class_sep, n=140, d=20):
    X, y = make_classification(
        n, d, n_informative=6, n_redundant=min(2, d - 6), class_sep=class_sep, flip_y=0, random_state=seed
    )
    return (X - X.mean(axis=0)) / X.std(axis=0), np.where(y == 1, 1.0, -1.0)


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("C", [0.3, 20.0, 1e5])
def test_with_every_row_refitted_it_is_leave_one_out(form, bias, C):
    _, K, y = random_problem(0)
    assert read(form(K), y, C, bias, range(14)).value == pytest.approx(exact_loss(K, y, C, bias), rel=1e-7)


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("C", [0.05, 3.0, 100.0])
def test_the_derivatives_are_those_of_the_refits(form, bias, C):
    _, K, y = random_problem(2)
    K = K + np.eye(len(y))
    D = np.random.default_rng(3).normal(size=K.shape) * 0.1
    # K plus or minus a little of it stays positive definite.
    D = D @ D.T
    r = read(form(K), y, C, bias)
    expected = directional(lambda A: read(DenseGram(A), y, C, bias).value, K, D, 1e-3)
    assert np.sum((r.adjoint @ np.eye(len(y))) * D) == pytest.approx(expected, rel=1e-7)
    by_C = slope(lambda t: read(DenseGram(K), y, np.exp(t), bias).value, np.log(C))
    assert r.slope[0] == pytest.approx(by_C, rel=1e-7)


def refits_of_their_own(solution, rows):
    """Outputs of fits without one row each, one after the other."""
    fits = []
    for i in rows:
        v = solution.v.copy()
        v[i] = 0
        machine = replace(solution.machine, weights=v)
        fits.append(machine.solve(solution.gram, solution.Y).columns[0].z)
    return np.column_stack(fits)


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("C", [1e-2, 1e1, 1e4])
def test_fits_together_are_those_one_by_one(form, bias, C):
    X, y = nearly_separable(1, 1.0, n=80)
    column = solve(form(RBF(4.0)(X)), y, C, bias).columns[0]
    found = Refits.of(column, range(80))
    assert list(found.rows) == list(range(80))
    expected = refits_of_their_own(column, range(80))
    # A decrement, of 80e-20 at most, is the square of the error in units of the deviations of the outputs.
    scale = np.sqrt(np.max(column.V) * 80e-20) + 1e-12 * np.max(np.abs(expected))
    assert np.max(np.abs(found.fits.z - expected)) < 10 * scale


@pytest.mark.parametrize("bias", [True, False])
def test_fits_that_are_not_found_together_are_found_alone(monkeypatch, bias):
    X, y = nearly_separable(1, 1.0, n=60)
    column = solve(DenseGram(RBF(4.0)(X)), y, 1e3, bias).columns[0]
    together = Refits.of(column, range(60))
    monkeypatch.setattr(nearby_fits, "MAX_NEWTON_STEPS", 1)
    alone = Refits.of(column, range(60))
    assert alone.outputs == pytest.approx(together.outputs, rel=1e-7, abs=1e-7)
    found = [fits.add_derivatives(np.ones(60), np.zeros((60, 60)), np.zeros(1)) for fits in (alone, together)]
    assert found[0][0] == pytest.approx(found[1][0], rel=1e-6, abs=1e-6 * np.max(np.abs(found[1][0])))
    assert found[0][1] == pytest.approx(found[1][1], rel=1e-6)


def test_of_equal_rows_one_is_left_out(form):
    _, K, y = random_problem(4)
    counts = np.random.default_rng(5).integers(1, 4, size=14)
    repeated = np.repeat(np.arange(14), counts)
    options = {"weights": counts.astype(float), "row_counts": counts.astype(float)}
    one = read(form(K), y, 20.0, rows=range(14), **options)
    K_, y_ = K[np.ix_(repeated, repeated)], y[repeated]
    assert one.value == pytest.approx(exact_loss(K_, y_, 20.0), rel=1e-7)


def test_a_row_without_which_a_class_is_empty_keeps_its_one_step(form):
    _, K, _ = random_problem(6)
    y = np.where(np.arange(14) == 3, 1.0, -1.0)
    solution = solve(form(K), y, 5.0)
    assert list(Refits.of(solution.columns[0], (3, 4)).rows) == [4]
    assert LOO((3,))(solution).value == LOO()(solution).value


def test_no_row_is_doubtful_where_the_loss_is_nearly_quadratic():
    _, K, y = random_problem(7, n=40)
    solution = solve(DenseGram(K), y, 1e-3)
    changes, total = second_step_changes(solution.columns[0])
    # With C = 1e-3 the outputs move by 1e-3, and second steps by the square of that.
    assert np.sum(changes) < 1e-2 * total
    assert np.max(changes) < 1e-4 * total
    assert LOO().corrected(solution) == LOO()


@pytest.mark.parametrize("C", [1e-1, 1e1, 1e3])
@pytest.mark.parametrize("seed", range(4))
def test_second_steps_keep_to_their_bounds(seed, C):
    X, y = nearly_separable(seed, 1.0, n=80)
    column = solve(DenseGram(RBF(4.0)(X)), y, C).columns[0]
    bounds, steps = second_step_bounds(column), second_steps(column, np.arange(80))
    known = np.isfinite(bounds)
    # Over a step of half their own scale curvatures grow by a factor of exp(1/2) at most.
    assert np.all(np.abs(steps[known]) <= np.exp(0.5) * bounds[known])
    assert known.any()


@pytest.mark.parametrize("C", [1e-1, 1e1, 1e3])
def test_rows_that_are_not_asked_change_the_loss_by_less_than_a_thousandth(C):
    X, y = nearly_separable(0, 1.0, n=80)
    column = solve(DenseGram(RBF(4.0)(X)), y, C).columns[0]
    u, loss = one_step_outputs(column), column.machine.loss
    exact = np.abs(loss.value(y, u + second_steps(column, np.arange(80))) - loss.value(y, u))
    changes, total = second_step_changes(column)
    # The bounds are those of the leading order: twice the fraction is a bound of all orders.
    assert np.sum(np.abs(changes - exact)) <= 2 * NEGLIGIBLE_CHANGES * total


@pytest.mark.parametrize("C", [1e2, 1e4, 1e6])
@pytest.mark.parametrize("seed", range(4))
def test_with_the_doubtful_rows_refitted_the_value_is_within_five_per_cent(seed, C):
    X, y = nearly_separable(seed, 1.0, n=80)
    solution = solve(DenseGram(RBF(4.0)(X)), y, C)
    corrected = LOO().corrected(solution)
    exact = LOO(tuple(range(80)))(solution)
    assert corrected(solution).value == pytest.approx(exact.value, rel=0.05)


def test_the_parts_report_leverage_and_refits():
    X, y = nearly_separable(2, 1.0, n=60)
    solution = solve(DenseGram(RBF(4.0)(X)), y, 1e6)
    parts = LOO(ROWS)(solution).parts
    column = solution.columns[0]
    assert parts["max_leverage"] == pytest.approx(np.max(column.w * column.V), rel=1e-6)
    assert parts["refitted_rows"] == len(ROWS)
    assert LOO()(solution).parts["refitted_rows"] == 0


def test_a_criterion_that_is_exact_is_not_corrected(two_classes):
    X, y = two_classes
    assert not LOO().approximates(LSSVM())
    solution = LSSVM().solve(DenseGram(RBF(1.0)(X)), y[:, None])
    assert LOO().corrected(solution) == LOO()


def test_a_prior_corrects_the_criterion_inside():
    X, y = make_ripley(80, random_state=1)
    solution = solve(DenseGram(RBF([0.28, 0.73])(X)), np.where(y == 1, 1.0, -1.0), 1e7)
    inner = LOO().corrected(solution)
    assert inner != LOO()
    assert HyperPrior("loo", 2.0).corrected(solution) == HyperPrior(inner, 2.0)


def test_counts_are_corrected_too():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 2))
    y = rng.poisson(np.exp(X[:, 0])).astype(float)
    solution = SmoothMachine(Poisson(), C=1e3).solve(DenseGram(RBF(0.5)(X)), y[:, None])
    corrected = LOO().corrected(solution)(solution)
    assert corrected.value == pytest.approx(LOO(tuple(range(40)))(solution).value, rel=0.05)


# What a search finds.

TABLES = [(seed, class_sep) for seed in (0, 1, 2) for class_sep in (1.0, 2.0)]


@pytest.mark.parametrize("kernel", ["rbf", "rbf-ard"])
@pytest.mark.parametrize(("seed", "class_sep"), TABLES)
def test_at_the_chosen_point_the_value_is_within_five_per_cent_of_refits(seed, class_sep, kernel):
    X, y = nearly_separable(seed, class_sep)
    found = select(X, y[:, None], kernel=kernel, machine=SmoothMachine(Logistic()), criterion="loo")
    assert_right_at_the_chosen_point(found)


def assert_right_at_the_chosen_point(found):
    exact = LOO(tuple(range(found.solution.gram.n)))(found.solution)
    said = found.reading.parts.get("criterion", found.reading.value)
    assert said == pytest.approx(exact.value, rel=0.05)
    assert found.outcome.best.value == pytest.approx(found.reading.value, rel=1e-4, abs=1e-8)


def test_a_search_that_was_misled_goes_on_with_refits():
    X, y = make_ripley(80, random_state=1)
    Y = np.where(y == 1, 1.0, -1.0)[:, None]
    kernel = RBF([1.0, 1.0], (1e-2, 1e2))
    found = select(X, Y, kernel=kernel, machine=SmoothMachine(Logistic()), criterion="loo")
    assert found.reading.parts["refitted_rows"] > 0
    assert_right_at_the_chosen_point(found)
    one_step = np.mean(np.logaddexp(0, -Y[:, 0] * loo_outputs(found.solution.columns[0])))
    assert abs(one_step / found.reading.value - 1) > 0.05


def test_blocks_of_rows_are_corrected_one_by_one():
    X, y = make_ripley(160, random_state=1)
    Y = np.where(y == 1, 1.0, -1.0)[:, None]
    kernel, machine = RBF([0.28, 0.73]), SmoothMachine(Logistic(), C=1e7)
    blocks = [np.arange(80), np.arange(80, 160)]
    parts = [Objective(kernel, machine, LOO(), DenseBuilder(X[rows]), Y[rows]) for rows in blocks]
    whole = BlockObjective(parts)
    corrected = whole.corrected(parts[0].theta)
    criteria = [part.criterion for part in corrected.objectives]
    assert criteria == [part.corrected(part.theta).criterion for part in parts]
    assert criteria[0] != criteria[1]
    # Where the formula holds, nothing is made anew.
    assert whole.corrected(np.log([0.5, 0.5, 0.1])) is whole


def test_every_column_has_rows_of_its_own(form):
    _, K, y = random_problem(4)
    Y, rows = np.column_stack([y, np.roll(y, 3)]), ((0, 3), (7,))
    gram = form(K)
    found = LOO(rows)(SmoothMachine(Logistic(), C=5.0).solve(gram, Y))
    alone = [LOO(own)(solve(gram, column, 5.0)) for own, column in zip(rows, Y.T, strict=True)]
    assert found.value == pytest.approx(np.mean([one.value for one in alone]), rel=1e-12)
    assert found.slope == pytest.approx(np.mean([one.slope for one in alone], axis=0), rel=1e-9)


def test_a_row_is_refitted_only_where_it_is_doubtful():
    X, y = make_blobs(260, n_features=3, centers=4, cluster_std=3.0, random_state=3)
    Y = np.where(y[:, None] == np.arange(4), 1.0, -1.0)
    solution = SmoothMachine(Logistic(), C=np.exp(6.02)).solve(DenseGram(RBF(np.exp(2.94))(X)), Y)
    rows = LOO().corrected(solution).refit_rows
    alone = [np.flatnonzero(np.isin(np.arange(260), own)) for own in rows]
    assert len(alone) == 4
    assert 0 < max(map(len, alone)) < len(np.unique(np.concatenate(alone))) < sum(map(len, alone))


@pytest.mark.parametrize("loss", [Poisson(), LogCosh()], ids=["counts", "numbers"])
@pytest.mark.parametrize("C", [1.0, 1e2, 1e4])
def test_refits_of_counts_and_numbers_are_those_one_by_one(loss, C):
    rng = np.random.default_rng(2)
    X = rng.normal(size=(24, 2))
    y = rng.poisson(np.exp(X[:, 0])).astype(float)
    gram = DenseGram(RBF(0.7)(X))
    column = SmoothMachine(loss, C=C).solve(gram, y[:, None]).columns[0]
    found = Refits.of(column, range(24))
    assert list(found.rows) == list(range(24))
    expected = refits_of_their_own(column, range(24))
    assert np.max(np.abs(found.fits.z - expected)) < 1e-7 * (1 + np.max(np.abs(expected)))
    _, slopes = found.add_derivatives(np.ones(24), np.zeros((24, 24)), np.zeros(1))
    outputs = [
        np.sum(Refits.of(SmoothMachine(loss, C=c).solve(gram, y[:, None]).columns[0], range(24)).outputs)
        for c in (C * np.exp(-1e-3), C * np.exp(1e-3))
    ]
    # A difference over 2e-3 errs by the square of that, and by the rounding of its ends.
    assert slopes[0] == pytest.approx((outputs[1] - outputs[0]) / 2e-3, rel=1e-4, abs=1e-4)


def test_a_step_that_conjugate_gradients_do_not_find_is_no_solution(monkeypatch):
    X, y = nearly_separable(1, 1.0, n=60)
    column = solve(DenseGram(RBF(4.0)(X)), y, 1e3).columns[0]
    expected = Refits.of(column, range(60))
    adjoint = expected.add_derivatives(np.ones(60), np.zeros((60, 60)), np.zeros(1))
    monkeypatch.setattr(nearby_fits, "MAX_CONJUGATE_STEPS", 0)
    found = Refits.of(column, range(60))
    assert found.outputs == pytest.approx(expected.outputs, rel=1e-7, abs=1e-7)
    own = found.add_derivatives(np.ones(60), np.zeros((60, 60)), np.zeros(1))
    assert own[0] == pytest.approx(adjoint[0], rel=1e-6, abs=1e-6 * np.max(np.abs(adjoint[0])))
    assert own[1] == pytest.approx(adjoint[1], rel=1e-6)
