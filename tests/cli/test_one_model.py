"""One table gives one model: ``foldless tune`` chooses and predicts what ``KernelClassifier().fit(frame, y)`` does."""

import json

import numpy as np
import pandas as pd
import pytest

from foldless import KernelClassifier, KernelRegressor, load
from foldless.cli import read_table, run_experiment
from foldless.cli.main import run
from foldless.cli.report.columns import dependence, importance, original_columns
from foldless.cli.report.downloads import refit_script
from foldless.cli.report.verdict import find_out
from foldless.cli.report.write import page
from foldless.core.errors import UnseenLevelWarning
from foldless.kernels.in_words import in_words

N = 90


def table_of(rng, categories=True, gaps=False, classes=True):
    """A frame whose target "y" depends on numbers, and on categories if there are any."""
    size, age = rng.normal(size=N).round(3), rng.normal(50, 9, N).round(2)
    ward, smokes = rng.choice(["A", "B", "C"], N), rng.choice(["no", "yes"], N)
    effect = np.sin(2 * size) + (age - 50) / 9
    frame = pd.DataFrame({"size": size, "age": age})
    if categories:
        frame = frame.assign(ward=ward, smokes=smokes)
        effect = effect + 2.0 * (ward == "B") - 1.0 * (smokes == "yes")
    if gaps:
        frame = frame.mask(rng.random(frame.shape) < 0.1)
    effect = effect + 0.2 * rng.normal(size=N)
    return frame.assign(y=np.where(effect > 0, "up", "down") if classes else effect.round(4))


TABLES = {
    "numbers": {"categories": False},
    "numbers with gaps": {"categories": False, "gaps": True},
    "numbers and categories": {},
    "numbers and categories with gaps": {"gaps": True},
    "a target of numbers": {"gaps": True, "classes": False},
}


@pytest.fixture(params=TABLES)
def stored(request, rng, tmp_path):
    """A frame, and the file that holds it."""
    frame = table_of(rng, **TABLES[request.param])
    frame.to_csv(tmp_path / "table.csv", index=False)
    return frame, tmp_path / "table.csv"


def in_python(frame):
    X, y = frame.drop(columns="y"), frame["y"].to_numpy()
    return (KernelClassifier if y.dtype == object else KernelRegressor)(random_state=0).fit(X, y)


def test_the_command_line_and_python_choose_the_same_model(stored, tmp_path, capsys):
    frame, path = stored
    ours, model = in_python(frame), tmp_path / "model.skops"
    assert run(["tune", str(path), "--target", "y", "--json", "--no-baselines", "--save", str(model)]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["kernel"] == str(ours.kernel_)
    assert load(model)[-1].kernel_ == ours.kernel_
    assert run(["predict", str(model), str(path)]) == 0
    rows = [line.split(",") for line in capsys.readouterr().out.splitlines()[1:]]
    X = frame.drop(columns="y")
    expected = ours.predict_proba(X)[:, 1] if hasattr(ours, "classes_") else ours.predict(X)
    np.testing.assert_array_equal([float(row[-1]) for row in rows], expected)


def test_held_out_rows_have_no_say_in_the_encoding(rng, tmp_path):
    frame = table_of(rng, gaps=True)
    frame.to_csv(tmp_path / "table.csv", index=False)
    found = run_experiment(read_table(tmp_path / "table.csv", "y"), "auto", holdout=0.3)
    ours = in_python(frame.iloc[found.places])
    unseen = frame.iloc[found.held_out.places].drop(columns="y")
    np.testing.assert_array_equal(found.held_out.probabilities, ours.predict_proba(unseen))


def test_the_report_speaks_of_columns_of_the_file(stored):
    frame, path = stored
    found = run_experiment(read_table(path, "y"), "auto", source=path.name)
    names = [name for name in frame.columns if name != "y"]
    assert [column.name for column in original_columns(found)] == names
    assert {column.name for column in importance(found).columns} == set(names)
    for column in original_columns(found):
        effect = dependence(found, column)
        assert np.all(np.isfinite(effect.answers))
        assert column.code.kind != "category" or effect.values == sorted(frame[column.name].dropna().unique())
    assert in_words(found.estimator.kernel_) in page(find_out(found, False)).replace("&#39;", "'")


@pytest.mark.parametrize("holdout", [0.0, 0.3])
def test_the_script_of_a_report_fits_the_model_again(stored, holdout):
    _, path = stored
    found = run_experiment(read_table(path, "y"), "auto", holdout=holdout, source=str(path))
    names = {}
    exec(refit_script(found), names)  # noqa: S102
    again, table = names["model"], names["table"]
    assert again[0].transform(table.values).shape[1] == found.estimator.n_features_in_
    if holdout == 0:
        np.testing.assert_allclose(answers(again, table), answers(found.model, table), rtol=1e-4)


def answers(model, table):
    return (
        model.predict_proba(table.values) if table.task == "classification" else model.predict(table.values)
    )


def test_a_level_that_only_rows_held_out_have_does_not_move_the_columns_of_the_script(tmp_path):
    """Constant in training, the column is no part of the kernel, although it changes among all rows."""
    rows = [(i % 7, (i * i) % 11, "a", "no" if i % 7 < 3 else "yes") for i in range(60)]
    frame = pd.DataFrame(rows, columns=["x", "z", "kind", "y"])
    path = tmp_path / "table.csv"
    frame.to_csv(path, index=False)
    held = run_experiment(read_table(path, "y"), "auto", holdout=0.3).held_out.places
    frame.loc[held, "kind"] = "b"
    frame.to_csv(path, index=False)
    with pytest.warns(UnseenLevelWarning, match="18 rows"):
        found = run_experiment(read_table(path, "y"), "auto", holdout=0.3, source=str(path))
    assert found.feature_names == ["x", "z"]
    names = {}
    exec(refit_script(found), names)  # noqa: S102
    assert names["model"][0].get_feature_names_out().tolist() == ["x0", "x1"]
