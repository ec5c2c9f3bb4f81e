"""The tables of Kobayashi and Komaki: their criteria by their definitions, and a run on a small set."""

import numpy as np
import pytest

from foldless.cli.papers import kobayashi
from foldless.cli.papers.split import Split
from foldless.grams import DenseGram
from oracles.klr import K1, Y1, agrees


@pytest.fixture
def problem():
    split = Split(K1, Y1, K1, Y1)
    return kobayashi.Problem(split, DenseGram(K1), K1, DenseGram(K1), 0)


def test_the_svm_is_the_reference_one_and_its_bounds_are_those_of_the_specification(problem):
    fit = kobayashi.fit_svm(K1, Y1, 0.4)
    assert fit.b == pytest.approx(0.9317153360, abs=1e-3)
    np.testing.assert_allclose(np.abs(fit.beta)[[0, 4, 5, 6]], 0.4, atol=1e-6)
    assert kobayashi.svm_gacv(problem, fit, 0.4) == pytest.approx(1.0120264210, abs=1e-3)
    assert kobayashi.xi_alpha(problem, fit) == 3 / 8
    assert kobayashi.svm_gacv(problem, kobayashi.fit_svm(K1, Y1, 5.0), 5.0) == pytest.approx(
        3.7892948096, abs=1e-2
    )


def test_klr_is_the_reference_one(problem):
    fit = kobayashi.fit_klr(K1, Y1, 2.0)
    np.testing.assert_allclose(K1 @ fit.beta + fit.b, fit.f, atol=1e-9)
    assert agrees(kobayashi.klr_gacv(problem, fit, 2.0), "0.9627208465")
    w = 1 / (2 + 2 * np.cosh(fit.f))
    determinant = np.linalg.slogdet(np.eye(8) + 2.0 * np.sqrt(np.outer(w, w)) * K1)[1]
    loss = np.sum(np.logaddexp(0, -Y1 * fit.f))
    assert kobayashi.evidence(problem, fit, 2.0) == pytest.approx(loss + determinant / 2)


@pytest.mark.parametrize(("table", "machine"), [(kobayashi.table_2, "svm"), (kobayashi.table_3, "klr")])
def test_a_run_chooses_no_better_than_the_optimum(tmp_path, table, machine):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(36, 2)) + 1
    np.savez(tmp_path / "bupa.npz", X=X, y=np.where(X[:, 0] + 0.5 * rng.normal(size=36) > 1, 2, 1))
    seen = []
    done = table(tmp_path, 2, ["bld"], lambda *what: seen.append(what))
    best = done.cells["bld", "optimal"]
    assert seen == [("bld", machine, 0), ("bld", machine, 1)]
    assert best.count == 2
    assert all(cell.ours >= best.ours for cell in done.cells.values())
    assert best.paper == {"svm": 0.2821, "klr": 0.3374}[machine]
    assert "over 2 splits" in str(done)


def test_inputs_are_scaled_as_the_paper_says(tmp_path):
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.integers(0, 2, 30), rng.uniform(1, 9, size=(30, 5))])
    sex = rng.integers(0, 2, 30)
    np.savez(tmp_path / "crabs.npz", X=X, y=sex)
    Z, y = kobayashi.load(tmp_path, "cra")
    np.testing.assert_allclose(np.sum(Z**2, axis=0), 1)
    np.testing.assert_array_equal(y, np.where(X[:, 0] == 1, 1, -1))  # species is told apart,
    np.testing.assert_allclose(Z[:, 0] > 0, sex == 1)  # and sex is an input


def test_the_paper_s_numbers_are_complete():
    for pair in kobayashi.PAPER.values():
        assert [len(row.split()) for row in pair] == [14, 14]
