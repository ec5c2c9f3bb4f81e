"""Cells of a Dask collection: the fit of arrays with the same tree, whatever happens to a worker."""

import os
import signal

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.gaussian_process.kernels import RBF

from foldless import KernelLogisticRegression, KernelLSSVC, KernelRidgeRegressor, KernelSVC
from foldless.criteria.left_out import row_losses
from foldless.searches import LBFGS

dask = pytest.importorskip("dask", reason="Dask collections need foldless[dask]")
da = pytest.importorskip("dask.array", reason="Dask collections need foldless[dask]")
pytestmark = [pytest.mark.xdist_group("cluster"), pytest.mark.usefixtures("time_limit")]

N, SIZE = 600, 90
KERNEL = RBF(0.7, "fixed")


@pytest.fixture
def data(monkeypatch):
    monkeypatch.setattr("foldless.estimators.dask_fit.PULLED_MAX_ROWS", 150)
    monkeypatch.setattr("foldless.estimators.dask_fit.TUNED_MAX_ROWS", 120)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N, 2))
    return X, np.sin(3 * X[:, 0]) + 0.3 * X[:, 1] + 0.3 * rng.normal(size=N)


@pytest.fixture
def tree_of_all_rows(monkeypatch):
    """Grow the tree from all rows, as a fit to arrays does."""
    monkeypatch.setattr("foldless.estimators.dask_cells.TREE_ROWS_PER_CELL", SIZE)


MODELS = [
    KernelLogisticRegression(KERNEL, C=2.0),
    KernelLogisticRegression(KERNEL, C=2.0, class_weight="balanced"),
    KernelLSSVC(KERNEL, C=2.0),
    KernelSVC(KERNEL, C=2.0, loss="squared_hinge"),
    KernelRidgeRegressor(KERNEL, alpha=0.5),
    KernelRidgeRegressor(KERNEL, alpha=0.5, fit_intercept=False),
]


def targets(model, y):
    if "Regressor" in type(model).__name__:
        return y
    return np.array(["a", "b", "c"])[np.digitize(y, [-0.5, 0.7])]


@pytest.mark.parametrize("model", MODELS, ids=str)
def test_the_fit_is_that_of_an_array_with_the_same_tree(model, data, tree_of_all_rows):
    X, y = data[0], targets(model, data[1])
    model = model.set_params(gram="cells", cell_size=SIZE)
    model.fit(X, y)
    expected, n_cells, selection = model._outputs(X), len(model.cells_.cells), model.selection_
    losses = row_losses(selection.machine, selection.solution.Y, model._left_out)
    model.fit(da.from_array(X, chunks=(110, 1)), da.from_array(y, chunks=200))
    assert model.partitions_.form == model.selection_.form == f"{n_cells} cells"
    np.testing.assert_allclose(model._outputs(X), expected, rtol=1e-6, atol=1e-7)
    # By convexity the mean over cells is no less than the loss of the blended outputs, and few rows are in two cells.
    assert np.mean(losses) <= model.partitions_.left_out_loss <= 1.1 * np.mean(losses)
    lazy = model.predict(da.from_array(X, chunks=(250, 2))).compute()
    if y.dtype.kind == "f":
        np.testing.assert_allclose(lazy, model.predict(X), rtol=1e-9, atol=1e-9)
    else:
        np.testing.assert_array_equal(lazy, model.predict(X))


@pytest.mark.parametrize("model", MODELS, ids=str)
def test_a_weight_is_so_many_rows(model, data, tree_of_all_rows):
    """The fit with weights is that of an array with the same weights and the same tree."""
    X, y = data[0], targets(model, data[1])
    weight = np.random.default_rng(2).integers(1, 4, size=N).astype(float)
    model = model.set_params(gram="cells", cell_size=SIZE)
    expected = model.fit(X, y, weight)._outputs(X)
    rows, labels, weights = (da.from_array(part, chunks=110) for part in (X, y, weight))
    model.fit(rows, labels, weights)
    np.testing.assert_allclose(model._outputs(X), expected, rtol=1e-6, atol=1e-7)


def test_parameters_are_adapted_to_the_cells(data):
    X, y = data
    rows, labels = da.from_array(X, chunks=100), da.from_array(y > 0, chunks=100)
    model = KernelLogisticRegression(gram="cells", cell_size=SIZE).fit(rows, labels)
    searched = model.selection_.outcome.best.theta
    assert not np.allclose(np.r_[model.kernel_.theta, np.log(model.C_)], searched)
    assert model.C_ == model.selection_.machine.C
    assert not hasattr(model, "X_fit_")
    assert np.mean(model.predict(X) == (y > 0)) > 0.8


def test_narrow_kernels_get_cells(data, monkeypatch):
    monkeypatch.setattr("foldless.estimators.dask_fit.PULLED_MAX_ROWS", 400)
    for name, value in {"WHOLE_MAX_ROWS": 100, "SMALL_WHOLE_MAX_ROWS": 100, "FIRST_LANDMARKS": 5}.items():
        monkeypatch.setattr(f"foldless.tuning.last_fit.{name}", value)
    monkeypatch.setattr("foldless.tuning.last_fit.TRIAL_MAX_OPERATIONS", N * 25)
    monkeypatch.setattr("foldless.tuning.last_fit.LANDMARK_MAX_OPERATIONS", N * 100)
    X, y = data
    model = KernelRidgeRegressor(RBF(0.2, "fixed"), alpha=0.1)
    model.fit(da.from_array(X, chunks=100), da.from_array(y, chunks=100))
    assert model.partitions_.n_cells


