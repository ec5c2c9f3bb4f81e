"""Dask collections: the fit of arrays with the same landmarks, lazily predicted, whatever happens to a worker."""

import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from sklearn.gaussian_process.kernels import RBF

from foldless import (
    KernelClassifier,
    KernelLogisticRegression,
    KernelLSSVC,
    KernelPoissonRegressor,
    KernelRegressor,
    KernelRidgeRegressor,
    KernelSVC,
)
from foldless.criteria.left_out import row_losses

dask = pytest.importorskip("dask", reason="Dask collections need foldless[dask]")
da = pytest.importorskip("dask.array", reason="Dask collections need foldless[dask]")
pytestmark = [pytest.mark.xdist_group("cluster"), pytest.mark.usefixtures("time_limit")]

N, M = 600, 100
KERNEL = RBF(2.0, "fixed")


@pytest.fixture
def data(monkeypatch):
    monkeypatch.setattr("foldless.estimators.dask_fit.PULLED_MAX_ROWS", 150)
    monkeypatch.setattr("foldless.estimators.dask_fit.TUNED_MAX_ROWS", 120)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N, 2))
    return X, np.round(np.exp(np.sin(2 * X[:, 0]) + 0.3 * X[:, 1] + 0.2 * rng.normal(size=N)))


def landmarks():
    return np.random.default_rng(1).normal(scale=1.5, size=(M, 2))


MODELS = [
    KernelLogisticRegression(KERNEL, C=2.0),
    KernelLogisticRegression(KERNEL, C=2.0, class_weight="balanced"),
    KernelLSSVC(KERNEL, C=2.0),
    KernelSVC(KERNEL, C=2.0, loss="squared_hinge"),
    KernelRidgeRegressor(KERNEL, alpha=0.5),
    KernelRidgeRegressor(KERNEL, alpha=0.5, fit_intercept=False),
    KernelPoissonRegressor(KERNEL, alpha=0.5),
]


@pytest.mark.parametrize("kept_entries", [0, 1e8], ids=["computed in every pass", "kept"])
@pytest.mark.parametrize("model", MODELS, ids=str)
def test_the_fit_is_that_of_an_array_with_the_same_landmarks(model, kept_entries, data, monkeypatch):
    monkeypatch.setattr("foldless.estimators.dask_landmarks.KEPT_MAX_ENTRIES", kept_entries)
    X, y = data
    y = y if "Regressor" in type(model).__name__ else np.array(["a", "b", "c"])[np.clip(y.astype(int), 0, 2)]
    model = model.set_params(landmarks=landmarks())
    local = model.fit(X, y)
    expected, selection = local.predict(X), local.selection_
    outputs, n_landmarks = local._outputs(X), len(local.X_fit_)
    losses = row_losses(selection.machine, selection.solution.Y, local._left_out)
    model.fit(da.from_array(X, chunks=(110, 1)), da.from_array(y, chunks=200))
    np.testing.assert_allclose(model._outputs(X), outputs, rtol=1e-5, atol=1e-6)
    lazy = model.predict(da.from_array(X, chunks=(250, 2)))
    assert lazy.chunks[0] == (250, 250, 100)
    if expected.dtype.kind == "f":
        np.testing.assert_allclose(lazy.compute(), expected, rtol=1e-5)
    else:
        np.testing.assert_array_equal(lazy.compute(), expected)
    record = model.partitions_
    assert (record.n_rows, record.n_search_rows, record.n_landmarks) == (N, 120, n_landmarks)
    assert record.left_out_loss == pytest.approx(np.mean(losses), rel=1e-3)
    assert local.fit(X, y).partitions_ is None


@pytest.mark.filterwarnings("ignore::foldless.core.errors.LandmarkWarning")
@pytest.mark.parametrize("model", MODELS, ids=str)
def test_a_weight_is_so_many_rows(model, data):
    """The fit with weights is that of an array with the same weights; a weight of zero leaves a row out."""
    X, y = data
    y = y if "Regressor" in type(model).__name__ else np.array(["a", "b", "c"])[np.clip(y.astype(int), 0, 2)]
    weight = np.random.default_rng(2).integers(0, 3, size=N).astype(float)
    model = model.set_params(landmarks=landmarks())
    local = model.fit(X, y, weight)
    outputs, selection = local._outputs(X), local.selection_
    counts = weight[weight > 0] if local._copies is None else local._copies
    losses = row_losses(selection.machine, selection.solution.Y, local._left_out)
    rows, targets, weights = (
        da.from_array(part, chunks=(chunk, *part.shape[1:]))
        for part, chunk in ((X, 110), (y, 200), (weight, 70))
    )
    model.fit(rows, targets, weights)
    np.testing.assert_allclose(model._outputs(X), outputs, rtol=1e-5, atol=1e-6)
    assert model.partitions_.left_out_loss == pytest.approx(np.average(losses, weights=counts), rel=1e-3)


