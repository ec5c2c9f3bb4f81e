"""Laws of the criteria that need no machine."""

import numpy as np
import pytest
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, Matern, WhiteKernel

from foldless.core.errors import Undefined, UnknownName, UnreadableSolution
from foldless.criteria import FSM, Alignment, CenteredAlignment, EigenvalueRatio, Spectral
from foldless.grams import ChunkedGram, DenseGram, LowRankGram
from foldless.grams.builders import ChunkedBuilder, DenseBuilder, NystromBuilder
from foldless.machines import LSSVM, NoMachine, SmoothMachine
from foldless.machines.losses import Logistic
from oracles import reference_set as ref
from oracles import spectral as oracles

approx = pytest.approx
SPECTRA = [
    Spectral(c, r, w)
    for c in ("trace", "sum", "frobenius")
    for r in (1, 2, 3, 5, 1.5, 2.5)
    for w in (True, False)
]
OTHERS = [Alignment(), CenteredAlignment(), FSM(), EigenvalueRatio(2, 0.7, 0.3)]
CRITERIA = [*SPECTRA, *OTHERS]
BY_PRODUCTS = [
    c for c in CRITERIA if not (isinstance(c, EigenvalueRatio) or (isinstance(c, Spectral) and c.r % 1))
]
criteria = pytest.mark.parametrize("criterion", CRITERIA, ids=repr)
by_products = pytest.mark.parametrize("criterion", BY_PRODUCTS, ids=repr)


@pytest.fixture
def rng():
    return np.random.default_rng(3)


@pytest.fixture
def X(rng):
    return rng.normal(size=(14, 3))


@pytest.fixture
def K(X):
    return np.exp(-((X[:, None] - X) ** 2).sum(-1) / 3)


@pytest.fixture
def y(X, rng):
    return np.where(X[:, 0] + 0.4 * rng.normal(size=14) > -0.3, 1.0, -1.0)


@pytest.fixture
def Y(y):
    label = np.where(y > 0, np.arange(14) % 2, 2)
    return np.where(label[:, None] == np.arange(3), 1.0, -1.0)


def read(criterion, K, Y):
    return criterion(NoMachine().solve(DenseGram(K), Y))


def cost(criterion, K, Y):
    return read(criterion, K, Y).value


def array(G):
    return G @ np.eye(G.shape[0])


@by_products
@pytest.mark.parametrize("chunk", [1, 4, 14, None])
def test_strips_give_what_the_whole_matrix_gives(criterion, X, Y, chunk):
    kernel = ConstantKernel(2.0) * RBF(1.3)
    whole, strips = DenseBuilder(X), ChunkedBuilder(X, chunk)
    a = criterion(NoMachine().solve(whole.gram(kernel), Y))
    b = criterion(NoMachine().solve(strips.gram(kernel), Y))
    assert b.value == approx(a.value, rel=1e-10)
    assert array(b.adjoint) == approx(a.adjoint, rel=1e-8, abs=1e-10)
    gradient = whole.pullback(kernel, None, a.adjoint)
    assert strips.pullback(kernel, strips.gram(kernel), b.adjoint) == approx(gradient, rel=1e-8, abs=1e-10)
    assert strips.gram(kernel).inner(b.adjoint) == approx(
        whole.gram(kernel).inner(a.adjoint), rel=1e-8, abs=1e-10
    )


@pytest.mark.parametrize("criterion", [*SPECTRA, *OTHERS[:3]], ids=repr)
def test_a_common_factor_of_the_kernel_changes_nothing(criterion, K, Y):
    assert cost(criterion, 7.3 * K, Y) == approx(cost(criterion, K, Y), rel=1e-10)
    assert np.vdot(read(criterion, K, Y).adjoint, K) == approx(0, abs=1e-9)  # Euler


def test_the_eigenvalue_ratio_ignores_a_common_factor(K, y):
    ratios = [read(EigenvalueRatio(3), s * K, y[:, None]).parts["ratio"] for s in (1, 7.3)]
    assert ratios[0] == approx(ratios[1], rel=1e-10)


def test_centred_alignment_ignores_offsets_of_rows(K, Y, rng):
    a = rng.normal(size=14)
    moved = K + a[:, None] + a
    assert cost(CenteredAlignment(), moved, Y) == approx(cost(CenteredAlignment(), K, Y), rel=1e-10)


