"""What every smooth loss owes; a new one joins by a line in ``LOSSES``."""

from itertools import pairwise

import numpy as np
import pytest
from sklearn.linear_model import PoissonRegressor

from foldless.core.errors import Undefined
from foldless.criteria import GACV, KRIC, LOO, AICd, Evidence, KFold, loo_outputs
from foldless.grams import DenseGram, LowRankGram
from foldless.machines import SmoothMachine
from foldless.machines.losses import LogCosh, Logistic, Poisson, SmoothSquaredHinge, Squared
from oracles.klr import (
    Design,
    directional,
    fit,
    newton_outputs,
    random_problem,
    refit_outputs,
    root,
    rounding_error,
    singles,
    slope,
)

LOSSES = {
    "logistic": Logistic(),
    "squared": Squared(),
    "log-cosh": LogCosh(0.7),
    "poisson": Poisson(),
    "squared-hinge": SmoothSquaredHinge(),
}
FORMS = {"dense": DenseGram, "lowrank": lambda K: LowRankGram(root(K))}
CRITERIA = [LOO(), KFold(3), KRIC(), AICd(), Evidence(), Evidence(None)]


@pytest.fixture(params=sorted(LOSSES))
def loss(request):
    return LOSSES[request.param]


@pytest.fixture(params=sorted(FORMS))
def form(request):
    return FORMS[request.param]


@pytest.fixture(params=[True, False], ids=["bias", "plain"])
def bias(request):
    return request.param


def problem(loss, seed=0, n=14):
    """Points and targets of the kind the loss takes."""
    X, K, y = random_problem(seed, n=n)
    rng = np.random.default_rng(seed)
    if isinstance(loss, Poisson):
        y = rng.poisson(np.exp(0.5 + 0.8 * X[:, 0])).astype(float)
    elif not loss.labels:
        y = X[:, 0] + 0.5 * rng.normal(size=n)
        y[-1] += 6
    return K + 0.3 * np.eye(n), y


def solve(loss, gram, y, C=1.5, bias=True, **options):
    return SmoothMachine(loss, C, bias, **options).solve(gram, y[:, None]).columns[0]


def quadruple(loss):
    return lambda y, z: (loss.value(y, z), *loss.derivatives(y, z))


def test_each_derivative_is_that_of_the_one_before(loss):
    _, y = problem(loss)
    z = np.random.default_rng(1).normal(size=len(y)) * 1.5
    z[np.abs(1 - y * z) < 1e-3] += 0.1  # off the corner of the hinge
    functions = [loss.value, *(lambda y, z, k=k: loss.derivatives(y, z)[k] for k in range(3))]
    for f, df in pairwise(functions):
        np.testing.assert_allclose(df(y, z), slope(lambda t, f=f: f(y, z + t), 0.0, 1e-4), atol=1e-7)


def test_losses_are_convex_and_finite_far_away(loss):
    _, y = problem(loss)
    for z in (-800.0, -40.0, 0.3, 40.0, 250.0):
        value, (l1, l2, l3) = loss.value(y, np.full(14, z)), loss.derivatives(y, np.full(14, z))
        assert np.isfinite([value, l1, l2, l3]).all()
        assert np.all(l2 >= 0)


def test_the_start_is_where_the_bias_alone_ends_up(loss):
    """Exactly so, but for log-cosh, whose start is the median: there the residuals have one sign as often."""
    _, y = problem(loss)
    v = np.random.default_rng(2).uniform(0.5, 2.0, 14)
    b = loss.start(y, v)
    if isinstance(loss, LogCosh):
        assert abs(v @ np.sign(y - b)) <= v.max()
    else:
        assert abs(v @ loss.derivatives(y, np.full(14, b))[0]) < 1e-10


@pytest.mark.parametrize("C", [1e-3, 1.5, 300.0])
def test_newton_finds_the_optimum(loss, form, bias, C):
    K, y = problem(loss, 3)
    s, design = solve(loss, form(K), y, C, bias), Design(K, C, bias)
    np.testing.assert_allclose(s.z, design.F @ fit(design, y, np.ones(14), quadruple(loss)), atol=1e-7)
    error, rounding = rounding_error(K, s), 14 * np.finfo(float).eps * np.sum(np.abs(s.a))
    magnified = 1 + C * np.linalg.norm(K, 2) * np.max(s.w)
    assert np.linalg.norm(s.z - K @ s.alpha - s.b) <= magnified * error
    assert abs(s.a.sum()) <= np.sqrt(np.sum(s.w) * np.max(s.w)) * error + rounding or not bias


def test_leave_one_out_is_one_newton_step(loss, form, bias):
    K, y = problem(loss, 4)
    expected = newton_outputs(K, y, 1.5, bias, singles(14), loss=quadruple(loss))
    np.testing.assert_allclose(loo_outputs(solve(loss, form(K), y, bias=bias)), expected, atol=1e-7)


@pytest.mark.parametrize(
    "folds", [singles(14), [np.arange(i, 14, 3) for i in range(3)]], ids=["single", "block"]
)
def test_for_the_squared_loss_leaving_out_is_exact(form, bias, folds):
    K, y = problem(Squared(), 5)
    u = refit_outputs(K, y, 1.5, bias, folds, loss=quadruple(Squared()))
    r = KFold(folds)(solve(Squared(), form(K), y, bias=bias))
    assert r.value == pytest.approx(np.mean((y - u) ** 2) / 2, rel=1e-9)


