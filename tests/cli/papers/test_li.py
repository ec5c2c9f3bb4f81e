"""The machinery of the reproduction, on a small artificial directory."""

import numpy as np
import pytest

from foldless.cli.papers import li


@pytest.fixture
def data(tmp_path, rng):
    y = np.repeat([0, 1], [20, 37])
    np.savez(tmp_path / "labor.npz", X=rng.normal(size=(57, 4)) + 1.2 * y[:, None], y=y)
    y = np.repeat([1, 2, 7], [30, 30, 20])
    np.savez(tmp_path / "glass.npz", X=rng.normal(size=(80, 3)) + y[:, None], y=y)
    return tmp_path


def test_inputs_are_scaled_and_the_first_two_classes_kept(data):
    X, y = li.load(data, "glass")
    assert X.shape == (60, 3)
    assert X.min(axis=0) == pytest.approx([-1, -1, -1])
    assert X.max(axis=0) == pytest.approx([1, 1, 1])
    assert sorted(np.unique(y)) == [-1, 1]
    assert li.load(data, "wdbc")[0].shape == (569, 30)


def test_table_2_holds_ours_beside_the_papers(data):
    seen = []
    table = li.table_2(data, 3, ["labor"], watch=lambda *step: seen.append(step))
    assert seen == [("labor", 0), ("labor", 1), ("labor", 2)]
    rows = {method: cell for (_, method), cell in table.cells.items()}
    assert set(rows) == set(li.METHODS)
    assert rows["SM"].paper == 13.65
    assert rows["ER"].paper == 18.82
    assert np.isnan(rows["SM (printed)"].paper)
    assert rows["ELOO"].ours < rows["FSM"].ours  # separable clouds; FSM runs to the identity
    assert str(table).count("\n") >= 5
    assert "13.65" in str(table)


def test_table_3_holds_seconds_and_ratios(data):
    rows = {method: cell for (_, method), cell in li.table_3(data, 1, ["labor"]).cells.items()}
    assert rows["SM"].spread == 1.0
    assert rows["CV"].paper_spread == pytest.approx(2.88 / 0.16)
    assert all(row.ours > 0 for row in rows.values())


def test_the_t_rule_is_that_of_the_paper(rng):
    best = rng.normal(10, 1, size=50)
    d = rng.normal(0, 1, size=50)
    d = (d - d.mean()) / d.std(ddof=1)
    assert li.significantly_worse(best + d + 1.69 / np.sqrt(50), best)
    assert not li.significantly_worse(best + d + 1.66 / np.sqrt(50), best)
    assert not li.significantly_worse(best, best)


def test_closed_form_folds_are_refits(data):
    X, y = li.load(data, "labor")
    K, Y = li.DenseGram(li.KERNELS[15](X)), y[:, None]
    blocks = [np.arange(57)[i::5] for i in range(5)]
    left = Y - li._left_out_residuals(li.LSSVM(1.0).solve(K, Y), blocks)
    errors = [li._refit_error(K, Y, np.setdiff1d(np.arange(57), rows), rows) * len(rows) for rows in blocks]
    assert li.error_fraction(Y, left) == pytest.approx(sum(errors) / 57)