def test_parameters_are_chosen_on_some_of_the_rows(data):
    X, y = data
    model = KernelLogisticRegression(n_components=40)
    model.fit(da.from_array(X, chunks=100), da.from_array(y > 1, chunks=100))
    assert model.selection_.solution.gram.n == 120
    assert len(model.X_fit_) == 40
    probabilities = model.predict_proba(da.from_array(X, chunks=100))
    assert probabilities.shape == (N, 2)
    np.testing.assert_allclose(probabilities.compute().sum(axis=1), 1)
    np.testing.assert_allclose(
        model.decision_function(da.from_array(X, chunks=100)).compute(), model.decision_function(X)
    )
    assert np.mean(model.predict(X) == (y > 1)) > 0.85


def test_data_frames_with_an_empty_partition(data):
    dd, pd = pytest.importorskip("dask.dataframe"), pytest.importorskip("pandas")
    X, y = data
    table = pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "y": y})
    frame = dd.from_pandas(table, npartitions=4)
    frame = dd.concat([frame, frame[frame.a > 100]])
    options = {"kernel": KERNEL, "alpha": 0.5, "landmarks": pd.DataFrame(landmarks(), columns=["a", "b"])}
    model = KernelRidgeRegressor(**options).fit(frame[["a", "b"]], frame["y"])
    expected = KernelRidgeRegressor(**options).fit(table[["a", "b"]], y).predict(table[["a", "b"]])
    np.testing.assert_allclose(model.predict(frame[["a", "b"]]).compute(), expected, rtol=1e-5, atol=1e-6)


def test_a_small_collection_is_fitted_as_an_array():
    X = np.random.default_rng(0).normal(size=(60, 2))
    model = KernelRidgeRegressor(KERNEL, alpha=0.1, gram="dense")
    model.fit(da.from_array(X, chunks=25), da.from_array(X[:, 0], chunks=25))
    assert model.partitions_ is None
    assert len(model.loo_predict_) == 60


@pytest.mark.parametrize(
    "model, message",
    [
        (
            KernelRidgeRegressor(KERNEL, alpha=0.1, gram="dense"),
            "needs all rows in one place; use gram='auto'",
        ),
        (KernelRidgeRegressor(KERNEL, alpha=0.1, calibration="split"), "calibration='split' needs all rows"),
        (KernelRidgeRegressor(KERNEL, alpha=0.1, penalty="I"), "cannot be fitted to a Dask collection"),
        (KernelRidgeRegressor(KERNEL, alpha=0.1, landmarks=[1, 2]), "give landmarks as points"),
    ],
)
def test_what_has_no_such_form_is_refused(model, message, data):
    X, y = (da.from_array(part, chunks=(100, *part.shape[1:])) for part in data)
    with pytest.raises(ValueError, match=message):
        model.fit(X, y)


def test_bad_collections_are_refused(data):
    X, y = data
    model, rows = KernelRidgeRegressor(KERNEL, alpha=0.1, landmarks=landmarks()), da.from_array(X, chunks=100)
    with pytest.raises(ValueError, match="both be Dask collections"):
        model.fit(rows, y)
    with pytest.raises(ValueError, match="X has 600 rows, y has 500"):
        model.fit(rows, da.from_array(y[:500], chunks=100))
    with pytest.raises(ValueError, match="X, y and sample_weight must all be Dask collections"):
        model.fit(rows, da.from_array(y, chunks=100), sample_weight=y)
    with pytest.raises(ValueError, match="X has 600 rows, sample_weight has 500"):
        model.fit(rows, da.from_array(y, chunks=100), sample_weight=da.from_array(y[:500], chunks=100))
    for bad, message in (
        (np.where(y == y[0], -1.0, 1.0), "must be 0 or between"),
        (np.zeros(N), "zero for all"),
    ):
        with pytest.raises(ValueError, match=f"sample_weight.* {message}"):
            model.fit(rows, da.from_array(y, chunks=100), sample_weight=da.from_array(bad, chunks=100))
    with pytest.raises(ValueError, match="one output at a time"):
        model.fit(X, y).predict(rows, return_std=True)
    holed = y.copy()
    holed[np.setdiff1d(np.arange(N), np.arange(0, N, 3))[-3:]] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        model.fit(rows, da.from_array(holed, chunks=100))