def test_for_the_squared_hinge_it_is_exact_while_the_support_vectors_stay(bias):
    """The span rule: compare with refits that keep the same support vectors."""
    loss = SmoothSquaredHinge()
    K, y = problem(loss, 6)
    s = solve(loss, DenseGram(K), y, 0.2, bias)
    u, support = loo_outputs(s), s.w > 0
    checked = 0
    for i in range(14):
        v = np.ones(14)
        v[i] = 0
        left = solve(loss, DenseGram(K), y, 0.2, bias, weights=v)
        same = np.delete((left.y * left.z < 1) == support, i).all()
        if same:
            assert u[i] == pytest.approx(left.z[i], abs=1e-9)
            checked += 1
    assert checked >= 7


@pytest.mark.parametrize("criterion", CRITERIA, ids=lambda c: c.name)
def test_derivatives_are_those_of_the_refitted_criterion(loss, form, bias, criterion):
    K, y = problem(loss, 7)
    D = np.random.default_rng(3).normal(size=(14, 14)) * 0.1
    D, v = D + D.T, np.random.default_rng(4).uniform(0.5, 2.0, 14)

    def value(K, C):
        return criterion(solve(loss, DenseGram(K), y, C, bias, weights=v)).value

    r = criterion(solve(loss, form(K), y, 1.5, bias, weights=v))
    G = r.adjoint @ np.eye(14)
    assert np.sum(G * D) == pytest.approx(directional(lambda A: value(A, 1.5), K, D), rel=1e-6, abs=1e-7)
    assert r.slope[0] == pytest.approx(slope(lambda t: value(K, np.exp(t)), np.log(1.5)), rel=1e-6, abs=1e-7)


def test_error_fractions_are_reported_for_labels_only(loss):
    K, y = problem(loss, 8)
    s = solve(loss, DenseGram(K), y)
    assert ("loo_error" in LOO()(s).parts) == loss.labels


@pytest.mark.parametrize("seed", range(4))
def test_separable_data_and_a_large_C_leave_the_squared_hinge_a_fit(form, bias, seed):
    K, _ = problem(SmoothSquaredHinge(), seed)
    y = np.sign(np.random.default_rng(seed).normal(size=14))
    y[:2] = 1, -1
    assert np.all(y * solve(SmoothSquaredHinge(), form(K), y, 1e6, bias).z > 1 - 1e-3)
    s = solve(SmoothSquaredHinge(), form(K), y, 1e3, bias)
    np.testing.assert_allclose(s.z, K @ s.alpha + s.b, atol=1e-7)


def test_outliers_pull_the_log_cosh_no_further_than_its_slope():
    K, y = problem(LogCosh(0.7), 9)
    s = solve(LogCosh(0.7), DenseGram(K), y)
    assert np.max(np.abs(s.a)) <= 0.7
    near = solve(LogCosh(1e4), DenseGram(K), y)
    np.testing.assert_allclose(near.z, solve(Squared(), DenseGram(K), y).z, atol=1e-6)


def test_poisson_agrees_with_a_generalised_linear_model():
    """A linear kernel with C = 1 / (n alpha) is scikit-learn's PoissonRegressor."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    y = rng.poisson(np.exp(X @ [0.5, -0.3, 0.2] + 0.4)).astype(float)
    s = solve(Poisson(), LowRankGram(X), y, C=1 / (60 * 0.01))
    other = PoissonRegressor(alpha=0.01, tol=1e-12, max_iter=10_000, solver="newton-cholesky").fit(X, y)
    np.testing.assert_allclose(np.exp(s.z), other.predict(X), rtol=1e-7)


@pytest.mark.parametrize("bad", [-1.0, 0.5, np.nan, np.inf])
def test_counts_must_be_counts(bad):
    y = np.array([0, 3, bad, 1.0])
    with pytest.raises(ValueError, match=r"y must hold counts 0, 1, 2, \.\.\. for a Poisson loss, got"):
        solve(Poisson(), DenseGram(np.eye(4)), y)


@pytest.mark.parametrize("loss", [Logistic(), SmoothSquaredHinge()])
def test_labels_must_be_signs(loss):
    with pytest.raises(ValueError, match="labels -1 and 1 for this loss, got 0"):
        solve(loss, DenseGram(np.eye(4)), np.array([0, 1, 1, 0.0]))
    with pytest.raises(Undefined, match="only one class"):
        solve(loss, DenseGram(np.eye(4)), np.ones(4))


@pytest.mark.parametrize("loss", [Squared(), LogCosh()])
def test_numbers_must_be_finite(loss):
    with pytest.raises(ValueError, match="finite numbers"):
        solve(loss, DenseGram(np.eye(3)), np.array([0, 1, np.nan]))


def test_only_zero_counts_have_no_rate():
    with pytest.raises(Undefined, match="all counts are zero"):
        solve(Poisson(), DenseGram(np.eye(3)), np.zeros(3))
    assert np.all(solve(Poisson(), DenseGram(np.eye(3)), np.zeros(3), bias=False).z < 0)


def test_delta_must_be_positive():
    with pytest.raises(ValueError, match="delta must be a positive number"):
        LogCosh(0.0)


def test_gacv_is_for_the_logistic_loss():
    K, y = problem(Squared())
    with pytest.raises(Undefined, match="gacv is defined for the logistic loss, got Squared"):
        GACV()(solve(Squared(), DenseGram(K), y))
