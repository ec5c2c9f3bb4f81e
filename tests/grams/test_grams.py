"""What every Gram owes, checked against explicit linear systems; dense and low rank obey the same laws."""

from dataclasses import dataclass

import numpy as np
import pytest
from sklearn.gaussian_process.kernels import RBF

from foldless.core import linalg
from foldless.core.errors import MissingVerb, NeedsLocalFeatures, NotPositiveDefinite, NotStored
from foldless.core.gram import Gram
from foldless.grams import ChunkedGram, DenseGram, LowRankGram, SpectralFactor, dense
from foldless.grams.dask import Blocks, DaskGram
from oracles.klr import bordered_inverse, covariance

N = 9
FORMS = {"dense": lambda F: DenseGram(F @ F.T), "lowrank": LowRankGram}


@dataclass
class Case:
    gram: object
    K: np.ndarray
    w: np.ndarray
    bias: bool

    @property
    def factor(self):
        return self.gram.factor(self.w, self.bias)

    @property
    def V(self):
        return covariance(self.K, self.w, self.bias)

    @property
    def A(self):
        return bordered_inverse(self.K, self.w, self.bias)


def features(rank, offset=0.0):
    return np.random.default_rng(rank).normal(size=(N, rank)) + offset


def weights(kind):
    rng = np.random.default_rng(7)
    w = rng.uniform(0.1, 2.0, size=N)
    if kind == "zeros":
        w[[1, 4, 5]] = 0
    if kind == "wild":
        w = 10.0 ** rng.uniform(-12, 5, size=N)
    return w


@pytest.fixture(params=["dense", "lowrank"])
def form(request):
    return FORMS[request.param]


@pytest.fixture(params=[True, False], ids=["bias", "plain"])
def bias(request):
    return request.param


@pytest.fixture(params=["even", "zeros", "wild"])
def case(request, form, bias, rank):
    F = features(rank)
    return Case(form(F), F @ F.T, weights(request.param), bias)


@pytest.fixture(params=[3, N], ids=["singular", "full"])
def rank(request):
    return request.param


def near(ours, expected, digits=9):
    scale = np.max(np.abs(expected))
    np.testing.assert_allclose(ours, expected, rtol=10.0**-digits, atol=10.0**-digits * scale)


def test_solve_is_the_bordered_inverse(case):
    M = np.random.default_rng(1).normal(size=(N, 3))
    near(case.factor.solve(M), case.A @ M)
    near(case.factor.solve(M[:, 0]), case.A @ M[:, 0])


def test_covariance_is_the_inverse_of_the_summed_precisions(case):
    M = np.random.default_rng(2).normal(size=(N, 3))
    near(case.factor.covariance(M), case.V @ M, digits=8)
    near(case.factor.covariance(M[:, 0]), case.V @ M[:, 0], digits=8)
    near(case.factor.repeated_covariance(M), case.V @ M, digits=8)
    for rows in (np.array([3]), np.arange(0, N, 2)):
        near(case.factor.covariance_columns(rows), case.V[:, rows], digits=8)


@pytest.mark.parametrize("bias", [True, False])
def test_the_quick_covariance_is_the_covariance_where_weights_matter(bias, rank):
    F, w = features(rank), weights("even")
    M = np.random.default_rng(2).normal(size=(N, 3))
    factor = DenseGram(F @ F.T).factor(w, bias)
    assert factor.has_quick_covariance
    near(factor.quick_covariance(M), covariance(F @ F.T, w, bias) @ M)
    near(factor.quick_covariance(M[:, 0]), covariance(F @ F.T, w, bias) @ M[:, 0])
    for too_small in (weights("zeros"), 1e-12 * w):
        assert not DenseGram(F @ F.T).factor(too_small, bias).has_quick_covariance


def test_the_factor_in_single_precision_has_half_the_digits(bias, rank):
    F, w = features(rank), weights("even")
    M = 1e-30 * np.random.default_rng(2).normal(size=(N, 3))
    single = DenseGram(F @ F.T).single_factor(w, bias)
    # Leverages are above 0.01 for these weights, so that no more than two digits cancel.
    near(single.covariance(M), covariance(F @ F.T, w, bias) @ M, digits=4)
    near(single.covariance(M[:, :1]), covariance(F @ F.T, w, bias) @ M[:, :1], digits=4)


@pytest.mark.parametrize("scale", [1e5, 1e30, 1e300])
def test_there_is_no_factor_in_single_precision_where_rounding_hides_the_matrix(bias, scale):
    F = features(3)
    assert DenseGram(F @ F.T).single_factor(scale * weights("even"), bias) is None


def test_there_is_no_factor_in_single_precision_of_an_indefinite_matrix():
    K = np.eye(N)
    K[0, 0] = -5.0
    assert DenseGram(K).single_factor(np.ones(N)) is None


