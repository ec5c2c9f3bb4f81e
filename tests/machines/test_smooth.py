"""Kernel logistic regression: reference numbers, optimality, invariances, extremes."""

import numpy as np
import pytest
from sklearn.gaussian_process.kernels import RBF

from foldless.core.errors import NotPositiveDefinite, Undefined
from foldless.grams import DenseGram, LowRankGram
from foldless.machines import SmoothMachine, nearby_fits, smooth
from foldless.machines.losses import Logistic
from foldless.machines.smooth import WarmStart, _Problem
from oracles.klr import (
    FOLDS1,
    K1,
    K2,
    Y1,
    Y2,
    Design,
    agrees,
    fit,
    logistic,
    random_problem,
    refit_outputs,
    root,
    rounding_error,
    singles,
)

FORMS = {"dense": DenseGram, "lowrank": lambda K: LowRankGram(root(K))}


@pytest.fixture(params=sorted(FORMS))
def form(request):
    return FORMS[request.param]


def solve(gram, y, C=1.0, bias=True, start=None, **options):
    return SmoothMachine(Logistic(), C=C, bias=bias, **options).solve(gram, y[:, None], start).columns[0]


@pytest.mark.parametrize("C", [1e-3, 1.0, 1e3, 1e6])
@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("width", [0.3, 3.0, 30.0])
def test_a_fit_while_searching_is_right_to_seven_digits(form, C, bias, width):
    """A decrement d bounds the squared error of the outputs by d, weighted with the curvatures; one of 1e-14 per row ends a fit."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    y = np.where(X[:, 0] + 0.3 * rng.normal(size=60) > 0, 1.0, -1.0)
    gram, machine = form(RBF(width)(X)), SmoothMachine(Logistic(), C, bias)
    exact = machine.solve(gram, y[:, None]).columns[0]
    elsewhere = SmoothMachine(Logistic(), 2 * C, bias).solve(gram, y[:, None])
    for start in (None, elsewhere.start):
        found = machine.with_search_accuracy.solve(gram, y[:, None], start).columns[0]
        assert exact.w @ (found.z - exact.z) ** 2 <= 1e-14 * len(y)


def test_reference_fit_of_set_1(form):
    s = solve(form(K1), Y1, C=2.0)
    z = ".2815188955 1.0189847387 .8349059054 .8790621297 .1946762135 -.0774398946 .6495981452 .4271881891"
    V = "1.0048762411 1.2747231935 1.2910824647 1.5578354143 1.3100851939 1.5289352675 .9785369244"
    V += " 1.4304388249"
    assert agrees(s.b, "0.5379532010")
    assert all(agrees(*pair) for pair in zip(s.z, z.split(), strict=True))
    assert all(agrees(*pair) for pair in zip(s.V, V.split(), strict=True))
    assert agrees(s.loss, "4.6004889780")
    assert agrees(s.a @ (s.z - s.b) / 2, "0.2871181082")


@pytest.mark.parametrize(
    ("C", "bias", "loss"),
    [(50.0, True, "2.2996304989"), (2.0, False, "4.6570126546"), (50.0, False, "2.3112769181")],
)
def test_reference_losses_of_set_1(form, C, bias, loss):
    assert agrees(solve(form(K1), Y1, C, bias).loss, loss)


@pytest.mark.parametrize(
    ("C", "bias", "folds", "exact"),
    [
        (2.0, True, singles(8), "8.0481208236"),
        (2.0, True, FOLDS1, "7.0893935688"),
        (50.0, True, singles(8), "24.1426697219"),
        (50.0, True, FOLDS1, "19.0884464908"),
        (2.0, False, singles(8), "7.1669090925"),
        (2.0, False, FOLDS1, "6.4077870446"),
    ],
)
def test_reference_exact_cross_validation_by_refits(form, C, bias, folds, exact):
    total = 0.0
    for rows in folds:  # a weight of zero takes a point out of the fit and leaves its output in
        v = np.ones(8)
        v[rows] = 0
        z = solve(form(K1), Y1, C, bias, weights=v).z
        total += np.sum(np.logaddexp(0, -Y1[rows] * z[rows]))
    assert agrees(total, exact)


def test_a_zero_weight_is_an_absent_row():
    K, y, left = K1, Y1, np.array([0, 1, 3, 4, 5, 7])
    v = np.isin(np.arange(8), left).astype(float)
    kept, gone = solve(DenseGram(K), y, 3.0, weights=v), solve(DenseGram(K).subset(left), y[left], 3.0)
    np.testing.assert_allclose(kept.z[left], gone.z, atol=1e-11)
    np.testing.assert_allclose(kept.z, K[:, left] @ gone.alpha + gone.b, atol=1e-11)


def test_certain_points_of_set_2_make_no_nan(form):
    s = solve(form(K2), Y2, C=1.0)
    assert agrees(s.b, ".1350852765")
    assert s.w[0] < 1e-300
    assert np.isfinite(s.V).all()


@pytest.mark.parametrize(("C", "b"), [(1e6, "4.727308227")])
def test_reference_bias_at_large_C(form, C, b):
    assert agrees(solve(form(K1), Y1, C).b, b, units=5)


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("C", 10.0 ** np.arange(-8, 9, 2))
@pytest.mark.parametrize("problem", ["noisy", "duplicates", "wide", "linear"])
def test_newton_finds_the_optimum_for_every_C(form, bias, C, problem):
    """To rounding, as far as C K and the curvatures magnify it; with a bias the residuals sum to zero."""
    K, y = hard_problem(problem)
    s, design, one = solve(form(K), y, C, bias), Design(K, C, bias), np.ones(len(y))
    z = design.F @ fit(design, y, one)
    error, S, rounding = rounding_error(K, s), np.sqrt(s.w), len(y) * np.finfo(float).eps
    assert np.linalg.norm(S * (s.z - z)) <= np.max(S) * error
    assert np.max(np.abs(s.a + logistic(y, z)[1])) <= np.max(s.w) * error + rounding
    assert (
        abs(s.a.sum()) <= np.linalg.norm(S) * np.max(S) * error + rounding * np.sum(np.abs(s.a)) or not bias
    )


def hard_problem(kind):
    X, K, y = random_problem(3, n=24)
    if kind == "duplicates":  # equal rows, with equal and with opposite labels
        X[1], X[3], X[5] = X[0], X[2], X[4]
        y[3], y[5] = y[2], -y[4]
        K = np.exp(-((X[:, None] - X[None]) ** 2).sum(2))
    if kind == "wide":
        K = np.exp(-((X[:, None] - X[None]) ** 2).sum(2) / 2e4)
    if kind == "linear":
        K = X @ X.T
    return K, y


@pytest.mark.parametrize("bias", [True, False])
def test_outputs_are_those_of_the_reported_coefficients(form, bias):
    _, K, y = random_problem(1)
    s = solve(form(K), y, 7.0, bias)
    np.testing.assert_allclose(s.z, K @ s.alpha + s.b, atol=1e-11)
    np.testing.assert_allclose(s.alpha, 7.0 * s.a)
    assert s.b == 0 or bias


@pytest.mark.parametrize("bias", [True, False])
def test_only_the_product_of_C_and_K_matters(form, bias):
    _, K, y = random_problem(2)
    np.testing.assert_allclose(
        solve(form(40 * K), y, 0.1, bias).z, solve(form(K), y, 4.0, bias).z, atol=1e-11
    )


def test_a_bias_swallows_rank_one_shifts():
    _, K, y = random_problem(2)
    u = np.linspace(0, 50, len(y))
    np.testing.assert_allclose(
        solve(DenseGram(K + u + u[:, None]), y, 4.0).z, solve(DenseGram(K), y, 4.0).z, atol=1e-9
    )


@pytest.mark.parametrize("bias", [True, False])
def test_labels_flip_and_rows_permute(form, bias):
    _, K, y = random_problem(4)
    s, order = solve(form(K), y, 4.0, bias), np.random.default_rng(0).permutation(len(y))
    np.testing.assert_allclose(solve(form(K), -y, 4.0, bias).z, -s.z, atol=1e-11)
    np.testing.assert_allclose(
        solve(form(K[np.ix_(order, order)]), y[order], 4.0, bias).z, s.z[order], atol=1e-10
    )


@pytest.mark.parametrize("bias", [True, False])
def test_integer_weights_are_repeated_rows(form, bias):
    _, K, y = random_problem(5)
    v = np.random.default_rng(1).integers(1, 4, size=len(y))
    rows = np.repeat(np.arange(len(y)), v)
    weighted = solve(form(K), y, 2.0, bias, weights=v.astype(float))
    np.testing.assert_allclose(
        solve(form(K[np.ix_(rows, rows)]), y[rows], 2.0, bias).z, weighted.z[rows], atol=1e-10
    )


@pytest.mark.parametrize("bias", [True, False])
def test_a_warm_start_changes_the_way_and_not_the_end(form, bias):
    _, K, y = random_problem(6, n=30)
    cold = solve(form(K), y, 20.0, bias)
    machine = SmoothMachine(Logistic(), C=20.0, bias=bias)
    near = SmoothMachine(Logistic(), C=15.0, bias=bias).solve(form(K), y[:, None])
    warm = machine.solve(form(K), y[:, None], near.start).columns[0]
    np.testing.assert_allclose(warm.z, cold.z, atol=1e-11)
    assert warm.n_iterations < cold.n_iterations
    wild = solve(form(K), y, 20.0, bias, start=[WarmStart(1e3 * np.sin(np.arange(30.0)))])
    np.testing.assert_allclose(wild.z, cold.z, atol=1e-11)


@pytest.mark.parametrize("bias", [True, False])
def test_a_warm_start_foretells_the_outputs_for_another_C(form, bias):
    _, K, y = random_problem(6, n=30)
    low, mid, high = (solve(form(K), y, C, bias) for C in (5 * np.exp(-1e-3), 5.0, 5 * np.exp(1e-3)))
    # Central differences: their error is that of the third derivative times the square of the step.
    np.testing.assert_allclose(mid.start.growth, (high.z - low.z) / 2e-3, atol=1e-6 * np.max(np.abs(mid.z)))
    far = solve(form(K), y, 50.0, bias)
    foretold = mid.start.outputs(50.0)
    assert np.linalg.norm(foretold - far.z) < np.linalg.norm(mid.z - far.z) / 2


def test_starts_of_parts_are_joined_if_they_cover_all_rows(form):
    _, K, y = random_problem(6, n=30)
    machine, parts = SmoothMachine(Logistic(), C=2.0), [np.arange(0, 30, 2), np.arange(1, 30, 2)]
    starts = [machine.solve(form(K[np.ix_(p, p)]), y[p, None]).start for p in parts]
    (joined,) = machine.joined_start(starts, parts, 30)
    np.testing.assert_array_equal(joined.z[::2], starts[0][0].z)
    warm, cold = (machine.solve(form(K), y[:, None], start).columns[0] for start in ([joined], None))
    np.testing.assert_allclose(warm.z, cold.z, atol=1e-11)
    assert machine.joined_start(starts, parts, 31) is None


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize(
    "gram", [DenseGram(np.zeros((5, 5))), LowRankGram(np.zeros((5, 1)))], ids=["dense", "lowrank"]
)
def test_without_a_kernel_only_the_bias_is_left(gram, bias):
    y = np.array([1, 1, 1, -1, -1.0])
    s = solve(gram, y, 3.0, bias)
    np.testing.assert_allclose(s.z, np.log(3 / 2) if bias else 0.0, atol=1e-12)
    np.testing.assert_allclose(s.V, 1 / s.w.sum() if bias else 0.0, atol=1e-12)


def test_one_class_with_a_bias_has_no_optimum():
    with pytest.raises(Undefined, match="one class"):
        solve(DenseGram(np.eye(4)), np.ones(4))


def test_one_class_without_a_bias_is_fine(form):
    s = solve(form(np.eye(4)), np.ones(4), 2.0, bias=False)
    np.testing.assert_allclose(s.z, 2 * s.a, atol=1e-12)


def test_several_columns_are_solved_side_by_side():
    _, K, y = random_problem(7)
    Y = np.column_stack([y, -y, np.roll(y, 3)])
    s = SmoothMachine(Logistic(), C=2.0).solve(DenseGram(K), Y)
    assert s.alpha.shape == (len(y), 3)
    np.testing.assert_allclose(s.alpha[:, 1], -s.alpha[:, 0], atol=1e-11)
    np.testing.assert_allclose(s.alpha[:, 2], solve(DenseGram(K), Y[:, 2], 2.0).alpha, atol=1e-11)


def five_classes(n=90):
    rng = np.random.default_rng(4)
    X = rng.normal(size=(n, 3))
    y = np.argmax(X @ rng.normal(size=(3, 5)) + rng.normal(size=(n, 5)), axis=1)
    return X, np.where(y[:, None] == np.arange(5), 1.0, -1.0)


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("width", [0.1, 1.0, 20.0])
@pytest.mark.parametrize("C", [1e-8, 1e-2, 1e1, 1e4, 1e6])
def test_columns_together_are_those_of_each(monkeypatch, bias, width, C):
    X, Y = five_classes()
    v = np.random.default_rng(5).uniform(0.5, 2.0, size=len(Y))
    v[:3] = 0.0
    gram, machine = DenseGram(RBF(width)(X)), SmoothMachine(Logistic(), C=C, bias=bias, weights=v)
    alone = machine.solve(gram, Y)
    monkeypatch.setattr(smooth, "LARGE_MIN_ROWS", 50)
    together = machine.solve(gram, Y)
    for one, other in zip(alone.columns, together.columns, strict=True):
        # The decrement, the square of the error in deviations of the outputs, is 1e-20 per row at most. Outputs are sums of n
        # terms of the size of C, and rounding of those is not smaller either way.
        rounding = len(Y) * np.finfo(float).eps * np.max(np.abs(gram.K) @ np.abs(one.alpha))
        error = np.sqrt(np.sum(v) * 1e-20 * np.max(one.V)) + rounding + 1e-12 * np.max(np.abs(one.z))
        assert np.max(np.abs(other.z - one.z)) < 10 * error


def test_columns_together_share_factorisations(monkeypatch):
    X, Y = five_classes()
    gram, machine = DenseGram(RBF(1.0)(X)), SmoothMachine(Logistic(), C=10.0)
    factor, counts = DenseGram.factor, []
    monkeypatch.setattr(DenseGram, "factor", lambda *args: counts.append(1) or factor(*args))
    machine.solve(gram, Y)
    n_alone = len(counts)
    monkeypatch.setattr(smooth, "LARGE_MIN_ROWS", 50)
    machine.solve(gram, Y)
    assert len(counts) - n_alone < Y.shape[1] < n_alone


def test_a_column_that_is_not_found_together_is_found_alone(monkeypatch):
    X, Y = five_classes()
    gram, machine = DenseGram(RBF(1.0)(X)), SmoothMachine(Logistic(), C=10.0)
    expected = machine.solve(gram, Y)
    monkeypatch.setattr(smooth, "LARGE_MIN_ROWS", 50)
    monkeypatch.setattr(nearby_fits, "MAX_NEWTON_STEPS", 1)
    found = machine.solve(gram, Y)
    assert np.array_equal(found.outputs, expected.outputs)
    assert all(column.n_iterations > 0 for column in found.columns)


def test_many_large_columns_do_not_keep_their_factors(monkeypatch):
    X, Y = five_classes()
    gram, machine = DenseGram(RBF(1.0)(X)), SmoothMachine(Logistic(), C=10.0)
    kept = machine.solve(gram, Y).columns[0]
    monkeypatch.setattr(smooth, "KEPT_BYTES", 2 * 5 * 8 * len(X) ** 2 - 1)
    dropped = machine.solve(gram, Y).columns[0]
    for column in (kept, dropped):
        assert np.all(column.one_minus_leverage > 0)
    assert np.array_equal(dropped.V, kept.V)
    assert "factor" in vars(kept)
    assert "factor" not in vars(dropped)
    # Whoever needs it later gets another.
    assert np.array_equal(dropped.covariance(dropped.a), kept.covariance(kept.a))
    assert "factor" in vars(dropped)
    with dropped.holding_factor():
        assert np.all(dropped.V > 0)
        assert "factor" in vars(dropped)
    assert "factor" not in vars(dropped)
    # A single column keeps its own, and a search those of small blocks.
    assert machine.solve(gram, Y[:, :1]).columns[0].keeps_factor
    assert machine.with_search_accuracy.solve(gram, Y).columns[0].keeps_factor
    monkeypatch.setattr(smooth, "TILED_MIN_ROWS", 50)
    assert not machine.with_search_accuracy.solve(gram, Y).columns[0].keeps_factor


def test_a_column_of_one_class_has_no_optimum_among_others_either(monkeypatch):
    X, Y = five_classes()
    Y[:, 2] = -1.0
    monkeypatch.setattr(smooth, "LARGE_MIN_ROWS", 50)
    with pytest.raises(Undefined):
        SmoothMachine(Logistic(), C=10.0).solve(DenseGram(RBF(1.0)(X)), Y)


@pytest.mark.parametrize("C", [0.0, -1.0, np.nan, np.inf])
def test_C_must_be_positive(C):
    with pytest.raises(ValueError, match="C must be positive"):
        SmoothMachine(Logistic(), C=C)


def test_an_indefinite_gram_is_refused():
    with pytest.raises(NotPositiveDefinite, match="smallest eigenvalue"):
        solve(DenseGram(np.array([[1.0, 5.0], [5.0, 1.0]])), np.array([1.0, -1.0]), 10.0, bias=False)


def test_theta_is_the_logarithm_of_C():
    machine = SmoothMachine(Logistic(), C=3.0)
    assert np.isclose(machine.with_theta(machine.theta + np.log(2)).C, 6.0)


def test_oracle_refits_agree_with_the_reference():
    u = refit_outputs(K1, Y1, 2.0, True, singles(8))
    assert agrees(np.sum(np.logaddexp(0, -Y1 * u)), "8.0481208236")


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("seed", range(3))
def test_a_few_points_seen_many_times_with_both_labels_fit_at_any_C(form, bias, seed):
    """Contradictions leave residuals of order 1 that C K must cancel: rounding is then larger than the last step."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(14, 3))[rng.integers(0, 14, size=150)]
    y = np.where(rng.random(150) < 1 / (1 + np.exp(-X[:, 0])), 1.0, -1.0)
    K = np.exp(-((X[:, None] - X[None]) ** 2).sum(2) / 2)
    for C in (1e5, 1e7):
        s, design = solve(form(K), y, C, bias), Design(K, C, bias)
        np.testing.assert_allclose(s.z, design.F @ fit(design, y, np.ones(150)), atol=1e-3)


