"""``foldless tune --gram cells``: a fit that ends in cells, its model file, its predictions and its report."""

import csv
import io
import json
import re

import numpy as np
import pytest

from foldless.cli import read_table, run_experiment
from foldless.cli.files.model_file import load_model
from foldless.cli.files.read_table import read_new
from foldless.cli.main import run
from foldless.cli.report import find_out
from foldless.cli.report.write import page
from foldless.grams.expansion import CellExpansion

pytest.importorskip("skops")
N = 200
MACHINES = {"ridge": "number", "logistic": "label", "lssvc": "label", "svc": "label"}
CELLS = ["--gram", "cells", "--cell-size", "50"]
each_machine = pytest.mark.parametrize("machine", MACHINES)


@pytest.fixture
def desk(tmp_path, monkeypatch, rng):
    """A folder with a table to tune on and rows to predict; numbers, a category and a gap."""
    X = rng.uniform(-3, 3, size=(N, 2)).round(4)
    kind = rng.choice(["red", "green", "blue"], N)
    z = np.sin(2 * X[:, 0]) + (kind == "red") + 0.3 * rng.normal(size=N)
    lines = [f"{a},{b},{c},{d:.4f}" for (a, b), c, d in zip(X, kind, z, strict=True)]
    labels = [
        line.rpartition(",")[0] + (",up" if d > 0.3 else ",down") for line, d in zip(lines, z, strict=True)
    ]
    for name, rows in (("number", lines), ("label", labels)):
        rows = [rows[0].replace(rows[0].split(",")[1], "", 1), *rows[1:]]
        (tmp_path / f"{name}.csv").write_text("\n".join(["a,b,c,y", *rows]), encoding="utf-8")
    new = [
        f"{a},{b},{c}"
        for a, b, c in zip(*rng.uniform(-3, 3, size=(2, 9)).round(4), np.resize(kind, 9), strict=True)
    ]
    (tmp_path / "new.csv").write_text("\n".join(["a,b,c", *new]), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def line(machine, *more):
    return ["tune", f"{MACHINES[machine]}.csv", "--target", "y", "--machine", machine, *CELLS, *more]


@each_machine
def test_a_fit_ends_in_cells_and_says_so(machine, desk, capsys):
    assert run(line(machine, "--report", "r.html", "--save", "m.skops")) == 0
    said = " ".join(capsys.readouterr().out.split())
    function = load_model("m.skops").model[-1].cells_
    assert isinstance(function, CellExpansion)
    n_cells = function.tree.n_cells
    assert n_cells > 3
    assert f"rows of the fit {N}, in {n_cells} cells" in said
    report = (desk / "r.html").read_text(encoding="utf-8")
    sentence = f"The model consists of {n_cells} cells: groups of nearby rows out of {N}, each with a fit of its own."
    assert sentence in report
    assert "leave-one-out" in said


@each_machine
def test_the_model_file_predicts_what_the_fit_predicts(machine, desk, capsys):
    assert run(line(machine, "--save", "m.skops")) == 0
    capsys.readouterr()
    table = read_table("label.csv" if machine != "ridge" else "number.csv", "y")
    ours = run_experiment(table, machine, gram="cells", cell_size=50).model
    loaded = load_model("m.skops").model
    assert np.array_equal(loaded.predict(table.values), ours.predict(table.values))
    option = "--interval" if machine == "ridge" else "--sets"
    assert run(["predict", "m.skops", "new.csv", option, "0.8"]) == 0
    out, err = capsys.readouterr()
    rows = list(csv.DictReader(io.StringIO(out)))
    assert len(rows) == 9
    assert "80 %" in err
    [new] = read_new("new.csv", load_model("m.skops").encoder)
    points = ours[:-1].transform(new.values)
    if machine == "ridge":
        found = [[float(row["lower"]), float(row["upper"])] for row in rows]
        assert np.array_equal(found, ours[-1].predict_interval(points, 0.8))
        assert [float(row["y"]) for row in rows] == ours[-1].predict(points).tolist()
    else:
        members = ours[-1].predict_set(points, 0.8)
        assert [row["set"] for row in rows] == ["|".join(ours[-1].classes_[row]) for row in members]
        found = [float(row["probability of up"]) for row in rows]
        assert found == ours[-1].predict_proba(points)[:, 1].tolist()


def test_json_names_the_form_and_the_rows(desk, capsys):
    assert run(line("ridge", "--json", "--no-baselines")) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["form"].endswith(" cells")
    assert found["rows"] == N
    assert 0 < found["search_rows"] <= N


def test_every_section_of_the_report_is_there(desk):
    """The sections are those of a whole fit: nothing is left out because a model has cells."""
    table = read_table("label.csv", "y")
    pages = [
        page(find_out(run_experiment(table, "lssvc", **options)))
        for options in ({"gram": "cells", "cell_size": 50}, {"gram": "dense"})
    ]
    names = [re.findall(r'<section id="(\w+)"', found) for found in pages]
    assert names[0] == names[1]
    assert len(names[0]) > 5


def test_a_form_needs_a_machine_that_has_it(desk, capsys):
    assert run(["tune", "number.csv", "--target", "y", "--gram", "celler"]) == 2
    assert "--gram" in capsys.readouterr().err
    assert run(["tune", "number.csv", "--target", "y", "--machine", "subset", "--gram", "cells"]) == 2
    assert "has no option gram" in capsys.readouterr().err


def test_a_default_fit_of_many_rows_may_end_in_cells(desk, rng, monkeypatch, capsys):
    """With small numbers in place of the thousands of rows beyond which no fit is whole, and of the landmarks that memory holds."""
    limits = {"WHOLE_MAX_ROWS": 300, "SMALL_WHOLE_MAX_ROWS": 300, "CELL_ROWS": 150}
    landmarks = {"FIRST_LANDMARKS": 10, "LANDMARK_MAX_ENTRIES": 20 * 900}
    for name, rows in (limits | landmarks).items():
        monkeypatch.setattr(f"foldless.tuning.last_fit.{name}", rows)
    X = rng.uniform(-2, 2, size=(900, 2))
    labels = np.where((np.floor(2 * X[:, 0]) + np.floor(2 * X[:, 1])) % 2 == 0, "black", "white")
    rows = [f"{a},{b},{c}" for (a, b), c in zip(X, labels, strict=True)]
    (desk / "board.csv").write_text("\n".join(["a,b,y", *rows]), encoding="utf-8")
    assert run(["tune", "board.csv", "--target", "y", "--no-baselines", "--save", "m.skops", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["form"].endswith(" cells")
    assert found["search_rows"] <= found["rows"] == 900
    assert run(["predict", "m.skops", "board.csv", "--sets", "0.9"]) == 0
    answers = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert np.mean([answer["y"] == label for answer, label in zip(answers, labels, strict=True)]) > 0.8
    assert all(answer["y"] in answer["set"].split("|") for answer in answers)