def test_partitions_of_one_class_and_errors_that_name_the_partition(data):
    X, y = data
    order = np.argsort(y > 1, kind="stable")
    X, labels = X[order], (y > 1)[order]
    model = KernelLogisticRegression(KERNEL, C=2.0, landmarks=landmarks())
    expected = model.fit(X, labels).decision_function(X)
    model.fit(da.from_array(X, chunks=(100, 2)), da.from_array(labels, chunks=100))
    np.testing.assert_allclose(model.decision_function(X), expected, rtol=1e-5, atol=1e-6)
    model.set_params(random_state=1)
    X[-1, 0] = np.nan
    with pytest.raises(ValueError, match=r"partition 5 of the collection, column 0 contains NaN in one row"):
        model.fit(da.from_array(X, chunks=(100, 2)), da.from_array(labels, chunks=100))


def killing(block, calls):
    """Return the block; the worker that makes a certain call dies instead."""
    with open(calls, "ab") as file:
        file.write(b"x")
    if os.path.getsize(calls) == 20:
        os.kill(os.getpid(), signal.SIGKILL)
    return block


@pytest.fixture
def cluster():
    distributed = pytest.importorskip("distributed", reason="a cluster needs foldless[dask]")
    options = {"n_workers": 2, "threads_per_worker": 1, "processes": True, "dashboard_address": ":0"}
    with distributed.LocalCluster(**options) as cluster, distributed.Client(cluster):
        yield cluster


def processes(cluster):
    """Return the numbers of the processes of all workers."""
    return {nanny.pid for nanny in cluster.workers.values()}


def test_a_killed_worker_costs_time_and_nothing_else(data, cluster, tmp_path, monkeypatch):
    for name in ("KEPT_MEMORY_SHARE", "KEPT_MAX_ENTRIES"):
        monkeypatch.setattr(f"foldless.estimators.dask_landmarks.{name}", 0)
    X, y = data
    rows, labels = da.from_array(X, chunks=100), da.from_array(y > 1, chunks=100)
    model = KernelLogisticRegression(KERNEL, C=2.0, landmarks=landmarks())
    with dask.config.set(scheduler="synchronous"):
        expected = model.fit(rows, labels).dual_coef_.copy()
    calls, before = tmp_path / "calls", processes(cluster)
    model.fit(rows.map_blocks(killing, str(calls), meta=np.zeros((0, 2))), labels)
    lazy = model.predict_proba(rows).compute()
    assert before - processes(cluster)
    assert calls.stat().st_size > 26
    np.testing.assert_allclose(model.dual_coef_, expected, rtol=1e-9)
    np.testing.assert_allclose(lazy, model.predict_proba(X))


@pytest.mark.parametrize(
    "moment", ["foldless.estimators.base.select", "foldless.estimators.dask_landmarks.near_minimum"]
)
def test_a_worker_that_dies_during_the_search_or_with_what_it_kept_costs_nothing_else(
    moment, data, cluster, monkeypatch
):
    X, y = data
    rows, labels = da.from_array(X, chunks=100), da.from_array(y > 1, chunks=100)
    model = KernelLogisticRegression(landmarks=landmarks())
    with dask.config.set(scheduler="synchronous"):
        expected = model.fit(rows, labels).dual_coef_.copy()
    module, name = moment.rsplit(".", 1)
    usual, killed = getattr(sys.modules[module], name), []

    def with_a_death(*args, **options):
        killed.append(min(processes(cluster)))
        os.kill(killed[0], signal.SIGKILL)
        return usual(*args, **options)

    monkeypatch.setattr(moment, with_a_death)
    model.fit(rows, labels)
    assert len(killed) == 1
    np.testing.assert_allclose(model.dual_coef_, expected, rtol=1e-9)


INTERRUPTED = """
import sys, time
import dask.array as da
import distributed
import numpy as np
from sklearn.gaussian_process.kernels import RBF
from foldless import KernelLogisticRegression

def slow(block):
    time.sleep(0.2)
    return block

if __name__ == "__main__":
    X = np.random.default_rng(0).normal(size=(600, 2))
    options = {"n_workers": 1, "threads_per_worker": 1, "processes": True, "dashboard_address": ":0"}
    with distributed.LocalCluster(**options) as cluster, distributed.Client(cluster):
        model = KernelLogisticRegression(RBF(1.0), C=2.0, landmarks=X[:30])
        rows = da.from_array(X, chunks=(20, 2)).map_blocks(slow, meta=np.zeros((0, 2)))
        print("begin", flush=True)
        try:
            model.fit(rows, da.from_array(X[:, 0] > 0, chunks=20))
        except KeyboardInterrupt:
            print("interrupted", hasattr(model, "dual_coef_"), flush=True)
"""


