import numpy as np
import pytest
from pytest import approx

from foldless.core.errors import Undefined
from foldless.core.targets import balanced_weights, error_fraction, index_of_plateau_centre
from foldless.criteria import GCV, LOO, CalibratedLOO, Evidence, KFold
from foldless.criteria.calibrated_loo import best_slope
from foldless.grams import DenseGram, LowRankGram, SpectralFactor
from foldless.machines import LSSVM
from oracles import reference_set as ref
from oracles import spectral as oracles

VARIANTS = [(bias, weighted) for bias in (True, False) for weighted in (False, True)]
variants = pytest.mark.parametrize("bias, weighted", VARIANTS)
routes = pytest.mark.parametrize("route", ["cholesky", "spectrum"])
forms = pytest.mark.parametrize("form", ["dense", "lowrank"])
CRITERIA = [LOO(), GCV(), Evidence(), KFold(4, seed=1), KFold([[0, 3], [1, 2, 4, 5], [6], [7, 8, 9, 10, 11]])]
CRITERIA.append(CalibratedLOO())
criteria = pytest.mark.parametrize(
    "criterion", CRITERIA, ids=["loo", "gcv", "evidence", "kfold", "blocks", "calibrated"]
)


@pytest.fixture
def problem(rng):
    X = rng.normal(size=(12, 3))
    K = np.exp(-((X[:, None] - X) ** 2).sum(-1) / 4) + 0.05 * np.eye(12)
    y = np.where(X[:, 0] + 0.5 * rng.normal(size=12) > 0, 1.0, -1.0)
    return K, y, rng.uniform(0.3, 2, size=12)


@pytest.fixture
def rng():
    return np.random.default_rng(7)


def as_gram(K, form):
    return DenseGram(K) if form == "dense" else LowRankGram(np.linalg.cholesky(K))


def array(G, n):
    return G @ np.eye(n)


@variants
@routes
@forms
def test_the_solution_is_that_of_the_bordered_system(problem, bias, weighted, route, form):
    K, y, v = problem
    v = v if weighted else None
    s = LSSVM(2.5, bias, v, route).solve(as_gram(K, form), y[:, None])
    alpha, b = oracles.lssvm(K, y, 0.4, v, bias)
    assert s.alpha[:, 0] == approx(alpha, rel=1e-9, abs=1e-12)
    assert s.b[0] == approx(b, rel=1e-9, abs=1e-10)
    assert s.outputs[:, 0] == approx(K @ alpha + b, rel=1e-9, abs=1e-10)
    assert s.df == approx(np.trace(oracles.hat(K, 0.4, v, bias)), rel=1e-9)


@variants
@routes
@forms
def test_leave_one_out_residuals_are_those_of_n_refits(problem, bias, weighted, route, form):
    K, y, v = problem
    v = v if weighted else None
    s = LSSVM(2.5, bias, v, route).solve(as_gram(K, form), y[:, None])
    left = oracles.left_out(K, y, 0.4, v, bias)
    assert s.loo_outputs[:, 0] == approx(left, rel=1e-8)
    reading = LOO()(s)
    assert reading.value == approx(np.mean((y - left) ** 2), rel=1e-8)
    assert reading.parts["loo_error"] == np.mean(y * left <= 0)


@variants
@forms
def test_blocks_are_left_out_as_by_refits(problem, bias, weighted, form):
    K, y, v = problem
    v = v if weighted else None
    blocks = [[0, 5, 7], [1, 2], [3], [4, 6, 8, 9, 10, 11]]
    reading = KFold(blocks)(LSSVM(2.5, bias, v).solve(as_gram(K, form), y[:, None]))
    left = oracles.left_out(K, y, 0.4, v, bias, blocks)
    assert reading.value == approx(np.mean((y - left) ** 2), rel=1e-8)
    assert reading.parts["kfold_error"] == np.mean(y * left <= 0)


def test_blocks_of_one_point_are_leave_one_out(problem):
    K, y, v = problem
    s = LSSVM(2.5, True, v).solve(DenseGram(K), y[:, None])
    one, other = LOO()(s), KFold(12)(s)
    assert other.value == approx(one.value, rel=1e-10)
    assert other.adjoint == approx(one.adjoint, rel=1e-8, abs=1e-10)


