"""A matrix of low numerical rank: the quick way to its eigenpairs gives what the slow way gives."""

import numpy as np
import pytest
from sklearn.gaussian_process.kernels import RBF

from foldless import KernelRidgeRegressor
from foldless.criteria import ABIC, GCV, LOO, SIC, Evidence, KFold, Mallows
from foldless.grams import DenseGram, LowRankGram
from foldless.kernels import Laplacian
from foldless.machines import Ridge
from foldless.machines.least_squares.eigenbasis import SINGULAR_MAX_ROWS, thin

N = 400
EPS = np.finfo(float).eps
RNG = np.random.default_rng(0)
V = RNG.uniform(0.3, 3, size=N)
ALPHAS = np.array([1e-6, 1e-4, 1e-1, 1e3])
CRITERIA = [LOO(), GCV(), ABIC(), Evidence(), KFold(5), Mallows(0.05), SIC(sigma2=0.05)]
SETTINGS = [(bias, weights) for bias in (False, True) for weights in (None, V)]


def points(d):
    return np.random.default_rng(d).normal(size=(N, d))


def targets(X):
    noise = np.random.default_rng(9).normal(size=(N, 2))
    return np.column_stack([np.sin(2 * X[:, 0]), X.sum(1)]) + 0.2 * noise


def thick(K):
    """The same Gram, made to take the long way."""
    gram = DenseGram(K)
    gram.memo.get("thin", compute=dict)["rank above"] = N
    return gram


