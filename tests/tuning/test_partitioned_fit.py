"""Sums over parts of the rows: derivatives, additivity, and left-out outputs against refits."""

import numpy as np
import pytest
from sklearn.gaussian_process.kernels import RBF

from foldless.machines.losses import Logistic, Poisson, SmoothSquaredHinge, Squared
from foldless.tuning.partitioned_fit import (
    KnownFeatures,
    LandmarkFeatures,
    PrimalState,
    feature_sums,
    hessian_roots,
    minimise_sums,
    near_minimum,
    outputs_left_out,
    quadratic_sums,
    row_slopes,
    row_sums,
)

N, C = 60, 1.5
LOSSES = [Squared(), Logistic(), Poisson(), SmoothSquaredHinge()]


@pytest.fixture
def rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N, 2))
    return X, rng.uniform(0.5, 2.0, size=N)


def targets(loss, X):
    z = np.column_stack([X[:, 0] + 0.5 * X[:, 1] ** 2, X[:, 1]])
    if isinstance(loss, Poisson):
        return np.round(np.exp(z))
    return z if isinstance(loss, Squared) else np.where(z > 0.3, 1.0, -1.0)


def features(X, bias=True):
    return LandmarkFeatures.of(RBF(1.0), X[:12], bias)


@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: type(loss).__name__)
def test_gradient_and_hessian_are_derivatives(loss, rows):
    X, v = rows
    Y, phi = targets(loss, X), features(X)
    rng = np.random.default_rng(1)
    beta, step = 0.1 * rng.normal(size=(2, phi.width, 2))
    sums = row_sums(phi, loss, beta, X, Y, v)
    up, down = (row_sums(phi, loss, beta + t * step, X, Y, v).slopes for t in (1e-5, -1e-5))
    assert np.vdot(sums.slopes.gradient, step) == pytest.approx((up.value - down.value) / 2e-5, rel=1e-6)
    changes = (up.gradient - down.gradient) / 2e-5
    for j, expected in enumerate(changes.T):
        H = sums.hessians[min(j, len(sums.hessians) - 1)]
        np.testing.assert_allclose((H + np.tril(H, -1).T) @ step[:, j], expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: type(loss).__name__)
@pytest.mark.parametrize("bias", [True, False])
def test_kernel_values_give_the_slopes_of_features(loss, bias, rows):
    X, v = rows
    Y, phi = targets(loss, X), features(X, bias)
    beta = 0.1 * np.random.default_rng(1).normal(size=(phi.width, 2))
    found, expected = row_slopes(phi, loss, beta, X, Y, v), feature_sums(phi(X), loss, beta, Y, v).slopes
    assert found.value == pytest.approx(expected.value)
    np.testing.assert_allclose(found.gradient, expected.gradient, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(found.curvatures, expected.curvatures)


@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: type(loss).__name__)
@pytest.mark.parametrize("bias", [True, False])
def test_features_that_are_known_serve_as_rows(loss, bias, rows):
    X, v = rows
    Y, phi = targets(loss, X), features(X, bias)
    known, F = KnownFeatures(phi.width, bias), phi.in_strips(X)
    np.testing.assert_array_equal(known.penalty, phi.penalty)
    beta = 0.1 * np.random.default_rng(1).normal(size=(phi.width, 2))
    expected, found = (row_sums(f, loss, beta, part, Y, v) for f, part in ((phi, X), (known, F)))
    np.testing.assert_allclose(found.hessians, expected.hessians)
    np.testing.assert_allclose(found.slopes.gradient, expected.slopes.gradient)
    expected, found = (row_slopes(f, loss, beta, part, Y, v) for f, part in ((phi, X), (known, F)))
    np.testing.assert_allclose(found.gradient, expected.gradient, rtol=1e-9, atol=1e-9)
    roots = hessian_roots(row_sums(phi, loss, beta, X, Y, v), C, phi.penalty)
    expected, found = (
        outputs_left_out(f, loss, C, beta, roots, part, Y, v) for f, part in ((phi, X), (known, F))
    )
    np.testing.assert_allclose(found, expected, rtol=1e-8, atol=1e-9)


