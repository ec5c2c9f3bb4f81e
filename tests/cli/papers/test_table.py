"""Tables of papers as Markdown and as box plots."""

import numpy as np
import pytest

from foldless.cli.papers.box_plots import box_plots
from foldless.cli.papers.table import Cell, PaperTable
from foldless.core.errors import DataError


def test_cells_show_means_with_their_spread():
    cell = Cell.with_standard_error([1.0, 2.0, 3.0], (2.5, 0.1))
    assert cell.show(".2f") == "2.00 ± 0.58 (2.50 ± 0.10)"
    assert Cell.with_deviation([1.0, 2.0, 3.0]).show(".2f") == "2.00 ± 1.00"
    assert Cell.with_deviation([1.0]).show(".1f") == "1.0"
    table = PaperTable(
        "t", "numbers", {("a", "x"): cell, ("b", "y"): Cell.with_deviation([1.0])}, ".1f", ("Said.",)
    )
    assert str(table).splitlines()[2:6] == [
        "| set | x | y |",
        "|---|---|---|",
        "| a | 2.0 ± 0.6 (2.5 ± 0.1) |  |",
        "| b |  | 1.0 |",
    ]


def test_a_note_stands_between_ours_and_the_papers():
    assert Cell(1.0, 0.5, 3, 2.0, 0.25, "*").show(".1f", " × ") == "1.0 × 0.5* (2.0 × 0.2)"


def test_tables_beside_are_printed_and_drawn_after_the_first(tmp_path):
    samples = {"case": {"a": np.array([1.0, 2.0]), "b": np.array([3.0, 4.0])}}
    second = PaperTable("t", "second", {("x", "y"): Cell(2.0)}, samples=samples)
    first = PaperTable("t", "first", {("x", "y"): Cell(1.0)}, samples=samples, beside=(second,))
    assert str(first).index("t: first") < str(first).index("t: second")
    paths = first.draw(tmp_path / "boxes.svg")
    assert [path.name for path in paths] == ["boxes.svg", "boxes-2.svg"]
    assert all(path.exists() for path in paths)


def test_a_table_without_samples_has_no_figure(tmp_path):
    with pytest.raises(DataError, match="draws no figure for li-2"):
        PaperTable("li-2", "errors", {}).draw(tmp_path / "boxes.svg")


def test_many_cases_fill_lines_of_four():
    errors = {"a": np.array([1.0, 2.0])}
    axes = box_plots("errors", {f"case {i}": errors for i in range(6)}, {}).axes
    assert len(axes) == 8
    assert [ax.get_title() for ax in axes] == [*(f"case {i}" for i in range(6)), "", ""]
