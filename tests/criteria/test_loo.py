"""Approximate leave-one-out on smooth machines: numbers, refits, derivatives, invariances, extremes."""

import numpy as np
import pytest

from foldless.criteria import LOO, loo_outputs
from foldless.grams import DenseGram, LowRankGram
from foldless.machines import SmoothMachine
from foldless.machines.losses import Logistic
from oracles.klr import (
    K1,
    K2,
    WIDTH1,
    X1,
    Y1,
    Y2,
    agrees,
    directional,
    newton_outputs,
    random_problem,
    rbf_slope,
    refit_outputs,
    root,
    singles,
    slope,
)
from oracles.units import as_printed

FORMS = {"dense": DenseGram, "lowrank": lambda K: LowRankGram(root(K))}


@pytest.fixture(params=sorted(FORMS))
def form(request):
    return FORMS[request.param]


def solve(gram, y, C=1.0, bias=True, **options):
    return SmoothMachine(Logistic(), C=C, bias=bias, **options).solve(gram, y[:, None])


def read(gram, y, C=1.0, bias=True, **options):
    """Leave-one-out as a sum over the rows."""
    return as_printed(LOO()(solve(gram, y, C, bias, **options)))


def dense(adjoint, n):
    return adjoint @ np.eye(n)


@pytest.mark.parametrize(
    ("C", "bias", "value", "by_C", "by_width"),
    [
        (2.0, True, "7.9658985230", "1.3298124891", "-1.3312961351"),
        (50.0, True, "22.3523093438", "8.3601764263", "-4.9359361784"),
        (2.0, False, "7.1546663502", "1.3669352730", "-0.5539239582"),
        (50.0, False, "20.3483733689", "7.6078543713", "-4.0099946060"),
    ],
)
def test_reference_values_of_set_1(form, C, bias, value, by_C, by_width):
    r = read(form(K1), Y1, C, bias)
    assert agrees(r.value, value)
    assert agrees(r.slope[0], by_C)
    assert agrees(np.sum(dense(r.adjoint, 8) * rbf_slope(X1, WIDTH1)), by_width)


def test_reference_outputs_and_adjoint_of_set_1(form):
    s = solve(form(K1), Y1, 2.0)
    u = "-.2918954776 .5691479853 .2978963378 .2040403321 1.2583864209 1.1110386979 1.4742965961 -.4307816988"
    assert all(agrees(*pair) for pair in zip(loo_outputs(s.columns[0]), u.split(), strict=True))
    G = dense(as_printed(LOO()(s)).adjoint, 8)
    assert agrees(G[0, 0], "-.0879445528")
    assert agrees(G[0, 1], "-.3217192279")


@pytest.mark.parametrize(
    ("C", "value", "first"),
    [(1e6, "150.5330961474", "-19.5648582787"), (1e10, "290.2822740133", None), (1e-4, "6.5157514118", None)],
)
def test_reference_values_at_extreme_C(form, C, value, first):
    s = solve(form(K1), Y1, C)
    assert as_printed(LOO()(s)).value == pytest.approx(float(value), rel=1e-10)
    assert first is None or loo_outputs(s.columns[0])[0] == pytest.approx(float(first), rel=1e-10)


def test_reference_values_of_set_2_with_certain_points(form):
    s = solve(form(K2), Y2, 1.0)
    u = "-729.4128721182 -1.7032909061 -.1211239123 -.5917029750 1.0791284045 .0651625904 1.2060250393"
    u += " 648.6221585162"
    assert all(agrees(*pair, units=3) for pair in zip(loo_outputs(s.columns[0]), u.split(), strict=True))
    r = as_printed(LOO()(s))
    assert agrees(r.value, "4.1285399505")
    assert np.isfinite(r.slope).all()
    assert np.isfinite(dense(r.adjoint, 8)).all()


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("C", [0.3, 20.0])
def test_it_is_one_newton_step_of_the_problem_without_the_point(form, bias, C):
    _, K, y = random_problem(0)
    expected = newton_outputs(K, y, C, bias, singles(len(y)))
    np.testing.assert_allclose(
        loo_outputs(solve(form(K), y, C, bias).columns[0]), expected, rtol=1e-8, atol=1e-9
    )


def test_it_is_close_to_the_refits():
    _, K, y = random_problem(1, n=40)
    exact = np.sum(np.logaddexp(0, -y * refit_outputs(K, y, 1.0, True, singles(40))))
    assert read(DenseGram(K), y, 1.0).value == pytest.approx(exact, rel=0.02)


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("C", [0.05, 3.0, 100.0])
def test_the_adjoint_is_the_derivative_of_the_refitted_criterion(form, bias, C):
    _, K, y = random_problem(2)
    D = np.random.default_rng(3).normal(size=K.shape) * 0.1
    D = D @ D.T  # K plus or minus a little of it stays positive definite
    r = read(form(K + np.eye(len(y))), y, C, bias)
    expected = directional(lambda A: read(DenseGram(A), y, C, bias).value, K + np.eye(len(y)), D, 1e-3)
    assert np.sum(dense(r.adjoint, len(y)) * D) == pytest.approx(expected, rel=1e-7)
    by_C = slope(lambda t: read(DenseGram(K + np.eye(len(y))), y, np.exp(t), bias).value, np.log(C))
    assert r.slope[0] == pytest.approx(by_C, rel=1e-7)


