"""Reference numbers: eight points, a Gaussian kernel, 60-digit arithmetic."""

import numpy as np
import pytest

from foldless.criteria import ABIC, GCV, LOO, SIC, Evidence, KFold, Mallows
from foldless.criteria.regression import noise_variance as noise
from foldless.grams import DenseGram, LowRankGram
from foldless.machines import Ridge, Subset
from oracles.units import as_printed

X = np.array([0, 0.5, 1.1, 1.4, 2.0, 2.7, 3.1, 3.6])
Y = np.array([[0.1, 0.6, 0.8, 1.1, 0.7, 0.5, -0.2, -0.3]]).T
K = np.exp(-((X[:, None] - X) ** 2) / (2 * 0.7**2))
T = 2.5 * np.eye(8) - np.eye(8, k=1) - np.eye(8, k=-1)
GRAMS = {"dense": lambda: DenseGram(K), "lowrank": lambda: LowRankGram(np.linalg.cholesky(K))}
BLOCKS = [[0, 1], [2, 3], [4, 5], [6, 7]]

PENALTY_K = {  # value, d/d ln lambda, G_11, G_12, tr G
    "SIC_e": (
        SIC("e", 0.04),
        (-9.8211497970e-01, 2.2460901320e-01, -2.7596437934e-01, 2.0923016661e-01, 1.2358942361e01),
    ),
    "SIC_e per model": (
        SIC("e", "per-model"),
        (-1.2053669614e00, 2.3723392799e-01, -2.7240055565e-02, 8.1255486353e-02, -7.7405129494e00),
    ),
    "SIC": (
        SIC("paper", 0.04),
        (1.1376305603e01, 2.2460901320e-01, -2.3071402348e01, 5.9265651984e01, -3.5208093708e03),
    ),
    "SIC_gamma": (
        SIC("gamma", 0.04, gamma=0.05),
        (7.7428142261e-01, -2.1225930846e-01, 2.0817683243e-01, -3.1056931595e-01, -2.1179756873e01),
    ),
    "C_L": (
        Mallows(0.04),
        (6.4568284942e-02, -5.5982624366e-03, 5.5768875878e-03, -6.5058993987e-03, -2.8076126650e-02),
    ),
    "GCV": (
        GCV(),
        (1.0265799863e-01, -3.8550078438e-02, 3.8795448505e-02, -4.3621486399e-02, -3.8550078438e-01),
    ),
    "LOO": (
        LOO(),
        (7.9412981102e-02, -2.8429881804e-02, 2.2958052166e-03, 7.8438435455e-03, -2.8429881804e-01),
    ),
    "ABIC": (
        ABIC(sigma2=0.04),
        (8.2521587600e00, -2.1793045619e00, 1.6099148229e00, -1.0719961550e00, 2.7906497716e00),
    ),
    "ABIC_p": (
        ABIC(),
        (7.7733060815e00, -8.4249699134e-01, 1.4211700011e00, -7.2681465577e-01, -8.4249699134e00),
    ),
    "block out": (
        KFold(BLOCKS),
        (1.3195262012e-01, -5.4095381644e-03, 2.4589032042e-02, -4.8954564350e-02, -5.4095381644e-02),
    ),
}
PENALTY_I = {
    "SIC_e": (
        SIC("e", 0.04),
        (-8.4747840266e-01, -1.2182140211e-01, 7.3558417907e-02, -1.6046658205e-01, 5.1657258176e-01),
    ),
    "SIC": (
        SIC("paper", 0.04),
        (1.1510942180e01, -1.2182140211e-01, -2.2721879551e01, 5.8895955236e01, -3.5326517406e03),
    ),
    "SIC_gamma": (
        SIC("gamma", 0.04, gamma=0.05),
        (4.8014938853e-01, -9.2385637447e-02, 3.3354535650e-01, -4.3223608416e-01, -9.4379195069e00),
    ),
    "C_L": (
        Mallows(0.04),
        (5.8079902497e-02, -3.9326392627e-03, 3.8320967815e-03, -2.4405783868e-03, 3.0455350528e-02),
    ),
    "GCV": (
        GCV(),
        (7.0388221519e-02, -1.3608919315e-02, 1.2006447460e-02, -5.9044104505e-03, 1.0470868632e-01),
    ),
    "LOO": (
        LOO(),
        (6.3324953233e-02, -9.8370157891e-03, -1.5390430173e-04, 8.0426547285e-03, 6.4623324844e-02),
    ),
    "ABIC": (
        ABIC(sigma2=0.04),
        (7.5702317065e00, -2.8410250279e00, 1.3304098383e00, 2.4924850013e-01, 7.4248915791e00),
    ),
    "ABIC_p": (
        ABIC(),
        (6.4378443364e00, -1.6745477211e00, 9.7247647653e-01, 7.4118606202e-01, 4.8514800259e00),
    ),
}
PRINTED = 2e-10  # eleven printed digits


def numbers(reading):
    reading = as_printed(reading)
    G = reading.adjoint @ np.eye(8)
    return [reading.value, reading.slope[0], G[0, 0], G[0, 1], np.trace(G)]


@pytest.mark.parametrize("kind", GRAMS)
@pytest.mark.parametrize("route", ["spectrum", "factor"])
@pytest.mark.parametrize("name", PENALTY_K)
def test_penalty_k(name, route, kind):
    criterion, expected = PENALTY_K[name]
    solution = Ridge(0.1, route=route).solve(GRAMS[kind](), Y)
    assert numbers(criterion(solution)) == pytest.approx(expected, rel=PRINTED)


