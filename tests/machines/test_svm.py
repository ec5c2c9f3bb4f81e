"""Laws of the support vector machines: optimality, other people's solvers, invariances, reference numbers."""

import numpy as np
import pytest
from scipy.linalg import cholesky
from sklearn.gaussian_process.kernels import RBF
from sklearn.svm import SVC, LinearSVC

from foldless.core.errors import JitterWarning, NotPositiveDefinite, Undefined
from foldless.core.linalg import thin_root
from foldless.grams import DenseGram, LowRankGram
from foldless.kernels import gram
from foldless.machines import HingeSVM, SquaredHingeSVM
from foldless.machines.box_qp import active_set as box_solver
from foldless.machines.box_qp.active_set import active_sets, descend, solve_box
from foldless.machines.box_qp.initial_point import initial_point
from foldless.machines.box_qp.primal_newton import Point, falling_ridge, lowest, primal_newton
from foldless.machines.box_qp.problem import FREE, LOWER, BoxQP
from oracles.svm import CASES, GRAMS, POINTS, dense, dual, kernel, low_rank, problem

approx = pytest.approx

MACHINES = [HingeSVM, SquaredHingeSVM]


def fit(machine, K, y, make=dense, start=None):
    return machine.solve(make(K), y[:, None], start).columns[0]


def duality_gap(s):
    """Primal minus dual value, from their definitions."""
    K = s.gram.matmul(np.eye(s.n))
    primal = s.beta @ K @ s.beta / 2 + s.C @ s.loss.value(s.y * (K @ s.beta + s.b))
    square = s.alpha**2 / np.where(s.C > 0, s.C, 1) if s.loss.power == 2 else 0 * s.alpha
    return primal - (s.alpha.sum() - s.beta @ K @ s.beta / 2 - square.sum() / 2)


@pytest.mark.parametrize("make", GRAMS)
@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize(("length", "C"), [(0.5, 1.0), (1.0, 0.1), (1.0, 10.0), (3.0, 300.0)])
def test_the_duality_gap_is_zero(machine, bias, length, C, make):
    K, y = problem(60, seed=3, length=length)
    v = np.random.default_rng(1).uniform(0.3, 2, size=60)
    s = fit(machine(C, bias, v), K, y, make)
    assert abs(duality_gap(s)) <= 1e-9 * max(1, s.F)
    assert not bias or abs(s.beta.sum()) <= 1e-9 * s.alpha.sum()
    assert np.all(s.alpha >= 0)
    assert np.all(s.alpha <= (s.C * (1 + 1e-12) if machine is HingeSVM else np.inf))


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("machine", MACHINES)
def test_a_general_quadratic_programme_agrees(machine, bias):
    K, y = problem(14, seed=5)
    C = np.random.default_rng(0).uniform(0.5, 3, 14)
    s = fit(machine(1.0, bias, C), K, y)
    assert s.alpha == approx(dual(K, y, C, machine.loss.power, bias), abs=2e-6)


@pytest.mark.parametrize("C", [0.3, 5.0])
def test_libsvm_agrees(C):
    K, y = problem(120, seed=2)
    s = fit(HingeSVM(C), K, y)
    svc = SVC(C=C, kernel="precomputed", tol=1e-9).fit(K, y)
    assert s.theta == approx(svc.decision_function(K), abs=1e-5)
    svc = SVC(C=1e10, kernel="precomputed", tol=1e-9).fit(K + np.eye(120) / C, y)
    t = fit(SquaredHingeSVM(C), K, y)
    assert t.theta == approx(K[:, svc.support_] @ svc.dual_coef_[0] + svc.intercept_[0], abs=1e-5)


@pytest.mark.parametrize("C", [0.3, 5.0])
def test_liblinear_on_a_root_agrees(C):
    K, y = problem(50, seed=2, length=0.6)
    F = cholesky(K + 1e-10 * np.eye(50), lower=True)
    options = {"fit_intercept": False, "tol": 1e-10, "max_iter": 500_000, "dual": True}
    hinge = LinearSVC(C=C, loss="hinge", **options).fit(F, y)
    squared = LinearSVC(C=C / 2, loss="squared_hinge", **options).fit(F, y)
    assert fit(HingeSVM(C, False), K, y).theta == approx(F @ hinge.coef_[0], abs=1e-5)
    assert fit(SquaredHingeSVM(C, False), K, y).theta == approx(F @ squared.coef_[0], abs=1e-5)


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("machine", MACHINES)
def test_only_the_product_of_C_and_K_matters(machine, bias):
    K, y = problem(40, seed=1)
    a, b = fit(machine(2.0, bias), K, y), fit(machine(2.0 / 7, bias), 7 * K, y)
    assert b.s == approx(a.s, abs=1e-9)
    assert b.alpha * 7 == approx(a.alpha, abs=1e-8)