@variants
@routes
@criteria
@forms
def test_adjoint_and_slope_are_the_derivatives(problem, rng, bias, weighted, route, criterion, form):
    K, y, v = problem
    Y = np.column_stack([y, -y, np.where(np.arange(12) % 3, -1.0, 1)])  # several columns share one factor
    machine = LSSVM(1.7, bias, v if weighted else None, route)
    H = rng.normal(size=K.shape)
    H = (H + H.T) / 2
    reading = criterion(machine.solve(as_gram(K, form), Y))
    h = 1e-6  # error O(h^2) against rounding eps / h

    def at(t, u=0.0):
        return criterion(machine.with_theta(machine.theta + u).solve(DenseGram(K + t * H), Y)).value

    assert np.sum(array(reading.adjoint, 12) * H) == approx((at(h) - at(-h)) / (2 * h), rel=1e-5, abs=1e-7)
    assert reading.slope[0] == approx((at(0, h) - at(0, -h)) / (2 * h), rel=1e-5, abs=1e-7)


@criteria
def test_slope_is_the_weighted_trace_of_the_adjoint(problem, criterion):
    K, y, v = problem
    reading = criterion(LSSVM(1.7, True, v).solve(DenseGram(K), y[:, None]))
    assert reading.slope[0] == approx(
        -np.sum(np.diag(reading.adjoint) / v) / 1.7, rel=1e-8
    )  # 7.4, lambda = 1/C


@criteria
@routes
def test_low_rank_from_a_full_factor_is_dense(problem, criterion, route):
    K, y, v = problem
    machine = LSSVM(3.0, True, v, route)
    a = criterion(machine.solve(as_gram(K, "dense"), y[:, None]))
    b = criterion(machine.solve(as_gram(K, "lowrank"), y[:, None]))
    assert b.value == approx(a.value, rel=1e-8)
    assert array(b.adjoint, 12) == approx(a.adjoint, rel=1e-7, abs=1e-8)


@criteria
def test_several_columns_give_the_mean_of_each(problem, criterion):
    K, y, _ = problem
    Y = np.column_stack([y, np.roll(y, 1), np.roll(y, 5)])
    together = criterion(LSSVM(2.0).solve(DenseGram(K), Y))
    apart = [criterion(LSSVM(2.0).solve(DenseGram(K), c[:, None])) for c in Y.T]
    assert together.value == approx(np.mean([a.value for a in apart]), rel=1e-10)
    assert together.adjoint == approx(sum(a.adjoint for a in apart) / 3, rel=1e-8, abs=1e-11)


@criteria
def test_permuting_the_samples_permutes_the_adjoint(problem, criterion, rng):
    K, y, v = problem
    p = rng.permutation(12)
    if isinstance(criterion, KFold):
        blocks = [np.arange(12)[i::4] for i in range(4)]
        criterion, moved = KFold(blocks), KFold([np.argsort(p)[rows] for rows in blocks])
    else:
        moved = criterion
    a = criterion(LSSVM(2.0, True, v).solve(DenseGram(K), y[:, None]))
    b = moved(LSSVM(2.0, True, v[p]).solve(DenseGram(K[np.ix_(p, p)]), y[p, None]))
    assert b.value == approx(a.value, rel=1e-9)
    assert b.adjoint == approx(a.adjoint[np.ix_(p, p)], rel=1e-7, abs=1e-10)


@variants
@forms
def test_the_spectral_factor_has_the_verbs_of_a_cholesky_factor(problem, rng, bias, weighted, form):
    K, _, v = problem
    v = v if weighted else np.ones(12)
    gram = as_gram(K, form)
    one, other = gram.factor(v / 0.3, bias), SpectralFactor(gram.weighted_spectrum(v, bias), v, 0.3, bias)
    M, e, rows = rng.normal(size=(12, 2)), rng.normal(size=12), np.array([3, 1, 8])
    close = {"rel": 1e-8, "abs": 1e-9}
    assert other.solve(M) == approx(one.solve(M), **close)
    assert other.solve(M[:, 0]) == approx(one.solve(M[:, 0]), **close)
    assert other.covariance(M) == approx(one.covariance(M), **close)
    assert other.logdet() == approx(one.logdet(), **close)
    assert other.inverse_diag() == approx(one.inverse_diag(), **close)
    assert other.covariance_diag() == approx(one.covariance_diag(), **close)
    assert other.trace_inverse() == approx(one.trace_inverse(), **close)
    assert other.sandwich(e) == approx(one.sandwich(e), **close)
    assert array(other.congruence(e), 12) == approx(array(one.congruence(e), 12), **close)
    assert array(other.resolvent(), 12) == approx(array(one.resolvent(), 12), **close)
    assert array(one.resolvent(), 12) == approx(one.solve(np.eye(12)), **close)
    assert one.block(rows) == approx(one.solve(np.eye(12))[np.ix_(rows, rows)], **close)
    assert other.block(rows) == approx(one.block(rows), **close)