def test_factors_of_large_matrices_need_no_centred_copy(monkeypatch, case):
    monkeypatch.setattr(dense, "TILED_MIN_ROWS", 1)
    monkeypatch.setattr(linalg, "TILED_MIN_ROWS", 1)
    if not isinstance(case.gram, DenseGram):
        pytest.skip("only an array is large")
    factor, M = case.factor, np.random.default_rng(2).normal(size=(N, 3))
    near(factor.solve(M), case.A @ M)
    near(factor.covariance(M), case.V @ M, digits=8)
    near(factor.inverse_diag(), 1 - case.w * np.diag(case.V), digits=8)
    if case.w.all():
        near(factor.covariance_diag(), np.diag(case.V), digits=8)
        assert "_centred" not in vars(case.gram)
    near(factor.covariance_diag(), np.diag(case.V), digits=8)
    # With the copy that somebody else made they have the same digits.
    case.gram.centred()
    assert np.array_equal(case.factor.L, factor.L)


@pytest.mark.parametrize("exponents", [(-9, -7), (-60, -10), (-190, -100), (-300, -210)])
def test_the_variance_of_points_of_little_leverage_keeps_its_digits(bias, rank, exponents):
    F, w = features(rank), weights("even")
    light = np.array([0, 3, 7, 8])
    w[light] = 10.0 ** np.random.default_rng(1).uniform(*exponents, size=4)
    expected = np.diag(covariance(F @ F.T, w, bias))
    np.testing.assert_allclose(DenseGram(F @ F.T).factor(w, bias).covariance_diag(), expected, rtol=1e-8)


def test_logdet_is_the_determinant(case):
    s = np.sqrt(case.w)
    B = np.eye(N) + s[:, None] * case.K * s
    expected = np.linalg.slogdet(B)[1]
    if case.bias:
        expected += np.log(s @ np.linalg.solve(B, s))
    assert case.factor.logdet() == pytest.approx(expected, rel=1e-8, abs=1e-9)


def test_diagonals_are_those_of_the_matrices(case):
    near(case.factor.covariance_diag(), np.diag(case.V), digits=8)
    near(case.factor.inverse_diag(), 1 - case.w * np.diag(case.V), digits=8)
    assert case.factor.trace_inverse() == pytest.approx(np.trace(case.A), rel=1e-8)


def test_sandwich_and_congruence_are_what_they_say(case):
    e = np.random.default_rng(3).normal(size=N)
    V, H = case.V, np.eye(N) - case.V * case.w
    near(case.factor.sandwich(e), np.diag((V * e) @ V), digits=7)
    near(case.factor.congruence(e) @ np.eye(N), H.T @ (e[:, None] * H), digits=7)


def test_a_free_bias_is_the_limit_of_a_wide_constant_kernel(form, rank):
    F, w, M = features(rank), weights("even"), np.eye(N)
    wide = form(np.column_stack([F, np.full(N, 3e3)])).factor(w, bias=False)
    free = form(F).factor(w, bias=True)
    near(free.covariance(M), wide.covariance(M), digits=6)
    near(free.solve(M), wide.solve(M), digits=5)


def test_with_a_bias_the_covariance_fixes_constants(case):
    if case.bias:
        near(case.factor.covariance(case.w), np.ones(N), digits=8)
        assert np.max(np.abs(case.factor.solve(np.ones(N)))) <= 1e-8 * np.max(case.w)


def test_the_slope_is_that_of_the_diagonal_in_a_common_factor(case):
    e, V = np.random.default_rng(8).normal(size=N), case.V
    expected = e @ np.diag(V - (V * case.w) @ V)
    assert case.factor.covariance_slope(e) == pytest.approx(expected, rel=1e-7, abs=1e-7 * np.max(np.diag(V)))


def test_one_decomposition_serves_every_verb_of_a_factor(form, rank, bias):
    F, w, lam, rows = features(rank), weights("even"), 0.3, np.array([5, 1])
    factor = SpectralFactor(form(F).weighted_spectrum(lam * w, bias), lam * w, lam, bias)
    V, A = covariance(F @ F.T, w, bias), bordered_inverse(F @ F.T, w, bias)
    H, S, e = np.eye(N) - V * w, np.sqrt(w), np.random.default_rng(6).normal(size=N)
    some = np.ix_(rows, rows)
    near(factor.covariance(np.eye(N)), V)
    near(factor.solve(np.eye(N)), A)
    near(factor.resolvent() @ np.eye(N), A)
    near(factor.covariance_root() @ factor.covariance_root().T, V)
    near(factor.sandwich(e), np.diag((V * e) @ V))
    near(factor.congruence(e) @ np.eye(N), H.T @ (e[:, None] * H))
    near(factor.inverse_diag(), 1 - w * np.diag(V))
    near([factor.block(rows), factor.covariance_block(rows)], [A[some], V[some]])
    near(factor.inverse_block(rows), (np.eye(N) - S[:, None] * V * S)[some])
    assert factor.covariance_slope(e) == pytest.approx(e @ np.diag(V - (V * w) @ V), rel=1e-8)
    assert factor.logdet() == pytest.approx(form(F).factor(w, bias).logdet(), rel=1e-9)