@pytest.mark.parametrize("normaliser", ["trace", "sum", "frobenius"])
@pytest.mark.parametrize("weighted", [True, False])
@pytest.mark.parametrize("r", [1, 2, 3, 4, 7])
def test_products_give_the_matrix_power(K, y, normaliser, weighted, r):
    expected = oracles.spectral_measure(K, y, normaliser, r, weighted)
    reading = read(Spectral(normaliser, r, weighted), K, y[:, None])
    assert reading.value == approx(-np.log(expected), rel=1e-10)
    assert reading.parts["spectral"] == approx(expected, rel=1e-10)


@pytest.mark.parametrize("r", [1, 2, 3])
def test_whole_powers_by_eigenvalues_are_those_by_products(K, y, r):
    near = Spectral("trace", r + 1e-9)
    assert cost(near, K, y[:, None]) == approx(cost(Spectral("trace", r), K, y[:, None]), abs=1e-7)
    if r > 1:
        assert read(near, K, y[:, None]).adjoint == approx(
            read(Spectral("trace", r), K, y[:, None]).adjoint, rel=1e-5, abs=1e-6
        )


def test_large_powers_of_the_printed_form_do_not_underflow(X, y):
    n = 400
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 2))
    y = np.sign(X[:, 0])
    reading = read(Spectral("sum", 150), np.exp(-((X[:, None] - X) ** 2).sum(-1)), y[:, None])
    assert 300 < reading.value < 1500
    assert np.all(np.isfinite(reading.adjoint))


def test_several_classes_give_half_the_sum(K, Y):
    each = [oracles.spectral_measure(K, c, "trace", 2) for c in Y.T]
    assert read(Spectral(), K, Y).parts["spectral"] == approx(sum(each) / 2, rel=1e-10)


@criteria
def test_two_classes_as_two_columns_are_the_binary_case(criterion, K, y):
    two, one = np.column_stack([y, -y]), y[:, None]
    assert cost(criterion, K, two) == approx(cost(criterion, K, one), rel=1e-10)
    assert read(criterion, K, two).adjoint == approx(read(criterion, K, one).adjoint, rel=1e-8, abs=1e-10)


def test_the_cut_of_a_graph_is_a_special_case(K, y):
    D = np.diag(K.sum(axis=0))
    ratio = (y @ (D - K) @ y) / (y @ D @ y)
    assert ratio == approx(
        1 - 14 * read(Spectral("sum", 1, False), K, y[:, None]).parts["spectral"], rel=1e-10
    )
    even = np.where(np.arange(14) % 2, 1.0, -1.0)
    ratio = (even @ (D - K) @ even) / (even @ D @ even)
    assert ratio == approx(
        1 - 14 / 4 * read(Spectral("sum", 1), K, even[:, None]).parts["spectral"], rel=1e-10
    )


def test_the_discrepancy_of_means_is_a_special_case(K, y):
    mmd2 = oracles.mmd2(K, y)
    assert read(Spectral("sum", 1), K, y[:, None]).parts["spectral"] == approx(14 * mmd2 / K.sum(), rel=1e-10)
    assert read(Spectral("trace", 1), K, y[:, None]).parts["spectral"] == approx(
        mmd2, rel=1e-10
    )  # unit diagonal
    assert read(FSM(), K, y[:, None]).parts["mmd2"] == approx(mmd2, rel=1e-10)


def test_fsm_is_the_spread_along_the_mean_difference(K, y):
    assert cost(FSM(), K, y[:, None]) == approx(oracles.fsm(K, y), rel=1e-8)


def test_the_identity_kernel(y):
    n, Y = 14, y[:, None]
    for r in (1, 2, 3):
        assert read(Spectral("sum", r, False), np.eye(n), Y).parts["spectral"] == approx(n**-r, rel=1e-12)
    assert cost(FSM(), np.eye(n), Y) == approx(0, abs=1e-15)
    assert cost(Alignment(), np.eye(n), Y) == approx(-1 / np.sqrt(n), rel=1e-12)
    assert cost(CenteredAlignment(), np.eye(n), Y) == approx(-1 / np.sqrt(n - 1), rel=1e-12)


def test_the_spectrum_of_a_projector_has_no_tail(rng, y):
    Q = np.linalg.qr(rng.normal(size=(14, 2)))[0]
    reading = criterion_of(EigenvalueRatio(2, lam=0.5), LowRankGram(Q), y)
    assert reading.parts["ratio"] == np.inf
    assert reading.value == approx(reading.parts["training_error"])


