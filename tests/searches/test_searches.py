"""What every search owes, and what each one promises besides."""

import warnings

import numpy as np
import pytest

from foldless import searches
from foldless.core.contracts import Box, Evaluation, Stop
from foldless.searches import LBFGS, Grid, HierarchicalGrid, MultiStart, NelderMead

BOX = Box(np.array([-3.0, -2.0]), np.array([3.0, 4.0]))
STARTS = [np.array(s) for s in ([-2.0, 0.0], [2.0, 3.0], [0.0, -1.0])]

# Every search by name, and the combinations that have none.
ALL = {name: kind() for name, kind in searches.BY_NAME.items()} | {
    "multi-start": MultiStart(LBFGS(), 4),
    "multi-start simplex": MultiStart(NelderMead(), 3, given=1),
    "two descents": LBFGS(n_starts=2),
}
# How far from the minimum a search may end: the spacing of the grids, the steps of the random ones.
RESOLUTION = {"grid": 6 / 19, "hierarchical-grid": 6 / 4 / 2**4, "random-walk": 0.1, "hmc-ascent": 0.2}


def every(test):
    return pytest.mark.parametrize("name", ALL)(test)


def smooth(centre, H):
    """A quadratic bowl with its minimum at ``centre``."""

    def evaluate(theta, warm_start=None):
        r = theta - centre
        return Evaluation(float(r @ H @ r) / 2 + 1, lambda: H @ r)

    return evaluate


BOWL = smooth(np.array([0.7, 1.3]), np.array([[2.0, 0.6], [0.6, 1.0]]))


def steep(theta, warm_start=None):
    """A bowl that rises like a fourth power, through which no search walks in a few steps."""
    bowl, r = BOWL(theta), theta - [0.7, 1.3]
    return Evaluation(bowl.value + float(np.sum(r**4)), lambda: bowl.gradient + 4 * r**3)


def without_gradient(evaluate):
    return lambda theta, warm_start=None: Evaluation(evaluate(theta).value)


@every
def test_finds_the_minimum_of_a_smooth_function(name):
    best = ALL[name](BOWL, BOX, STARTS).best
    assert np.max(np.abs(best.theta - [0.7, 1.3])) <= RESOLUTION.get(name, 0.05)


@every
def test_finds_a_minimum_on_the_boundary(name):
    outside = smooth(np.array([5.0, 0.0]), np.eye(2))
    best = ALL[name](outside, BOX, STARTS).best
    assert np.max(np.abs(best.theta - [3.0, 0.0])) <= RESOLUTION.get(name, 0.05)


@every
def test_needs_no_gradient(name):
    best = ALL[name](without_gradient(BOWL), BOX, STARTS).best
    assert np.max(np.abs(best.theta - [0.7, 1.3])) <= RESOLUTION.get(name, 0.05)


@every
def test_never_leaves_the_box(name):
    wild = smooth(np.array([50.0, -80.0]), np.array([[3.0, -1.0], [-1.0, 2.0]]))
    outcome = ALL[name](wild, BOX, [np.array([9.0, 9.0]), *STARTS])
    assert all(np.all(s.theta >= BOX.low) and np.all(s.theta <= BOX.high) for s in outcome.trace)


@every
def test_is_never_worse_than_its_starts(name):
    def rough(theta, warm_start=None):
        return Evaluation(float(np.sin(9 * theta[0]) * np.cos(7 * theta[1])), lambda: np.zeros(2))

    if isinstance(ALL[name], (Grid, HierarchicalGrid)):
        pytest.skip("a grid has no starts")
    best = ALL[name](rough, BOX, STARTS).best
    assert best.value <= min(rough(start).value for start in STARTS)


@every
def test_steps_over_regions_where_the_function_is_undefined(name):
    def holed(theta, warm_start=None):
        if theta[0] > 1.5 or abs(theta[0] + 1.0) < 0.3:
            return Evaluation(np.inf, note="a hole")
        return BOWL(theta)

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        best = ALL[name](holed, BOX, STARTS).best
    assert np.max(np.abs(best.theta - [0.7, 1.3])) <= RESOLUTION.get(name, 0.05)


@every
def test_a_function_defined_nowhere_ends_with_infinity(name):
    outcome = ALL[name](
        lambda t, c=None: Evaluation(np.inf, note="nowhere"), BOX, STARTS, max_evaluations=200
    )
    assert outcome.best.value == np.inf
    assert outcome.best.note == "nowhere"


