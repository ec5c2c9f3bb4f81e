"""Landmarks with the rows on a cluster: the numbers of ``gram="lowrank"``, wherever the rows are."""

import sys

import numpy as np
import pytest
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, Matern

from foldless import KernelLogisticRegression, KernelLSSVC, KernelRidgeRegressor, KernelSVC
from foldless.core.errors import MissingExtra
from foldless.criteria import ABIC, GACV, GCV, KRIC, LOO, Evidence
from foldless.grams.builders import NystromBuilder
from foldless.grams.dask import DaskBuilder
from foldless.kernels import Laplacian
from foldless.machines import LSSVM, SmoothMachine
from foldless.machines.losses import Logistic, Poisson
from foldless.tuning.objective import Objective

pytestmark = [
    pytest.mark.xdist_group("cluster"),
    pytest.mark.usefixtures("time_limit"),
]  # one cluster for all of them
N, LANDMARKS = 130, np.arange(0, 130, 11)


@pytest.fixture(scope="module")
def cluster():
    distributed = pytest.importorskip("distributed", reason="gram='dask' needs foldless[dask]")
    options = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": ":0"}  # any port that is free
    with distributed.Client(processes=False, set_as_default=False, **options) as client:
        yield client


@pytest.fixture
def client(cluster):
    with cluster.as_current():
        yield cluster


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N, 2))
    return X, np.sin(2 * X[:, 0]) + X[:, 1] + 0.5 * rng.normal(size=N)


def evaluations(X, kernel, machine, criterion, Y):
    """Value and gradient at the kernel and the machine as they are, here and on the cluster."""
    for kind in (NystromBuilder, DaskBuilder):
        problem = Objective(kernel, machine, criterion, kind(X, LANDMARKS), Y)
        found = problem(problem.theta)
        yield np.r_[found.value, found.gradient]


@pytest.mark.parametrize(
    "kernel, machine, criterion",
    [
        (RBF(0.9), SmoothMachine(Logistic(), 3.0), LOO()),
        (RBF([0.9, 2.0]), SmoothMachine(Logistic(), 3.0), Evidence()),
        (ConstantKernel(2.0) * Matern(0.9), SmoothMachine(Logistic(), 3.0, bias=False), LOO()),
        (Laplacian(0.9, norm=1), LSSVM(3.0), LOO()),
        (RBF(0.9), LSSVM(3.0, bias=False), LOO()),
        (RBF(0.9), SmoothMachine(Logistic(), 3.0), GACV()),
        (RBF(0.9), SmoothMachine(Logistic(), 3.0), KRIC(tune_kernel=True)),
        (RBF(0.9), SmoothMachine(Logistic(), 3.0), ABIC()),
        (RBF(0.9), LSSVM(3.0), GCV()),
        (RBF(0.9), LSSVM(3.0), Evidence()),
    ],
)
def test_value_and_gradient_are_those_of_rows_that_are_here(client, data, kernel, machine, criterion):
    X, z = data
    here, there = evaluations(X, kernel, machine, criterion, np.sign(z)[:, None])
    np.testing.assert_allclose(there, here, rtol=1e-8)


def test_several_columns_and_counts(client, data):
    X, z = data
    Y = np.where(np.digitize(z, [-0.7, 0.7])[:, None] == np.arange(3), 1.0, -1.0)
    here, there = evaluations(X, RBF(0.9), SmoothMachine(Logistic(), 2.0), LOO(), Y)
    np.testing.assert_allclose(there, here, rtol=1e-8)
    counts = np.round(np.exp(z))[:, None]
    here, there = evaluations(X, RBF(0.9), SmoothMachine(Poisson(), 0.5), LOO(), counts)
    np.testing.assert_allclose(there, here, rtol=1e-8)


def test_an_estimator_is_told_by_name(client, data):
    X, z = data
    options = {"C": 2.0, "kernel": RBF(0.9, "fixed"), "n_components": 12}
    here, there = (KernelLogisticRegression(gram=g, **options).fit(X, z > 0) for g in ("lowrank", "dask"))
    np.testing.assert_allclose(there.decision_function(X), here.decision_function(X), rtol=1e-8, atol=1e-9)
    np.testing.assert_allclose(there.loo_decision_, here.loo_decision_, rtol=1e-8, atol=1e-9)
    assert there.selection_.approximation_gap == pytest.approx(here.selection_.approximation_gap, rel=1e-8)


def test_the_gradient_is_that_of_all_rows_together(client, data):
    X, z = data
    kernel = ConstantKernel(1.5) * RBF([0.8, 1.3])
    P, Q = np.random.default_rng(1).normal(size=(2, N, 2))
    found = []
    for representation in (NystromBuilder(X, LANDMARKS), DaskBuilder(X, LANDMARKS)):
        K = representation.gram(kernel)
        factor = K.factor(np.linspace(0.1, 2, N), True)
        adjoint = factor.congruence(np.cos(z)) * 0.3 + K.adjoint(P, Q) + factor.resolvent()
        found.append(representation.pullback(kernel, K, adjoint))
        assert K.inner(adjoint) == pytest.approx(np.vdot(adjoint @ np.eye(N), K.matmul(np.eye(N))))
    np.testing.assert_allclose(found[1], found[0], rtol=1e-9)


@pytest.mark.parametrize("kind", [KernelSVC, KernelRidgeRegressor])
def test_a_machine_that_needs_all_features_says_so(client, data, kind):
    X, z = data
    with pytest.raises(TypeError, match=r"in one place. Use gram='lowrank'"):
        kind(gram="dask", n_components=12).fit(X, z if kind is KernelRidgeRegressor else z > 0)


def test_without_a_client_it_says_how_to_make_one(data):
    pytest.importorskip("distributed", reason="gram='dask' needs foldless[dask]")
    X, z = data
    with pytest.raises(ValueError, match=r"Make a client first: distributed.Client"):
        KernelLSSVC(gram="dask").fit(X, z > 0)


def test_without_dask_it_says_what_to_install(data, monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    X, z = data
    with pytest.raises(MissingExtra, match=r"pip install 'foldless\[dask\]'"):
        KernelLSSVC(gram="dask").fit(X, z > 0)
