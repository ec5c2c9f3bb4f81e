"""Every machine of the catalogue can be tuned, saved, loaded and used from the command line."""

import numpy as np
import pytest

import foldless
from foldless.cli.main import run
from foldless.core.errors import UnknownName
from foldless.estimators.registry import MACHINES, entry_of, look_up


@pytest.mark.parametrize("machine", MACHINES)
def test_tune_save_and_predict(machine, tmp_path, rng, capsys):
    X = rng.uniform(-2, 2, size=(60, 2))
    rate = np.exp(1 + np.sin(2 * X[:, 0]))
    y = rng.poisson(rate) if MACHINES[machine].task == "regression" else np.where(rate > 2.5, "many", "few")
    lines = ["a,b,y", *(f"{p},{q},{target}" for (p, q), target in zip(X, y))]
    (tmp_path / "data.csv").write_text("\n".join(lines))
    model = str(tmp_path / "model.skops")
    options = ["--machine", machine, "--task", MACHINES[machine].task, "--save", model]
    assert run(["tune", str(tmp_path / "data.csv"), "--target", "y", *options]) == 0
    capsys.readouterr()
    assert run(["predict", model, str(tmp_path / "data.csv")]) == 0
    header, *lines = capsys.readouterr().out.splitlines()
    assert header.split(",")[0] == "y"
    predicted = [line.split(",")[0] for line in lines]
    if MACHINES[machine].task == "regression":
        assert np.corrcoef(np.array(predicted, float), rate)[0, 1] > 0.7
    else:
        assert np.mean(np.array(predicted) == y) > 0.9


def test_every_estimator_of_the_package_is_in_the_catalogue():
    estimators = {name for name in foldless.__all__ if hasattr(getattr(foldless, name), "fit")}
    assert estimators - {"KernelSearch"} == {entry.estimator.__name__ for entry in MACHINES.values()}


def test_a_machine_for_another_task_is_refused():
    with pytest.raises(UnknownName, match="ridge"):
        look_up("logistic", "regression")


def test_an_estimator_finds_its_entry():
    assert entry_of(foldless.KernelLogisticRegression()) is MACHINES["logistic"]
    with pytest.raises(UnknownName):
        entry_of(object())
