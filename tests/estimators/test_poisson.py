"""Kernel Poisson regression as an estimator."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.gaussian_process.kernels import RBF, DotProduct
from sklearn.linear_model import PoissonRegressor
from sklearn.metrics import mean_poisson_deviance
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from foldless import KernelPoissonRegressor, criteria
from foldless.core.errors import UnreadableSolution
from foldless.grams import DenseGram
from foldless.machines import SmoothMachine
from foldless.machines.losses import Poisson


def counts(n=120, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-2, 2, size=(n, 2))
    return X, rng.poisson(np.exp(1 + np.sin(2 * X[:, 0]) + 0.3 * X[:, 1]))


class OfAnyTargets(KernelPoissonRegressor):
    """scikit-learn's checks bring positive numbers where this regressor wants counts: round them up, and no more."""

    def fit(self, X, y, sample_weight=None):
        whole = np.ceil(y) if np.asarray(y).dtype.kind == "f" and np.all(np.isfinite(y)) else y
        return super().fit(X, whole, sample_weight)


@parametrize_with_checks([OfAnyTargets(), OfAnyTargets(alpha=1.0, kernel=RBF(1.0, "fixed"))])
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def test_it_finds_the_rate_better_than_a_linear_model():
    (X, y), (Z, t) = counts(), counts(seed=1)
    model, linear = KernelPoissonRegressor().fit(X, y), PoissonRegressor().fit(X, y)
    assert mean_poisson_deviance(t, model.predict(Z)) < 0.8 * mean_poisson_deviance(t, linear.predict(Z))
    assert model.score(Z, t) > linear.score(Z, t)
    assert model.n_evaluations_ == len(model.trace_) > 5


def test_rates_are_the_exponentials_of_their_logarithms():
    X, y = counts(40)
    model = KernelPoissonRegressor(RBF(1.0, "fixed"), alpha=1.0).fit(X, y)
    np.testing.assert_allclose(np.log(model.predict(X)), model.log_rate(X), rtol=1e-12)


def test_a_linear_kernel_is_the_generalised_linear_model():
    X, y = counts()
    ours = KernelPoissonRegressor(DotProduct(0.0, "fixed"), alpha=3.0).fit(X, y)
    theirs = PoissonRegressor(alpha=3.0 / len(y), tol=1e-12, max_iter=10_000, solver="newton-cholesky").fit(
        X, y
    )
    np.testing.assert_allclose(ours.predict(X), theirs.predict(X), rtol=1e-6)
    assert ours.alpha_ == pytest.approx(3.0)


def test_with_everything_fixed_fit_only_solves_and_reads():
    X, y = counts(40)
    model = KernelPoissonRegressor(RBF(0.8, "fixed"), alpha=0.5, gram="dense").fit(X, y)
    assert model.n_evaluations_ <= 1
    s = SmoothMachine(Poisson(), 2.0).solve(DenseGram(RBF(0.8)(X)), y[:, None].astype(float))
    assert model.criterion_value_ == pytest.approx(criteria.LOO()(s).value, rel=1e-10)
    np.testing.assert_allclose(model.loo_decision_, criteria.loo_outputs(s.columns[0]))


def test_weights_are_repeated_rows():
    X, y = counts(40)
    w = np.random.default_rng(0).integers(0, 3, 40)
    options = {"kernel": RBF(0.8, "fixed"), "alpha": 0.5}
    weighted = KernelPoissonRegressor(**options).fit(X, y, sample_weight=w)
    repeated = KernelPoissonRegressor(**options).fit(np.repeat(X, w, axis=0), np.repeat(y, w))
    np.testing.assert_allclose(weighted.predict(X), repeated.predict(X), rtol=1e-8)
    assert weighted.criterion_value_ == pytest.approx(repeated.criterion_value_, rel=1e-8)


def test_it_clones_pipes_and_takes_sparse_rows():
    X, y = counts(60)
    pipe = make_pipeline(StandardScaler(), KernelPoissonRegressor(RBF(1.0, "fixed"), alpha=1.0))
    assert clone(pipe).fit(X, y).score(X, y) > 0.3
    dense = KernelPoissonRegressor(RBF(1.0, "fixed"), alpha=1.0).fit(X, y)
    sparse = KernelPoissonRegressor(RBF(1.0, "fixed"), alpha=1.0).fit(sp.csr_array(X), y)
    np.testing.assert_allclose(sparse.predict(sp.csr_array(X)), dense.predict(X), rtol=1e-8)


@pytest.mark.parametrize("bad", [-1, 0.5])
def test_targets_must_be_counts(bad):
    X, y = counts(20)
    y = y.astype(float)
    y[3] = bad
    with pytest.raises(ValueError, match="y must hold counts"):
        KernelPoissonRegressor().fit(X, y)


def test_other_bad_input_is_named():
    X, y = counts(20)
    with pytest.raises(ValueError, match="alpha must be positive"):
        KernelPoissonRegressor(alpha=-1.0).fit(X, y)
    with pytest.raises(UnreadableSolution, match=r"'gcv' has no formula for KernelPoissonRegressor.* loo"):
        KernelPoissonRegressor(RBF(1.0, "fixed"), 1.0, criterion=criteria.GCV()).fit(X, y)


@pytest.mark.parametrize("kernel", ["rbf", "linear", "poly", "rbf-ard"])
def test_rates_are_finite_however_far_from_the_data(kernel, rng):
    X = rng.normal(size=(40, 2))
    model = KernelPoissonRegressor(kernel).fit(X, rng.poisson(np.exp(X[:, 0])))
    for factor in (1.0, 1e3, 1e6, 1e30):
        rates = model.predict(factor * X)
        assert np.all(np.isfinite(rates**2))
        assert np.all(rates >= 0)


@pytest.mark.parametrize("kernel", ["rbf", "linear", "poly", "rbf-ard", "laplacian"])
@pytest.mark.parametrize("criterion", ["loo", "evidence"])
def test_constant_inputs_predict_the_mean_count(kernel, criterion, rng):
    y = rng.poisson(3.0, size=30)
    for value in (0.0, 2.5):
        X = np.full((30, 2), value)
        assert KernelPoissonRegressor(kernel, criterion=criterion).fit(X, y).predict(X) == pytest.approx(
            y.mean(), rel=1e-3
        )
