"""The papers' figures: what they show, and that each is drawn from small settings."""

import matplotlib.image
import numpy as np
import pytest

from foldless.cli.commands.reproduce import function_of, names
from foldless.cli.papers import (
    cawley_figures,
    gold_figures,
    kobayashi_figures,
    li,
    li_figures,
    sugiyama_figures,
)
from foldless.cli.papers.figure import Contours, Curve, Panel, PaperFigure
from foldless.cli.papers.split import Split
from foldless.cli.papers.sugiyama import KERNEL
from foldless.datasets import make_ripley, sinc_target
from foldless.kernels import Sinc

# Settings with which a figure takes a fraction of a second.
QUICK = {
    "cawley-fig1": {"rows": 40, "points": 10},
    "cawley-fig2": {"rows": 12, "points": 3},
    "cawley-fig3": {"rows": 12, "points": 3},
    "gold-fig1": {"rows": 30, "inputs": 3, "evaluations": 20},
    "gold-fig5": {"rows": 30, "inputs": 3, "evaluations": 5},
    "gold-fig6": {"rows": 30, "inputs": 3, "evaluations": 5},
    "kobayashi-fig3": {"rows": 40, "grid": np.array([0.1, 1.0, 10.0])},
    "li-fig1": {"splits": 2, "sets": ["labor"], "powers": (1, 2)},
    "sugiyama-fig4": {},
    "sugiyama-fig5": {"splits": 2, "cases": ("n=50 s2=.01",)},
    "sugiyama-fig6": {"splits": 2, "cases": ("n=50 s2=.01",)},
    "sugiyama-fig7": {"splits": 2, "cases": ("n=50 s2=.01",)},
    "sugiyama-fig8": {"splits": 2},
    "sugiyama-fig9": {"splits": 2},
    "sugiyama-fig10": {"splits": 2},
    "sugiyama-fig11": {"splits": 2},
}


@pytest.fixture
def data(tmp_path, rng):
    """Small files under the names of the papers' sets."""
    X, y = make_ripley(60, random_state=0)
    np.savez(tmp_path / "ripley_synth.npz", X=X, y=y)
    labels = np.repeat([0, 1], [20, 37])
    np.savez(tmp_path / "labor.npz", X=rng.normal(size=(57, 4)) + 1.2 * labels[:, None], y=labels)
    for name in (
        "abalone",
        "boston_housing",
        *(f"delve_{s}" for s in ("bank8fm", "bank8fh", "kin8fm", "kin8nm", "kin8fh")),
    ):
        Z = rng.uniform(size=(120, 6))
        np.savez(tmp_path / f"{name}.npz", X=Z, y=np.sin(3 * Z[:, 4]) + 0.1 * rng.normal(size=120))
    return tmp_path


def test_every_figure_has_quick_settings():
    assert set(QUICK) == {name for name in names() if "-fig" in name}


@pytest.mark.parametrize("name", QUICK)
def test_each_figure_is_drawn_and_says_what_the_paper_shows(name, data, tmp_path):
    figure = function_of(name)(data, **QUICK[name])
    assert figure.name == name
    assert str(figure).startswith(f"{name}: {figure.title}\n\nThe paper: ")
    (path,) = figure.draw(tmp_path / f"{name}.png")
    assert np.ptp(matplotlib.image.imread(path)) > 0.5
    titles = [ax.get_title() for ax in figure.plot().axes]
    assert titles[: len(figure.panels)] == [panel.title for panel in figure.panels]


def test_a_figure_is_the_same_file_every_time(tmp_path):
    curve = Curve(np.arange(3.0), np.arange(3.0), "line", bars=np.ones(3))
    figure = PaperFigure(
        "p-fig1", "title", "a line.", (Panel("one", (curve,), "x", "y", "", (curve,), "again"),)
    )
    first, second = (figure.draw(tmp_path / f"{i}.svg")[0].read_bytes() for i in (1, 2))
    assert first == second
    assert b">again</text>" in first


def test_contours_have_their_cross_at_the_least_value():
    values = np.array([[3.0, 2.0, 4.0], [5.0, 1.0, 6.0]])
    panel = Panel("c", (Contours(np.array([1.0, 2.0, 3.0]), np.array([10.0, 20.0]), values),))
    ax = PaperFigure("p-fig2", "t", "", (panel,)).plot().axes[0]
    assert [tuple(line.get_xydata()[0]) for line in ax.lines] == [(2.0, 20.0)]


def test_the_target_in_the_gaussian_space_is_that_of_the_data_sets():
    x = np.linspace(-3, 3, 7)
    np.testing.assert_allclose(sugiyama_figures.target_in(KERNEL, x), sinc_target(x), rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("kernel", [KERNEL, Sinc(2.5, "fixed")], ids=["gaussian", "sinc"])
def test_sic_estimates_the_true_error_but_for_its_noise(kernel):
    """Unbiased in the paper's setting: at the largest ridge parameters the means nearly coincide."""
    error, sic = sugiyama_figures.errors_and_sic(kernel, "n=100 s2=.01", 5)
    assert error.shape == sic.shape == (5, 13)
    np.testing.assert_allclose(
        sic.mean(axis=0)[4:], error.mean(axis=0)[4:], atol=0.1 * np.ptp(error.mean(axis=0))
    )


def test_exact_leave_one_out_is_beside_the_approximate_one():
    split = cawley_figures.ripley(30)
    approximate, exact, folds, test = cawley_figures.losses(split, 0.7, 1.0)
    assert approximate == pytest.approx(exact, rel=0.02)
    assert folds == pytest.approx(exact, rel=0.2)
    assert 0 < test < 1


def test_the_power_three_chooses_as_in_table_two(data):
    X, y = li.load(data, "labor")
    split = Split.of_rows(X, y, np.arange(0, 57, 2), np.arange(1, 57, 2))
    chosen, errors = li._choose_widths(split, 0)
    assert li_figures.errors_by_power(split, [3])[0] == pytest.approx(
        100 * errors[chosen[li.METHODS.index("SM")]]
    )


def test_kric_is_that_of_the_tables(data):
    problem = kobayashi_figures.Problem.draw(*kobayashi_figures.load(data, "rsy"), 0, 40, 0.1)
    values, errors = kobayashi_figures.kric_and_errors(problem, "KLR", np.array([1.0]))
    from foldless.cli.papers.kobayashi import read_all

    there = read_all(problem, "klr", 1.0)
    assert (values[0], errors[0]) == (there["KRIC"], pytest.approx(100 * there["optimal"]))


def test_a_path_improves_and_begins_at_equal_length_scales():
    path = gold_figures.search_path(gold_figures.METHODS["EP"], gold_figures.twonorm(30, 4), 6, length=3.0)
    values = [step.value for step in path.steps]
    assert values == sorted(values, reverse=True)
    np.testing.assert_allclose(path.natural[0, 1:5], 3)
    assert path.natural.shape == path.gradient.shape == (len(values), 7)
    # The first gradient is the derivative of the log evidence of all rows.
    step, h = path.steps[0], 1e-4
    up, down = (path.problem(step.theta + sign * h * np.eye(7)[-1]).value for sign in (1, -1))
    assert path.gradient[0, -1] == pytest.approx(-30 * (up - down) / (2 * h), rel=1e-3)
