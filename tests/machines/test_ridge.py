import tracemalloc

import numpy as np
import pytest
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel
from sklearn.kernel_ridge import KernelRidge

from foldless.core.errors import NotPositiveDefinite, NotStored, Undefined
from foldless.criteria import ABIC, LOO, KFold
from foldless.grams import ChunkedGram, DenseGram, LowRankGram
from foldless.grams.builders import DenseBuilder
from foldless.machines import Ridge, Subset
from foldless.machines.least_squares import gp_posterior as posterior
from foldless.tuning.objective import Objective
from oracles import ridge as oracle

N = 15
RNG = np.random.default_rng(3)
X = np.sort(RNG.uniform(-3, 3, size=(N, 1)), axis=0)
K = RBF(0.8)(X)
Y = np.column_stack([np.sin(X[:, 0]), np.cos(2 * X[:, 0])]) + 0.2 * RNG.normal(size=(N, 2))
V = RNG.uniform(0.3, 3, size=N)
B = RNG.normal(size=(N, N))
T = B @ B.T / N + 0.1 * np.eye(N)
SINGULAR = B[:, :10] @ B[:, :10].T
SETTINGS = [(bias, weights) for bias in (False, True) for weights in (None, V)]
GRAMS = {
    "dense": lambda: DenseGram(K),
    "lowrank": lambda: LowRankGram(np.linalg.cholesky(K + 1e-12 * np.eye(N))),
}


@pytest.mark.parametrize("kind", GRAMS)
@pytest.mark.parametrize(("bias", "weights"), SETTINGS)
@pytest.mark.parametrize("penalty", ["K", "I", "T", "singular"])
def test_the_fit_solves_the_normal_equations(penalty, bias, weights, kind):
    given = {"K": "K", "I": "I", "T": T, "singular": SINGULAR}[penalty]
    matrix = {"K": K, "I": np.eye(N), "T": T, "singular": SINGULAR}[penalty]
    s = Ridge(0.2, bias, weights, given).solve(GRAMS[kind](), Y)
    alpha, b = oracle.fit(K, Y, matrix, 0.2, bias, weights)
    assert K @ s.alpha + s.b == pytest.approx(K @ alpha + b, abs=1e-7)
    assert s.b == pytest.approx(b, abs=1e-6)
    v = np.ones(N) if weights is None else weights
    assert s.whitened_residuals == pytest.approx(np.sqrt(v)[:, None] * (Y - K @ alpha - b), abs=1e-7)


@pytest.mark.parametrize("route", ["spectrum", "factor"])
@pytest.mark.parametrize(("bias", "weights"), SETTINGS)
def test_leave_one_out_is_n_retrainings(bias, weights, route):
    s = Ridge(0.2, bias, weights, route=route).solve(DenseGram(K), Y)
    r = np.vstack([oracle.left_out(K, Y, 0.2, [i], bias, weights) for i in range(N)])
    v = np.ones(N) if weights is None else weights
    assert s.loo_residuals / np.sqrt(v)[:, None] == pytest.approx(r, rel=1e-7)
    assert LOO()(s).value == pytest.approx(np.mean(v @ r**2) / v.sum(), rel=1e-7)


@pytest.mark.parametrize(("bias", "weights"), SETTINGS)
def test_blocks_left_out_are_retrainings(bias, weights):
    blocks = [[0, 5, 9], [1, 2], [3, 4, 6, 7, 8, 10], [11, 12, 13, 14]]
    s = Ridge(0.2, bias, weights).solve(DenseGram(K), Y)
    v = np.ones(N) if weights is None else weights
    total = sum(v[rows] @ oracle.left_out(K, Y, 0.2, rows, bias, weights) ** 2 for rows in blocks)
    assert KFold(blocks)(s).value == pytest.approx(np.mean(total) / v.sum(), rel=1e-8)


