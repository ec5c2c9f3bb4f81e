"""A fit by cells: the whole machine if there is one cell, left-out rows as refits give them, no seams."""

import numpy as np
import pytest
from sklearn.gaussian_process.kernels import RBF

from foldless import KernelLogisticRegression, KernelLSSVC, KernelSVC
from foldless.criteria import LOO
from foldless.criteria.left_out import LeftOutLosses, left_out_outputs
from foldless.grams import DenseGram
from foldless.grams.cells import Cell, grow_cells
from foldless.kernels import gram
from foldless.machines import LSSVM, Ridge, SmoothMachine, SquaredHingeSVM
from foldless.machines.losses import Logistic
from foldless.tuning.cellwise import GROUP_CELLS, fit_cells, groups_of_cells, losses_in_groups, order_of_cells

KERNEL = RBF(1.0)
MACHINES = [LSSVM(2.0), Ridge(0.2, True), SmoothMachine(Logistic(), 3.0), SquaredHingeSVM(1.0)]
every_machine = pytest.mark.parametrize("machine", MACHINES, ids=lambda machine: type(machine).__name__)


@pytest.fixture
def problem(rng):
    X = rng.uniform(-3, 3, size=(120, 2))
    return X, np.where(np.sin(2 * X[:, 0]) + 0.3 * rng.normal(size=120) > 0, 1.0, -1.0)[:, None]


@every_machine
def test_one_cell_is_the_whole_machine(machine, problem):
    X, Y = problem
    cells = fit_cells(KERNEL, machine, LOO(), X, Y, grow_cells(X, len(X)))
    K = gram(KERNEL, X)
    whole = machine.solve(DenseGram(K), Y)
    outputs = K @ np.asarray(whole.alpha).reshape(len(X), -1) + whole.b
    assert cells.expansion(KERNEL, X) == pytest.approx(outputs, abs=1e-8)
    assert cells.left_out == pytest.approx(left_out_outputs(whole), abs=1e-8)
    assert cells.value == pytest.approx(LOO()(whole).value)


def test_left_out_rows_are_those_of_refits_in_the_same_cells(problem):
    X, Y = problem
    tree, machine = grow_cells(X, 40), LSSVM(2.0)
    cells = fit_cells(KERNEL, machine, LOO(), X, Y, tree)
    routes = {number: (rows, weights) for number, rows, weights in tree.route(X)}
    for i in range(0, len(X), 7):
        expected = 0.0
        for rows, weights in routes.values():
            if i in rows:
                rest = rows[rows != i]
                fit = machine.solve(DenseGram(gram(KERNEL, X[rest])), Y[rest])
                output = gram(KERNEL, X[[i]], X[rest]) @ fit.alpha + fit.b
                expected += weights[rows == i][0] * output.item()
        assert cells.left_out[i, 0] == pytest.approx(expected, abs=1e-9)


@every_machine
def test_groups_of_all_cells_lose_what_all_cells_lose(machine, problem):
    X, Y = problem
    tree = grow_cells(X, 80)
    assert 1 < tree.n_cells <= GROUP_CELLS
    cells = fit_cells(KERNEL, machine, LOO(), X, Y, tree)
    rows, losses = losses_in_groups(groups_of_cells(tree, X, Y, seed=0), cells.fits, machine, Y)
    assert np.array_equal(rows, np.arange(len(X)))
    assert losses.losses == pytest.approx(LeftOutLosses.of(machine, Y, cells.left_out).losses, rel=1e-12)


