"""The multinomial machine: optimality, two classes, leave-one-out by refits, derivatives, invariances."""

import numpy as np
import pytest
from scipy.special import log_softmax, softmax

from foldless.core.errors import Undefined
from foldless.criteria import LOO, loo_outputs
from foldless.grams import DenseGram, LowRankGram
from foldless.machines import SmoothMachine, SoftmaxMachine
from foldless.machines.losses import Logistic
from foldless.machines.softmax import indicators
from oracles.klr import Design, directional, random_problem, rbf, root, slope

FORMS = {"dense": DenseGram, "lowrank": lambda K: LowRankGram(root(K))}


@pytest.fixture(params=sorted(FORMS))
def form(request):
    return FORMS[request.param]


@pytest.fixture(params=[True, False], ids=["bias", "plain"])
def bias(request):
    return request.param


def problem(seed=0, n=15, k=3):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    label = np.digitize(X[:, 0] + 0.6 * rng.normal(size=n), np.linspace(-0.8, 0.8, k - 1))
    label[:k] = np.arange(k)
    return rbf(X, 1.1), np.where(label[:, None] == np.arange(k), 1.0, -1.0)


def solve(gram, Y, C=2.0, bias=True, **options):
    return SoftmaxMachine(C, bias, **options).solve(gram, Y)


def oracle_fit(design, T, v, x=None, rounds=60):
    """All k functions at once, the redundant shift left to least squares; one round is one Newton step."""
    F, D, k = design.F, design.D, T.shape[1]
    x = np.zeros((F.shape[1], k)) if x is None else x
    for _ in range(rounds):
        p = softmax(F @ x, axis=1)
        gradient = (D[:, None] * x - F.T @ (v[:, None] * (T - p))).T.ravel()
        W = np.einsum("nc,cd->ncd", p, np.eye(k)) - p[:, :, None] * p[:, None, :]
        H = np.block([[F.T @ ((v * W[:, c, d])[:, None] * F) for d in range(k)] for c in range(k)])
        H += np.diag(np.tile(D, k))
        step = np.linalg.lstsq(H, -gradient, rcond=1e-13)[0].reshape(k, -1).T

        def objective(x):
            return np.sum(D[:, None] * x**2) / 2 - v @ np.sum(T * log_softmax(F @ x, axis=1), axis=1)

        t = 1.0
        while rounds > 1 and objective(x + t * step) > objective(x) and t > 1e-9:
            t /= 2
        x = x + t * step
    return x


def centred(z):
    return z - z.mean(axis=1, keepdims=True)


@pytest.mark.parametrize("C", [1e-3, 2.0, 500.0])
@pytest.mark.parametrize("k", [2, 3, 5])
def test_newton_finds_the_optimum(form, bias, C, k):
    K, Y = problem(1, k=k)
    s, design = solve(form(K), Y, C, bias), Design(K, C, bias)
    x = oracle_fit(design, indicators(Y), np.ones(15))
    np.testing.assert_allclose(s.z, centred(design.F @ x), atol=1e-7)
    np.testing.assert_allclose(K @ s.alpha + s.b, s.z, atol=1e-8 * max(1, C))
    np.testing.assert_allclose(s.p.sum(axis=1), 1)
    np.testing.assert_allclose(s.z.sum(axis=1), 0, atol=1e-10)


def test_two_classes_are_logistic_regression_with_twice_the_C(form, bias):
    _, K, y = random_problem(2)
    s = solve(form(K), y[:, None], 1.5, bias)
    binary = SmoothMachine(Logistic(), 3.0, bias).solve(form(K), y[:, None])
    column = binary.columns[0]
    np.testing.assert_allclose(s.z[:, 1] - s.z[:, 0], column.z, atol=1e-10)
    np.testing.assert_allclose(np.diff(loo_outputs(s))[:, 0], loo_outputs(column), atol=1e-9)
    ours, theirs = LOO()(s), LOO()(binary)
    assert ours.value == pytest.approx(theirs.value, rel=1e-10)
    assert ours.slope == pytest.approx(theirs.slope, rel=1e-8)
    assert ours.parts["loo_error"] == theirs.parts["loo_error"]
    np.testing.assert_allclose(ours.adjoint @ np.eye(14), theirs.adjoint @ np.eye(14), atol=1e-8)


@pytest.mark.parametrize("C", [0.3, 30.0])
def test_leave_one_out_is_one_newton_step_without_the_point(form, bias, C):
    K, Y = problem(3)
    design, T, n = Design(K, C, bias), indicators(Y), 15
    x, u = oracle_fit(design, T, np.ones(n)), np.empty((n, 3))
    for i in range(n):
        v = np.ones(n)
        v[i] = 0
        u[i] = design.F[i] @ oracle_fit(design, T, v, x, rounds=1)
    np.testing.assert_allclose(loo_outputs(solve(form(K), Y, C, bias)), centred(u), atol=1e-6)