def test_most_passes_are_cheap():
    """From the minimum for a third of the rows, with its Hessian, one Hessian of all rows is enough."""
    rng = np.random.default_rng(2)
    X = rng.normal(size=(3000, 2))
    Y, v, phi = targets(Logistic(), X + 0.5 * rng.normal(size=X.shape)), np.ones(3000), features(X)
    passes = []

    def state(X, Y, v, C, name):
        return PrimalState(
            lambda beta: passes.append(f"Hessian of {name}") or row_sums(phi, Logistic(), beta, X, Y, v),
            lambda beta: passes.append(f"slopes of {name}") or row_slopes(phi, Logistic(), beta, X, Y, v),
            C,
            phi.penalty,
            np.zeros((phi.width, 2)),
        )

    everything = state(X, Y, v, C, "all")
    expected = minimise_sums(everything, len(X))
    passes.clear()
    some = state(X[:1000], Y[:1000], v[:1000], 3 * C, "some")
    some = some.at(minimise_sums(some, 1000))
    near = near_minimum(some, everything.at(some.point), len(X))
    np.testing.assert_allclose(minimise_sums(near, len(X)), expected, rtol=1e-6, atol=1e-8)
    assert passes.count("Hessian of all") == 1
    assert passes.count("slopes of all") <= 5


def test_sums_of_parts_add_up(rows):
    X, v = rows
    Y, phi = targets(Logistic(), X), features(X)
    beta = np.random.default_rng(1).normal(size=(phi.width, 2))
    whole = row_sums(phi, Logistic(), beta, X, Y, v)
    parts = [row_sums(phi, Logistic(), beta, X[i], Y[i], v[i]) for i in (slice(0, 25), slice(25, None))]
    total = parts[0] + parts[1]
    assert total.slopes.value == pytest.approx(whole.slopes.value)
    np.testing.assert_allclose(total.slopes.gradient, whole.slopes.gradient)
    np.testing.assert_allclose(total.hessians, whole.hessians)


def test_sums_of_the_squared_loss_at_zero_tell_all_others(rows):
    X, v = rows
    Y, phi = targets(Squared(), X), features(X)
    beta = np.random.default_rng(1).normal(size=(phi.width, 2))
    expected = feature_sums(phi(X), Squared(), beta, Y, v)
    found = quadratic_sums(row_sums(phi, Squared(), np.zeros_like(beta), X, Y, v))(beta)
    assert found.slopes.value == pytest.approx(expected.slopes.value)
    np.testing.assert_allclose(found.slopes.gradient, expected.slopes.gradient, atol=1e-10)


@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: type(loss).__name__)
@pytest.mark.parametrize("bias", [True, False])
def test_left_out_outputs_are_those_of_refits(loss, bias, rows):
    """Exactly for the squared loss, to second order for the others."""
    X, v = rows
    Y, phi = targets(loss, X), features(X, bias)

    def fitted(kept):
        state = PrimalState(
            lambda beta: row_sums(phi, loss, beta, X[kept], Y[kept], v[kept]),
            lambda beta: row_slopes(phi, loss, beta, X[kept], Y[kept], v[kept]),
            C,
            phi.penalty,
            np.zeros((phi.width, 2)),
        )
        return minimise_sums(state, N)

    everything = np.arange(N)
    beta = fitted(everything)
    roots = hessian_roots(row_sums(phi, loss, beta, X, Y, v), C, phi.penalty)
    found = outputs_left_out(phi, loss, C, beta, roots, X, Y, v)[:8]
    refits = np.array([phi(X[[i]])[0] @ fitted(np.delete(everything, i)) for i in range(8)])
    exact = isinstance(loss, Squared)
    changes = np.abs(refits - (phi(X) @ beta)[:8])
    np.testing.assert_array_less(np.abs(found - refits), 1e-7 if exact else 0.3 * changes + 0.02)
