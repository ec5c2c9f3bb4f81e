"""The tables of Sugiyama and Müller, a few trials of each."""

from dataclasses import replace

import numpy as np
import pytest

from foldless.cli.papers import sugiyama


def test_sinc_has_the_papers_picture():
    """With much noise ABIC is far worse than SIC and leave-one-out, which do not differ (100 trials in the docs)."""
    seen = []
    table = sugiyama.table_2(
        splits=12, cases=["n=100 s2=.09"], watch=lambda case, trial: seen.append((case, trial))
    )
    errors = table.errors["n=100 s2=.09"]
    assert len(seen) == 12
    assert errors["ABIC"].mean() > 1.3 * errors["SIC"].mean()
    assert errors["SIC"].mean() < 1.2 * errors["CV"].mean()
    assert all(np.all(errors["best"] <= e) for e in errors.values())
    rows = {row.quantity: row for row in table.rows}
    assert rows["W SIC-ABIC"].ours < 0.01
    assert rows["W SIC-ABIC"].paper == 6.96e-12
    assert "| n=100 s2=.09 |" in str(table)


def test_per_model_noise_runs_to_the_edge_of_a_wide_grid(tmp_path, rng):
    """Section 4.5 of the specification, on data of the same kind as the DELVE sets."""
    X = rng.uniform(size=(400, 8))
    y = np.sin(3 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.1 * rng.normal(size=400)
    np.savez(tmp_path / "delve_kin8nm.npz", X=X, y=y)
    table = sugiyama.table_3(tmp_path, splits=5, cases=["Kin-8nm"]).beside[0]
    edges, errors = table.edges["Kin-8nm"], table.errors["Kin-8nm"]
    assert edges["SIC"] > 0.5
    assert edges["SIC gamma"] == edges["C_L"] == 0
    assert errors["SIC"].mean() > 1.1 * errors["C_L"].mean()


def test_scaling_and_missing_files(tmp_path):
    np.savez(tmp_path / "abalone.npz", X=np.arange(40.0).reshape(4, 10), y=np.array([1.0, 2, 3, 5]))
    X, y = sugiyama.load(tmp_path, "Abalone")
    assert X.shape == (4, 7)
    assert X.min() == y.min() == 0
    assert X.max() == y.max() == 1
    with pytest.raises(FileNotFoundError, match=r"boston_housing\.npz is missing"):
        sugiyama.load(tmp_path, "Boston")


def test_box_plots(tmp_path):
    table = sugiyama.table_2(splits=3, cases=["n=50 s2=.01", "n=50 s2=.09"])
    figure = sugiyama.draw_boxes(table, tmp_path / "boxes.png")
    assert len(figure.axes) == 2
    assert (tmp_path / "boxes.png").stat().st_size > 1000
    medians = [line.get_ydata()[0] for line in figure.axes[1].lines if len(set(line.get_ydata())) == 1]
    for e in table.errors["n=50 s2=.09"].values():
        assert np.any(np.isclose(medians, 1e3 * np.median(e)))


def test_the_tables_beside_have_figures_beside(tmp_path):
    table = sugiyama.table_2(splits=2, cases=["n=50 s2=.01"])
    paths = replace(table, beside=(table,)).draw(tmp_path / "boxes.svg")
    assert [path.name for path in paths] == ["boxes.svg", "boxes-2.svg"]
    assert all(path.exists() for path in paths)


def test_many_cases_fill_rows_of_four():
    table = sugiyama.table_2(splits=2, cases=["n=50 s2=.01"])
    many = replace(table, errors={f"case {i}": table.errors["n=50 s2=.01"] for i in range(6)})
    axes = sugiyama.draw_boxes(many).axes
    assert len(axes) == 8
    assert [ax.get_title() for ax in axes] == [*(f"case {i}" for i in range(6)), "", ""]
