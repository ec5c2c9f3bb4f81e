"""Generators against the distributions they promise. Tolerances are four standard errors."""

import numpy as np
import pytest
from scipy.special import logsumexp
from scipy.stats import ncx2, norm

from foldless import datasets

N = 100_000
CLASSIFIERS = [
    datasets.make_ripley,
    datasets.make_twonorm,
    datasets.make_ringnorm,
    datasets.make_waveform,
    datasets.make_banana,
]
EVERY = [*CLASSIFIERS, datasets.make_sinc]


def log_normal(X, mean, variance):
    """Log density of N(mean, variance I)."""
    d = X.shape[1]
    return -0.5 * np.sum((X - mean) ** 2, axis=1) / variance - 0.5 * d * np.log(2 * np.pi * variance)


def error_of_bayes_rule(X, y, log_densities):
    """Share of a sample on the wrong side of the exact rule (equal priors), with its standard error."""
    error = np.mean(np.argmax(log_densities, axis=0) != y)
    return error, np.sqrt(error * (1 - error) / y.size)


@pytest.mark.parametrize("make", EVERY)
def test_random_state_alone_decides_the_sample(make):
    state = np.random.get_state()  # noqa: NPY002
    try:
        np.random.seed(1)  # noqa: NPY002
        first = make(50, random_state=7)
        np.random.seed(2)  # noqa: NPY002
        second = make(50, random_state=np.random.RandomState(7))
    finally:
        np.random.set_state(state)  # noqa: NPY002
    other = make(50, random_state=8)
    for a, b, c in zip(first, second, other):
        np.testing.assert_array_equal(a, b)
        assert not np.array_equal(a, c)


@pytest.mark.parametrize("make", EVERY)
def test_a_given_random_state_leaves_the_global_one_alone(make):
    before = np.random.get_state()[1].copy()  # noqa: NPY002
    make(50, random_state=0)
    np.testing.assert_array_equal(np.random.get_state()[1], before)  # noqa: NPY002


@pytest.mark.parametrize("make", CLASSIFIERS)
def test_classes_are_equally_likely(make):
    _, y = make(N, random_state=0)
    counts = np.bincount(y)
    p = 1 / counts.size
    assert np.abs(counts / N - p).max() < 4 * np.sqrt(p * (1 - p) / N)


def test_ripley_has_the_moments_of_its_mixture():
    X, y = datasets.make_ripley(N, random_state=0)
    for k in (0, 1):
        centres = datasets.RIPLEY_CENTRES[k]
        covariance = 0.03 * np.eye(2) + np.cov(centres.T, bias=True)
        n = np.sum(y == k)
        assert np.all(np.abs(X[y == k].mean(0) - centres.mean(0)) < 4 * np.sqrt(np.diag(covariance) / n))
        np.testing.assert_allclose(np.cov(X[y == k].T), covariance, atol=0.004)


def test_ripley_error_is_the_overlap_of_its_densities():
    X, y = datasets.make_ripley(N, random_state=0)
    logs = [logsumexp([log_normal(X, m, 0.03) for m in pair], axis=0) for pair in datasets.RIPLEY_CENTRES]
    error, spread = error_of_bayes_rule(X, y, logs)
    assert abs(error - ripley_error_by_quadrature()) < 4 * spread
    assert abs(error - 0.08) < 2 * np.sqrt(
        0.08 * 0.92 / 1000
    )  # 8.0 % of the 1000 points of the published test set


def ripley_error_by_quadrature(n=401):
    grid = np.linspace(-1.8, 1.8, n)
    X = np.stack(np.meshgrid(grid, grid), axis=-1).reshape(-1, 2)
    densities = [0.5 * sum(np.exp(log_normal(X, m, 0.03)) for m in pair) for pair in datasets.RIPLEY_CENTRES]
    return 0.5 * np.minimum(*densities).sum() * (grid[1] - grid[0]) ** 2


@pytest.mark.parametrize("n_features", [2, 20])
def test_twonorm_error_is_phi_of_minus_two(n_features):
    X, y = datasets.make_twonorm(N, n_features=n_features, random_state=0)
    a = 2 / np.sqrt(n_features)
    error, spread = error_of_bayes_rule(X, y, [log_normal(X, a, 1), log_normal(X, -a, 1)])
    assert abs(error - norm.cdf(-2)) < 4 * spread


def test_ringnorm_has_its_means_and_covariances():
    X, y = datasets.make_ringnorm(N, random_state=0)
    for k, mean, variance in [(0, 0.0, 4.0), (1, 2 / np.sqrt(20), 1.0)]:
        Z = X[y == k]
        assert np.abs(Z.mean(0) - mean).max() < 4.5 * np.sqrt(variance / len(Z))  # the largest of twenty
        np.testing.assert_allclose(np.cov(Z.T), variance * np.eye(20), atol=6 * variance / np.sqrt(len(Z)))


