"""``foldless predict --interval`` and ``--sets``: the columns of intervals and sets, from a model file."""

import csv
import io
import json

import numpy as np
import pytest

from foldless import KernelRidgeRegressor
from foldless.cli.files.model_file import load_model
from foldless.cli.main import run
from foldless.cli.report.text import promise

pytest.importorskip("skops")
KINDS = {
    "ridge": "regression",
    "subset": "regression",
    "poisson": "regression",
    "logistic": "classification",
    "lssvc": "classification",
    "svc": "classification",
}


@pytest.fixture
def desk(tmp_path, monkeypatch, rng):
    """A folder with a table to tune on and rows to predict."""
    X = rng.normal(size=(50, 2))
    counts = rng.poisson(np.exp(0.5 * X[:, 0]))
    labels = np.where(X[:, 0] + 0.5 * rng.normal(size=50) > 0, "yes", "no")
    for name, y in (("regression", counts), ("classification", labels)):
        rows = [f"{a},{b},{c}" for (a, b), c in zip(X, y, strict=True)]
        (tmp_path / f"{name}.csv").write_text("\n".join(["a,b,y", *rows]), encoding="utf-8")
    (tmp_path / "new.csv").write_text("a,b\n0.1,0.2\n-1,0\n2,2\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def tuned(machine, *options):
    task = KINDS[machine]
    line = ["tune", f"{task}.csv", "--target", "y", "--task", task, "--machine", machine, "--save", "m.skops"]
    assert run([*line, *options]) == 0
    return load_model("m.skops").model


def table(text):
    return list(csv.DictReader(io.StringIO(text)))


@pytest.mark.parametrize("machine", KINDS)
def test_columns_are_those_of_the_loaded_model(machine, desk, capsys):
    model = tuned(machine)
    capsys.readouterr()
    option = "--interval" if KINDS[machine] == "regression" else "--sets"
    assert run(["predict", "m.skops", "new.csv", option, "0.8"]) == 0
    out, err = capsys.readouterr()
    points = model[:-1].transform(np.array([[0.1, 0.2], [-1, 0], [2, 2]]))
    rows = table(out)
    if option == "--interval":
        expected = model[-1].predict_interval(points, 0.8)
        found = [[float(row["lower"]), float(row["upper"])] for row in rows]
        assert found == pytest.approx(expected)
    else:
        members = model[-1].predict_set(points, 0.8)
        expected = ["|".join(model[-1].classes_[row]) for row in members]
        assert [row["set"] for row in rows] == expected
    assert "80 %" in err


@pytest.mark.parametrize(
    "machine, option, what", [("ridge", "--interval", "intervals"), ("lssvc", "--sets", "sets")]
)
def test_many_free_length_scales_are_told_on_the_terminal(machine, option, what, desk, capsys):
    tuned(machine, "--kernel", "rbf-ard-free")
    capsys.readouterr()
    assert run(["predict", "m.skops", "new.csv", option, "0.9"]) == 0
    _, err = capsys.readouterr()
    words = " ".join(err.split())
    assert f"3 parameters were tuned on these 50 rows, so that {what} hold less than they say" in words
    assert "Probably fewer than 90 %" in words


def test_rough_left_out_models_are_told_on_the_terminal(desk, capsys, rng):
    """Among a dozen classes of five rows each, one step does not replace a refit, and the advice is not a line of Python."""
    centres = rng.normal(size=(12, 2))
    rows = [f"{a},{b},c{i}" for i, c in enumerate(centres) for a, b in c + 0.3 * rng.normal(size=(5, 2))]
    (desk / "classification.csv").write_text("\n".join(["a,b,y", *rows]), encoding="utf-8")
    tuned("logistic")
    capsys.readouterr()
    assert run(["predict", "m.skops", "new.csv", "--sets", "0.8"]) == 0
    err = " ".join(capsys.readouterr().err.split())
    assert "of the training rows the fit without them is known only roughly" in err
    assert "refit_left_out" not in err


def test_json_has_them_too_and_null_for_infinity(desk, capsys):
    tuned("ridge")
    capsys.readouterr()
    assert run(["predict", "m.skops", "new.csv", "--interval", "0.99", "--json"]) == 0
    out, err = capsys.readouterr()
    assert json.loads(out)[0]["lower"] is None
    assert "needs at least 99 rows, got 50" in err
    tuned("logistic")
    capsys.readouterr()
    assert run(["predict", "m.skops", "new.csv", "--sets", "0.9", "--json"]) == 0
    first = json.loads(capsys.readouterr().out)[0]
    assert set(first) == {"prediction", "probabilities", "set"}
    assert set(first["set"]) <= {"yes", "no"}


@pytest.mark.parametrize(
    "machine, options, message",
    [
        ("ridge", ["--sets", "0.9"], "--sets is for classes"),
        ("lssvc", ["--interval", "0.9"], "--interval is for numbers"),
        ("ridge", ["--interval", "1.5"], "level must be a number between 0 and 1"),
        ("lssvc", ["--sets", "0"], "level must be a number between 0 and 1"),
    ],
)
def test_mistakes_get_one_line(machine, options, message, desk, capsys):
    tuned(machine)
    capsys.readouterr()
    assert run(["predict", "m.skops", "new.csv", *options]) == 2
    out, err = capsys.readouterr()
    assert message in err
    assert len(err.strip().splitlines()) == 1
    assert not out


def test_the_promise_on_the_terminal_has_no_line_of_python():
    model = KernelRidgeRegressor().fit(np.linspace(0, 1, 30)[:, None], np.sin(np.linspace(0, 6, 30)))
    assert "calibration='split'" in model.guarantee(0.9)
    said = promise(model, 0.9)
    assert said.endswith("with 30 to 120 rows).")
    assert model.guarantee(0.9).startswith(said[:-1])