def test_machines_that_have_cells_only(data):
    X, y = data
    rows, labels = da.from_array(X, chunks=100), da.from_array(np.digitize(y, [-0.5, 0.7]), chunks=100)
    hinge = KernelSVC(KERNEL, C=1.0, loss="hinge", criterion="evidence-ep")
    softmax = KernelLogisticRegression(KERNEL, C=1.0, multi_class="multinomial")
    for model in (hinge, softmax):
        with pytest.raises(ValueError, match=r"through landmarks, .* Use gram='cells'"):
            model.fit(rows, labels)
        assert model.set_params(gram="cells").fit(rows, labels).partitions_.n_cells
    # A criterion that can be read cell by cell makes cells the form that is taken by itself.
    assert KernelSVC(KERNEL, C=1.0, loss="hinge").fit(rows, labels).partitions_.n_cells


def test_copies_of_one_point_do_not_make_a_large_cell(data):
    X, y = data
    X[100:] = X[0]
    model = KernelRidgeRegressor(KERNEL, alpha=0.5, gram="cells", cell_size=40)
    model.fit(da.from_array(X, chunks=100), da.from_array(y, chunks=100))
    assert max(cell.n_points for cell in model.cells_.cells) <= 120
    assert model.predict(X[:1])[0] == pytest.approx(np.mean(y[100:]), abs=0.1)


def killing(block, calls, number):
    """Return the block; the worker that makes a certain call dies instead."""
    with open(calls, "ab") as file:
        file.write(b"x")
    if os.path.getsize(calls) == number:
        os.kill(os.getpid(), signal.SIGKILL)
    return block


def test_a_killed_worker_costs_time_and_nothing_else(data, tmp_path):
    distributed = pytest.importorskip("distributed", reason="a cluster needs foldless[dask]")
    X, y = data
    rows, labels = da.from_array(X, chunks=100), da.from_array(y > 0, chunks=100)
    model = KernelLogisticRegression(KERNEL, C=2.0, gram="cells", cell_size=SIZE)
    expected = model.fit(rows, labels).decision_function(X)
    calls = tmp_path / "calls"
    options = {"n_workers": 2, "threads_per_worker": 1, "processes": True, "dashboard_address": ":0"}
    with distributed.LocalCluster(**options) as cluster, distributed.Client(cluster):
        before = {nanny.pid for nanny in cluster.workers.values()}
        # Rows are counted, drawn for the search, and routed twice: the worker dies while the cells get their rows.
        model.fit(rows.map_blocks(killing, str(calls), 21, meta=np.zeros((0, 2))), labels)
        assert before - {nanny.pid for nanny in cluster.workers.values()}
    assert calls.stat().st_size > 21
    np.testing.assert_allclose(model.decision_function(X), expected, rtol=1e-9, atol=1e-12)


def test_a_cluster_that_dies_gives_one_clear_error(data, tmp_path):
    distributed = pytest.importorskip("distributed", reason="a cluster needs foldless[dask]")
    X, y = data
    options = {"n_workers": 1, "threads_per_worker": 1, "processes": True, "dashboard_address": ":0"}
    model = KernelLogisticRegression(KERNEL, C=2.0, gram="cells", cell_size=SIZE)
    with distributed.LocalCluster(**options) as cluster, distributed.Client(cluster):
        rows = da.from_array(X, chunks=100).map_blocks(always_killing, meta=np.zeros((0, 2)))
        with pytest.raises(RuntimeError, match=r"the Dask cluster was lost .* call fit again"):
            model.fit(rows, da.from_array(y > 0, chunks=100))
    assert not hasattr(model, "cells_")


def always_killing(block):
    """Kill the worker."""
    os.kill(os.getpid(), signal.SIGKILL)


@pytest.mark.parametrize("gram", ["cells", "lowrank"])
def test_after_a_cluster_died_the_search_goes_on_from_its_checkpoint(gram, data, tmp_path):
    distributed = pytest.importorskip("distributed", reason="a cluster needs foldless[dask]")
    X, y = data
    rows, labels = da.from_array(X, chunks=100), da.from_array(y > 0, chunks=100)
    file, calls = tmp_path / "search.jsonl", tmp_path / "calls"
    model = KernelLSSVC(search=LBFGS(checkpoint=file), gram=gram, cell_size=SIZE if gram == "cells" else None)
    options = {"n_workers": 1, "threads_per_worker": 1, "processes": True, "dashboard_address": ":0"}
    with (
        dask.config.set({"distributed.scheduler.allowed-failures": 0}),
        distributed.LocalCluster(**options) as cluster,
        distributed.Client(cluster),
        pytest.raises(RuntimeError, match="goes on where it stood"),
    ):
        # Rows are counted and drawn for the search; whatever asks for them after that dies.
        model.fit(rows.map_blocks(killing_from, str(calls), 13, meta=np.zeros((0, 2))), labels)
    written = file.read_bytes()
    again = model.fit(rows, labels)
    assert file.read_bytes() == written
    assert len(written.splitlines()) > 10
    without = clone(again).set_params(search="lbfgs").fit(rows, labels)
    np.testing.assert_allclose(again.decision_function(X), without.decision_function(X), rtol=1e-9, atol=1e-9)


def killing_from(block, calls, number):
    """Return the block; the worker that makes a certain call, or a later one, dies instead."""
    with open(calls, "ab") as file:
        file.write(b"x")
    if os.path.getsize(calls) >= number:
        os.kill(os.getpid(), signal.SIGKILL)
    return block