def test_leave_one_out_is_close_to_the_refits():
    K, Y = problem(4, n=40)
    design, T, total = Design(K, 0.5, True), indicators(Y), 0.0
    for i in range(40):
        v = np.ones(40)
        v[i] = 0
        total -= T[i] @ log_softmax(design.F[i] @ oracle_fit(design, T, v, rounds=8))
    assert LOO()(solve(DenseGram(K), Y, 0.5)).value == pytest.approx(total / 40, rel=0.02)


@pytest.mark.parametrize("weighted", [False, True], ids=["even", "weighted"])
@pytest.mark.parametrize("k", [3, 4])
def test_derivatives_are_those_of_the_refitted_criterion(form, bias, k, weighted):
    K, Y = problem(5, k=k)
    K = K + 0.5 * np.eye(15)
    D = np.random.default_rng(0).normal(size=(15, 15)) * 0.2
    D, options = D + D.T, {}
    if weighted:
        row_counts = np.random.default_rng(1).integers(1, 4, 15).astype(float)
        options = {"weights": 1.3 * row_counts, "row_counts": row_counts}
    r = LOO()(solve(form(K), Y, 2.0, bias, **options))
    value = lambda A, C: LOO()(solve(DenseGram(A), Y, C, bias, **options)).value
    G = r.adjoint @ np.eye(15)
    assert np.sum(G * D) == pytest.approx(directional(lambda A: value(A, 2.0), K, D), rel=1e-7)
    assert r.slope[0] == pytest.approx(slope(lambda t: value(K, np.exp(t)), np.log(2.0)), rel=1e-7)
    np.testing.assert_allclose(G, G.T, atol=1e-11)
    if bias:
        np.testing.assert_allclose(G @ np.ones(15), 0, atol=1e-8)


def test_classes_permute_and_rows_permute(form, bias):
    K, Y = problem(6)
    rows = np.random.default_rng(0).permutation(15)
    s = solve(form(K), Y, bias=bias)
    other = solve(form(K[np.ix_(rows, rows)]), Y[rows][:, [2, 0, 1]], bias=bias)
    np.testing.assert_allclose(other.z, s.z[rows][:, [2, 0, 1]], atol=1e-9)
    assert LOO()(other).value == pytest.approx(LOO()(s).value, rel=1e-9)


def test_only_the_product_of_C_and_K_matters(form, bias):
    K, Y = problem(6)
    np.testing.assert_allclose(solve(form(40 * K), Y, 0.1, bias).z, solve(form(K), Y, 4.0, bias).z, atol=1e-9)


def test_integer_weights_are_repeated_rows_and_one_copy_is_left_out(form, bias):
    K, Y = problem(7)
    row_counts = np.random.default_rng(1).integers(1, 4, 15)
    rows = np.repeat(np.arange(15), row_counts)
    v = row_counts.astype(float)
    weighted = solve(form(K), Y, 2.0, bias, weights=v, row_counts=v)
    repeated = solve(form(K[np.ix_(rows, rows)]), Y[rows], 2.0, bias)
    np.testing.assert_allclose(weighted.z[rows], repeated.z, atol=1e-9)
    assert LOO()(weighted).value == pytest.approx(LOO()(repeated).value, rel=1e-8)
    assert LOO()(weighted).slope == pytest.approx(LOO()(repeated).slope, rel=1e-7)


def test_a_warm_start_changes_the_way_and_not_the_end(form):
    K, Y = problem(8)
    cold, near = solve(form(K), Y, 20.0), solve(form(K), Y, 15.0)
    warm = SoftmaxMachine(20.0).solve(form(K), Y, near.start)
    np.testing.assert_allclose(warm.z, cold.z, atol=1e-10)
    assert warm.n_iterations < cold.n_iterations
    wild = SoftmaxMachine(20.0).solve(form(K), Y, 100 * np.sin(np.arange(45.0)).reshape(15, 3))
    np.testing.assert_allclose(wild.z, cold.z, atol=1e-10)


@pytest.mark.parametrize("C", [1e-8, 1e8])
def test_extreme_C_gives_finite_numbers(form, bias, C):
    K, Y = problem(9)
    r = LOO()(solve(form(K), Y, C, bias))
    assert np.isfinite([r.value, *r.slope]).all()
    if C < 1 and not bias:
        assert r.value == pytest.approx(np.log(3), rel=1e-6)


def test_targets_must_name_one_class_per_row():
    with pytest.raises(ValueError, match="exactly one 1 in each row"):
        solve(DenseGram(np.eye(3)), np.array([[1, 1, -1], [-1, 1, -1], [-1, -1, 1.0]]))
    with pytest.raises(Undefined, match="a class has no points"):
        solve(DenseGram(np.eye(2)), np.array([[1, -1, -1], [-1, 1, -1.0]]))
    with pytest.raises(ValueError, match="C must be positive"):
        SoftmaxMachine(-1.0)


def test_a_chord_with_its_own_factors_is_the_newton_step(form, bias):
    K, Y = problem()
    state = solve(form(K), Y, bias=bias).space.at(0.3 * solve(form(K), Y, bias=bias).x)
    np.testing.assert_allclose(state.chord_point(state), state.newton_point(), rtol=0, atol=1e-12)
