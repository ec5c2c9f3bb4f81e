"""The tables of Sugiyama and Müller, a few trials of each."""

import numpy as np
import pytest

from foldless.cli.papers import sugiyama
from foldless.cli.papers.box_plots import box_plots


def test_sinc_has_the_papers_picture():
    """With much noise ABIC is far worse than SIC and leave-one-out, which do not differ (100 trials in the docs)."""
    seen = []
    table = sugiyama.table_2(
        splits=12, cases=["n=100 s2=.09"], watch=lambda case, trial: seen.append((case, trial))
    )
    errors = table.samples["n=100 s2=.09"]
    assert len(seen) == 12
    assert errors["ABIC"].mean() > 1.3 * errors["SIC"].mean()
    assert errors["SIC"].mean() < 1.2 * errors["CV"].mean()
    assert all(np.all(errors["best"] <= e) for e in errors.values())
    p_value = table.beside[0].cells["n=100 s2=.09", "W SIC-ABIC"]
    assert p_value.ours < 0.01
    assert p_value.paper == 6.96e-12
    assert "| n=100 s2=.09 |" in str(table)


def test_per_model_noise_runs_to_the_edge_of_a_wide_grid(tmp_path, rng):
    """Section 4.5 of the specification, on data of the same kind as the DELVE sets."""
    X = rng.uniform(size=(400, 8))
    y = np.sin(3 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.1 * rng.normal(size=400)
    np.savez(tmp_path / "delve_kin8nm.npz", X=X, y=y)
    wide = sugiyama.table_3(tmp_path, splits=5, cases=["Kin-8nm"]).beside[-1]
    assert "wide" in wide.title
    edges, errors = wide.beside[1].cells, wide.samples["Kin-8nm"]
    assert edges["Kin-8nm", "SIC"].ours > 50
    assert edges["Kin-8nm", "SIC gamma"].ours == edges["Kin-8nm", "C_L"].ours == 0
    assert errors["SIC"].mean() > 1.1 * errors["C_L"].mean()


def test_scaling_and_missing_files(tmp_path):
    np.savez(tmp_path / "abalone.npz", X=np.arange(40.0).reshape(4, 10), y=np.array([1.0, 2, 3, 5]))
    X, y = sugiyama.load(tmp_path, "Abalone")
    assert X.shape == (4, 7)
    assert X.min() == y.min() == 0
    assert X.max() == y.max() == 1
    with pytest.raises(FileNotFoundError, match=r"boston_housing\.npz is missing"):
        sugiyama.load(tmp_path, "Boston")


def test_box_plots_show_the_medians():
    table = sugiyama.table_2(splits=3, cases=["n=50 s2=.01", "n=50 s2=.09"])
    figure = box_plots(table.title, table.samples, table.colours)
    assert len(figure.axes) == 2
    medians = [line.get_ydata()[0] for line in figure.axes[1].lines if len(set(line.get_ydata())) == 1]
    for e in table.samples["n=50 s2=.09"].values():
        assert np.any(np.isclose(medians, 1e3 * np.median(e)))