@pytest.mark.parametrize("bias", [True, False])
def test_the_path_of_a_singular_gram_is_that_of_single_fits(rng, bias):
    F = rng.normal(size=(15, 4))
    F -= F.mean(axis=0)  # K1 = 0: a null vector that is the bias direction itself
    Y = np.sign(rng.normal(size=(15, 2)))
    v = rng.uniform(0.5, 2, size=15)
    for gram in (DenseGram(F @ F.T), LowRankGram(F)):
        for c, s in zip([0.1, 3.0, 200.0], LSSVM(bias=bias, weights=v).path(gram, Y, [0.1, 3.0, 200.0])):
            single = LSSVM(c, bias, v).solve(DenseGram(F @ F.T), Y)
            assert s.alpha == approx(single.alpha, rel=1e-7, abs=1e-9)
            assert s.b == approx(single.b, rel=1e-7, abs=1e-9)
            assert s.loo_residuals == approx(single.loo_residuals, rel=1e-7)
            assert Evidence()(s).value == approx(Evidence()(single).value, rel=1e-9)


def test_the_path_decomposes_once(problem, monkeypatch):
    K, y, v = problem
    calls, eigh = [], np.linalg.eigh
    monkeypatch.setattr(np.linalg, "eigh", lambda M: calls.append(1) or eigh(M))
    LSSVM(weights=v).path(DenseGram(K), y[:, None], np.logspace(-3, 3, 20))
    assert len(calls) == 1


def test_leave_one_out_does_not_see_the_own_diagonal_entry(problem):
    K, y, _ = problem
    moved = K.copy()
    moved[4, 4] += 0.7
    a, b = (LSSVM(2.0, bias=False).solve(DenseGram(M), y[:, None]).loo_residuals[4, 0] for M in (K, moved))
    assert b == approx(a, rel=1e-9)


def test_limits_of_heavy_regularisation(problem):
    K, y, _ = problem
    s = LSSVM(1e-9, bias=False).solve(DenseGram(K), y[:, None])
    assert s.df == approx(0, abs=1e-7)
    assert LOO()(s).value == approx(1, rel=1e-6)
    assert GCV()(s).value == approx(1, rel=1e-6)
    assert LOO()(LSSVM(3.0, bias=False).solve(DenseGram(np.eye(12)), y[:, None])).value == approx(
        1, rel=1e-12
    )


@pytest.mark.parametrize("bias", [True, False])
def test_scaling_the_targets_scales_gcv_and_shifts_the_evidence(problem, bias):
    K, y, v = problem
    one, other = (LSSVM(2.0, bias, v).solve(DenseGram(K), t * y[:, None]) for t in (1.0, 3.0))
    assert GCV()(other).value == approx(9 * GCV()(one).value, rel=1e-10)
    shift = (12 - bias) * np.log(3) / 12
    assert Evidence()(other).value == approx(Evidence()(one).value + shift, rel=1e-10)


def test_gcv_is_mean_leverage_leave_one_out(problem):
    K, y, v = problem
    H = oracles.hat(K, 0.5, v)
    rho = np.sqrt(v) * (y - H @ y)
    expected = 12 * rho @ rho / (12 - np.trace(H)) ** 2
    assert GCV()(LSSVM(2.0, True, v).solve(DenseGram(K), y[:, None])).value == approx(expected, rel=1e-9)