ONES = np.ones(N)
# Every verb that a form of the matrix may lack, and arguments for it.
VERBS = {
    "subset": (np.arange(2),),
    "block": (np.arange(2), np.arange(2)),
    "combine": (np.arange(2), np.ones(2)),
    "extremes": (),
    "centred": (),
    "shifted": (1.0,),
    "factor": (ONES,),
    "residual_maker": (ONES,),
    "spectrum": (),
    "weighted_spectrum": (ONES,),
    "image_beside": (np.zeros((N, 0)), ONES),
    "norm": (),
    "centred_norm": (),
    "diagonal": (ONES,),
    "adjoint": (ONES[:, None], ONES[:, None]),
    "inner": (np.eye(N),),
}


@dataclass(frozen=True, eq=False)
class Identity(Gram):
    """The least that a Gram must know."""

    n: int = N

    def matmul(self, M):
        return M

    def diag(self):
        return np.ones(self.n)


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize(
    "gram, error",
    [
        (DenseGram(np.eye(N)), MissingVerb),
        (LowRankGram(np.eye(N)), MissingVerb),
        (ChunkedGram(RBF(), np.arange(N)[:, None]), NotStored),
        (DaskGram(Blocks(None, [], [], (N, N)), None), NeedsLocalFeatures),
        (Identity(), MissingVerb),
    ],
    ids=lambda value: type(value).__name__,
)
def test_a_form_has_a_verb_or_names_it_in_its_error(gram, error, verb):
    if getattr(type(gram), verb) is not getattr(Gram, verb):
        return  # the other laws prove what it returns
    with pytest.raises(error, match=rf"{verb}\(\)"):
        getattr(gram, verb)(*VERBS[verb])


def test_the_table_of_verbs_is_complete():
    known = {"missing", "n", "matmul", "diag", "memo", "dense", "semidefinite", "landmark_root"}
    assert {name for name in vars(Gram) if not name.startswith("_")} == known | set(VERBS)


def test_a_bias_does_not_see_rank_one_shifts_of_the_kernel():
    F, w = features(N), weights("even")
    K, u = F @ F.T, np.full(N, 1e3)
    shifted = DenseGram(K + u[:, None] + u).factor(w, bias=True)
    plain = DenseGram(K).factor(w, bias=True)
    near(shifted.covariance_diag(), plain.covariance_diag(), digits=9)
    assert shifted.logdet() == pytest.approx(plain.logdet(), rel=1e-9)


def test_products_and_parts_are_those_of_the_array(form, rank):
    F, rows = features(rank), np.array([4, 0, 7])
    K, gram, M = F @ F.T, form(F), np.random.default_rng(4).normal(size=(N, 2))
    J = np.eye(N) - 1 / N
    assert gram.n == N
    near(gram.matmul(M), K @ M)
    near(gram.matmul(M[:, 0]), K @ M[:, 0])
    near(gram.diag(), np.diag(K))
    near(gram.subset(rows).matmul(np.eye(3)), K[np.ix_(rows, rows)])
    near(gram.centred().matmul(M), J @ K @ J @ M)
    near(gram.shifted(2.5).matmul(M), (K + 2.5) @ M)
    G = M @ M.T
    assert gram.inner(G) == pytest.approx(np.sum(G * K))


def test_spectrum_is_the_eigendecomposition(form, rank):
    F = features(rank)
    U, mu = form(F).spectrum()
    near(U.T @ U, np.eye(len(mu)))
    near((U * mu) @ U.T, F @ F.T)
    assert np.all(np.diff(mu) <= 0)
    assert np.all(mu >= 0)


def test_no_kernel_at_all(form, bias):
    w = weights("even")
    factor = form(np.zeros((N, 1))).factor(w, bias)
    near(factor.covariance(np.eye(N)), np.full((N, N), 1 / w.sum() if bias else 0.0))
    near(factor.covariance_diag(), np.full(N, 1 / w.sum() if bias else 0.0))


def test_wide_kernels_keep_their_digits_with_a_bias():
    X = np.random.default_rng(5).normal(size=(N, 1))
    K = np.exp(-((X - X.T) ** 2) / 2e8)  # 1 minus about 1e-8
    exact = -((X - X.T) ** 2) / 2e8  # the constant 1 is nothing to a bias, the next term is below 1e-15
    w = np.full(N, 1e8)
    factor = DenseGram(K).factor(w, bias=True)
    J = np.eye(N) - 1 / N
    near(factor.covariance_diag(), np.diag(covariance(J @ exact @ J, w, True)), digits=6)


def test_indefinite_matrices_are_refused_with_their_smallest_eigenvalue():
    K = np.array([[1.0, 2.0], [2.0, 1.0]])
    with pytest.raises(NotPositiveDefinite, match=r"smallest eigenvalue -1\.0e\+00"):
        DenseGram(K).factor(np.full(2, 9.0))
    with pytest.raises(NotPositiveDefinite, match=r"smallest eigenvalue -1\.0e\+00"):
        DenseGram(K).spectrum()


@pytest.mark.parametrize("constant", [0.1, 0.7310585786300049, 3.3])
def test_a_constant_gram_is_nothing_but_rounding_once_centred(constant):
    pairs = DenseGram(np.full((20, 20), constant)).weighted_spectrum(np.linspace(0.5, 2, 20), bias=True)
    assert np.max(np.abs(pairs.nu)) < 1e-13
