"""Cells: weights that add up, no jumps, and every point trained where it is predicted."""

import numpy as np
import pytest
import scipy.sparse as sp

from foldless.grams.cells import Cut, grow_cells, principal_direction


def memberships(tree, X):
    weights = np.zeros((X.shape[0], tree.n_cells))
    for cell, rows, weight in tree.route(X):
        weights[rows, cell] = weight
    return weights


@pytest.fixture
def cloud(rng):
    return rng.normal(size=(600, 3)) * [5, 1, 0.1]


def test_no_cell_has_more_rows_than_asked(cloud):
    tree = grow_cells(cloud, 100)
    assert max(len(rows) for _, rows, _ in tree.route(cloud)) <= 100
    assert tree.n_cells >= 6


def test_weights_add_up_to_one_wherever_a_point_is(cloud, rng):
    tree = grow_cells(cloud, 80)
    for X in (cloud, 10 * rng.normal(size=(200, 3))):
        W = memberships(tree, X)
        assert np.all(W >= 0)
        assert W.sum(axis=1) == pytest.approx(np.ones(len(X)), abs=1e-12)


def test_weights_change_continuously_along_a_line(cloud):
    tree = grow_cells(cloud, 80)
    ends = np.array([[-15.0, -3, -0.3], [15.0, 3, 0.3]])
    coarse, fine = (
        np.abs(
            np.diff(
                memberships(tree, ends[0] + np.linspace(0, 1, n)[:, None] * np.diff(ends, axis=0)), axis=0
            )
        ).max()
        for n in (2001, 20001)
    )
    assert fine == pytest.approx(coarse / 10, rel=0.3)


def test_one_cell_is_everything(cloud):
    tree = grow_cells(cloud, len(cloud))
    [(cell, rows, weights)] = tree.route(cloud)
    assert (cell, tree.n_cells) == (0, 1)
    assert np.array_equal(rows, np.arange(len(cloud)))
    assert np.all(weights == 1)


def test_copies_of_one_point_stay_together():
    X = np.repeat([[0.0, 1.0], [2.0, 1.0]], 50, axis=0)
    tree = grow_cells(X, 10)
    assert tree.n_cells == 2
    assert sorted(len(rows) for _, rows, _ in tree.route(X)) == [50, 50]


def test_sparse_points_are_cut_as_dense_ones(cloud):
    dense, sparse = grow_cells(cloud, 100), grow_cells(sp.csr_array(cloud), 100)
    assert memberships(sparse, sp.csr_array(cloud)) == pytest.approx(memberships(dense, cloud), abs=1e-8)


def test_the_direction_is_the_first_principal_one(cloud, rng):
    v = principal_direction(cloud, rng)
    expected = np.linalg.svd(cloud - cloud.mean(axis=0))[2][0]
    assert abs(v @ expected) == pytest.approx(1, abs=1e-6)


@pytest.mark.parametrize("n", [3000, 6000, 24_000])
def test_a_row_belongs_to_about_four_cells_however_many_rows_there_are(n, rng):
    X = rng.normal(size=(n, 4))
    tree = grow_cells(X, 200)
    sizes = [len(rows) for _, rows, _ in tree.route(X)]
    # A cut is as wide as its narrower side, so that it shares fewer rows than planned.
    assert 3 < sum(sizes) / n < 4.1
    assert max(sizes) <= 200


def cuts(node):
    """Yield all cuts below a node."""
    if isinstance(node, Cut):
        yield node
        yield from cuts(node.left)
        yield from cuts(node.right)


TIED = {
    "in the middle": np.r_[np.full(300, 0.0), np.linspace(-4, -1, 150), np.linspace(1, 4, 150)],
    "at the top": np.r_[np.full(400, 5.0), np.linspace(-4, -1, 200)],
    "at the bottom": np.r_[np.full(400, -5.0), np.linspace(1, 4, 200)],
    "few values": np.resize(np.arange(7.0), 600),
}


@pytest.mark.parametrize("name", TIED)
def test_every_cut_overlaps_though_many_points_are_equal(name):
    X = np.column_stack([TIED[name], np.zeros(600)])
    tree = grow_cells(X, 100)
    assert all(cut.half_width > 1e-3 for cut in cuts(tree.root))
    line = np.column_stack([np.linspace(-8, 8, 160_001), np.zeros(160_001)])
    # Steps of 1e-4 change a weight by at most 1e-4 / (2 s) for every cut on the way.
    narrowest = min(cut.half_width for cut in cuts(tree.root))
    most = 1e-4 / (2 * narrowest) * np.log2(600)
    assert np.abs(np.diff(memberships(tree, line), axis=0)).max() < most < 0.1


@pytest.mark.parametrize("name", TIED)
def test_only_copies_of_one_point_make_a_large_cell(name):
    X = np.column_stack([TIED[name], np.zeros(600)])
    for _, rows, _ in grow_cells(X, 100).route(X):
        assert len(rows) <= 100 or np.ptp(X[rows, 0]) == 0