@pytest.mark.parametrize("machine", MACHINES)
def test_permutation_and_label_flip(machine):
    K, y = problem(40, seed=1)
    order = np.random.default_rng(0).permutation(40)
    a = fit(machine(2.0), K, y)
    b = fit(machine(2.0), K[np.ix_(order, order)], -y[order])
    assert b.alpha == approx(a.alpha[order], abs=1e-8)
    assert b.theta == approx(-a.theta[order], abs=1e-8)


@pytest.mark.parametrize("machine", MACHINES)
def test_free_bias_is_the_limit_of_a_wide_offset(machine):
    K, y = problem(40, seed=4)
    free, wide = fit(machine(1.0, True), K, y), fit(machine(1.0, False), K + 1e6, y)
    assert wide.s == approx(free.s, abs=1e-4)


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("machine", MACHINES)
def test_low_rank_equals_dense(machine, bias):
    K, y = problem(40, seed=4, length=0.5)
    a, b = fit(machine(3.0, bias), K, y), fit(machine(3.0, bias), K, y, low_rank)
    assert b.alpha == approx(a.alpha, abs=1e-8)
    assert b.theta == approx(a.theta, abs=1e-8)
    assert abs(b.F - a.F) <= 1e-9 * a.F


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("machine", MACHINES)
def test_more_active_points_than_features(machine, bias):
    F = np.random.default_rng(0).normal(size=(400, 6))
    y = np.sign(F[:, 0] + np.random.default_rng(1).normal(size=400))
    s = machine(0.7, bias).solve(LowRankGram(F), y[:, None]).columns[0]
    t = fit(machine(0.7, bias), F @ F.T, y)
    assert s.theta == approx(t.theta, abs=1e-7)
    assert machine is SquaredHingeSVM or s.free.size <= 7


@pytest.mark.parametrize("machine", MACHINES)
def test_a_point_of_weight_zero_takes_no_part(machine):
    K, y = problem(30, seed=6)
    v = np.ones(30)
    v[[3, 11]] = 0
    rest = np.flatnonzero(v)
    s, t = fit(machine(2.0, weights=v), K, y), fit(machine(2.0), K[np.ix_(rest, rest)], y[rest])
    assert s.alpha[rest] == approx(t.alpha, abs=1e-9)
    assert s.theta[[3, 11]] == approx(K[np.ix_([3, 11], rest)] @ t.beta + t.b, abs=1e-9)


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("machine", MACHINES)
def test_path_equals_cold_fits(machine, bias):
    K, y = problem(80, seed=8)
    Cs = np.logspace(-2, 2, 9)
    for solution, C in zip(machine(1.0, bias).path(dense(K), y[:, None], Cs), Cs, strict=True):
        assert solution.columns[0].s == approx(fit(machine(C, bias), K, y).s, abs=1e-8)


@pytest.mark.parametrize("bias", [False, True])
def test_both_rough_starts_and_the_ratio_test_end_at_the_same_optimum(bias):
    K, y = problem(60, seed=9, length=2.0)
    qp = BoxQP(DenseGram(K), y, np.full(60, 20.0), np.zeros(60), bias)
    expected = solve_box(qp)[0]
    ridged = BoxQP(DenseGram(K), y, np.full(60, 20.0), np.full(60, 1e-9), bias)
    assert descend(ridged, np.zeros(60))[0] == approx(expected, abs=1e-4)
    for violation in (1e-2, 1e-4, 1e-6):
        alpha = initial_point(qp, violation)
        single = np.finfo(np.float32).eps * alpha.sum()  # libsvm keeps its kernel in single precision
        assert disagreement(qp, alpha) <= violation + single
    assert active_sets(qp, qp.split(alpha), 20)[0] == approx(expected, abs=1e-6)


def by_newton(qp):
    """The solution by way of larger ridges."""
    *_, (larger, _) = falling_ridge(qp)
    return primal_newton(qp, larger.sets)


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("length, C", [(0.3, 1e2), (1.0, 1e4), (3.0, 1e7)])
def test_newton_on_the_primal_ends_at_the_optimum_of_the_dual(length, C, bias):
    K, y = problem(80, seed=9, length=length)
    qp = BoxQP(DenseGram(K), y, np.full(80, np.inf), np.full(80, 1 / C), bias)
    found, expected = by_newton(qp), descend(qp, np.zeros(80))
    np.testing.assert_array_equal(found.sets, expected.sets)
    # The same system of the same free rows.
    np.testing.assert_array_equal(found.alpha, expected.alpha)
    assert found.b == expected.b