@pytest.mark.parametrize("kind", GRAMS)
@pytest.mark.parametrize("name", PENALTY_I)
def test_penalty_i(name, kind):
    criterion, expected = PENALTY_I[name]
    assert numbers(criterion(Ridge(0.1, penalty="I").solve(GRAMS[kind](), Y))) == pytest.approx(
        expected, rel=PRINTED
    )


@pytest.mark.parametrize("name", PENALTY_I)
def test_a_matrix_penalty_equal_to_the_identity_is_the_penalty_i(name):
    criterion, expected = PENALTY_I[name]
    solution = Ridge(0.1, penalty=np.eye(8)).solve(DenseGram(K), Y)
    assert numbers(criterion(solution)) == pytest.approx(expected, rel=1e-8)


def test_fits():
    one = Ridge(0.1).solve(DenseGram(K), Y)
    assert (one.alpha[0, 0], one.df) == pytest.approx((-4.1253681979e-01, 5.1927219655), rel=PRINTED)
    two = Ridge(0.1, penalty="I").solve(DenseGram(K), Y)
    assert (two.alpha[0, 0], two.df) == pytest.approx((-1.2622261119e-01, 4.3124910620), rel=PRINTED)


@pytest.mark.parametrize("route", ["spectrum", "factor"])
def test_noise_variances(route):
    one = Ridge(0.1, route=route).solve(DenseGram(K), Y)
    two = Ridge(0.1, penalty="I").solve(DenseGram(K), Y)
    assert noise.residual_variance(one)[0] == pytest.approx(3.6023693076e-02, rel=PRINTED)
    assert noise.residual_variance_slope(one)[0] == pytest.approx(-2.5384620448e-03, rel=PRINTED)
    assert noise.df2_variance(one)[0] == pytest.approx(5.1836606706e-02, rel=PRINTED)
    assert noise.residual_variance(two)[0] == pytest.approx(3.2444649497e-02, rel=PRINTED)
    assert noise.residual_variance_slope(two)[0] == pytest.approx(-1.4226576734e-03, rel=PRINTED)
    assert noise.df2_variance(two)[0] == pytest.approx(3.8147381684e-02, rel=PRINTED)


def test_derivatives_of_the_unbiased_noise_variance():
    """Nothing asks for them, so they are differences here: they check the printed row and the value along it."""

    def value(alpha, K):
        return noise.df2_variance(Ridge(alpha, route="spectrum").solve(DenseGram(K), Y))[0]

    def along(direction):
        h = 1e-6
        return (value(0.1, K + h * direction) - value(0.1, K - h * direction)) / (2 * h)

    h, E = 1e-5, np.eye(8)
    slope = (value(0.1 * np.exp(h), K) - value(0.1 * np.exp(-h), K)) / (2 * h)
    pair = np.outer(E[0], E[1]) + np.outer(E[1], E[0])
    found = (slope, along(np.outer(E[0], E[0])), along(pair) / 2, along(E))
    assert found == pytest.approx(
        (-6.0600793631e-03, 1.2812526812e-02, -1.8360570238e-02, -6.0600793631e-02), rel=1e-6
    )


def test_adjoint_of_the_residual_variance():
    for penalty, expected in (
        ("K", (3.2905141716e-03, -6.6289362273e-04, -3.8562155121e-01)),
        ("I", (-4.3359855593e-04, 2.8034913357e-03, 1.0027771328e-02)),
    ):
        s = Ridge(0.1, penalty=penalty).solve(DenseGram(K), Y)
        G = s.adjoint(noise.residual_variance_sensitivity(s, np.ones(1)))
        assert (G[0, 0], G[0, 1], np.trace(G)) == pytest.approx(expected, rel=PRINTED)


@pytest.mark.parametrize("kind", GRAMS)
def test_general_penalty(kind):
    s = Ridge(0.1, penalty=T).solve(GRAMS[kind](), Y)
    expected = (-9.6994247271e-01, -6.3428034414e-02, 1.6781306794e-02, -5.9741838463e-02)
    assert numbers(SIC("e", 0.04)(s))[:4] == pytest.approx(expected, rel=1e-9)
    assert GCV()(s).value == pytest.approx(6.1396694415e-02, rel=PRINTED)
    assert as_printed(ABIC(sigma2=0.04)(s)).value == pytest.approx(6.8985450456, rel=PRINTED)


@pytest.mark.parametrize("kind", GRAMS)
def test_subset(kind):
    s = Subset([0, 2, 5, 7]).solve(GRAMS[kind](), Y)
    assert noise.residual_variance(s)[0] == pytest.approx(2.9598551148e-02, rel=PRINTED)
    assert SIC("e", 0.04)(s).value == pytest.approx(-8.5774350049e-01, rel=PRINTED)
    assert SIC("paper", 0.04)(s).value == pytest.approx(1.1500677082e01, rel=PRINTED)


def test_evidence_is_half_of_abic():
    s = Ridge(0.1).solve(DenseGram(K), Y)
    assert as_printed(Evidence()(s)).value == pytest.approx(7.7733060815 / 2, rel=PRINTED)


def test_error_bars_of_the_spec_example():
    """Gaussian c = 1, 50 points on [-pi, pi], s2 = .09, lambda = 1e-2: 84 for the rank-aware part, and 1.3 for gamma
    (which is the part that depends on the fit; the null space adds as much again as a constant)."""
    x = np.linspace(-np.pi, np.pi, 50)
    G = DenseGram(np.exp(-((x[:, None] - x) ** 2) / 2))
    y = (np.sinc(x) + 0.3 * np.random.default_rng(0).normal(size=50))[:, None]
    s = Ridge(1e-2).solve(G, y)
    assert 75 < SIC("e", 0.09)(s).parts["sd"] < 95
    assert 1.1 < SIC("gamma", 0.09)(s).parts["sd_path"] < 1.9