def test_a_group_is_a_fit_by_its_own_cells(problem):
    """The mean over the cells of a group, for rows that have most of their weight there."""
    X, Y = problem
    tree, machine = grow_cells(X, 25), LSSVM(2.0)
    fits = fit_cells(KERNEL, machine, LOO(), X, Y, tree).fits
    rows, losses = losses_in_groups(groups_of_cells(tree, X, Y, seed=0), fits, machine, Y)
    assert tree.n_cells >= 3 * GROUP_CELLS
    expected = {}
    for g in range(-(-tree.n_cells // GROUP_CELLS)):
        outputs, total = np.zeros(len(X)), np.zeros(len(X))
        for number, of_cell, weights in tree.route(X):
            if number // GROUP_CELLS == g:
                outputs[of_cell] += weights * fits[number].left_out[:, 0]
                total[of_cell] += weights
        for i in np.flatnonzero(total > 0.5):
            expected[i] = (1 - Y[i, 0] * outputs[i] / total[i]) ** 2
    assert losses.losses == pytest.approx([expected[i] for i in rows], rel=1e-12)
    assert len(np.unique(rows)) == len(rows) > len(X) / 10


def test_of_numbers_the_cell_where_they_vary_most_is_the_first():
    cells = [np.arange(i, i + 10) for i in range(0, 50, 10)]
    Y = np.where(np.arange(50) // 10 == 3, np.arange(50) % 2, 0.1 * (np.arange(50) % 2))[:, None]
    orders = [order_of_cells(Y, cells, np.random.default_rng(seed)) for seed in range(5)]
    assert all(order[0] == 3 and sorted(order) == list(range(5)) for order in orders)
    # Of classes any may be the first.
    classes = [order_of_cells(np.sign(Y - 0.5), cells, np.random.default_rng(seed))[0] for seed in range(20)]
    assert set(classes) == set(range(5))


def points_at_borders(node, X, rows):
    """Yield pairs of points on both sides of every border and of the ends of its overlap, 1e-9 standard deviations apart."""
    if isinstance(node, Cell):
        return
    v, p = node.direction, X[rows] @ node.direction
    on_border = X[rows] + (node.threshold - p)[:, None] * v
    for place in (-1, 0, 1):
        points = on_border + place * node.half_width * v
        yield points - 0.5e-9 * p.std() * v, points + 0.5e-9 * p.std() * v
    yield from points_at_borders(node.left, X, rows[p < node.threshold + node.half_width])
    yield from points_at_borders(node.right, X, rows[p > node.threshold - node.half_width])


@every_machine
@pytest.mark.parametrize("kind", ["numbers", "few values"])
def test_the_prediction_jumps_by_less_than_a_millionth_across_a_border(kind, machine, problem):
    """The tolerance that the module of the cells states: 1e-6 standard deviations of the outputs."""
    X, Y = problem
    X = X if kind == "numbers" else np.round(X) * [1, 0]
    tree = grow_cells(X, 40)
    f = fit_cells(KERNEL, machine, LOO(), X, Y, tree).expansion
    pairs = list(points_at_borders(tree.root, X, np.arange(len(X))))
    assert len(pairs) == 3 * (tree.n_cells - 1) > 6
    jumps = [np.abs(f(KERNEL, before) - f(KERNEL, after)).max() for before, after in pairs]
    assert max(jumps) < 1e-6 * f(KERNEL, X).std()


@pytest.mark.parametrize("machine", [SmoothMachine(Logistic(), 3.0), SquaredHingeSVM(1.0), LSSVM(2.0)])
def test_a_cell_of_one_class_predicts_it_and_spoils_nothing(machine, rng):
    X = np.r_[rng.normal(size=(60, 2)), rng.normal(size=(60, 2)) + 50]
    Y = np.r_[np.where(X[:60, :1] > 0, 1.0, -1.0), np.ones((60, 1))]
    cells = fit_cells(KERNEL, machine, LOO(), X, Y, grow_cells(X, 70, overlap=0.0))
    assert np.all(cells.left_out[60:] > 0)
    assert np.mean(cells.left_out[:60] * Y[:60] > 0) > 0.8
    assert np.isfinite(cells.value)


def test_classes_that_a_cell_lacks_are_unlikely_there(three_classes):
    X, y = three_classes
    X = X + 30 * y[:, None]
    Y = np.where(y[:, None] == np.arange(3), 1.0, -1.0)
    cells = fit_cells(RBF(2.0), SmoothMachine(Logistic(), 3.0), LOO(), X, Y, grow_cells(X, 25, overlap=0.0))
    assert np.array_equal(np.argmax(cells.expansion(RBF(2.0), X), axis=1), y)


# Cells of a hundred rows are smaller than blocks of three hundred, and a little worse.
@pytest.mark.filterwarnings("ignore:a fit through 32 cells")
@pytest.mark.parametrize("estimator", [KernelLogisticRegression, KernelLSSVC, KernelSVC])
def test_parameters_are_tuned_though_most_cells_have_one_class(estimator, rng):
    X = rng.normal(size=(900, 2))
    y = X[:, 0] + 0.3 * rng.normal(size=900) > 1.5
    model = estimator(gram="cells", cell_size=100).fit(X, y)
    one_class = [len(np.unique(y[rows])) == 1 for _, rows, _ in model.cells_.tree.route(X)]
    assert np.mean(one_class) > 0.5
    assert model.trace_[-1].n_rows < 301
    assert np.mean(model.predict(X) != y) < 0.6 * np.mean(y)


def far_rows(name, rng):
    """Return sixty rows far from all others, in which something is wrong, and their targets."""
    far, targets = rng.normal(size=(60, 2)) + 1e3, np.where(rng.normal(size=(60, 1)) > 0, 1.0, -1.0)
    return {
        "one class": (far, np.ones((60, 1))),
        "one point": (np.tile(far[:1], (60, 1)), targets),
        "a singular Gram": (np.repeat(far[:4], 15, axis=0), targets),
        "huge values": (1e9 * far, targets),
        "the largest values": (1e100 * far, targets),
    }[name]


@pytest.mark.parametrize(
    "name", ["one class", "one point", "a singular Gram", "huge values", "the largest values"]
)
@every_machine
def test_a_bad_cell_changes_nothing_in_the_others(machine, name, rng):
    """The rows of the good cell have the outputs that they have without the others."""
    X = rng.normal(size=(60, 2))
    Y = np.where(X[:, :1] + 0.3 * rng.normal(size=(60, 1)) > 0, 1.0, -1.0)
    far, targets = far_rows(name, rng)
    points, signs = np.r_[X, far], np.r_[Y, targets]
    cells = fit_cells(KERNEL, machine, LOO(), points, signs, grow_cells(points, 70, overlap=0.0))
    alone = fit_cells(KERNEL, machine, LOO(), X, Y, grow_cells(X, 60))
    np.testing.assert_allclose(cells.left_out[:60], alone.left_out, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(cells.expansion(KERNEL, X), alone.expansion(KERNEL, X), rtol=1e-9, atol=1e-9)
    assert np.all(np.isfinite(cells.left_out))
    assert np.all(np.isfinite(cells.expansion(KERNEL, points)))
    assert np.isfinite(cells.value)
