"""The Gaussian process classifier by expectation propagation: exact integrals, derivatives, Laplace beside it."""

import numpy as np
import pytest
from scipy.special import ndtr
from scipy.stats import multivariate_normal, norm
from sklearn.datasets import load_iris
from sklearn.gaussian_process import GaussianProcessClassifier
from sklearn.gaussian_process.kernels import RBF, ConstantKernel

from foldless.cli.papers.gp_classifier_ep import GaussianProcessEP
from foldless.criteria.posteriors.ep import expectation_propagation
from foldless.criteria.posteriors.sites import ProbitSite
from foldless.grams import DenseGram, LowRankGram
from oracles.klr import directional, rbf, root


def exact_evidence(K, y):
    """P(all f_i + noise have the sign y_i): an orthant probability of a normal with covariance K + I."""
    return np.log(
        multivariate_normal(np.zeros(len(y)), np.outer(y, y) * (K + np.eye(len(y)))).cdf(np.zeros(len(y)))
    )


def problem(n, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    return X, np.where(X[:, 0] + 0.5 * rng.normal(size=n) > 0, 1.0, -1.0)


def test_tilted_moments_are_the_integrals():
    m, v = np.array([-30.0, -3.0, 0.2, 4.0]), np.array([0.5, 2.0, 1.0, 0.3])
    tilted = ProbitSite().tilted(m, v)
    for i in range(1, 4):
        s = np.linspace(m[i] - 12 * np.sqrt(v[i]), m[i] + 12 * np.sqrt(v[i]), 20_001)
        weight = norm.pdf(s, m[i], np.sqrt(v[i])) * ndtr(s) * (s[1] - s[0])
        mean = np.sum(weight * s) / np.sum(weight)
        variance = np.sum(weight * (s - mean) ** 2) / np.sum(weight)
        assert tilted.log_z[i] == pytest.approx(np.log(np.sum(weight)), abs=1e-7)
        assert m[i] + v[i] * tilted.d1[i] == pytest.approx(mean, abs=1e-7)
        assert v[i] - v[i] ** 2 * tilted.minus_d2[i] == pytest.approx(variance, abs=1e-7)
    assert np.isfinite([tilted.log_z, tilted.d1, tilted.minus_d2]).all()


@pytest.mark.parametrize("form", [DenseGram, lambda K: LowRankGram(root(K))], ids=["dense", "lowrank"])
@pytest.mark.parametrize(("n", "tolerance"), [(1, 1e-10), (2, 2e-3), (3, 5e-3)])
def test_the_evidence_is_the_orthant_probability_of_up_to_three_points(form, n, tolerance):
    for seed in range(4):
        X, y = problem(n, seed)
        K = 2.0 * rbf(X, 1.0)
        ours = expectation_propagation(form(K), y, ProbitSite()).log_z
        assert ours == pytest.approx(exact_evidence(K, y), abs=tolerance)


@pytest.mark.parametrize(("ones", "others"), [(3, 2), (40, 25), (150, 120)])
def test_equal_rows_settle_and_their_evidence_is_the_integral(ones, others):
    """All rows at one point: ln of the integral of N(f; 0, 9) Phi(f)^a Phi(-f)^b."""
    y = np.repeat([1.0, -1.0], [ones, others])
    ours = expectation_propagation(DenseGram(np.full((len(y), len(y)), 9.0)), y, ProbitSite()).log_z
    f = np.linspace(-3, 3, 20_001)
    logs = norm.logpdf(f, 0, 3) + ones * norm.logcdf(f) + others * norm.logcdf(-f)
    exact = logs.max() + np.log(np.sum(np.exp(logs - logs.max())) * (f[1] - f[0]))
    assert ours == pytest.approx(exact, abs=2e-3)


def test_the_adjoint_is_the_derivative_of_the_evidence():
    X, y = problem(8)
    K, D = 2.0 * rbf(X, 1.0) + np.eye(8), np.random.default_rng(1).normal(size=(8, 8))
    D = D + D.T
    value = lambda A: expectation_propagation(DenseGram(A), y, ProbitSite()).log_z
    G = expectation_propagation(DenseGram(K), y, ProbitSite()).adjoint()
    assert np.sum(G * D) == pytest.approx(directional(value, K, D, 1e-4), rel=1e-6)


# (amplitude, width) of the kernel; log evidence, probabilities at rows 50, 70, 120 and 149, and the derivatives of the log
# evidence in amplitude and width, as GPy 1.13.2 gives them (models.GPClassification, EP with epsilon=1e-12)
GPY = {
    (1.0, 1.0): (-27.228290997541833, (0.152522560, 0.491385235, 0.976498335, 0.787627334), (6.544467, -0.093695)),
    (4.0, 1.0): (-21.071025688305326, (0.055833548, 0.490034550, 0.993755605, 0.877513062), (0.631924, 2.762838)),
    (25.0, 2.0): (-17.59577984737882, (0.019970152, 0.496926529, 0.998883811, 0.911711690), (0.039743, -0.239285)),
    (100.0, 0.5): (-26.417464617098986, (0.029147743, 0.178701393, 0.992043766, 0.912357155), (-0.001740, 22.115521)),
}  # fmt: skip


@pytest.mark.parametrize(("parameters", "published"), GPY.items(), ids=str)
def test_it_agrees_with_gpy_on_two_kinds_of_iris(parameters, published):
    X, y = load_iris(return_X_y=True)
    X, y = X[50:], np.where(y[50:] == 2, 1.0, -1.0)
    kernel = ConstantKernel(parameters[0]) * RBF(parameters[1])
    posterior = expectation_propagation(DenseGram(kernel(X)), y, ProbitSite(), None, 1e-10)
    m, v = posterior.predict(kernel(X[[0, 20, 70, 99]], X), np.full(4, parameters[0]))
    slope = np.einsum("ij,ijk->k", posterior.adjoint(), kernel(X, eval_gradient=True)[1]) / parameters
    assert posterior.log_z == pytest.approx(published[0], abs=1e-9)
    np.testing.assert_allclose(ndtr(m / np.sqrt(1 + v)), published[1], atol=1e-7)
    np.testing.assert_allclose(slope, published[2], rtol=2e-4, atol=2e-6)


def test_it_tunes_by_the_evidence_and_agrees_with_laplace():
    X, y = problem(80)
    Z, t = problem(200, seed=5)
    kernel = ConstantKernel(1.0, (1e-2, 1e3)) * RBF(1.0, (0.05, 50))
    ours, laplace = GaussianProcessEP(kernel).fit(X, y), GaussianProcessClassifier(kernel).fit(X, y)
    start = GaussianProcessEP(kernel, max_iter=0).fit(X, y)
    assert ours.evidence_ > start.evidence_
    assert np.mean(ours.predict(Z) != t) <= np.mean(laplace.predict(Z) != t) + 0.03
    p = ours.predict_proba(Z)
    np.testing.assert_allclose(p.sum(axis=1), 1)
    np.testing.assert_allclose(p[:, 1], laplace.predict_proba(Z)[:, 1], atol=0.15)


def test_two_classes_are_needed():
    with pytest.raises(ValueError, match="two classes, got 3"):
        GaussianProcessEP(RBF()).fit(np.eye(3), [0, 1, 2])