def test_a_line_of_the_primal_is_searched_exactly():
    K, y = problem(50, seed=3, length=0.5)
    rng = np.random.default_rng(0)
    qp = BoxQP(DenseGram(K), y, np.full(50, np.inf), rng.uniform(0.01, 1, 50), True)
    beta, b = rng.normal(size=50), rng.normal()
    start = Point(beta, K @ beta, b)
    sets = np.where(y * (y - start.f - b) > 0, FREE, LOWER).astype(np.int8)
    alpha, b, _ = qp.on(sets)
    end = Point(y * alpha, K @ (y * alpha), b)

    def primal(h):
        beta, f, b = start.towards(end, h)
        r = np.maximum(y * (y - f - b), 0)
        return 0.5 * beta @ f + 0.5 * np.sum(r**2 / qp.ridge)

    h, step = lowest(qp, sets, start, end), 1e-5
    assert 0 < h != 1
    # Central differences are exact for a quadratic but for rounding, 1e-16 P / step, and no piece of the line is shorter than that.
    slope = (primal(h + step) - primal(h - step)) / (2 * step)
    assert abs(slope) <= 1e-10 * primal(h)
    assert primal(h) < min(primal(h - 0.1), primal(h + 0.1))


def test_newton_does_not_go_in_circles_where_full_steps_do():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 5))
    y = np.sign(X[:, 0] * X[:, 1])
    qp = BoxQP(DenseGram(RBF(10.0)(X)), y, np.full(300, np.inf), np.full(300, 1e-4), True)
    assert active_sets(qp, np.zeros(300, dtype=np.int8), 20) is None
    assert np.array_equal(by_newton(qp).sets, descend(qp, np.zeros(300)).sets)


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("C", [1e-2, 1.0, 1e3, 1e6])
def test_larger_ridges_lead_to_the_sets_of_a_box(bias, C):
    K, y = problem(60, seed=9, length=1.0)
    exact = solve_box(BoxQP(DenseGram(K), y, np.full(60, C), np.full(60, 1e-12), bias))
    found = solve_box(BoxQP(low_rank(K), y, np.full(60, C), np.zeros(60), bias))
    cost, other = (0.5 * (y * a) @ K @ (y * a) - a.sum() for a in (exact.alpha, found.alpha))
    assert not bias or abs(y @ found.alpha) <= 1e-9 * C * 60
    assert other == approx(cost, rel=1e-6)


@pytest.mark.parametrize("seed", range(4))
def test_where_rounding_hides_the_descent_the_outputs_are_known_to_rounding(seed):
    rng = np.random.default_rng(seed)
    X = rng.lognormal(sigma=2.0, size=(400, 3))
    y = np.where((X[:, 0] > 1) == (X[:, 1] > 1), 1.0, -1.0)
    F, C = thin_root(RBF(20.0)(X), 399), 1e7
    outputs = []
    for order in (np.arange(400), rng.permutation(400)):
        s = SquaredHingeSVM(C).solve(LowRankGram(F[order]), y[order, None]).columns[0]
        outputs.append(s.theta[np.argsort(order)])
        # A sum of coefficients as large as these cannot be known better; see BoxQP.tolerance.
        rounding = 100 * 64 * np.finfo(float).eps * np.sum(np.abs(s.alpha))
        assert np.all(s.alpha >= 0)
        assert np.all(s.s[s.sets == LOWER] >= 1 - rounding)
    np.testing.assert_allclose(*outputs, rtol=1e-3, atol=rounding)


def disagreement(qp, alpha):
    """How far apart the biases are that the points ask for (with a bias), or how far from 0 (without): 0 at the optimum."""
    e = qp.y - qp.gram.matmul(qp.y * alpha)
    up = np.where(qp.y > 0, alpha < qp.upper, alpha > 0)  # y alpha may grow: b >= e
    down = np.where(qp.y > 0, alpha > 0, alpha < qp.upper)
    low, high = np.max(e[up]), np.min(e[down])
    return low - high if qp.bias else max(low, -high)


@pytest.mark.parametrize("bias", [False, True])
def test_a_path_over_noisy_labels_needs_no_steps_one_at_a_time(bias, monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 2))
    y = np.where(np.sin(2 * X[:, 0]) + X[:, 1] + 0.7 * rng.normal(size=600) > 0, 1.0, -1.0)
    K, Cs = gram(kernel(1.0, 0.1, [0.5, 0.5]), X), np.logspace(-1, 0.5, 4)
    monkeypatch.setattr(box_solver, "descend", lambda *_: pytest.fail("the active sets did not end"))
    for solution, C in zip(HingeSVM(bias=bias).path(dense(K), y[:, None], Cs), Cs, strict=True):
        column = solution.columns[0]
        assert duality_gap(column) == approx(0, abs=1e-9 * C * 600)
        assert abs(column.beta.sum()) < 1e-9 * C * 600 or not bias