@pytest.mark.parametrize("bias", [True, False])
def test_scaling_moves_the_adjoint_and_leaves_the_value(form, bias):
    _, K, y = random_problem(4)
    plain, scaled = read(form(K), y, 4.0, bias), read(form(40 * K), y, 0.1, bias)
    assert scaled.value == pytest.approx(plain.value, rel=1e-10)
    np.testing.assert_allclose(dense(scaled.adjoint, 14), dense(plain.adjoint, 14) / 40, atol=1e-10)
    assert scaled.slope == pytest.approx(plain.slope, rel=1e-9)
    assert plain.slope[0] == pytest.approx(form(K).inner(plain.adjoint), rel=1e-8)


def test_a_bias_does_not_feel_constants(form):
    _, K, y = random_problem(5)
    r, u = read(form(K), y, 4.0), np.linspace(-1, 20, 14)
    np.testing.assert_allclose(r.adjoint @ np.ones((14, 1)), 0, atol=1e-10)
    assert read(DenseGram(K + u + u[:, None]), y, 4.0).value == pytest.approx(r.value, rel=1e-9)


@pytest.mark.parametrize("bias", [True, False])
def test_labels_flip_and_rows_permute(form, bias):
    _, K, y = random_problem(6)
    r, order = read(form(K), y, 4.0, bias), np.random.default_rng(0).permutation(14)
    flipped, moved = read(form(K), -y, 4.0, bias), read(form(K[np.ix_(order, order)]), y[order], 4.0, bias)
    assert flipped.value == pytest.approx(r.value, rel=1e-10)
    assert moved.value == pytest.approx(r.value, rel=1e-9)
    np.testing.assert_allclose(dense(flipped.adjoint, 14), dense(r.adjoint, 14), atol=1e-9)
    np.testing.assert_allclose(
        dense(moved.adjoint, 14), dense(r.adjoint, 14)[np.ix_(order, order)], atol=1e-8
    )


@pytest.mark.parametrize("C", [1.0, 1e2, 1e4, 1e8])
def test_without_neighbours_and_bias_nothing_is_known(form, C):
    y = np.where(np.arange(40) < 17, 1.0, -1.0)
    s = solve(form(np.eye(40)), y, C, bias=False)
    np.testing.assert_allclose(loo_outputs(s.columns[0]), 0, atol=1e-12 * max(1, np.log(C)) * 10)
    assert LOO()(s).value == pytest.approx(np.log(2), rel=1e-10)


def test_limits_of_a_vanishing_C(form):
    n, r = 8, 5 / 8
    s = solve(form(K1), Y1, 1e-13)
    t = (1 + Y1) / 2
    expected = np.log(r / (1 - r)) - (t - r) / ((n - 1) * r * (1 - r))
    np.testing.assert_allclose(loo_outputs(s.columns[0]), expected, atol=1e-10)
    np.testing.assert_allclose(loo_outputs(solve(form(K1), Y1, 1e-13, bias=False).columns[0]), 0, atol=1e-10)


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("C", [1e-8, 1e-3, 1e3, 1e8])
def test_every_C_gives_finite_numbers_that_do_not_depend_on_the_form(bias, C):
    _, K, y = random_problem(7)
    K[0] = K[1]
    K[:, 0] = K[:, 1]
    K[0, 0] = K[1, 1]  # a duplicated row
    y[:2] = 1, -1
    one, two = read(DenseGram(K), y, C, bias), read(LowRankGram(root(K)), y, C, bias)
    assert np.isfinite([one.value, *one.slope, np.abs(one.adjoint).max()]).all()
    assert one.value == pytest.approx(two.value, rel=1e-7)
    assert one.slope == pytest.approx(two.slope, rel=1e-5, abs=1e-12)


@pytest.mark.parametrize("bias", [True, False])
def test_a_weight_leaves_all_its_copies_out(form, bias):
    """A row of weight v is v equal rows, and leaving it out leaves out all of them: one Newton step."""
    _, K, y = random_problem(8)
    v = np.random.default_rng(1).integers(1, 4, size=14).astype(float)
    u = newton_outputs(K, y, 2.0, bias, singles(14), v)
    r = read(form(K), y, 2.0, bias, weights=v)
    assert r.value == pytest.approx(v @ np.logaddexp(0, -y * u), rel=1e-9)
    assert r.parts["loo_error"] == pytest.approx(v @ (y * u <= 0) / v.sum())
    by_C = slope(lambda t: read(form(K), y, np.exp(t), bias, weights=v).value, np.log(2.0))
    assert r.slope[0] == pytest.approx(by_C, rel=1e-7)


def test_columns_are_averaged():
    _, K, y = random_problem(9)
    other = np.roll(y, 4)
    both = as_printed(
        LOO()(SmoothMachine(Logistic(), C=2.0).solve(DenseGram(K), np.column_stack([y, other])))
    )
    one, two = read(DenseGram(K), y, 2.0), read(DenseGram(K), other, 2.0)
    assert both.value == pytest.approx((one.value + two.value) / 2)
    np.testing.assert_allclose(both.adjoint, (one.adjoint + two.adjoint) / 2)