def test_ringnorm_error_is_that_of_the_ratio_of_its_densities():
    X, y = datasets.make_ringnorm(N, random_state=0)
    logs = [log_normal(X, 0.0, 4.0), log_normal(X, 2 / np.sqrt(20), 1.0)]
    error, spread = error_of_bayes_rule(X, y, logs)
    assert abs(error - ringnorm_error_by_chi_squares()) < 4 * spread


def test_ringnorm_with_two_over_root_d_is_breimans():
    ours, with_one_over_root_d = ringnorm_error_by_chi_squares(a2=4.0), ringnorm_error_by_chi_squares(a2=1.0)
    assert abs(ours - 0.013) < 0.001 < abs(with_one_over_root_d - 0.013)  # he gives 1.3 %


def ringnorm_error_by_chi_squares(d=20, a2=4.0):
    """The rule is a ball around c = (4/3) a: distances from it are noncentral chi-squares. |a|^2 = a2 = 4."""
    # log ratio: |x|^2/8 - |x - a|^2/2 + d log 2 > 0  <=>  |x - 4a/3|^2 < (4/9) a2 + (8/3) d log 2
    radius2 = 4 / 9 * a2 + 8 / 3 * d * np.log(2)
    narrow_outside = ncx2.sf(radius2, d, a2 / 9)
    wide_inside = ncx2.cdf(radius2 / 4, d, 16 / 9 * a2 / 4)
    return 0.5 * (narrow_outside + wide_inside)


def test_waveform_means_are_the_half_sums_of_its_triangles():
    X, y = datasets.make_waveform(N, random_state=0)
    i = np.arange(1, 22)
    h = [np.maximum(6 - np.abs(i - peak), 0) for peak in (11, 15, 7)]
    for k, (p, q) in enumerate([(0, 1), (0, 2), (1, 2)]):
        Z = X[y == k]
        spread = np.sqrt((1 + (h[p] - h[q]) ** 2 / 12) / len(Z))
        assert np.all(np.abs(Z.mean(0) - (h[p] + h[q]) / 2) < 4.5 * spread)
        np.testing.assert_allclose(Z.var(0), spread**2 * len(Z), rtol=0.05)


def test_waveform_error_is_fourteen_per_cent():
    X, y = datasets.make_waveform(20_000, random_state=0)
    u = (np.arange(60) + 0.5) / 60  # midpoint rule for the mixing coefficient
    logs = []
    for p, q in datasets.WAVE_PAIRS:
        means = np.outer(u, datasets.WAVES[p]) + np.outer(1 - u, datasets.WAVES[q])
        logs.append(logsumexp(X @ means.T - 0.5 * np.sum(means**2, axis=1), axis=1))
    error, spread = error_of_bayes_rule(X, y, logs)
    assert abs(error - 0.14) < 4 * spread + 0.005  # published as 14 %, two digits


def test_banana_classes_are_each_other_turned_by_half_a_revolution():
    X, y = datasets.make_banana(N, random_state=0)
    mean = np.array([-0.5, 2 / np.pi - 0.25])  # of (cos t - 1/2, sin t - 1/4), t uniform on [0, pi]
    variance = np.array([0.5, 0.5 - 4 / np.pi**2]) + 0.09
    for k, sign in [(0, 1), (1, -1)]:
        n = np.sum(y == k)
        assert np.all(np.abs(X[y == k].mean(0) - sign * mean) < 4 * np.sqrt(variance / n))
        np.testing.assert_allclose(X[y == k].var(0), variance, rtol=0.03)


@pytest.mark.parametrize("variance", [0.01, 0.09])
@pytest.mark.parametrize("target", [np.sinc, datasets.sinc_target])
def test_sinc_noise_has_the_variance_asked_for(variance, target):
    X, y = datasets.make_sinc(N, noise_variance=variance, target=target, random_state=0)
    noise = y - target(X[:, 0])
    assert abs(noise.mean()) < 4 * np.sqrt(variance / N)
    assert noise.var() == pytest.approx(variance, rel=4 * np.sqrt(2 / N))
    assert X.min() >= -np.pi
    assert X.max() <= np.pi
    assert np.var(X) == pytest.approx(np.pi**2 / 3, rel=0.02)


def test_sinc_without_noise_is_the_function():
    X, y = datasets.make_sinc(50, noise_variance=0, random_state=0)
    np.testing.assert_allclose(y, np.sin(np.pi * X[:, 0]) / (np.pi * X[:, 0]), rtol=1e-12)


def test_sinc_target_minimises_the_ridge_cost_it_is_defined_by(rng):
    s = np.linspace(-np.pi, np.pi, 100)
    K = np.exp(-0.5 * np.subtract.outer(s, s) ** 2)
    f = datasets.sinc_target(s)
    alpha = K @ (np.sinc(s) - f) / 0.1  # stationarity: K (t - K alpha) = 0.1 alpha
    np.testing.assert_allclose(K @ alpha, f, atol=1e-9)