REFERENCE = {
    "plain": (None, 4.1201691687e-01, 1.8444814467e-01, 2.2564402505e-01, 1.6241200868e00, -2.8734575859e-01,
              3.4761191577e-02, -1.1157402554e-02, 0.625, 3.7613965368e00, 2.1966426661e01, 1.5999091217e00),
    "balanced": ("balanced", 2.6614165174e-01, 2.3311759836e-01, 3.2643707430e-01, 1.6830417317e00, -2.7949347480e-01,
                 4.2169872773e-02, -2.4371248063e-02, 0.5, 3.6897322194e00, 2.2317145853e01, 1.6262635837e00),
}  # fmt: skip


@routes
@pytest.mark.parametrize("case", REFERENCE)
def test_reference_numbers(case, route):
    weights, b, alpha, residual, press, slope, g11, g12, error, df, reml, free = REFERENCE[case]
    s = LSSVM(2.0, True, weights, route).solve(DenseGram(ref.K), ref.labels[:, None])
    reading = LOO()(s)
    digits = {"rel": 2e-10}
    assert s.b[0] == approx(b, **digits)
    assert s.alpha[0, 0] == approx(alpha, **digits)
    assert s.loo_residuals[0, 0] == approx(residual, **digits)
    assert reading.value == approx(press, **digits)
    assert -reading.slope[0] == approx(slope, **digits)
    assert reading.adjoint[0, :2] == approx([g11, g12], **digits)
    assert reading.parts["loo_error"] == error
    assert s.df == approx(df, **digits)
    assert Evidence()(s).parts["total"] == approx(reml, **digits)
    assert Evidence()(s).value == approx(reml / (2 * len(ref.labels)), **digits)
    assert LOO()(
        LSSVM(2.0, False, weights, route).solve(DenseGram(ref.K), ref.labels[:, None])
    ).value == approx(free, **digits)


def test_errors_of_several_columns_need_a_strict_winner():
    Y = np.array([[1.0, -1, -1], [-1, 1, -1], [-1, -1, 1]])
    Z = np.array([[0.2, 0.1, 0.0], [0.5, 0.5, 0.0], [0.1, 0.2, 0.0]])
    assert error_fraction(Y, Z) == approx(2 / 3)
    assert error_fraction(Y[:, :1], np.zeros((3, 1))) == 1.0


def test_the_middle_of_a_plateau_wins():
    assert index_of_plateau_centre([3, 1, 1, 1, 2]) == 2
    assert index_of_plateau_centre([1, 3, 1, 1, 1, np.nan]) == 3
    assert index_of_plateau_centre([0.5]) == 0


def test_balanced_weights_give_classes_the_same_total():
    Y = np.full((10, 3), -1.0)
    label = np.array([0] * 5 + [1] * 4 + [2])
    Y[np.arange(10), label] = 1
    v = balanced_weights(Y)
    assert [v[label == c].sum() for c in range(3)] == approx([10 / 3] * 3)


@pytest.mark.parametrize(
    "options, message",
    [
        ({"C": 0.0}, "C must be positive"),
        ({"C": np.nan}, "C must be positive"),
        ({"weights": "even"}, "'balanced'"),
        ({"route": "magic"}, "route"),
    ],
)
def test_bad_options_are_named(options, message):
    with pytest.raises(ValueError, match=message):
        LSSVM(**options)


def test_bad_weights_and_folds_are_named(problem):
    K, y, _ = problem
    with pytest.raises(ValueError, match="12 positive"):
        LSSVM(weights=np.zeros(12)).solve(DenseGram(K), y[:, None])
    with pytest.raises(ValueError, match="two classes"):
        LSSVM(weights="balanced").solve(DenseGram(K), np.ones((12, 1)))
    s = LSSVM().solve(DenseGram(K), y[:, None])
    with pytest.raises(ValueError, match="between 2"):
        KFold(13)(s)
    with pytest.raises(ValueError, match="disjoint"):
        KFold([[0, 1], [1, 2]])(s)


