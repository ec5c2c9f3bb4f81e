import numpy as np
import pytest
from sklearn.gaussian_process.kernels import RBF

from foldless.core.errors import Undefined
from foldless.criteria import LOO, SIC, Mallows
from foldless.grams import DenseGram, LowRankGram
from foldless.machines import Subset, forward

N = 30
RNG = np.random.default_rng(4)
X = RNG.uniform(-3, 3, size=(N, 1))
K = RBF(0.7)(X)
V = RNG.uniform(0.3, 3, size=N)
Y = (K[:, [3, 11, 20]] @ np.array([1.5, -2.0, 1.0]) + 0.05 * RNG.normal(size=N))[:, None]


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("weights", [None, V])
def test_the_fit_is_least_squares(bias, weights):
    S = [2, 7, 19, 25]
    root = np.ones(N) if weights is None else np.sqrt(weights)
    A = np.column_stack([K[:, S], np.ones(N)]) if bias else K[:, S]
    beta = np.linalg.lstsq(root[:, None] * A, root[:, None] * Y, rcond=None)[0]
    s = Subset(S, bias, weights).solve(DenseGram(K), Y)
    assert s.alpha[S] == pytest.approx(beta[:4], rel=1e-8)
    assert np.delete(s.alpha, S, axis=0) == pytest.approx(0)
    assert s.b == pytest.approx(beta[4] if bias else np.zeros(1), abs=1e-10)
    assert s.df == pytest.approx(4 + bias)


def test_redundant_columns_count_once():
    twice = np.vstack([X, X[:1]])
    Kt = RBF(0.7)(twice)
    s = Subset([0, N, 5]).solve(DenseGram(Kt), np.vstack([Y, Y[:1]]))
    assert s.df == pytest.approx(2)


def test_leave_one_out_keeps_the_basis():
    S = [2, 7, 19]
    s = Subset(S).solve(DenseGram(K), Y)
    r = []
    for i in range(N):
        rest = np.delete(np.arange(N), i)
        beta = np.linalg.lstsq(K[np.ix_(rest, S)], Y[rest], rcond=None)[0]
        r.append((Y[i] - K[i, S] @ beta).item())
    assert LOO()(s).value == pytest.approx(np.mean(np.square(r)), rel=1e-9)


@pytest.mark.parametrize("criterion", [LOO(), Mallows(0.0025), SIC(sigma2=0.0025)])
def test_forward_selection_improves_on_every_single_function(criterion):
    found = forward(DenseGram(K), Y, lambda s: criterion(s).value, Subset([0]), max_size=10, pool=N)
    singles = [criterion(Subset([j]).solve(DenseGram(K), Y)).value for j in range(N)]
    assert found.values[0] == pytest.approx(min(singles))
    best = criterion(Subset(found.indices).solve(DenseGram(K), Y)).value
    assert best == pytest.approx(min(found.values))
    assert best < min(singles)


def test_forward_selection_by_mallows_needs_no_pool():
    score = lambda s: Mallows(0.0025)(s).value
    one, all_ = (forward(DenseGram(K), Y, score, Subset([0], bias=True, weights=V), pool=p) for p in (1, N))
    assert one.order == all_.order


def test_forward_selection_adds_one_function_and_says_so_if_there_is_no_time():
    score = lambda s: LOO()(s).value
    found = forward(DenseGram(K), Y, score, Subset([0]), seconds=0.0)
    assert found.cut_short
    assert len(found.order) == 1
    assert found.order[0] == forward(DenseGram(K), Y, score, Subset([0])).order[0]
    assert not forward(DenseGram(K), Y, score, Subset([0]), seconds=1e6).cut_short


def test_forward_selection_finds_a_sparse_truth():
    clean = K[:, [3, 11, 20]] @ np.array([[1.5], [-2.0], [1.0]])
    found = forward(
        LowRankGram(np.linalg.cholesky(K + 1e-10 * np.eye(N))), clean, lambda s: LOO()(s).value, Subset([0])
    )
    assert min(found.values) < 1e-4 * np.var(clean)


def test_wrong_input_is_refused():
    for indices, words in (([], "empty"), ([1, 1], "repeats"), ([0.5], "integers"), ([[1]], "row numbers")):
        with pytest.raises(ValueError, match=words):
            Subset(indices)
    for indices in ([N], [-1]):
        with pytest.raises(ValueError, match="must lie in"):
            Subset(indices).solve(DenseGram(K), Y)
    with pytest.raises(ValueError, match="weights"):
        Subset([1], weights=-V)
    with pytest.raises(Undefined, match="zero"):
        Subset([1]).solve(DenseGram(np.zeros((N, N))), Y)