def criterion_of(criterion, gram, y):
    return criterion(NoMachine().solve(gram, y[:, None]))


def test_the_training_error_is_that_of_ridge_regression(K, y):
    rho = y - K @ np.linalg.solve(K + 0.3 * np.eye(14), y)
    assert read(EigenvalueRatio(lam=0.3), K, y[:, None]).parts["training_error"] == approx(
        rho @ rho / 14, rel=1e-9
    )


@criteria
@pytest.mark.parametrize("machine", [LSSVM(2.0), SmoothMachine(Logistic(), 2.0)], ids=["lssvm", "smooth"])
def test_every_machine_may_be_tuned(criterion, machine, K, Y):
    reading, alone = criterion(machine.solve(DenseGram(K), Y)), read(criterion, K, Y)
    assert reading.value == approx(alone.value, rel=1e-12)
    assert reading.adjoint == approx(alone.adjoint, rel=1e-12)
    assert np.array_equal(reading.slope, [0.0])  # blind to the regularisation


def test_gradients_pass_through_landmarks(X, y):
    way = NystromBuilder(X, np.arange(6))
    for criterion in (Spectral(), CenteredAlignment()):

        def at(t, criterion=criterion):
            return criterion_of(criterion, way.gram(RBF(np.exp(t))), y)

        kernel, h = RBF(np.exp(0.2)), 1e-6
        gradient = way.pullback(kernel, way.gram(kernel), at(0.2).adjoint)
        assert gradient[0] == approx((at(0.2 + h).value - at(0.2 - h).value) / (2 * h), rel=1e-6)


SM = {
    ("sum", True): (1.2765805192e-01, 1.0660922238e-02, 1.0187037889e-03, 1.2091992161e-04, 1.2513564370e-04),
    ("trace", True): (
        3.7858278742e-01,
        9.3760535501e-02,
        2.6569652643e-02,
        -3.4500767691e-03,
        6.6234966923e-03,
    ),
    ("frobenius", True): (
        7.1787641943e-01,
        3.3713025268e-01,
        1.8115584335e-01,
        1.3877178375e-02,
        2.1501776427e-02,
    ),
    ("sum", False): (3.2400515803e-02, 2.8265215680e-03, 2.8659797300e-04, None, None),
}


@pytest.mark.parametrize("case", SM, ids=str)
def test_reference_numbers_of_the_spectral_measure(case):
    for r, expected in zip((1, 2, 3), SM[case]):
        reading = read(Spectral(case[0], r, case[1]), ref.K, ref.labels[:, None])
        assert reading.parts["spectral"] == approx(expected, rel=2e-10)
    if SM[case][3] is not None:
        G = -reading.adjoint * reading.parts["spectral"]  # of SM, where the reading is -log SM
        assert G[0, :2] == approx(SM[case][3:], rel=2e-10)


def test_reference_numbers_of_the_others():
    def at(criterion):
        return read(criterion, ref.K, ref.labels[:, None])

    assert at(Spectral("sum", 2.5)).parts["spectral"] == approx(3.2744454753e-03, rel=2e-10)
    assert at(Spectral("sum", threshold=0.05)).parts["spectral"] == approx(1.1142941289e-01, rel=2e-10)
    assert at(Spectral("sum", threshold=0.05)).adjoint is None
    assert -at(Alignment()).value == approx(1.8220210885e-01, rel=2e-10)
    assert -at(Alignment()).adjoint[0, :2] == approx([1.9391954226e-02, 2.1696828664e-02], rel=2e-10)
    assert -at(CenteredAlignment()).value == approx(2.4172300743e-01, rel=2e-10)
    assert -at(CenteredAlignment()).adjoint[0, :2] == approx([2.6656965373e-03, 1.1763489605e-02], rel=2e-10)
    assert at(FSM()).value == approx(1.4557296148e00, rel=2e-10)
    assert at(FSM()).parts["mmd2"] == approx(3.7858278742e-01, rel=2e-10)
    assert at(EigenvalueRatio(2)).parts["ratio"] == approx(2.1776863441e00, rel=2e-10)
    y, D = ref.labels, np.diag(ref.K.sum(axis=0))
    assert y @ (D - ref.K) @ y / (y @ D @ y) == approx(7.4079587357e-01, rel=2e-10)
    assert 1 - 8 * at(Spectral("sum", 1, False)).parts["spectral"] == approx(7.4079587357e-01, rel=2e-10)