@pytest.mark.parametrize(("bias", "weights"), SETTINGS)
@pytest.mark.parametrize("penalty", ["I", "T"])
def test_leave_one_out_with_a_fixed_penalty_keeps_the_basis(penalty, bias, weights):
    matrix = np.eye(N) if penalty == "I" else T
    s = Ridge(0.2, bias, weights, "I" if penalty == "I" else T).solve(DenseGram(K), Y)
    r = np.vstack([oracle.left_out_basis_kept(K, Y, matrix, 0.2, [i], bias, weights) for i in range(N)])
    v = np.ones(N) if weights is None else weights
    assert LOO()(s).value == pytest.approx(np.mean(v @ r**2) / v.sum(), rel=1e-6)


def test_scikit_learn_agrees():
    theirs = KernelRidge(alpha=0.2, kernel="precomputed").fit(K, Y, sample_weight=V)
    assert Ridge(0.2, weights=V).solve(DenseGram(K), Y).alpha == pytest.approx(theirs.dual_coef_, rel=1e-8)


def test_penalty_k_equals_the_matrix_k_as_a_function():
    one, two = Ridge(0.2).solve(DenseGram(K), Y), Ridge(0.2, penalty=K).solve(DenseGram(K), Y)
    assert K @ two.alpha == pytest.approx(K @ one.alpha, abs=1e-8)


@pytest.mark.parametrize("weights", [None, V])
def test_marginal_likelihood_is_the_gaussian_density(weights):
    from scipy.stats import multivariate_normal

    v = np.ones(N) if weights is None else weights
    s = Ridge(0.2, weights=weights).solve(DenseGram(K), Y)
    cov = 0.3 * (np.diag(1 / v) + K / 0.2)
    expected = np.mean([-2 * multivariate_normal(np.zeros(N), cov).logpdf(y) for y in Y.T])
    assert ABIC(sigma2=0.3)(s).value == pytest.approx(expected / (2 * N), rel=1e-10)


def test_restricted_likelihood_is_that_of_contrasts():
    from scipy.stats import multivariate_normal

    C = np.linalg.qr(np.column_stack([np.ones(N), RNG.normal(size=(N, N - 1))]))[0][:, 1:]
    s = Ridge(0.2, bias=True).solve(DenseGram(K), Y)
    cov = C.T @ (0.3 * (np.eye(N) + K / 0.2)) @ C
    expected = np.mean([-2 * multivariate_normal(np.zeros(N - 1), cov).logpdf(C.T @ y) for y in Y.T])
    assert ABIC(sigma2=0.3)(s).value == pytest.approx(expected / (2 * N), rel=1e-10)


def test_restricted_likelihood_with_weights_by_its_formula():
    """(n-1) ln(2 pi y'alpha/(n-1)) + (n-1) + ln det(K + lam/V) + ln 1'A1 - ln n."""
    s = Ridge(0.2, bias=True, weights=V, route="factor").solve(DenseGram(K), Y[:, :1])
    M = K + np.diag(0.2 / V)
    A = np.linalg.inv(M)
    q = Y[:, 0] @ s.alpha[:, 0]
    expected = (
        (N - 1) * (np.log(2 * np.pi * q / (N - 1)) + 1)
        + np.linalg.slogdet(M)[1]
        + np.log(A.sum())
        - np.log(N)
    )
    assert ABIC()(s).value == pytest.approx(expected / (2 * N), rel=1e-10)


@pytest.mark.parametrize("route", ["spectrum", "factor"])
@pytest.mark.parametrize("weights", [None, V])
def test_variance_is_that_of_a_gaussian_process(weights, route):
    new = np.linspace(-4, 4, 7)[:, None]
    s = Ridge(0.2, weights=weights, route=route).solve(DenseGram(K), Y[:, :1])
    noise = 0.3 if weights is None else 0.3 / weights
    gp = GaussianProcessRegressor(
        ConstantKernel(0.3 / 0.2, "fixed") * RBF(0.8, "fixed"), alpha=noise, optimizer=None
    )
    mean, sd = gp.fit(X, Y[:, 0]).predict(new, return_std=True)
    cross = RBF(0.8)(new, X)
    assert cross @ s.alpha[:, 0] == pytest.approx(mean, rel=1e-8)
    assert np.sqrt(s.variance(cross, np.ones(7), 0.3)[:, 0]) == pytest.approx(sd, rel=1e-7)