@pytest.mark.parametrize("make", GRAMS)
def test_outputs_of_the_upper_set_are_updated_as_if_computed_anew(make):
    K, y = problem(40, seed=3)
    qp, rng, before = BoxQP(make(K), y, np.full(40, 2.0), np.zeros(40), True), np.random.default_rng(0), None
    for _ in range(5):
        sets = rng.integers(-1, 2, size=40)
        before = qp.bounded(sets, before)
        beta = np.where(sets == 1, 2.0 * y, 0.0)
        assert before[0] == approx(beta)
        assert before[1] == approx(K @ beta, abs=1e-10)


def test_no_free_point_puts_the_bias_in_the_middle():
    K, y = np.eye(4), np.array([1.0, 1, -1, -1])
    s = fit(HingeSVM(0.1), K, y)
    assert s.free.size == 0
    assert s.alpha == approx(np.full(4, 0.1))
    assert s.b == approx(0.0, abs=1e-12)  # admissible: -0.9 <= b <= 0.9
    assert fit(HingeSVM(10.0), K, y).free.size > 0


def test_duplicates_get_a_reported_jitter():
    K, y = problem(12, seed=1)
    twice = np.r_[np.arange(12), np.arange(12)]
    with pytest.warns(JitterWarning):
        s = fit(HingeSVM(30.0), K[np.ix_(twice, twice)], y[twice])
    assert s.jitter == approx(1e-10)
    assert s.theta[:12] == approx(fit(HingeSVM(60.0), K, y).theta, abs=1e-6)


def test_errors_say_what_is_wrong():
    K, y = problem(10)
    with pytest.raises(ValueError, match="C must be positive"):
        HingeSVM(0.0)
    with pytest.raises(ValueError, match="must not be negative"):
        HingeSVM(1.0, weights=-np.ones(10))
    with pytest.raises(Undefined, match="both classes"):
        fit(HingeSVM(), K, np.ones(10))
    for machine in MACHINES:
        with pytest.raises(NotPositiveDefinite, match="positive semi-definite"):
            fit(machine(), K - 0.5 * np.eye(10), y)


REFERENCES = {  # section 10 of the specification
    ("A", HingeSVM): (
        [1.5, 0, 0.3028363544, 1.1978723862, 0, 1.0585404665, 0, 1.5],
        [0.1043283770, 1.0231727498, 1, 1, 1.0483650725, 1, 1.3307602340, 0.8164487528],
        3.5890417562,
    ),
    ("A", SquaredHingeSVM): (
        [1.0795820014, 0.2681027239, 0.2058968551, 0.6369611855, 0.1260626955, 0.5350828177, 0, 0.9109981531],
        None,
        1.8813432160,
    ),
    ("B", HingeSVM): (
        [1.9116333329, 3, 0.7162991977, 2.4084690114, 3, 1.4209289343, 0, 0],
        None,
        11.2570014329,
    ),
    ("B", SquaredHingeSVM): (None, None, 6.8586039236),
}


@pytest.mark.parametrize("make", GRAMS)
@pytest.mark.parametrize(("case", "machine"), REFERENCES)
def test_reference_numbers(case, machine, make):
    y, parameters, C = CASES[case]
    s = fit(machine(C, False), gram(kernel(*parameters), POINTS), y, make)
    alpha, margins, F = REFERENCES[case, machine]
    assert abs(s.F - F) <= 6e-11
    if alpha is not None:
        assert s.alpha == approx(alpha, abs=6e-11)
    if margins is not None:
        assert s.s == approx(margins, abs=6e-11)
    if case == "B" and machine is HingeSVM:
        assert s.s[1] == approx(-1.1264482790, abs=6e-11)


class RoundedQP:
    """One variable whose gradient at zero is negative by rounding, and whose minimum is therefore below zero."""

    y = upper = np.ones(1)
    bias = False

    def __init__(self, gradient):
        self.gradient, self.solved = gradient, 0

    def feasible(self, alpha):
        return alpha

    def split(self, alpha):
        return np.array([LOWER], dtype=np.int8)

    def bounded(self, sets, before):
        return None

    def on(self, sets, bounded):
        self.solved += 1
        return (
            (np.zeros(1), 0.0, np.array([self.gradient]))
            if sets[0] == LOWER
            else (-np.ones(1) * 1e-20, 0.0, np.zeros(1))
        )

    def offended(self, sets, alpha, g):
        return np.where(g < 0, FREE, sets).astype(np.int8)


def test_a_descent_that_rounding_sends_in_circles_ends_at_once():
    qp = RoundedQP(-1e-3)
    with pytest.raises(Undefined, match="did not end"):
        descend(qp, np.zeros(1))
    assert qp.solved == 3
    assert descend(RoundedQP(-1e-8), np.zeros(1)).sets.tolist() == [LOWER]
