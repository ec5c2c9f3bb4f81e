"""The tables of Cawley and Talbot: what is computed, on a set small enough for a test."""

import numpy as np
import pytest
from sklearn.gaussian_process.kernels import RBF

from foldless.cli.papers import cawley
from foldless.grams import DenseGram
from foldless.machines import SmoothMachine
from foldless.machines.losses import Logistic
from oracles.klr import random_problem, refit_outputs


@pytest.fixture
def data(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 2))
    y = np.where(X[:, 0] + 0.3 * rng.normal(size=120) > 0, 1, -1)
    rows = np.stack([rng.permutation(120) for _ in range(3)])
    np.savez(tmp_path / "raetsch_heart.npz", X=X, y=y, train=rows[:, :60], test=rows[:, 60:])
    return tmp_path


def test_refits_are_refits():
    X, _, y = random_problem(0, n=24)
    K = RBF(1.1)(X)
    solution = SmoothMachine(Logistic(), 3.0).solve(DenseGram(K), y[:, None])
    folds = cawley.assign(4, 24)
    u = refit_outputs(K, y, 3.0, True, folds)
    reading = cawley.RefitLoss(folds=4)(solution)
    assert reading.value == pytest.approx(np.mean(np.logaddexp(0, -y * u)), rel=1e-9)
    assert reading.parts["cv_error"] == pytest.approx(np.mean(y * u <= 0))


def test_the_tables_hold_our_means_and_the_paper_s(data):
    seen = []
    scores = cawley.run(
        data,
        {"LOO-KLR": 3, "KLR": 1, "L-GPC": 1, "EP-GPC": 1},
        ["heart"],
        watch=lambda *what: seen.append(what),
    )
    errors, seconds, bits = cawley.tables(scores)
    assert [len(scores["heart", m]) for m in ("LOO-KLR", "KLR", "L-GPC")] == [3, 1, 1]
    assert seen[:2] == [("heart", "LOO-KLR", 0), ("heart", "LOO-KLR", 1)]
    cell = errors.cells["heart", "LOO-KLR"]
    assert cell.ours == pytest.approx(np.mean([s.error for s in scores["heart", "LOO-KLR"]]))
    assert cell.ours < 25
    assert (cell.paper, cell.paper_spread, cell.count) == (16.6, 0.31, 3)
    assert bits.cells["heart", "L-GPC"].paper == 0.425
    assert seconds.cells["heart", "KLR"].paper == 18.2
    assert all(0 < bits.cells[key].ours <= 1 for key in bits.cells)
    assert "| heart |" in str(errors)
    assert "Splits: LOO-KLR: 3; KLR: 1; L-GPC: 1; EP-GPC: 1." in str(errors)


def test_every_set_has_four_columns_in_each_table():
    for parts in cawley.PAPER.values():
        assert [len(part.split()) for part in parts] == [8, 8, 8]