@pytest.mark.parametrize("weights", [None, V])
def test_variance_with_an_intercept_is_universal_kriging(weights):
    """k** - [k, 1]' [[K + lam/V, 1], [1', 0]]^{-1} [k, 1], times sigma2 / lam."""
    new = np.linspace(-4, 4, 7)[:, None]
    s = Ridge(0.2, bias=True, weights=weights).solve(DenseGram(K), Y[:, :1])
    M = np.ones((N + 1, N + 1))
    M[:N, :N] = K + np.diag(0.2 / (np.ones(N) if weights is None else weights))
    M[N, N] = 0
    k = np.column_stack([RBF(0.8)(new, X), np.ones(7)])
    expected = 0.3 / 0.2 * (1 - np.einsum("ij,ji->i", k, np.linalg.solve(M, k.T)))
    assert s.variance(k[:, :N], np.ones(7), 0.3)[:, 0] == pytest.approx(expected, rel=1e-8)


@pytest.mark.parametrize("kind", GRAMS)
@pytest.mark.parametrize(("bias", "weights"), SETTINGS)
@pytest.mark.parametrize("penalty", ["I", "T"])
def test_variance_with_another_penalty_is_that_of_the_coefficients(penalty, bias, weights, kind):
    """sigma2 z' (Z'VZ + lam diag(T, 0))^{-1} z for the design Z = [K, 1] and z = [k(x), 1]: Bayesian least squares."""
    given, matrix = ("I", np.eye(N)) if penalty == "I" else (T, T)
    s = Ridge(0.2, bias, weights, given).solve(GRAMS[kind](), Y[:, :1])
    new = np.linspace(-4, 4, 7)[:, None]
    cross, ones = RBF(0.8)(new, X), np.ones((7, int(bias)))
    v, Z = np.ones(N) if weights is None else weights, np.column_stack([K, np.ones((N, int(bias)))])
    P = (Z.T * v) @ Z
    P[:N, :N] += 0.2 * matrix
    z = np.column_stack([cross, ones])
    expected = 0.3 * np.einsum("ij,ji->i", z, np.linalg.solve(P, z.T))
    assert s.variance(cross, np.ones(7), 0.3)[:, 0] == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize("alpha", [1e-9, 1e-6, 1e-3])
@pytest.mark.parametrize(("bias", "weights"), SETTINGS)
def test_the_variance_does_not_cancel_for_a_small_alpha(bias, weights, alpha):
    """Least squares on an exact feature map, F'VF + lam I: no inverse of the singular K, nothing subtracted."""
    t, new = RNG.uniform(-np.pi, np.pi, 60), np.linspace(-3, 3, 9)
    v = None if weights is None else np.tile(V, 4)

    def features(t):
        return np.column_stack([f(k * t) for k in (1, 2, 3) for f in (np.sin, np.cos)])

    F, z = features(t), np.column_stack([features(new), np.ones((9, int(bias)))])
    design = np.column_stack([F, np.ones((60, int(bias)))])
    P = (design.T if v is None else design.T * v) @ design + alpha * np.diag([1.0] * 6 + [0.0] * bias)
    expected = 0.3 * np.einsum("ij,ji->i", z, np.linalg.solve(P, z.T))
    cross, prior = z[:, :6] @ F.T, (z[:, :6] ** 2).sum(1)
    for gram in (DenseGram(F @ F.T), LowRankGram(F)):
        for route in ("factor", "spectrum"):
            s = Ridge(alpha, bias, v, route=route).solve(gram, np.sin(5 * t)[:, None])
            assert s.variance(cross, prior, 0.3)[:, 0] == pytest.approx(expected, rel=1e-12 / alpha + 1e-7)


def test_the_variance_is_a_form_in_the_features():
    F = np.linalg.cholesky(K + 1e-12 * np.eye(N))
    phi = RNG.normal(size=(6, N))
    for penalty, own in (("K", 500.0), ("I", 0.0), (T, 0.0)):
        s = Ridge(0.2, True, V, penalty).solve(LowRankGram(F), Y)
        square, centre, rise = posterior.relative_variance_form(s, F)
        lack = own - (phi**2).sum(1) if own else 0.0
        value = lack + np.einsum("ij,jk,ik->i", phi - centre, square, phi - centre) + rise
        assert value == pytest.approx(posterior.relative_variance(s, phi @ F.T, np.full(6, 500.0)), rel=1e-7)
        assert np.all(value > 0)


