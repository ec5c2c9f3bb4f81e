"""Saving and loading in Python: every estimator comes back, and a file runs no code."""

import sys
import zipfile

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.svm import SVC, SVR

import foldless
from foldless import criteria, searches
from foldless.core.errors import MissingExtra, ModelFileError

skops = pytest.importorskip("skops.io", reason="model files need foldless[files]")

CLASSIFIERS = {
    "logistic": foldless.KernelLogisticRegression(),
    "svc": foldless.KernelSVC(),
    "squared hinge": foldless.KernelSVC(loss="squared_hinge", criterion="loo"),
    "lssvc": foldless.KernelLSSVC(criterion=criteria.LOO(), search=searches.Grid()),
    "cells": foldless.KernelLSSVC(gram="cells", cell_size=20),
    "default": foldless.KernelClassifier(),
    "pipeline": make_pipeline(StandardScaler(), foldless.KernelLogisticRegression("rbf-ard")),
    "search": foldless.KernelSearch(make_pipeline(StandardScaler(), SVC())),
    "search by folds": foldless.KernelSearch(SVC(), {"C": [1.0, 10.0]}, criterion="cv"),
    "ensemble": foldless.KernelSearch(foldless.KernelLSSVC(), ensemble=True),
    "search in a pipeline": make_pipeline(StandardScaler(), foldless.KernelSearch(SVC())),
}
REGRESSORS = {
    "ridge": foldless.KernelRidgeRegressor(),
    "landmarks": foldless.KernelRidgeRegressor(gram="nystrom", n_components=10),
    "subset": foldless.KernelSubsetRegressor(),
    "default": foldless.KernelRegressor(),
    "search by folds": foldless.KernelSearch(SVR(), {"C": [1.0, 10.0]}),
}


def there_and_back(model, folder):
    foldless.save(model, folder / "model.skops")
    return foldless.load(folder / "model.skops")


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_a_loaded_classifier_predicts_the_same(name, two_classes, tmp_path):
    X, y = two_classes
    model = CLASSIFIERS[name].fit(X, np.where(y > 0, "up", "down"))
    loaded = there_and_back(model, tmp_path)
    assert np.array_equal(loaded.predict(X), model.predict(X))
    if hasattr(model, "predict_proba"):
        assert np.array_equal(loaded.predict_proba(X), model.predict_proba(X))


@pytest.mark.parametrize("name", REGRESSORS)
def test_a_loaded_regressor_predicts_the_same(name, noisy_curve, tmp_path):
    X, y = noisy_curve
    model = REGRESSORS[name].fit(X, y)
    assert np.array_equal(there_and_back(model, tmp_path).predict(X), model.predict(X))


def test_counts_and_several_classes(three_classes, tmp_path):
    X, y = three_classes
    counts = foldless.KernelPoissonRegressor().fit(X, y)
    assert np.array_equal(there_and_back(counts, tmp_path).predict(X), counts.predict(X))
    classes = foldless.KernelLogisticRegression().fit(X, y)
    assert np.array_equal(there_and_back(classes, tmp_path).predict_proba(X), classes.predict_proba(X))


def test_intervals_sets_and_the_trace_come_back(noisy_curve, two_classes, tmp_path):
    X, y = noisy_curve
    model = foldless.KernelRegressor().fit(X, y)
    loaded = there_and_back(model, tmp_path)
    assert loaded.predict_interval(X[:3]) == pytest.approx(model.predict_interval(X[:3]))
    assert repr(loaded.trials_) == repr(model.trials_)
    assert repr(loaded.best_estimator_.trace_) == repr(model.best_estimator_.trace_)
    X, y = two_classes
    model = foldless.KernelLogisticRegression().fit(X, y)
    assert np.array_equal(there_and_back(model, tmp_path).predict_set(X), model.predict_set(X))