@pytest.mark.usefixtures("interruptible")
def test_ctrl_c_while_a_cluster_computes_ends_the_fit_at_once(tmp_path):
    pytest.importorskip("distributed", reason="a cluster needs foldless[dask]")
    script = tmp_path / "interrupted.py"
    script.write_text(INTERRUPTED)
    quiet = {"stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL, "text": True}
    with subprocess.Popen([sys.executable, str(script)], **quiet) as process:
        try:
            assert process.stdout.readline() == "begin\n"
            time.sleep(2)
            os.kill(process.pid, signal.SIGINT)
            assert process.stdout.readline() == "interrupted False\n"
        finally:
            # How a cluster closes is up to distributed, which gives up after five seconds; workers end with their parent.
            process.kill()


def test_a_cluster_without_workers_is_not_waited_for_for_ever(data, monkeypatch):
    distributed = pytest.importorskip("distributed", reason="a cluster needs foldless[dask]")
    monkeypatch.setattr("foldless.core.cluster.LOOK_SECONDS", 0.2)
    monkeypatch.setattr("foldless.core.cluster.NO_WORKER_SECONDS", 1.0)
    X, y = data
    options = {"n_workers": 0, "processes": False, "dashboard_address": ":0"}
    with distributed.LocalCluster(**options) as cluster, distributed.Client(cluster):
        rows, targets = da.from_array(X, chunks=100), da.from_array(y, chunks=100)
        with pytest.raises(RuntimeError, match=r"lost .* no worker for 1 s\). Start another one"):
            KernelRidgeRegressor(KERNEL, alpha=0.1).fit(rows, targets)


def test_the_default_estimators_choose_on_some_rows_and_fit_all(data, monkeypatch):
    monkeypatch.setattr("foldless.estimators.choice.TUNED_MAX_ROWS", 150)
    pd, dd = pytest.importorskip("pandas"), pytest.importorskip("dask.dataframe")
    X, y = data
    frame = pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "kind": np.where(X[:, 1] > 0, "up", "down"), "y": y})
    frame.loc[3, "b"] = np.nan
    table = dd.from_pandas(frame, npartitions=5)
    columns = ["a", "b", "kind"]
    classifier = KernelClassifier().fit(table[columns], table["y"] > 1)
    assert classifier.best_estimator_.partitions_.n_rows == N
    assert classifier.trials_
    lazy = classifier.predict_proba(table[columns])
    np.testing.assert_allclose(lazy.compute(), classifier.predict_proba(frame[columns]), atol=1e-9)
    assert np.mean(classifier.predict(frame[columns]) == (y > 1)) > 0.85
    regressor = KernelRegressor().fit(table[columns], table["y"])
    assert regressor.best_estimator_.partitions_.n_rows == N
    assert regressor.score(frame[columns], y) > 0.8
    weighted = KernelRegressor().fit(table[columns], table["y"], sample_weight=table["y"].clip(upper=1))
    assert weighted.best_estimator_.partitions_.n_rows == N
    assert weighted.score(frame[columns], y, sample_weight=np.minimum(y, 1)) > 0.8


def test_the_default_estimators_fit_a_small_collection_as_an_array(data):
    X, y = data
    rows, targets = da.from_array(X[:100], chunks=30), da.from_array(y[:100], chunks=30)
    assert len(KernelRegressor().fit(rows, targets).loo_predict_) == 100


def test_columns_of_parquet_files_are_read_in_the_same_partitions(data, tmp_path, monkeypatch):
    """Dask joins small files when only some columns are read: more of them for a target than for many inputs."""
    monkeypatch.setattr("foldless.estimators.choice.TUNED_MAX_ROWS", 150)
    pd, dd = pytest.importorskip("pandas"), pytest.importorskip("dask.dataframe")
    X, y = data
    columns = [f"x{i}" for i in range(12)]
    frame = pd.DataFrame(np.hstack([X, np.zeros((N, 10))]), columns=columns).assign(y=y)
    for i in range(12):
        frame[50 * i : 50 * (i + 1)].to_parquet(tmp_path / f"{i:02d}.parquet")
    table = dd.read_parquet(tmp_path)
    model = KernelRidgeRegressor(KERNEL, alpha=0.5, n_components=50).fit(table[columns], table["y"])
    assert model.partitions_.n_rows == N
    assert np.mean((model.predict(frame[columns]) - y) ** 2) < 0.3 * np.var(y)
    chosen = KernelRegressor().fit(table[columns], table["y"])
    assert chosen.score(frame[columns], y) > 0.7
    both = KernelRidgeRegressor(KERNEL, alpha=0.5, n_components=50)
    both.fit(table[columns], table[["y", "x0"]])
    assert both.predict(frame[columns]).shape == (N, 2)
    other = dd.from_pandas(frame["y"], npartitions=3)
    with pytest.raises(ValueError, match="partition"):
        model.fit(table[columns], other)
