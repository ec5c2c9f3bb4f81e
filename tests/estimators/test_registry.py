"""Every machine of the registry can be tuned, compared, saved, loaded and used from the command line."""

import json

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import foldless
from foldless.cli.main import run
from foldless.core.errors import UnknownName
from foldless.estimators.registry import AUTOMATIC, MACHINES, entry_of, look_up


def counts_or_labels(rng, task):
    X = rng.uniform(-2, 2, size=(60, 2))
    rate = np.exp(1 + np.sin(2 * X[:, 0]))
    return X, rng.poisson(rate) if task == "regression" else np.where(rate > 2.5, "many", "few")


def write(path, X, y):
    lines = ["a,b,y", *(f"{p},{q},{target}" for (p, q), target in zip(X, y))]
    path.write_text("\n".join(lines))
    return str(path)


@pytest.mark.parametrize("machine", MACHINES)
def test_compare_knows_every_machine(machine, tmp_path, rng, capsys):
    task = MACHINES[machine].task
    X, y = counts_or_labels(rng, task)
    options = [
        "--machine",
        machine,
        "--task",
        task,
        "--criterion",
        "loo",
        "--repeats",
        "1",
        "--no-baselines",
        "--json",
    ]
    assert run(["compare", write(tmp_path / "data.csv", X, y), "--target", "y", *options]) == 0
    (row,) = json.loads(capsys.readouterr().out)
    assert row["machine"] == machine
    found = foldless.compare(X, y, [machine], ["loo"], task=task, repeats=1)
    assert [row.machine for row in found.rows] == [machine]
    assert np.isfinite(found.rows[0].errors).all()


@pytest.mark.parametrize("machine", MACHINES)
def test_tune_save_and_predict(machine, tmp_path, rng, capsys):
    task = MACHINES[machine].task
    X, y = counts_or_labels(rng, task)
    data, model = write(tmp_path / "data.csv", X, y), str(tmp_path / "model.skops")
    options = ["--machine", machine, "--task", task, "--save", model]
    assert run(["tune", data, "--target", "y", *options]) == 0
    capsys.readouterr()
    assert run(["predict", model, data]) == 0
    header, *lines = capsys.readouterr().out.splitlines()
    assert header.split(",")[0] == "y"
    predicted = np.array([line.split(",")[0] for line in lines])
    expected = make_pipeline(StandardScaler(), MACHINES[machine].estimator()).fit(X, y).predict(X)
    if task == "regression":
        assert predicted.astype(float) == pytest.approx(expected, rel=1e-5)
    else:
        assert np.array_equal(predicted, expected)
        assert np.mean(predicted == y) > 0.9


def test_every_estimator_of_the_package_is_in_the_registry():
    estimators = {name for name in foldless.__all__ if hasattr(getattr(foldless, name), "fit")}
    automatic = {estimator.__name__ for estimator in AUTOMATIC.values()}
    assert estimators - {"KernelSearch"} - automatic == {
        entry.estimator.__name__ for entry in MACHINES.values()
    }


def test_a_machine_for_another_task_is_refused():
    with pytest.raises(UnknownName, match="ridge"):
        look_up("logistic", "regression")


def test_an_estimator_finds_its_entry():
    assert entry_of(foldless.KernelLogisticRegression()) is MACHINES["logistic"]
    with pytest.raises(UnknownName):
        entry_of(object())