def test_a_frame_with_categories_and_gaps(two_classes, tmp_path):
    X, y = two_classes
    frame = pd.DataFrame(X, columns=["a", "b", "c"]).assign(kind=np.where(X[:, 0] > 0, "u", "v"))
    frame.loc[3, "a"] = np.nan
    model = foldless.KernelClassifier().fit(frame, y)
    assert np.array_equal(there_and_back(model, tmp_path).predict_proba(frame), model.predict_proba(frame))


def test_a_precomputed_kernel(two_classes, tmp_path):
    X, y = two_classes
    model = foldless.KernelSVC("precomputed").fit(X @ X.T, y)
    assert np.array_equal(there_and_back(model, tmp_path).predict(X @ X.T), model.predict(X @ X.T))


def test_an_unfitted_model_and_no_model_are_refused(tmp_path):
    with pytest.raises(NotFittedError):
        foldless.save(foldless.KernelSVC(), tmp_path / "model.skops")
    with pytest.raises(TypeError, match="got a dict"):
        foldless.save({}, tmp_path / "model.skops")
    assert not list(tmp_path.iterdir())


def test_an_old_file_survives_a_failure(two_classes, tmp_path, monkeypatch):
    model = foldless.KernelLSSVC(C=1.0).fit(*two_classes)
    foldless.save(model, tmp_path / "model.skops")
    before = (tmp_path / "model.skops").read_bytes()

    def fail(*arguments):
        raise RuntimeError("no")

    monkeypatch.setattr("skops.io.dump", fail)
    with pytest.raises(RuntimeError):
        foldless.save(model, tmp_path / "model.skops")
    assert [path.name for path in tmp_path.iterdir()] == ["model.skops"]
    assert (tmp_path / "model.skops").read_bytes() == before


def test_a_function_in_a_file_is_refused_unless_it_is_named(two_classes, tmp_path):
    X, y = two_classes
    model = make_pipeline(FunctionTransformer(pd.isna), foldless.KernelLSSVC(C=1.0)).fit(X, y)
    foldless.save(model, tmp_path / "model.skops")
    with pytest.raises(ModelFileError, match=r"refused.*isna.*trusted=") as refused:
        foldless.load(tmp_path / "model.skops")
    assert "\n" not in str(refused.value)
    named = skops.get_untrusted_types(file=tmp_path / "model.skops")
    assert foldless.load(tmp_path / "model.skops", trusted=named).predict(X).shape == y.shape


def test_a_damaged_or_foreign_file_gives_one_line(two_classes, tmp_path):
    path = tmp_path / "model.skops"
    foldless.save(foldless.KernelLSSVC(C=1.0).fit(*two_classes), path)
    whole = path.read_bytes()
    for raw in (b"", b"text", whole[:300], whole[:-50]):
        path.write_bytes(raw)
        with pytest.raises(ModelFileError, match="not a whole model file") as refused:
            foldless.load(path)
        assert "\n" not in str(refused.value)
    skops.dump(StandardScaler(), path)
    with pytest.raises(ModelFileError, match="did not write it"):
        foldless.load(path)
    skops.dump({"a": 1}, path)
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("foldless.json", '{"format": 1, "foldless": "0", "scikit-learn": "0"}')
    with pytest.raises(ModelFileError, match="holds a dict"):
        foldless.load(path)
    with pytest.raises(ModelFileError, match="no such file"):
        foldless.load(tmp_path / "absent.skops")


def test_a_missing_extra_is_one_line(two_classes, tmp_path, monkeypatch):
    model = foldless.KernelLSSVC(C=1.0).fit(*two_classes)
    monkeypatch.setitem(sys.modules, "skops.io", None)
    monkeypatch.setitem(sys.modules, "skops", None)
    with pytest.raises(MissingExtra, match=r"pip install 'foldless\[files\]'"):
        foldless.save(model, tmp_path / "model.skops")


def test_the_command_line_names_a_file_saved_in_python(two_classes, tmp_path):
    from foldless.cli.files.model_file import load_model

    foldless.save(foldless.KernelLSSVC(C=1.0).fit(*two_classes), tmp_path / "model.skops")
    with pytest.raises(ModelFileError, match=r"saved in Python.*foldless\.load"):
        load_model(tmp_path / "model.skops")
