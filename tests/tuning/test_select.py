"""select(): names, stages, budgets, candidates, checkpoints."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.gaussian_process.kernels import RBF, CompoundKernel, ConstantKernel, WhiteKernel

from foldless import criteria, searches
from foldless.core.contracts import Box, Stop
from foldless.core.errors import LandmarkWarning, SearchWarning, Undefined, UnknownName
from foldless.datasets import make_ripley, make_twonorm
from foldless.grams.builders import DenseBuilder
from foldless.kernels import gram
from foldless.machines import LSSVM, SmoothMachine
from foldless.machines.losses import Logistic
from foldless.tuning.lookup import as_criterion, as_kernel, as_search
from foldless.tuning.objective import Objective, left_out_losses
from foldless.tuning.problem import Problem
from foldless.tuning.select import select

MACHINE = SmoothMachine(Logistic())
# Widths so narrow that no landmarks come close to the kernel matrix, and so wide that a few landmarks hold all of it.
NARROW, WIDE = RBF(0.5, (0.3, 0.7)), RBF(30.0, (20.0, 50.0))


@pytest.fixture(scope="module")
def ripley():
    X, y = make_ripley(80, random_state=1)
    return X, np.where(y == 1, 1.0, -1.0)[:, None]


@pytest.fixture(scope="module")
def overlapping():
    """Enough rows that the criterion has one valley; where classes are nearly separable it has several."""
    X, y = make_ripley(200, random_state=1)
    return X, np.where(y == 1, 1.0, -1.0)[:, None]


@pytest.fixture(scope="module")
def larger():
    X, y = make_twonorm(420, n_features=4, random_state=2)
    return X, np.where(y == 1, 1.0, -1.0)[:, None]


def tune(data, **options):
    X, Y = data
    return select(X, Y, **{"kernel": "rbf", "machine": MACHINE, "criterion": "loo", **options})


def thetas(chosen):
    return np.array([step.theta for step in chosen.outcome.trace])


# Names and objects.


def test_a_name_and_its_object_choose_the_same(ripley):
    by_name = tune(ripley)
    by_object = tune(
        ripley, kernel=as_kernel("rbf", ripley[0]), criterion=criteria.LOO(), search=searches.LBFGS()
    )
    assert np.array_equal(thetas(by_name), thetas(by_object))  # the same calls in the same thread
    assert by_name.reading.value == by_object.reading.value


@pytest.mark.parametrize(
    ("option", "words"),
    [
        ({"kernel": "rbff"}, r"kernel must be one of .*rbf.*; got 'rbff'"),
        ({"criterion": "l00"}, r"criterion must be one of .*loo.*; got 'l00'"),
        ({"search": "newton"}, r"search must be one of grid, .*lbfgs.*; got 'newton'"),
        ({"gram": "sparse"}, r"gram must be one of auto, cells, dask, dense, lowrank, nystrom; got 'sparse'"),
    ],
)
def test_an_unknown_name_is_an_error_that_lists_the_known(ripley, option, words):
    with pytest.raises(UnknownName, match=words):
        tune(ripley, **option)


@pytest.mark.parametrize("kernel", [None, 3.0, CompoundKernel([RBF()]), np.eye(2)])
def test_what_is_no_kernel_is_refused(ripley, kernel):
    with pytest.raises(TypeError, match=r"kernel must be a name, an object of sklearn.*; got"):
        tune(ripley, kernel=kernel)


def test_no_candidates_is_an_error(ripley):
    with pytest.raises(ValueError, match="kernel must name at least one candidate"):
        tune(ripley, kernel=[])


def test_n_starts_reaches_the_searches_that_have_starts():
    assert as_search("lbfgs", 3).n_starts == 3
    assert as_search(searches.NelderMead(tolerance=1e-3), 2) == searches.NelderMead(2, 1e-3)
    assert as_search("lbfgs").n_starts == searches.LBFGS().n_starts
    assert as_search("grid", 3) == searches.Grid()


def test_every_search_by_name_reaches_the_same_optimum(ripley):
    best = tune(ripley, n_starts=4).reading.value
    # Log C spans 27.6 and the criterion has two valleys: the grids know C to 0.4 and to 1.5.
    for name, above in {"nelder-mead": 0.001, "hierarchical-grid": 0.02, "grid": 0.1}.items():
        value = tune(ripley, search=name).reading.value
        assert best - 1e-3 <= value <= best * (1 + above), name
    assert as_criterion("loo") == criteria.LOO()


@pytest.mark.parametrize("kernel", ["rbf", "rbf-ard"])
def test_gradients_need_fewer_evaluations_than_a_simplex_for_the_same_value(overlapping, kernel):
    by_gradient, by_simplex = (
        tune(overlapping, kernel=kernel, search=name) for name in ("lbfgs", "nelder-mead")
    )
    # A descent ends when its tolerance, in nats per row, is more than is left to gain.
    tolerance = searches.LBFGS().tolerance
    assert by_gradient.reading.value <= by_simplex.reading.value + tolerance
    assert 2 * len(by_gradient.outcome.trace) < len(by_simplex.outcome.trace)


# The search.


def test_fixed_parameters_are_only_solved(ripley):
    X, Y = ripley
    chosen = tune(ripley, kernel=RBF(0.5, "fixed"), tune_machine=False)
    assert chosen.outcome.stop is Stop.NOTHING
    assert len(chosen.outcome.trace) == 1
    solution = MACHINE.solve(DenseBuilder(X).gram(RBF(0.5)), Y)
    assert chosen.reading.value == pytest.approx(criteria.LOO()(solution).value, rel=1e-12)
    assert chosen.machine.C == 1.0
    assert chosen.kernel == RBF(0.5, "fixed")


def test_fixed_parameters_of_many_rows_are_solved_once(monkeypatch):
    X, y = make_ripley(400, random_state=1)
    data, solved = (X, np.where(y == 1, 1.0, -1.0)[:, None]), []
    solve = SmoothMachine.solve
    monkeypatch.setattr(SmoothMachine, "solve", lambda *args: solved.append(args[1].n) or solve(*args))
    found = tune(data, kernel=RBF(1.0, "fixed"), tune_machine=False)
    assert solved == [400]
    assert [step.n_rows for step in found.outcome.trace] == [400]
    assert found.outcome.best.value == found.reading.value


def test_only_what_is_free_moves(ripley):
    fixed_width = tune(ripley, kernel=RBF(0.5, "fixed"))
    assert thetas(fixed_width).shape[1] == 1
    assert fixed_width.kernel.length_scale == 0.5
    fixed_C = tune(ripley, kernel=ConstantKernel(2.0, "fixed") * RBF(1.0, (0.01, 10)), tune_machine=False)
    assert thetas(fixed_C).shape[1] == 1
    assert fixed_C.machine.C == 1.0
    assert fixed_C.kernel.k1.constant_value == 2.0


def test_bounds_of_a_kernel_are_respected(ripley):
    chosen = tune(ripley, kernel=RBF(3.0, (2.0, 4.0)))
    widths = np.exp(thetas(chosen)[:, 0])
    assert widths.min() >= 2.0 - 1e-12
    assert widths.max() <= 4.0 + 1e-12
    assert chosen.kernel.length_scale == pytest.approx(2.0)  # the best width is far narrower


def test_the_optimum_is_stationary(ripley):
    chosen = tune(ripley, search=searches.LBFGS(tolerance=1e-12))
    assert np.max(np.abs(chosen.objective(chosen.outcome.best.theta).gradient)) < 1e-2


def test_more_starts_than_the_coarse_grid_has_are_drawn_in_the_box(ripley):
    chosen = tune(ripley, n_starts=13)
    assert sum(step.why == "start" for step in chosen.outcome.trace) == 0  # all of them are descended from
    assert chosen.reading.value <= tune(ripley).reading.value + 1e-6


def test_the_problem_fits_again_at_any_optimum(ripley):
    chosen = tune(ripley, n_starts=5)
    for optimum in chosen.outcome.optima:
        solution = chosen.objective.solve(optimum.theta)[2]
        assert criteria.LOO()(solution).value == pytest.approx(optimum.value, rel=1e-3)


def test_sparse_points_give_the_dense_answer(ripley):
    X, Y = ripley
    assert tune((sp.csr_array(X), Y)).reading.value == pytest.approx(tune((X, Y)).reading.value, rel=1e-6)


def test_a_precomputed_matrix_tunes_the_machine_alone(ripley):
    X, Y = ripley
    K = gram(RBF(0.4), X)
    given, computed = tune((K, Y), kernel="precomputed"), tune((X, Y), kernel=RBF(0.4, "fixed"))
    assert given.machine.theta == pytest.approx(computed.machine.theta, abs=1e-9)
    assert given.reading.value == pytest.approx(computed.reading.value, rel=1e-12)


def test_a_criterion_that_is_defined_nowhere_says_why(ripley, monkeypatch):
    def nowhere(self, *args, **kwargs):
        raise Undefined("there is no fit.")

    monkeypatch.setattr(SmoothMachine, "solve", nowhere)
    with pytest.raises(
        Undefined, match="loo is defined at none of the points that were tried: there is no fit"
    ):
        tune(ripley)


# Rows that grow, and the form of the last fit.


@pytest.fixture(scope="module")
def many():
    X, y = make_twonorm(1500, n_features=4, random_state=2)
    return X, np.where(y == 1, 1.0, -1.0)[:, None]


def test_few_rows_are_searched_and_fitted_whole(ripley):
    chosen = tune(ripley)
    assert chosen.form == "whole"
    # Only the starts were evaluated on fewer rows before.
    n_scanned = sum(step.is_scan for step in chosen.outcome.trace)
    assert chosen.steps_on_last_rows == chosen.outcome.trace[n_scanned:]
    assert {step.n_rows for step in chosen.steps_on_last_rows} == {len(ripley[0])}


def test_many_rows_are_searched_in_stages_that_continue_from_the_optima(many):
    chosen = tune(many)
    assert 0 < len(chosen.steps_on_last_rows) < len(chosen.outcome.trace)
    assert {step.n_rows for step in chosen.steps_on_last_rows} == {1500}
    assert chosen.outcome.trace[0].n_rows < 600
    assert chosen.solution.gram.n == 1500


def test_blocks_of_rows_choose_nearly_what_all_rows_do(many):
    X, Y = many
    chosen = tune(many)
    expected = searches.LBFGS()(
        Objective(as_kernel("rbf", X), MACHINE.with_search_accuracy, criteria.LOO(), DenseBuilder(X), Y),
        Box(np.array([-4.0, -6.0]), np.array([8.0, 14.0])),
        [chosen.outcome.best.theta],
    ).best.value
    assert chosen.reading.value == pytest.approx(expected, rel=0.03)


def test_a_smooth_fit_to_many_rows_is_through_landmarks_that_miss_nothing(many):
    smooth, rough = tune(many, kernel=WIDE), tune(many, kernel=NARROW)
    assert smooth.form.endswith("landmarks")
    assert smooth.approximation_gap < 0.03
    assert smooth.reading.value == pytest.approx(
        tune(many, kernel=WIDE, gram="dense").reading.value, rel=1e-3
    )
    assert (rough.form, rough.approximation_gap) == ("whole", 0)


def test_noise_has_no_low_rank_form(larger):
    noisy = RBF() + WhiteKernel(1.0, "fixed")
    assert tune(larger, kernel=noisy).form == "whole"
    with pytest.raises(ValueError, match="cannot hold the WhiteKernel"):
        tune(larger, kernel=noisy, gram="lowrank")


def test_landmarks_that_were_asked_for_are_searched_on_at_last(larger):
    chosen = tune(larger, gram="lowrank", n_components=20)
    assert chosen.form == "20 landmarks"
    last = chosen.steps_on_last_rows[-1]
    assert chosen.objective(last.theta).value == pytest.approx(last.value, rel=1e-4)


def test_more_landmarks_than_rows_is_warned_about(ripley):
    with pytest.warns(LandmarkWarning, match="n_components=100 is more than the 80 rows"):
        chosen = tune(ripley, gram="nystrom", n_components=100)
    assert chosen.approximation_gap == pytest.approx(0, abs=1e-9)
    assert chosen.reading.value == pytest.approx(tune(ripley).reading.value, rel=1e-3)


def test_the_gap_is_what_the_landmarks_leave_out(larger):
    chosen = tune(larger, gram="nystrom", n_components=20)
    lost = 1 - chosen.solution.gram.diag()
    assert chosen.approximation_gap == pytest.approx(np.mean(chosen.solution.precision * lost))
    assert tune(larger, gram="dense").approximation_gap == 0


def test_if_only_the_parameters_are_needed_one_block_is_fitted(many):
    whole, block = (tune(many, kernel=NARROW, fit_all_rows=rows) for rows in (True, False))
    assert np.array_equal(block.outcome.best.theta, whole.outcome.best.theta)
    assert block.solution.gram.n < 600


def test_cells_can_be_asked_for(many):
    X, Y = many
    chosen = tune(many, gram="cells")
    assert "cell" in chosen.form
    assert np.mean(np.sign(chosen.expansion(chosen.kernel, X)) == Y) > 0.9


def test_landmarks_too_few_for_the_kernel_are_warned_about(rng):
    X = rng.uniform(-2, 2, size=(1200, 2))
    Y = np.where(np.sum(np.floor(1.5 * X), axis=1) % 2 == 0, 1.0, -1.0)[:, None]
    with pytest.warns(LandmarkWarning, match="does worse on left-out rows"):
        tune((X, Y), kernel=NARROW, gram="lowrank", n_components=5)


def test_the_guard_fits_the_blocks_that_were_searched_again(many, monkeypatch):
    searched, guarded, on_rows = [], [], Problem.on_rows

    def counted(self, kernel, rows):
        made = on_rows(self, kernel, rows)
        searched.append(made)
        return made

    def recorded(objectives, theta, starts=None):
        guarded.extend(zip(objectives, starts, strict=True))
        return left_out_losses([one for one, _ in guarded], theta, [start for _, start in guarded])

    monkeypatch.setattr(Problem, "on_rows", counted)
    monkeypatch.setattr("foldless.tuning.guard.left_out_losses", recorded)
    chosen = tune(many)
    assert chosen.approximation_gap > 0
    assert len(guarded) > 1
    assert all(start is not None for _, start in guarded)
    assert {id(one.builder) for one, _ in guarded} <= {id(one.builder) for one in searched}


def test_no_random_state_is_the_same_every_time(larger):
    first, second = (tune(larger, gram="nystrom", n_components=30) for _ in range(2))
    assert np.array_equal(first.builder.landmarks, second.builder.landmarks)
    other = tune(larger, gram="nystrom", n_components=30, random_state=np.random.RandomState(5))
    assert not np.array_equal(first.builder.landmarks, other.builder.landmarks)


# Budgets.


@pytest.mark.parametrize("budget", [1, 4, 12])
def test_a_budget_covers_all_stages_and_is_warned_about(many, budget):
    with pytest.warns(SearchWarning, match=f"lbfgs ended after {budget} evaluations. The evaluation budget"):
        chosen = tune(many, kernel=NARROW, max_evaluations=budget)
    assert len(chosen.outcome.trace) == budget
    assert chosen.outcome.stop is Stop.BUDGET


def test_a_time_budget_ends_the_search(larger):
    with pytest.warns(SearchWarning, match="time budget"):
        chosen = tune(larger, time_budget=0.0)
    assert len(chosen.outcome.trace) == 1


@pytest.mark.parametrize(("kind", "n_scanned"), [(SmoothMachine, 7), (LSSVM, 3)])
@pytest.mark.parametrize("fit_all_rows", [True, False])
def test_an_interrupt_keeps_the_best(ripley, monkeypatch, kind, n_scanned, fit_all_rows):
    solve, calls = kind.solve, []

    def interrupted(self, *args, **kwargs):
        calls.append(self)
        if len(calls) == 4:
            raise KeyboardInterrupt
        return solve(self, *args, **kwargs)

    monkeypatch.setattr(kind, "solve", interrupted)
    with pytest.warns(SearchWarning, match="interrupted"):
        chosen = tune(ripley, fit_all_rows=fit_all_rows)
    assert sum(step.is_scan for step in chosen.outcome.trace) == n_scanned
    own = chosen.outcome.trace[n_scanned:] if kind is SmoothMachine else chosen.outcome.trace
    assert len(own) == 3
    assert chosen.outcome.best.value == min(step.value for step in own)
    assert isinstance(chosen.solution.columns[0].machine, SmoothMachine)


def test_watch_sees_every_evaluation_of_every_stage(many):
    seen = []
    chosen = tune(many, watch=seen.append)
    assert tuple(seen) == chosen.outcome.trace


# Candidates.

CANDIDATES = ["linear", "rbf", RBF(0.3, "fixed")]


def test_of_several_kernels_the_lowest_criterion_wins(ripley):
    chosen = tune(ripley, kernel=CANDIDATES)
    alone = [tune(ripley, kernel=kernel).reading.value for kernel in CANDIDATES]
    assert [trial.value for trial in chosen.trials] == pytest.approx(alone, rel=1e-9)
    assert chosen.reading.value == pytest.approx(min(alone), rel=1e-9)


@pytest.mark.parametrize("n_jobs", [1, 2, 3])
def test_candidates_side_by_side_give_the_same(ripley, n_jobs):
    in_turn, together = tune(ripley, kernel=CANDIDATES), tune(ripley, kernel=CANDIDATES, n_jobs=n_jobs)
    # One BLAS thread or several may round differently, by which a search moves no further than its tolerance.
    assert [t.value for t in together.trials] == pytest.approx([t.value for t in in_turn.trials], rel=1e-5)
    assert together.kernel == in_turn.kernel or together.outcome.best.theta == pytest.approx(
        in_turn.outcome.best.theta, abs=1e-2
    )


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_starts_side_by_side_give_the_same(larger, n_jobs):
    in_turn, together = tune(larger, n_starts=3), tune(larger, n_starts=3, n_jobs=n_jobs)
    assert together.reading.value == pytest.approx(in_turn.reading.value, rel=1e-5)
    assert together.outcome.best.theta == pytest.approx(in_turn.outcome.best.theta, abs=1e-2)


def test_candidates_share_the_budget(ripley):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SearchWarning)
        chosen = tune(ripley, kernel=["rbf", "matern"], max_evaluations=14)
    assert [len(trial.outcome.trace) for trial in chosen.trials] == [7, 7]


def test_a_candidate_without_a_criterion_is_passed_over(ripley, monkeypatch):
    solve = SmoothMachine.solve

    def only_unit_diagonals(self, K, *args, **kwargs):
        if K.diag()[0] != 1:
            raise Undefined("not this one.")
        return solve(self, K, *args, **kwargs)

    monkeypatch.setattr(SmoothMachine, "solve", only_unit_diagonals)
    chosen = tune(ripley, kernel=["linear", "rbf"])
    assert isinstance(chosen.kernel, RBF)
    assert chosen.trials[0].value == np.inf
    assert "not this one" in chosen.trials[0].note


# Checkpoints.


def test_a_checkpoint_resumes_over_stages(larger, tmp_path):
    file = tmp_path / "run.jsonl"
    whole = tune(larger, kernel=NARROW)
    with pytest.warns(SearchWarning):
        tune(larger, kernel=NARROW, checkpoint=file, max_evaluations=9)
    evaluated = len(file.read_text().splitlines())
    resumed = tune(larger, kernel=NARROW, checkpoint=file)
    assert resumed.reading.value == pytest.approx(whole.reading.value, rel=1e-6)
    lines = file.read_text().splitlines()
    new = [line for line in lines[evaluated:] if '"theta"' in line]
    assert len(new) == len(resumed.outcome.trace) - 9
    tune(larger, kernel=NARROW, checkpoint=file)
    assert file.read_text().splitlines() == lines


def test_other_data_in_the_same_file_are_another_search(ripley, tmp_path):
    X, Y = ripley
    file, kernel = tmp_path / "run.jsonl", RBF(0.5, (0.1, 2.0))
    tune((X, Y), kernel=kernel, checkpoint=file)
    shuffled = np.roll(Y, 7, axis=0)
    alone = tune((X, shuffled), kernel=kernel).reading.value
    assert tune((X, shuffled), kernel=kernel, checkpoint=file).reading.value == pytest.approx(alone, rel=1e-9)


@pytest.mark.parametrize("n_jobs", [None, 2])
def test_candidates_share_a_checkpoint(ripley, tmp_path, n_jobs):
    file = tmp_path / "run.jsonl"
    first = tune(ripley, kernel=CANDIDATES, checkpoint=file, n_jobs=n_jobs)
    lines = file.read_text().splitlines()
    again = tune(ripley, kernel=CANDIDATES, checkpoint=file)
    assert file.read_text().splitlines() == lines
    assert [t.value for t in again.trials] == pytest.approx([t.value for t in first.trials], rel=1e-6)
