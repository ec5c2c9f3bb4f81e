"""Blocks of rows: stratified, disjoint, and their objective is the mean of the blocks' objectives."""

import numpy as np
import pytest
from sklearn.gaussian_process.kernels import RBF

from foldless.criteria import LOO
from foldless.grams.builders import DenseBuilder
from foldless.machines import LSSVM
from foldless.tuning.objective import Objective
from foldless.tuning.row_blocks import BlockObjective, row_blocks, search_stages, stratified_order

LABELS = np.where(np.arange(3000) % 10 == 0, 1.0, -1.0)[:, None]


def test_every_beginning_of_the_order_has_the_shares_of_the_classes(rng):
    order = stratified_order(LABELS, rng)
    assert sorted(order) == list(range(3000))
    for n in (50, 400, 1111):
        assert np.mean(LABELS[order[:n]] > 0) == pytest.approx(0.1, abs=1 / n)


def test_every_beginning_of_the_order_has_the_quantiles_of_the_targets(rng):
    y = rng.exponential(size=(2000, 1))
    order = stratified_order(y, rng)
    expected = np.quantile(y, [0.1, 0.3, 0.5, 0.7, 0.9])
    # Each tenth of the targets fills its share of any beginning up to one row: the quantiles agree to a few ranks.
    ranks = [np.mean(y[order[:300]] <= q) for q in expected]
    assert ranks == pytest.approx([0.1, 0.3, 0.5, 0.7, 0.9], abs=10 / 300)


def test_blocks_share_out_the_rows_and_the_classes(rng):
    blocks = row_blocks(LABELS, stratified_order(LABELS, rng), 3000, 7)
    assert sorted(np.concatenate(blocks)) == list(range(3000))
    assert np.ptp([len(block) for block in blocks]) <= 1
    assert np.ptp([np.sum(LABELS[block] > 0) for block in blocks]) <= 2


@pytest.mark.parametrize("n_blocks", [2, 3, 4, 10])
def test_every_block_has_the_range_of_the_targets(n_blocks, rng):
    classes = np.where(np.arange(2000) % 2 == 0, 1.0, -1.0)[:, None]
    numbers = rng.normal(size=(2000, 1))
    for Y in (classes, numbers):
        for block in row_blocks(Y, stratified_order(Y, rng), 2000, n_blocks):
            assert np.mean(Y[block]) == pytest.approx(np.mean(Y), abs=0.15)
            assert np.std(Y[block]) == pytest.approx(np.std(Y), rel=0.1)


def test_a_rare_class_is_part_of_every_block(rng):
    Y = np.where(np.arange(2000) < 2, 1.0, -1.0)[:, None]
    for block in row_blocks(Y, stratified_order(Y, rng), 2000, 5):
        assert np.sum(Y[block] > 0) == 2


def test_a_class_too_rare_for_the_rows_in_use_is_part_of_every_block(rng):
    Y = np.where(np.arange(20_000) % 4000 == 7, 1.0, -1.0)[:, None]
    for block in row_blocks(Y, stratified_order(Y, rng), 1000, 3):
        assert 4 <= np.sum(Y[block] > 0) <= 5


def test_few_rows_are_searched_all_at_once(rng):
    [[rows]] = search_stages(LABELS[:300], rng)
    assert np.array_equal(rows, np.arange(300))


def test_some_hundred_rows_end_with_all_at_once(rng):
    [[some], [rows]] = search_stages(LABELS[:380], rng)
    assert len(some) < 300
    assert np.array_equal(rows, np.arange(380))


@pytest.mark.parametrize("n", [700, 2500, 3000])
def test_stages_use_more_and_more_rows(n, rng):
    stages = search_stages(LABELS[:n], rng)
    used = [len(np.unique(np.concatenate(blocks))) for blocks in stages]
    assert used[0] < used[1] == n


def test_many_rows_cost_no_more_than_some_thousand(rng):
    Y = np.tile(LABELS, (40, 1))
    for blocks in search_stages(Y, rng):
        assert max(map(len, blocks)) <= 1300
        assert sum(map(len, blocks)) <= 4000


def test_the_same_seed_gives_the_same_blocks():
    first, second = (search_stages(LABELS, np.random.default_rng(3)) for _ in range(2))
    assert all(np.array_equal(a, b) for one, other in zip(first, second) for a, b in zip(one, other))


@pytest.fixture
def objectives(rng):
    X, Y = rng.normal(size=(90, 2)), np.where(rng.random((90, 1)) < 0.5, 1.0, -1.0)
    return [
        Objective(RBF(1.0), LSSVM(1.0), LOO(), DenseBuilder(X[rows]), Y[rows])
        for rows in (np.arange(40), np.arange(40, 90))
    ]


@pytest.mark.parametrize("n_jobs", [None, 2])
def test_the_objective_is_the_mean_over_the_rows(objectives, n_jobs):
    theta = np.array([0.2, 0.7])
    mean, parts = BlockObjective(objectives, n_jobs)(theta), [one(theta) for one in objectives]
    assert mean.value == pytest.approx((40 * parts[0].value + 50 * parts[1].value) / 90)
    assert mean.gradient == pytest.approx((40 * parts[0].gradient + 50 * parts[1].gradient) / 90)


def test_a_block_without_a_value_has_its_reason(objectives):
    undefined = Objective(RBF(1.0), LSSVM(1.0), LOO(), DenseBuilder(np.zeros((3, 2))), np.ones((3, 1)))
    found = BlockObjective([*objectives, undefined])(np.array([0.0, 40.0]))
    assert np.isinf(found.value) == bool(found.note)