@every
def test_two_runs_are_equal(name):
    first, second = (ALL[name](BOWL, BOX, STARTS, n_jobs=n_jobs) for n_jobs in (None, 2))
    assert np.array_equal([s.theta for s in first.trace], [s.theta for s in second.trace])
    assert [s.value for s in first.optima] == [s.value for s in second.optima]
    assert first.stop is second.stop


@every
@pytest.mark.parametrize("budget", [1, 2, 7])
def test_keeps_a_budget_and_returns_the_best_within_it(name, budget):
    calls = []

    def evaluate(theta, warm_start=None):
        calls.append(theta)
        return steep(theta)

    outcome = ALL[name](evaluate, BOX, STARTS, max_evaluations=budget)
    assert len(calls) == len(outcome.trace) == budget
    assert outcome.stop is Stop.BUDGET
    assert outcome.best.value == min(steep(theta).value for theta in calls)


@every
def test_the_trace_is_every_evaluation(name):
    calls = []

    def evaluate(theta, warm_start=None):
        calls.append(np.array(theta))
        return BOWL(theta)

    outcome = ALL[name](evaluate, BOX, STARTS)
    assert np.array_equal(calls, [s.theta for s in outcome.trace])
    assert outcome.best.value == min(s.value for s in outcome.trace)
    assert outcome.optima[0].value == outcome.best.value


@every
def test_an_interrupt_returns_the_best_so_far(name):
    calls = []

    def evaluate(theta, warm_start=None):
        if len(calls) == 5:
            raise KeyboardInterrupt
        calls.append(BOWL(theta).value)
        return BOWL(theta)

    outcome = ALL[name](evaluate, BOX, STARTS)
    assert outcome.stop is Stop.INTERRUPTED
    assert outcome.best.value == min(calls)


@every
def test_nothing_to_tune_is_one_evaluation(name):
    empty = Box(np.zeros(0), np.zeros(0))
    outcome = ALL[name](lambda t, c=None: Evaluation(3.0), empty, [np.zeros(0)])
    assert outcome.stop is Stop.NOTHING
    assert [s.value for s in outcome.trace] == [3.0]


@every
def test_without_starts_it_begins_in_the_box(name):
    best = ALL[name](BOWL, BOX, []).best
    assert np.max(np.abs(best.theta - [0.7, 1.3])) <= RESOLUTION.get(name, 0.05)


@every
def test_one_parameter_that_cannot_move_stays(name):
    flat = Box(np.array([-3.0, 2.0]), np.array([3.0, 2.0]))
    best = ALL[name](BOWL, flat, STARTS).best
    assert best.theta[1] == 2.0
    assert best.theta[0] == pytest.approx(0.7 - 0.3 * 0.7, abs=RESOLUTION.get(name, 0.05))