PROBLEMS = {
    "line": (points(1), RBF(1.0)),
    "plane": (points(2), RBF(1.5)),
    "duplicates": (np.repeat(points(2)[: N // 4], 4, axis=0), RBF(1.0)),
    "constant column": (np.column_stack([points(1), np.ones(N)]), RBF(1.0)),
}


@pytest.mark.parametrize(("bias", "weights"), [(False, None), (True, V)])
@pytest.mark.parametrize("name", PROBLEMS)
def test_the_whole_path_is_that_of_the_dense_matrix(name, bias, weights):
    """To what either way errs by: the eigenvalues are known to eps times the largest, alpha is what they are added to."""
    X, kernel = PROBLEMS[name]
    K, Y = kernel(X), targets(X)
    quick, slow = DenseGram(K), thick(K)
    assert isinstance(thin(quick), LowRankGram)
    assert thin(slow) is slow
    top = np.linalg.eigvalsh(K)[-1] * (1 if weights is None else weights.max())
    for alpha in ALPHAS:
        machine = Ridge(alpha, bias, weights, route="spectrum")
        one, other = machine.solve(quick, Y), machine.solve(slow, Y)
        assert len(one.smoother.basis.s) <= N / 2 < N - bias == len(other.smoother.basis.s)
        rel = 1e-12 + 10 * EPS * top / alpha
        assert one.whitened_residuals == pytest.approx(other.whitened_residuals, abs=rel * np.abs(Y).max())
        for criterion in CRITERIA:
            assert criterion(one).value == pytest.approx(criterion(other).value, rel=rel), criterion
            slope = criterion(other).slope
            assert criterion(one).slope == pytest.approx(slope, abs=rel * (np.abs(slope[0]) + N))


@pytest.mark.parametrize(("bias", "weights"), SETTINGS)
@pytest.mark.parametrize("penalty", ["K", "I", "T"])
def test_the_adjoint_is_that_of_the_dense_matrix(penalty, bias, weights):
    X, kernel = PROBLEMS["plane"]
    K, Y = kernel(X), targets(X)
    given = np.diag(np.linspace(1, 2, N)) if penalty == "T" else penalty
    machine = Ridge(0.3, bias, weights, given, route="spectrum")
    one, other = machine.solve(DenseGram(K), Y), machine.solve(thick(K), Y)
    assert K @ one.alpha + one.b == pytest.approx(K @ other.alpha + other.b, abs=1e-8)
    for criterion in (LOO(), GCV(), ABIC(), SIC(sigma2=0.05)):
        a, b = criterion(one), criterion(other)
        assert a.value == pytest.approx(b.value, rel=1e-8)
        assert np.abs(a.adjoint - b.adjoint).max() < 1e-7 * np.abs(b.adjoint).max(), criterion


def test_the_rank_aware_criterion_sees_the_same_rank():
    """Where the eigenvalues have a gap at the rank (a few trigonometric functions) even the part with K^+ agrees."""
    t = np.random.default_rng(2).uniform(-np.pi, np.pi, N)
    F = np.column_stack([np.ones(N), *(f(k * t) for k in (1, 2, 3) for f in (np.sin, np.cos))])
    Y = targets(t[:, None])
    for alpha in ALPHAS:
        one, other = (Ridge(alpha, route="spectrum").solve(gram(F @ F.T), Y) for gram in (DenseGram, thick))
        for norm in ("paper", "e"):
            criterion = SIC(norm, 0.05)
            assert criterion(one).value == pytest.approx(criterion(other).value, rel=1e-7)


def test_leave_one_out_on_the_quick_way_is_a_refit():
    X, kernel = PROBLEMS["plane"]
    K, Y = kernel(X), targets(X)
    s = Ridge(1e-3, True, V, route="spectrum").solve(DenseGram(K), Y)
    for i in (0, 17, 399):
        rest = np.delete(np.arange(N), i)
        M = np.block(
            [[K[np.ix_(rest, rest)] + np.diag(1e-3 / V[rest]), np.ones((N - 1, 1))], [np.ones(N - 1), 0.0]]
        )
        fit = np.linalg.solve(M, np.vstack([Y[rest], np.zeros((1, 2))]))
        left = Y[i] - K[i, rest] @ fit[:-1] - fit[-1]
        assert s.loo_residuals[i] / np.sqrt(V[i]) == pytest.approx(left, rel=1e-7)


@pytest.mark.parametrize(
    ("X", "kernel"), [(points(1), Laplacian(1.0)), (points(2), RBF(0.02)), (points(8), RBF(2.0))]
)
def test_a_matrix_of_full_rank_is_decomposed_as_ever(X, kernel):
    K, Y = kernel(X), targets(X)
    gram, slow = DenseGram(K), thick(K)
    assert thin(gram) is gram
    one, other = (Ridge(1e-6, True, route="spectrum").solve(g, Y) for g in (gram, slow))
    assert np.array_equal(one.alpha, other.alpha)


def test_few_rows_are_decomposed_by_their_root_if_they_are_singular():
    regular = DenseGram(np.eye(SINGULAR_MAX_ROWS))
    assert thin(regular) is regular
    singular = DenseGram(np.diag(np.r_[0.0, np.ones(SINGULAR_MAX_ROWS - 1)]))
    assert thin(singular).F.shape[1] == SINGULAR_MAX_ROWS - 1
    low = LowRankGram(np.ones((N, 1)))
    assert thin(low) is low


def test_a_thin_root_is_found_up_to_the_rank_asked_for_whatever_was_asked_before():
    X, kernel = PROBLEMS["plane"]
    gram = DenseGram(kernel(X))
    rank = thin(DenseGram(kernel(X))).F.shape[1]
    assert thin(gram, 0.5 * rank / N) is gram
    assert thin(gram).F.shape[1] == rank
    assert thin(gram, 0.5 * rank / N) is gram


def test_one_solve_decomposes_only_where_that_is_quicker():
    def route(gram):
        return type(Ridge(0.1, True).solve(gram, targets(points(1))).smoother).__name__

    assert route(DenseGram(RBF(1.0)(points(1)))) == "SpectralSmoother"
    assert route(DenseGram(RBF(1.0)(points(2)))) == "DenseSmoother"
    assert route(DenseGram(RBF(2.0)(points(8)))) == "DenseSmoother"


@pytest.mark.parametrize("penalty", ["K", "I"])
@pytest.mark.parametrize(("bias", "weights"), [(False, None), (True, V)])
@pytest.mark.parametrize("gram", [DenseGram, thick, lambda K: LowRankGram(thin(DenseGram(K)).F[:, :9])])
def test_the_path_is_one_solve_after_the_other(gram, bias, weights, penalty):
    X, kernel = PROBLEMS["line"]
    gram, Y = gram(kernel(X)), targets(X)
    machine = Ridge(1.0, bias, weights, penalty)
    for alpha, s in zip(ALPHAS, machine.path(gram, Y, ALPHAS), strict=True):
        single = Ridge(alpha, bias, weights, penalty, route="spectrum").solve(gram, Y)
        assert s.lam == alpha
        assert s.whitened_residuals == pytest.approx(single.whitened_residuals, rel=1e-9, abs=1e-12)
        assert s.loo_residuals == pytest.approx(single.loo_residuals, rel=1e-7, abs=1e-12)
        assert s.alpha == pytest.approx(single.alpha)
        assert LOO()(s).slope == pytest.approx(LOO()(single).slope, rel=1e-6)


def test_the_estimator_chooses_the_same_alpha(monkeypatch):
    X, _ = PROBLEMS["line"]
    y = targets(X)[:, 0]
    quick = KernelRidgeRegressor(RBF(1.0, "fixed"), gram="dense").fit(X, y)
    assert thin(quick.selection_.solution.gram) is not quick.selection_.solution.gram
    monkeypatch.setattr("foldless.machines.least_squares.eigenbasis.thin_root", lambda A, most: None)
    slow = KernelRidgeRegressor(RBF(1.0, "fixed"), gram="dense").fit(X, y)
    assert quick.alpha_ == pytest.approx(slow.alpha_, rel=1e-5)
    assert quick.criterion_value_ == pytest.approx(slow.criterion_value_, rel=1e-10)
    assert quick.predict(X) == pytest.approx(slow.predict(X), abs=1e-6)
