import numpy as np
import pytest
from sklearn.datasets import make_moons
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, DotProduct, Matern, WhiteKernel

from foldless import select_kernel
from foldless.core.errors import CriterionWarning, Undefined, UnknownName
from foldless.core.targets import as_columns
from foldless.criteria import FSM, LOO, CenteredAlignment, Spectral
from foldless.datasets import make_banana
from foldless.grams import DenseGram
from foldless.grams.builders import DenseBuilder
from foldless.machines import LSSVM, NoMachine
from foldless.tuning.select_kernel import kernel_grid
from foldless.tuning.squaring_builder import SquaringDenseBuilder

approx = pytest.approx
WIDTHS = 2.0 ** np.arange(-6, 6)


@pytest.fixture(scope="module")
def moons():
    return make_moons(70, noise=0.15, random_state=1)


def cost(criterion, kernel, X, y):
    return criterion(NoMachine().solve(DenseGram(kernel(X)), as_columns(y))).value


@pytest.mark.parametrize("criterion", [Spectral(), CenteredAlignment(), Spectral("frobenius", 3)], ids=repr)
def test_the_winner_has_the_lowest_cost_of_all_candidates(moons, criterion):
    choice = select_kernel(*moons, (RBF(), {"length_scale": WIDTHS}), criterion, refine=False)
    costs = [cost(criterion, RBF(width), *moons) for width in WIDTHS]
    assert [row.value for row in choice.table] == approx(costs, rel=1e-9)
    assert choice.kernel.length_scale == WIDTHS[np.argmin(costs)]
    assert choice.value == min(row.value for row in choice.table)
    assert [row.rank for row in choice.table] == list(np.argsort(np.argsort(costs)) + 1)


@pytest.mark.parametrize("criterion", [Spectral(), Spectral("frobenius", 3)], ids=repr)
def test_refinement_ends_where_the_gradient_vanishes(moons, criterion):
    choice = select_kernel(*moons, (RBF(), {"length_scale": [0.1, 1.0, 10.0]}), criterion)
    assert "refined" in choice.table[-1].note
    assert choice.table[-1].rank == 1
    assert choice.value < min(row.value for row in choice.table.rows[:-1])
    at = [cost(criterion, RBF(choice.kernel.length_scale * t), *moons) for t in (0.9, 1.0, 1.1)]
    assert at[1] == approx(choice.value, rel=1e-9)
    assert at[1] < min(at[0], at[2])


def test_fixed_parameters_are_not_refined(moons):
    choice = select_kernel(*moons, [RBF(0.5, "fixed"), RBF(2.0, "fixed")])
    assert len(choice.table) == 2
    assert choice.kernel.length_scale in (0.5, 2.0)


def test_families_and_names_compete(moons):
    choice = select_kernel(
        *moons, ["rbf", "linear", Matern(nu=1.5), ConstantKernel() * DotProduct()], refine=False
    )
    assert len(choice.table) == 4
    assert choice.kernel is choice.table[int(np.argmin([row.value for row in choice.table]))].kernel


@pytest.mark.parametrize("gram", ["chunked", "lowrank"])
def test_other_grams_choose_the_same(moons, gram):
    options = {"chunk": 13} if gram == "chunked" else {"n_components": 70}
    whole = select_kernel(*moons, (RBF(), {"length_scale": [0.3, 1.0, 3.0]}), gram="dense")
    other = select_kernel(*moons, (RBF(), {"length_scale": [0.3, 1.0, 3.0]}), gram=gram, **options)
    assert other.value == approx(whole.value, rel=1e-6)
    assert other.kernel.length_scale == approx(whole.kernel.length_scale, rel=1e-3)


def test_a_machine_may_be_read_instead(moons):
    choice = select_kernel(*moons, (RBF(), {"length_scale": WIDTHS}), "loo", machine=LSSVM(5.0), refine=False)
    Y = as_columns(moons[1])
    costs = [LOO()(LSSVM(5.0).solve(DenseGram(RBF(w)(moons[0])), Y)).value for w in WIDTHS]
    assert choice.value == approx(min(costs), rel=1e-9)
    with pytest.raises(ValueError, match="machine="):
        select_kernel(*moons, "rbf", "loo")


def test_the_regularisation_is_tuned_afterwards(moons):
    X, y = moons
    choice = select_kernel(X, y, (RBF(), {"length_scale": WIDTHS}), machine=LSSVM(1e-4))
    gram, Y = DenseGram(choice.kernel(X)), as_columns(y)

    def press(C):
        return LOO()(LSSVM(C).solve(gram, Y)).value

    grid = min(press(C) for C in np.logspace(-4, 6, 60))
    assert press(choice.machine.C) <= grid * (1 + 1e-3)


def test_several_classes(moons):
    X, y = moons
    y = np.where((y == 1) & (X[:, 0] > 1), "c", y.astype(str))
    choice = select_kernel(X, y, (RBF(), {"length_scale": WIDTHS}))
    assert 0.05 < choice.kernel.length_scale < 5


def test_the_table_prints_itself_and_becomes_a_frame(moons):
    pd = pytest.importorskip("pandas")
    choice = select_kernel(*moons, [RBF(0.5, "fixed"), RBF(2.0, "fixed")])
    lines = str(choice.table).splitlines()
    assert lines[0].split() == ["kernel", "value", "seconds", "rank"]
    assert len(lines) == 3
    assert "RBF(length_scale=0.5)" in lines[1]
    frame = choice.table.to_frame()
    assert isinstance(frame, pd.DataFrame)
    assert list(frame.columns) == ["kernel", "value", "seconds", "rank", "note"]
    assert f"chosen: {choice.kernel}" in str(choice)