@every
def test_every_search_resumes_from_its_trace(name, tmp_path):
    whole = ALL[name](BOWL, BOX, STARTS)
    half = ALL[name](BOWL, BOX, STARTS, max_evaluations=len(whole.trace) // 2, checkpoint=tmp_path / "run")
    calls = []

    def evaluate(theta, warm_start=None):
        calls.append(theta)
        return BOWL(theta)

    again = ALL[name](evaluate, BOX, STARTS, checkpoint=tmp_path / "run")
    assert np.array_equal([s.theta for s in again.trace], [s.theta for s in whole.trace])
    assert half.stop is Stop.BUDGET
    # The start of a descent may be evaluated once more, for its gradient.
    assert len(calls) - (len(whole.trace) - len(half.trace)) in (0, 1)


def test_descent_with_a_gradient_takes_fewer_evaluations_than_without():
    def valley(theta, warm_start=None):
        a, b = theta
        value = (1 - a) ** 2 + 10 * (b - a * a) ** 2
        return Evaluation(value, lambda: np.array([-2 * (1 - a) - 40 * a * (b - a * a), 20 * (b - a * a)]))

    with_it, without = (search(valley, BOX, STARTS[:1]) for search in (LBFGS(), NelderMead()))
    assert with_it.best.value < 1e-4
    assert without.best.value < 1e-3
    assert len(with_it.trace) < len(without.trace) / 2


def two_wells(theta, warm_start=None):
    a, b = theta
    value = (a * a - 1) ** 2 + 0.2 * a + b * b
    return Evaluation(value, lambda: np.array([4 * a * (a * a - 1) + 0.2, 2 * b]))


WELLS = np.sort(np.roots([4, 0, -4, 0.2]).real)[[0, 2]]


@pytest.mark.parametrize("search", [MultiStart(LBFGS(), 8), MultiStart(NelderMead(), 8), LBFGS(n_starts=3)])
def test_many_starts_keep_every_local_optimum_once(search):
    outcome = search(two_wells, BOX, STARTS)
    assert len(outcome.optima) == 2
    assert np.array([o.theta[0] for o in outcome.optima]) == pytest.approx(WELLS, abs=0.05)
    assert outcome.optima[0].value < outcome.optima[1].value


def test_a_grid_visits_every_point_and_keeps_its_local_optima():
    outcome = Grid(points=(13, 7))(two_wells, BOX, [])
    expected = {(a, b) for a in np.linspace(-3, 3, 13) for b in np.linspace(-2, 4, 7)}
    assert {tuple(s.theta) for s in outcome.trace} == expected
    assert outcome.stop is Stop.EXHAUSTED
    assert [tuple(o.theta) for o in outcome.optima] == [(-1.0, 0.0), (1.0, 0.0)]


def test_the_last_parameter_of_a_grid_moves_along_warm_starts():
    seen = []

    def evaluate(theta, warm_start=None):
        seen.append((tuple(theta), warm_start))
        return Evaluation(0.0, warm_start=tuple(theta))

    Grid(points=(3, 2))(evaluate, BOX, [])
    assert [warm_start for _, warm_start in seen] == [None, seen[0][0], None, seen[2][0], None, seen[4][0]]


@pytest.mark.parametrize("kind", [Grid, HierarchicalGrid])
@pytest.mark.parametrize("points", [1, 2.5, (3,), (3, 4, 5)])
def test_a_grid_refuses_what_is_no_number_of_points(kind, points):
    with pytest.raises(ValueError, match=r"points must be a whole number of at least 2, or 2 of them"):
        kind(points=points)(BOWL, BOX, [])


@pytest.mark.parametrize("kind", [Grid, HierarchicalGrid])
@pytest.mark.parametrize("options", [{}, {"points": 2}])
def test_a_grid_over_many_parameters_is_refused(kind, options):
    with pytest.raises(ValueError, match=r"over 30 parameters would take \d+e\+\d\d .* use search='lbfgs'"):
        kind(**options)(BOWL, Box(np.zeros(30), np.ones(30)), [])


@pytest.mark.parametrize(("p", "points"), [(1, 50), (2, 400), (3, 343), (4, 625)])
def test_a_grid_has_a_few_hundred_points_if_nobody_says(p, points):
    flat = lambda theta, warm_start=None: Evaluation(0.0)
    assert len(Grid()(flat, Box(np.zeros(p), np.ones(p)), []).trace) == points


def test_a_hierarchical_grid_evaluates_no_point_twice():
    outcome = HierarchicalGrid(points=4, levels=6)(BOWL, BOX, [])
    points = [tuple(s.theta) for s in outcome.trace]
    assert len(set(points)) == len(points)


@pytest.mark.parametrize("levels", [0, 1, 3, 6])
def test_each_level_of_a_hierarchical_grid_halves_the_spacing(levels):
    outcome = HierarchicalGrid(points=5, levels=levels)(BOWL, BOX, [])
    spacing = 6 / 4 / 2**levels
    assert np.max(np.abs(outcome.best.theta - [0.7, 1.3])) <= spacing
    finest = np.array([(s.theta - BOX.low) / spacing for s in outcome.trace])
    assert np.allclose(finest, np.round(finest))


def test_a_search_with_less_than_one_start_is_refused():
    with pytest.raises(ValueError, match="n_starts must be at least 1, got 0"):
        LBFGS(n_starts=0)(BOWL, BOX, STARTS)


@pytest.mark.parametrize("unit", [1e-12, 1e-6, 1e9])
def test_lbfgs_does_not_depend_on_the_unit_of_the_criterion(unit):
    def search(unit):
        def evaluate(theta, warm_start=None):
            bowl = (theta[0] - 0.3) ** 2 + 10 * (theta[1] + 1.2) ** 4 + 0.01
            slope = np.array([2 * (theta[0] - 0.3), 40 * (theta[1] + 1.2) ** 3])
            return Evaluation(unit * bowl, lambda: unit * slope)

        return LBFGS()(evaluate, Box(np.full(2, -5.0), np.full(2, 5.0)), [np.array([3.0, 3.0])])

    here, there = search(1.0), search(unit)
    assert there.best.value == pytest.approx(unit * here.best.value, rel=1e-6)
    assert here.best.value == pytest.approx(0.01, rel=0.01)
    assert here.stop == there.stop == Stop.CONVERGED