def test_the_cut_equals_that_of_shi_and_malik_only_for_equal_volumes():
    y, d = ref.labels, ref.K.sum(axis=0)
    cut = ref.K[np.ix_(y > 0, y < 0)].sum()
    assert cut / d[y > 0].sum() + cut / d[y < 0].sum() == approx(7.6995660425e-01, rel=2e-10)


def test_one_class_is_refused(K):
    for criterion in (Spectral(), FSM(), CenteredAlignment()):
        with pytest.raises(ValueError, match=r"two classes|one class"):
            read(criterion, K, np.ones((14, 1)))


def test_regression_targets_are_refused_where_classes_are_meant(K, rng):
    Y = rng.normal(size=(14, 1))
    for criterion in (Spectral(), FSM()):
        with pytest.raises(ValueError, match="-1 and 1"):
            read(criterion, K, Y)
    assert np.isfinite(cost(Spectral(weighted=False), K, Y))


def test_fsm_needs_two_points_of_each_class(K):
    y = np.ones(14)
    y[3] = -1
    with pytest.raises(ValueError, match="two points of each class"):
        read(FSM(), K, y[:, None])


@pytest.mark.parametrize("options", [{"r": 0.5}, {"r": np.nan}, {"threshold": -1}])
def test_bad_options_are_named(options):
    with pytest.raises(ValueError, match=next(iter(options))):
        Spectral(**options)


def test_bad_names_list_the_good_ones():
    with pytest.raises(UnknownName, match="frobenius, sum, trace"):
        Spectral("l1")
    with pytest.raises(ValueError, match="positive integer"):
        EigenvalueRatio(0)
    with pytest.raises(ValueError, match="lam"):
        EigenvalueRatio(lam=0)


def test_a_normaliser_that_vanishes_is_undefined(K, y):
    J = np.eye(14) - 1 / 14
    with pytest.raises(Undefined, match="normaliser='trace'"):
        read(Spectral("sum"), J @ K @ J, y[:, None])
    assert np.isfinite(cost(Spectral("trace"), J @ K @ J, y[:, None]))


def test_kernels_that_see_nothing_are_undefined(y):
    constant = np.ones((14, 14))
    for criterion in (CenteredAlignment(), FSM()):
        with pytest.raises(Undefined):
            read(criterion, constant, y[:, None])
    with pytest.raises(Undefined):
        read(Spectral(), np.zeros((14, 14)), y[:, None])
    with pytest.raises(Undefined):
        read(Alignment(), np.zeros((14, 14)), y[:, None])


def test_the_traps_have_a_warning(K, y):
    Y = y[:, None]
    wide, narrow = (NoMachine().solve(DenseGram(M), Y) for M in (K, np.eye(14) + 1e-5))
    assert "identity" in FSM().warning_for(narrow)
    assert FSM().warning_for(wide) == ""
    assert "trace" in Spectral("sum").warning_for(wide)
    assert Spectral("trace").warning_for(wide) == ""
    J = np.eye(14) - 0.999 / 14
    assert "largest eigenvalue" in Spectral("sum").warning_for(NoMachine().solve(DenseGram(J @ K @ J), Y))


def test_what_needs_the_whole_matrix_says_so(X, y):
    gram = ChunkedGram(RBF(1.0), X)
    with pytest.raises(TypeError, match="never stored"):
        criterion_of(Spectral(r=1.5), gram, y)
    with pytest.raises(TypeError, match="never stored"):
        LSSVM().solve(gram, y[:, None])
    with pytest.raises(ValueError, match="WhiteKernel"):
        ChunkedBuilder(X).gram(Matern() + WhiteKernel())


def test_a_subset_of_strips_is_the_gram_of_the_subset(X):
    rows = np.array([3, 1, 9])
    assert ChunkedGram(RBF(1.0), X).subset(rows).matmul(np.eye(3)) == approx(RBF(1.0)(X[rows]))


def test_an_unknown_solution_is_refused_with_alternatives():
    with pytest.raises(UnreadableSolution, match="spectral reads HasTargets"):
        Spectral()(object())


def test_alignment_with_nothing_is_refused():
    with pytest.raises(ValueError, match="not all zero"):
        Alignment()(NoMachine().solve(DenseGram(np.eye(4)), np.zeros((4, 1))))