def test_a_grid_is_every_combination():
    kernels = kernel_grid(ConstantKernel() * RBF(), k1__constant_value=[1, 2], k2__length_scale=[3, 4, 5])
    assert [(k.k1.constant_value, k.k2.length_scale) for k in kernels] == [
        (a, b) for a in (1, 2) for b in (3, 4, 5)
    ]


def test_candidates_that_do_not_exist_are_stepped_over(moons):
    X, y = moons
    choice = select_kernel(X, y, [ConstantKernel(1.0, "fixed"), RBF(1.0, "fixed")], "centered-alignment")
    assert choice.table[0].value == np.inf
    assert "constant" in choice.table[0].note
    assert isinstance(choice.kernel, RBF)
    with pytest.raises(Undefined, match="none of the candidates"):
        select_kernel(X, y, [ConstantKernel(1.0, "fixed")], "centered-alignment")


def test_fsm_that_runs_to_the_identity_is_warned_about(moons):
    with pytest.warns(CriterionWarning, match="identity"):
        choice = select_kernel(*moons, (RBF(), {"length_scale": [1e-3, 1.0]}), FSM(), refine=False)
    assert choice.kernel.length_scale == 1e-3


def test_the_printed_normaliser_is_warned_about(moons):
    with pytest.warns(CriterionWarning, match="normaliser='trace'"):
        select_kernel(*moons, [RBF(1.0, "fixed")], Spectral("sum", 3))


@pytest.mark.parametrize(
    ("candidates", "error", "message"),
    [
        ([], ValueError, "empty list"),
        ([3.0], TypeError, "kernel must be"),
        ("gaussian", UnknownName, "rbf"),
    ],
)
def test_bad_candidates_are_named(moons, candidates, error, message):
    with pytest.raises(error, match=message):
        select_kernel(*moons, candidates)


def test_bad_data_is_named(moons):
    X, y = moons
    with pytest.raises(ValueError, match="one class"):
        select_kernel(X, np.zeros(70, int), "rbf")
    with pytest.raises(ValueError, match="symmetric"):
        select_kernel(np.triu(RBF()(X)), y, "precomputed")
    with pytest.raises(ValueError, match="square"):
        select_kernel(X, y, "precomputed")
    with pytest.raises(UnknownName, match="chunked"):
        select_kernel(X, y, "rbf", gram="sparse")
    with pytest.raises(ValueError, match="WhiteKernel"):
        select_kernel(X, y, RBF() + WhiteKernel(), gram="chunked")
    with pytest.raises(UnknownName, match="spectral"):
        select_kernel(X, y, "rbf", "spectrum")


def test_numbers_are_read_by_the_criteria_that_can(moons):
    X, _ = moons
    y = np.sin(2 * X[:, 0])
    choice = select_kernel(X, y, (RBF(), {"length_scale": [1e-3, 0.5]}), "centered-alignment")
    assert choice.kernel.length_scale > 0.1
    with pytest.raises(ValueError, match="regression"):
        select_kernel(X, y, "rbf")


def test_squares_of_gaussians_are_the_gaussians_of_half_the_width(moons, monkeypatch):
    X, _ = moons
    widths = np.sqrt(2.0 ** np.arange(-15, 16))
    ladder, exponentials = SquaringDenseBuilder(DenseBuilder(X)), []
    plain = DenseBuilder.gram
    monkeypatch.setattr(
        DenseBuilder, "gram", lambda self, kernel: exponentials.append(1) or plain(self, kernel)
    )
    other = DenseBuilder(X)
    for width in widths[::-1]:
        expected = plain(other, RBF(width)).K
        np.testing.assert_allclose(ladder.gram(RBF(width)).K, expected, rtol=1e-13, atol=1e-15)
    assert len(exponentials) == 7
    ladder.gram(RBF(1.0))
    assert approx(RBF(0.9)(X), rel=1e-12, abs=1e-15) == ladder.gram(RBF(0.9)).K
    assert (
        approx(Matern(0.9 / np.sqrt(2))(X), rel=1e-12, abs=1e-15) == ladder.gram(Matern(0.9 / np.sqrt(2))).K
    )


# The default criterion.


def test_kernels_of_one_family_are_compared_by_the_spectral_measure(moons):
    candidates = (RBF(), {"length_scale": WIDTHS})
    default, spectral = select_kernel(*moons, candidates), select_kernel(*moons, candidates, "spectral")
    assert default.kernel == spectral.kernel
    assert default.value == spectral.value


@pytest.mark.parametrize("make", [make_moons, make_banana])
def test_a_linear_kernel_does_not_win_where_the_border_is_curved(make):
    X, y = make(150, noise=0.2, random_state=0) if make is make_moons else make(150, random_state=0)
    names = ["linear", "rbf", "matern", "laplacian"]
    assert "DotProduct" in str(select_kernel(X, y, names, "spectral").kernel)
    choice = select_kernel(X, y, names, machine=LSSVM(1e-4))
    assert "DotProduct" not in str(choice.kernel)
    assert choice.machine.C > 1e-3


def test_families_cannot_be_compared_without_the_matrix(moons):
    with pytest.warns(CriterionWarning, match="candidates of one family, or gram='lowrank'"):
        select_kernel(*moons, ["linear", "rbf"], gram="chunked")
    assert select_kernel(*moons, ["linear", "rbf"], gram="lowrank").kernel