def test_leave_one_out_without_regularisation_is_undefined(problem):
    K, y, _ = problem
    with pytest.raises(Undefined, match="Lower C"):
        LOO()(LSSVM(1e18, bias=False).solve(DenseGram(K), y[:, None]))


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize(
    "criterion", [LOO(), GCV(), Evidence(), CalibratedLOO()], ids=["loo", "gcv", "evidence", "calibrated"]
)
def test_a_row_that_stands_for_several_is_that_row_repeated(problem, bias, criterion, rng):
    K, y, v = problem
    row_counts = np.array([1, 2, 3, 1, 1, 2, 1, 1, 4, 1, 1, 1])
    rows = np.repeat(np.arange(12), row_counts)
    Y = np.column_stack([y, np.roll(y, 3)])
    short = criterion(
        LSSVM(1.5, bias, v * row_counts, row_counts=row_counts.astype(float)).solve(DenseGram(K), Y)
    )
    long = criterion(LSSVM(1.5, bias, v[rows]).solve(DenseGram(K[np.ix_(rows, rows)]), Y[rows]))
    assert short.value == approx(long.value, rel=1e-9)
    assert short.parts == approx(long.parts, rel=1e-9)
    assert short.slope == approx(long.slope, rel=1e-7)
    Z = np.eye(12)[rows]
    assert short.adjoint == approx(Z.T @ long.adjoint @ Z, rel=1e-7, abs=1e-10)


@pytest.mark.parametrize("criterion", [LOO(), KFold(3), CalibratedLOO()], ids=["loo", "kfold", "calibrated"])
@forms
def test_costs_weigh_the_errors_on_points_left_out(problem, rng, criterion, form):
    K, y, v = problem
    costs, Y = rng.uniform(0.1, 3, size=12), np.column_stack([y, np.roll(y, 2)])
    row_counts = np.array([1.0, 2, 1, 1, 3, 1, 1, 1, 1, 2, 1, 1])
    machine = LSSVM(1.3, True, v * row_counts, row_counts=row_counts, costs=costs)
    solution = machine.solve(as_gram(K, form), Y)
    reading = criterion(solution)
    if isinstance(criterion, LOO):
        expected = np.average(np.mean(solution.loo_residuals**2, axis=1), weights=row_counts * costs)
        assert reading.value == approx(expected, rel=1e-12)
    H = rng.normal(size=K.shape)
    H, h = H + H.T, 1e-6
    up, down = (criterion(machine.solve(DenseGram(K + t * H), Y)).value for t in (h, -h))
    assert np.sum(array(reading.adjoint, 12) * H) == approx((up - down) / (2 * h), rel=1e-5, abs=1e-7)


# Calibrated leave-one-out.


@pytest.mark.parametrize("bias", [True, False])
def test_calibrated_leave_one_out_is_the_best_logarithmic_loss_of_n_refits(problem, bias):
    K, y, _ = problem
    y = np.roll(y, 2)  # a task with errors: some margins left out are negative
    value = CalibratedLOO()(LSSVM(2.0, bias).solve(DenseGram(K), y[:, None])).value
    m = np.empty(12)
    for i in range(12):
        rest = np.delete(np.arange(12), i)
        alpha, b = oracles.lssvm(K[np.ix_(rest, rest)], y[rest], 0.5, None, bias)
        m[i] = y[i] * (K[i, rest] @ alpha + b)
    slopes = np.r_[0, np.logspace(-4, 4, 20001)][:, None]
    losses = np.mean(np.logaddexp(0, -slopes * m) + slopes * m / 14, axis=1)
    assert value == approx(losses.min(), rel=1e-6)


def test_calibrated_leave_one_out_does_not_see_the_scale_of_the_outputs():
    m, count = np.array([2.0, -0.5, 1.0, 0.3]), np.ones(4)
    assert best_slope(3 * m, count, 0.1) == approx(best_slope(m, count, 0.1) / 3, rel=1e-9)


def test_outputs_that_are_mostly_wrong_have_slope_zero_and_cost_log_two(problem):
    K, _, _ = problem
    y = np.where(np.arange(12) % 2, 1.0, -1.0)
    reading = CalibratedLOO()(LSSVM(1e-3).solve(DenseGram(K), y[:, None]))
    assert reading.parts["slope"] == 0
    assert reading.value == approx(np.log(2))


def test_calibrated_leave_one_out_needs_classes(problem, rng):
    with pytest.raises(Undefined, match="needs classes"):
        CalibratedLOO()(LSSVM(1.0).solve(DenseGram(problem[0]), rng.normal(size=(12, 1))))