def test_routes_agree_and_the_path_reuses_one_decomposition():
    gram = DenseGram(K)
    for alpha in (1e-6, 1e-2, 1.0, 1e3):
        by_spectrum = Ridge(alpha, bias=True, route="spectrum").solve(gram, Y)
        by_factor = Ridge(alpha, bias=True, route="factor").solve(gram, Y)
        assert LOO()(by_factor).value == pytest.approx(LOO()(by_spectrum).value, rel=1e-6)
        assert ABIC()(by_factor).value == pytest.approx(ABIC()(by_spectrum).value, rel=1e-8)
    bases = {id(Ridge(a, bias=True, route="spectrum").solve(gram, Y).smoother.basis) for a in (0.1, 1.0)}
    assert len(bases) == 1


@pytest.mark.parametrize("bias", [False, True])
def test_auto_keeps_the_fit_at_a_tiny_alpha(bias):
    """An explicit inverse of a nearly singular matrix keeps no digits here, and with an intercept misses the data."""
    t, wave = np.linspace(-3, 3, 200)[:, None], np.sin(2 * np.linspace(-3, 3, 200))[:, None]
    K = RBF(1.0)(t)
    s = Ridge(1e-12, bias).solve(DenseGram(K), wave)
    assert K @ s.alpha + s.b == pytest.approx(wave, abs=1e-3)


def test_how_a_gram_is_solved_does_not_depend_on_earlier_solves():
    """The fit is the same to the last bit whether it is the first on its Gram or one of many."""
    gram, machine = DenseGram(K), Ridge(0.3, bias=True, weights=V)
    for alpha in (0.1, 0.2, 0.3, 0.4):
        for route in ("auto", "factor", "spectrum"):
            Ridge(alpha, True, V, route=route).solve(gram, Y)
    for asked in (machine, machine.for_regularisation_path):
        assert np.array_equal(asked.solve(gram, Y).alpha, asked.solve(DenseGram(K), Y).alpha)


def test_many_alphas_on_one_gram_share_one_decomposition():
    gram, machine = DenseGram(K), Ridge(bias=True).for_regularisation_path
    fits = [machine.with_theta(np.log([alpha])).solve(gram, Y) for alpha in (0.1, 1.0)]
    assert fits[0].smoother.basis is fits[1].smoother.basis


def test_leave_one_out_at_a_tiny_lambda_keeps_its_digits():
    """Well conditioned K, lambda = 1e-12: g must come from lambda / (mu + lambda)."""
    well = K + np.eye(N)
    for route in ("spectrum", "factor"):
        s = Ridge(1e-12, route=route).solve(DenseGram(well), Y)
        A = np.linalg.inv(well)
        assert s.loo_residuals == pytest.approx(A @ Y / np.diag(A)[:, None], rel=1e-8)


def test_wrong_input_is_refused():
    gram = DenseGram(K)
    for alpha in (0.0, -1.0, np.nan, np.inf):
        with pytest.raises(ValueError, match="alpha must be positive"):
            Ridge(alpha)
    with pytest.raises(ValueError, match="penalty must be"):
        Ridge(penalty="L")
    with pytest.raises(ValueError, match="weights must be positive"):
        Ridge(weights=np.zeros(N))
    with pytest.raises(ValueError, match="shape"):
        Ridge(penalty=np.eye(3)).solve(gram, Y)
    with pytest.raises(NotPositiveDefinite, match="penalty matrix"):
        Ridge(penalty=np.diag(np.linspace(-1, 1, N))).solve(gram, Y)
    with pytest.raises(ValueError, match="symmetric"):
        Ridge(penalty=np.triu(np.ones((N, N)))).solve(gram, Y)
    with pytest.raises(ValueError, match="Y must have shape"):
        Ridge().solve(gram, Y[:, 0])
    with pytest.raises(ValueError, match="Y contains NaN"):
        Ridge().solve(gram, np.where(Y > 0, np.nan, Y))
    broken = K.copy()
    broken[2, 3] = broken[3, 2] = np.nan
    with pytest.raises(ValueError, match="Gram matrix contains NaN"):
        Ridge().solve(DenseGram(broken), Y)
    with pytest.raises(ValueError, match="penalty matrix contains NaN"):
        Ridge(penalty=T * np.nan).solve(gram, Y)