@pytest.mark.parametrize("bias", [True, False])
def test_a_chord_with_its_own_factors_is_the_newton_step(form, bias):
    _, K, y = random_problem(0)
    machine = SmoothMachine(Logistic(), C=3.0, bias=bias)
    problem = _Problem(form(K), machine, y, np.ones(len(y)))
    start = problem.with_outputs(np.linspace(-1, 1, len(y)))
    state = start.at(start.newton_point())
    np.testing.assert_allclose(state.chord_point(state), state.newton_point(), rtol=0, atol=1e-12)


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("C", [1e2, 1e4, 1e6])
def test_conjugate_gradients_save_factorisations_and_change_no_digit(monkeypatch, bias, C):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(80, 3))
    y = np.where(X[:, 0] + 0.5 * rng.normal(size=80) > 0, 1.0, -1.0)
    gram, machine = DenseGram(RBF(1.0)(X)), SmoothMachine(Logistic(), C=C, bias=bias)
    factor, counts = DenseGram.factor, []
    monkeypatch.setattr(DenseGram, "factor", lambda *args: counts.append(1) or factor(*args))
    plain = machine.solve(gram, y[:, None]).columns[0]
    n_plain = len(counts)
    # As many steps as there are rows solve every system.
    monkeypatch.setattr(smooth, "CONJUGATE_STEPS_PER_ROW", 1.0)
    conjugate = machine.solve(gram, y[:, None]).columns[0]
    assert len(counts) - n_plain < n_plain
    # The decrement, the square of the error in deviations of the outputs, is 80e-20 at most.
    error = np.sqrt(80e-20 * np.max(plain.V)) + 1e-13 * np.max(np.abs(plain.z))
    assert np.max(np.abs(conjugate.z - plain.z)) < 10 * error


def test_the_conjugate_point_with_the_factors_of_the_same_state_is_the_newton_step(monkeypatch):
    _, K, y = random_problem(3)
    monkeypatch.setattr(smooth, "CONJUGATE_STEPS_PER_ROW", 1.0)
    problem = _Problem(DenseGram(K), SmoothMachine(Logistic(), C=3.0), y, np.ones(len(y)))
    state = problem.best_constant()
    other = state.at(state.newton_point())
    for place in (state, other):
        np.testing.assert_allclose(place.conjugate_point(place), place.newton_point(), rtol=1e-8, atol=1e-9)
