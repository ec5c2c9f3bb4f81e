"""Functions that noise hides from blocks of rows are seen in the residuals of a fit to all rows, and searched for."""

import warnings

import numpy as np
import pytest
from sklearn.gaussian_process.kernels import RBF, DotProduct, Matern

from foldless import KernelLogisticRegression, KernelLSSVC, KernelRidgeRegressor, KernelSVC
from foldless.core.parallel import workers
from foldless.criteria.left_out import row_losses, row_residuals
from foldless.machines import LSSVM, HingeSVM, SmoothMachine, SoftmaxMachine, SquaredHingeSVM
from foldless.machines.losses import Logistic, Poisson
from foldless.tuning import fit_after
from foldless.tuning.left_over import LENGTH_FACTORS, MIN_T, LeftOver, left_over, seen_by

KERNEL = RBF(1.0)


def waves(n, noise, seed):
    """Waves in two of three columns, noise, and the waves in rows of their own."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-3, 3, size=(n + 3000, 3))
    f = np.sin(2 * X[:, 0]) + np.cos(2 * X[:, 1])
    y = f + noise * rng.normal(size=len(f))
    return X[:n], y[:n], X[n:], f[n:]


def by_definition(kernel, X, R):
    """Eqs. (1) and (2), pair by pair."""
    K = kernel(X)
    total = squares = 0.0
    S = np.zeros_like(R)
    for i in range(len(X)):
        for j in range(len(X)):
            if i != j:
                h = K[i, j] * (R[i] @ R[j])
                total, squares = total + h, squares + h**2
                S[i] += K[i, j] * R[j]
    return total / np.sqrt(2 * squares), np.sum(R * S) ** 2 / np.sum(S**2) / np.sum(R**2)


@pytest.fixture
def alike(rng):
    """Points, and residuals of two columns that are alike where points are near."""
    X = rng.normal(size=(90, 2))
    return X, np.column_stack([np.sin(3 * X[:, 0]), np.cos(2 * X[:, 1])]) + rng.normal(size=(90, 2))


@pytest.mark.parametrize("kernel", [KERNEL, Matern(0.7, nu=1.5)], ids=str)
@pytest.mark.parametrize("columns", [1, 2])
def test_it_is_what_the_definition_says(kernel, columns, alike, monkeypatch):
    X, R = alike[0], alike[1][:, :columns]
    centred = R - R.mean(axis=0)
    lengths = [kernel.clone_with_theta(kernel.theta + np.log(factor)) for factor in LENGTH_FACTORS]
    expected = max((*by_definition(one, X, centred), one) for one in lengths)
    for size in (256, 7):
        monkeypatch.setattr("foldless.tuning.left_over.STRIP_ROWS", size)
        found = left_over(kernel, X, R, seed=0)
        assert (found.T, found.share) == pytest.approx(expected[:2], rel=1e-10)
        np.testing.assert_allclose(found.kernel.theta, expected[2].theta)


def test_units_of_the_residuals_do_not_matter_and_workers_change_no_digit(alike):
    X, R = alike
    found = left_over(KERNEL, X, R, seed=0)
    for unit in (1e-150, 1e150):
        other = left_over(KERNEL, X, unit * R, seed=0)
        assert (other.T, other.share) == pytest.approx((found.T, found.share), rel=1e-10)
    with workers(2):
        again = left_over(KERNEL, X, R, seed=0)
    assert (again.T, again.share) == (found.T, found.share)


def test_random_signs_have_mean_zero_and_variance_one(rng):
    """Whatever the sizes: for one column the denominator does not depend on the signs."""
    X, size = rng.normal(size=(60, 2)), np.abs(rng.standard_t(3, size=(60, 1)))
    T = np.array([seen_by(KERNEL, X, size * rng.choice([-1, 1], size=size.shape)).T for _ in range(2000)])
    # Four standard errors.
    assert abs(T.mean()) < 4 * T.std() / np.sqrt(len(T))
    assert abs(T.var() - 1) < 4 * np.std((T - T.mean()) ** 2) / np.sqrt(len(T))


def test_where_nothing_can_be_told(alike):
    X, R = alike
    assert left_over(DotProduct(), X, R, seed=0) is None
    assert left_over(RBF(1.0, "fixed"), X, R, seed=0) is None
    assert left_over(KERNEL, X, 0 * R, seed=0) is None
    assert left_over(KERNEL, X, np.inf * R, seed=0) is None


@pytest.mark.parametrize("share", [0.0, 0.2, 1.0])
def test_the_start_of_C_is_the_ratio_of_signal_and_noise(share):
    found = np.exp(LeftOver(KERNEL, 5.0, share).log_C)
    assert found == pytest.approx(np.clip(share, 1e-6, 0.99) / (1 - np.clip(share, 1e-6, 0.99)))


LABELS = np.where(np.arange(12)[:, None] % 3 == np.arange(3), 1.0, -1.0)
COUNTS = (np.arange(36.0) % 5).reshape(12, 3)
CASES = {
    "least squares": (LSSVM(), LABELS, -2.0 / 3),
    "logistic": (SmoothMachine(Logistic()), LABELS, -1.0 / 3),
    "counts": (SmoothMachine(Poisson()), COUNTS, -1.0 / 3),
    "softmax": (SoftmaxMachine(), LABELS, -1.0),
    "hinge": (HingeSVM(), LABELS, -1.0 / 3),
    "squared hinge": (SquaredHingeSVM(), LABELS, -1.0 / 3),
}


@pytest.mark.parametrize(("machine", "Y", "factor"), CASES.values(), ids=CASES)
def test_residuals_are_slopes_of_the_losses(machine, Y, factor, rng):
    """By central differences, which err by the square of the step: 1e-8."""
    outputs, step = rng.normal(size=Y.shape), 1e-4
    for column in range(Y.shape[1]):
        move = step * (np.arange(Y.shape[1]) == column)
        slope = (row_losses(machine, Y, outputs + move) - row_losses(machine, Y, outputs - move)) / (2 * step)
        expected = factor * row_residuals(machine, Y, outputs)[:, column]
        np.testing.assert_allclose(slope, expected, atol=1e-6)


@pytest.fixture
def never_left(monkeypatch):
    """Fits as they were without this search."""
    monkeypatch.setattr(fit_after, "left_over", lambda *_: None)


def missed_share(n=4000, seed=12):
    """Part of the variance of weak waves that a regression misses."""
    X, y, new, f = waves(n, 3.0, seed)
    return np.mean((KernelRidgeRegressor().fit(X, y).predict(new) - f) ** 2) / np.var(f)


def test_a_weak_function_is_found():
    assert missed_share() < 0.5


def test_without_the_residuals_it_is_missed(never_left):
    """If this fails, the problem no longer tests what the law before it says."""
    assert missed_share() > 0.8


@pytest.mark.parametrize("kind", [KernelLogisticRegression, KernelSVC, KernelLSSVC])
def test_a_weak_border_is_found(kind):
    X, y, new, f = waves(12_000, 3.0, seed=11)
    assert np.mean(kind().fit(X, y > 0).predict(new) != (f > 0)) < 0.25


def test_a_right_fit_leaves_nothing_over():
    X, y, *_ = waves(1500, 1.0, seed=0)
    model = KernelRidgeRegressor().fit(X, y)
    residuals = (y - np.ravel(model.loo_decision_))[:, None]
    assert left_over(KERNEL, X, residuals, seed=0).T < 2
    assert left_over(KERNEL, X, (y - y.mean())[:, None], seed=0).T > MIN_T


def test_the_budget_of_evaluations_holds():
    X, y, *_ = waves(4000, 3.0, seed=12)
    free = KernelRidgeRegressor().fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = KernelRidgeRegressor(max_evaluations=free.n_evaluations_ - 2).fit(X, y)
    assert model.n_evaluations_ == free.n_evaluations_ - 2


def test_the_fit_is_the_same_with_two_workers_and_no_worse_than_without(monkeypatch):
    X, y, *_ = waves(4000, 3.0, seed=12)
    one, two = (KernelRidgeRegressor(n_jobs=n).fit(X, y) for n in (1, 2))
    assert one.kernel_.theta.tobytes() == two.kernel_.theta.tobytes()
    assert one.predict(X).tobytes() == two.predict(X).tobytes()
    monkeypatch.setattr(fit_after, "left_over", lambda *_: None)
    assert one.criterion_value_ < KernelRidgeRegressor().fit(X, y).criterion_value_
