import numpy as np
import pytest
from sklearn.gaussian_process.kernels import RBF

from foldless.core.errors import Undefined, UnknownName
from foldless.criteria import ABIC, SIC, HyperPrior, Mallows
from foldless.criteria.regression import noise_variance as noise
from foldless.grams import DenseGram, LowRankGram
from foldless.machines import Ridge, Subset

RNG = np.random.default_rng(0)
X = RNG.uniform(-3, 3, size=(80, 1))
K = RBF(1.0)(X)
Y = np.sin(2 * X) + 0.3 * RNG.normal(size=(80, 2))


@pytest.mark.parametrize("name", noise.ESTIMATORS)
@pytest.mark.parametrize("bias", [False, True])
def test_every_estimate_is_near_the_truth(name, bias):
    s = Ridge(1.0, bias=bias).solve(DenseGram(K), Y)
    assert noise.estimate(name, s) == pytest.approx(0.09, rel=0.4)


@pytest.mark.parametrize("name", noise.ESTIMATORS)
def test_the_estimate_does_not_depend_on_the_candidate(name):
    gram = DenseGram(K)
    values = [noise.estimate(name, Ridge(alpha).solve(gram, Y)) for alpha in (1e-6, 1.0, 1e3)]
    other = noise.estimate(name, Ridge(1e-3).solve(DenseGram(K), Y))
    assert values[0] == pytest.approx(values[1], rel=1e-12)
    assert values[0] == pytest.approx(values[2], rel=1e-12)
    assert values[0] == pytest.approx(other, rel=1e-6)


def test_ml_is_where_abic_is_smallest():
    gram = DenseGram(K)
    best = noise.optimal(Ridge(1.0).solve(gram, Y), lambda s: s.deviance()[0])
    assert abs(ABIC()(best).slope[0]) < 1e-4
    grid = [ABIC()(Ridge(a).solve(gram, Y)).value for a in np.logspace(-8, 3, 200)]
    assert ABIC()(best).value <= min(grid) + 1e-9
    assert noise.estimate("ml", best) == pytest.approx(best.variances())


def test_the_tail_is_unbiased_for_a_singular_kernel():
    F = RNG.normal(size=(40, 6))
    z = F @ RNG.normal(size=(6, 1))
    Y = z + 0.5 * np.random.default_rng(1).normal(size=(40, 3000))
    for gram in (LowRankGram(F), DenseGram(F @ F.T)):
        estimates = noise.estimate("tail", Ridge().solve(gram, Y))
        error = estimates.std() / np.sqrt(3000)
        assert abs(estimates.mean() - 0.25) < 4 * error
    with pytest.raises(Undefined, match="tail"):
        noise.estimate("tail", Ridge().solve(DenseGram(np.eye(40)), Y))


def test_the_residual_variance_is_undefined_for_an_exact_fit():
    s = Subset(np.arange(5)).solve(DenseGram(np.eye(5)), np.ones((5, 1)))
    with pytest.raises(Undefined, match="0/0"):
        noise.residual_variance(s)


def test_a_subset_borrows_the_ridge_path():
    gram = DenseGram(K)
    one = noise.estimate("ml", Subset([1, 2, 3]).solve(gram, Y))
    assert one == pytest.approx(noise.estimate("ml", Ridge(5.0).solve(gram, Y)))


def test_prepared_criteria_carry_numbers():
    grams = [DenseGram(RBF(width)(X)) for width in (0.01, 1.0, 30.0)]
    for criterion in (SIC(), Mallows(), ABIC(sigma2="df2-loo")):
        fixed = criterion.with_data_estimates(Ridge(), grams, Y)
        assert np.asarray(fixed.sigma2) == pytest.approx(0.09, rel=0.4)
        again = fixed.with_data_estimates(Ridge(), grams[:1], Y)
        assert again.sigma2 == fixed.sigma2
    assert Mallows("per-model").with_data_estimates(Ridge(), grams, Y).sigma2 == "per-model"
    by_subset = Mallows("ml").with_data_estimates(Subset([1]), grams[1:2], Y)
    assert np.asarray(by_subset.sigma2) == pytest.approx(0.09, rel=0.4)


def test_a_prior_on_length_scales_prepares_its_criterion():
    prior = HyperPrior("mallows").with_data_estimates(Ridge(), [DenseGram(K)], Y)
    assert np.asarray(prior.inner_criterion.sigma2) == pytest.approx(0.09, rel=0.4)


def test_unknown_names():
    with pytest.raises(UnknownName, match="per-model"):
        noise.estimate("guess", Ridge().solve(DenseGram(K), Y))