@pytest.mark.parametrize("machine", [Ridge(), Ridge(penalty="I"), Subset([0, 3])])
def test_a_matrix_that_is_not_symmetric_is_refused(machine):
    skew = K.copy()
    skew[2, 3] += 1e-6
    with pytest.raises(ValueError, match="not symmetric"):
        machine.solve(DenseGram(skew), Y)
    skew[2, 3] = K[3, 2] + 1e-10  # rounding
    machine.solve(DenseGram(skew), Y)
    with pytest.raises(ValueError, match="Y contains NaN"):
        machine.solve(DenseGram(K), np.where(Y > 0, np.nan, Y))


def test_what_no_matrix_can_be():
    gram = DenseGram(K)
    for machine in (Ridge(), Ridge(penalty="I"), Ridge(bias=True)):
        with pytest.raises(NotStored, match="needs the whole matrix"):
            machine.solve(ChunkedGram(RBF(0.8), X), Y)
    with pytest.raises(NotPositiveDefinite):
        Ridge().solve(DenseGram(K - 2 * np.eye(N)), Y)
    with pytest.raises(Undefined, match="positive definite"):
        Ridge(penalty=SINGULAR).solve(gram, Y).variance(K, np.ones(N))


@pytest.mark.parametrize("criterion", [ABIC(), LOO()])
def test_an_evaluation_with_its_gradient_needs_few_arrays(criterion, rng):
    """K, R and the adjoint; leave-one-out has two more for its curvature. Distances, centring and the way back have none."""
    n, d = 500, 6
    points = rng.normal(size=(n, d))
    problem = Objective(
        RBF(np.full(d, 2.0)), Ridge(0.1, True), criterion, DenseBuilder(points), rng.normal(size=(n, 1))
    )
    problem(problem.theta).gradient
    tracemalloc.start()
    gradient = problem(problem.theta + 0.1).gradient
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert np.all(gradient != 0)
    assert peak < {"abic": 4, "loo": 6}[criterion.name] * 8 * n**2


@pytest.mark.parametrize("bias", [True, False])
def test_left_out_residuals_are_as_large_as_the_process_expects(bias, rng):
    X, Y = rng.normal(size=(30, 2)), rng.normal(size=(30, 2))
    K = np.exp(-((X[:, None] - X) ** 2).sum(axis=2))
    squares = []
    for i in range(30):
        rest = np.delete(np.arange(30), i)
        fit = Ridge(0.3, bias=bias).solve(DenseGram(K[np.ix_(rest, rest)]), Y[rest])
        # With unit noise a new target has the variance of the function plus one.
        variance = 1 + fit.variance(K[[i]][:, rest], K[[i], [i]], sigma2=1.0)[0]
        squares.append((Y[i] - K[i, rest] @ fit.alpha - fit.b) ** 2 / variance)
    found = Ridge(0.3, bias=bias).solve(DenseGram(K), Y).left_out_variances()
    assert found == pytest.approx(np.mean(squares, axis=0))


def test_a_row_of_weight_two_counts_twice_in_the_noise(rng):
    X, Y = rng.normal(size=(20, 2)), rng.normal(size=(20, 1))
    counts = np.where(np.arange(20) < 6, 2.0, 1.0)
    rows = np.repeat(np.arange(20), counts.astype(int))
    K = np.exp(-((X[:, None] - X) ** 2).sum(axis=2))
    weighted = Ridge(0.3, True, counts, row_counts=counts).solve(DenseGram(K), Y)
    repeated = Ridge(0.3, True).solve(DenseGram(K[np.ix_(rows, rows)]), Y[rows])
    assert weighted.left_out_variances() == pytest.approx(repeated.left_out_variances())
