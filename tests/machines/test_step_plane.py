"""The best point in the plane of a Newton step: eq. (1) by brute force, and fewer steps."""

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.gaussian_process.kernels import RBF

from foldless.grams import DenseGram
from foldless.machines import nearby_fits, newton, smooth, step_plane
from foldless.machines.losses import Logistic
from foldless.machines.smooth import SmoothMachine
from foldless.machines.step_plane import best_in_plane


def problem(n=40, k=3):
    """Targets, weights, and outputs of a kernel machine with the slopes of their penalty."""
    rng = np.random.default_rng(0)
    A = RBF(1.0)(rng.normal(size=(n, 2)))
    beta, dbeta = 0.05 * rng.normal(size=(2, n, k))
    # Labels that the outputs foretell: the best multiples are positive.
    y = np.where(A @ (beta + dbeta) + 0.1 * rng.normal(size=(n, k)) > 0, 1.0, -1.0)
    v = rng.uniform(0.5, 2.0, size=(n, k))
    return y, v, (A @ beta, beta), (A @ dbeta, dbeta)


def objective(y, v, z, beta):
    return np.sum(v * Logistic().value(y, z), axis=0) + np.sum(z * beta, axis=0) / 2


def test_the_point_is_the_lowest_of_the_plane(monkeypatch):
    monkeypatch.setattr(step_plane, "N_STEPS", 20)
    monkeypatch.setattr(step_plane, "MAX_MULTIPLE", 1e6)
    y, v, (z, beta), (dz, dbeta) = problem()
    found = objective(y, v, *best_in_plane(Logistic(), y, v, (z, beta), (dz, dbeta)))
    for i in range(y.shape[1]):

        def along(c, i=i):
            place = (c[0] * M[:, [i]] + c[1] * dM[:, [i]] for M, dM in ((z, dz), (beta, dbeta)))
            return float(objective(y[:, [i]], v[:, [i]], *place)[0])

        lowest = minimize(
            along, [1.0, 1.0], method="Nelder-Mead", options={"xatol": 1e-9, "fatol": 1e-13}
        ).fun
        np.testing.assert_allclose(found[i], lowest, rtol=1e-9)


def test_outputs_and_slopes_stay_together():
    y, v, point, step = problem()
    A = RBF(1.0)(np.random.default_rng(0).normal(size=(40, 2)))
    z, beta = best_in_plane(Logistic(), y, v, point, step)
    np.testing.assert_allclose(z, A @ beta, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("multiple", [0.0, 2.0])
def test_a_point_along_its_step_leaves_a_line(multiple, monkeypatch):
    monkeypatch.setattr(step_plane, "N_STEPS", 20)
    monkeypatch.setattr(step_plane, "MAX_MULTIPLE", 1e6)
    y, v, _, (dz, dbeta) = problem()
    z, beta = best_in_plane(Logistic(), y, v, (multiple * dz, multiple * dbeta), (dz, dbeta))
    length = np.sum(z * dz, axis=0) / np.sum(dz**2, axis=0)
    np.testing.assert_allclose(z, length * dz, rtol=1e-12)
    # A line is searched from its end, and for the length of the step alone.
    slope = np.sum(dz * (v * Logistic().derivatives(y, z)[0] + beta), axis=0)
    np.testing.assert_allclose(slope, 0, atol=1e-9 * np.sum(np.abs(dz * dbeta)))


def labels(n=smooth.PLANE_MIN_ROWS):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(n, 3))
    return DenseGram(RBF(2.0)(X)), np.where(X[:, 0] + 0.3 * rng.normal(size=n) > 0, 1.0, -1.0)


@pytest.mark.parametrize("C", [1e3, 1e4, 1e5])
def test_cold_fits_take_fewer_steps_to_the_same_place(C, monkeypatch):
    gram, y = labels()
    machine = SmoothMachine(Logistic(), C)
    with_plane = machine.solve(gram, y[:, None]).columns[0]
    monkeypatch.setattr(newton, "PLANE_DECREMENT", np.inf)
    without = machine.solve(gram, y[:, None]).columns[0]
    assert with_plane.n_iterations < without.n_iterations
    np.testing.assert_allclose(with_plane.z, without.z, rtol=1e-8)


def test_fits_of_columns_together_take_fewer_steps(monkeypatch):
    rng = np.random.default_rng(2)
    X = rng.normal(size=(600, 3))
    Y = np.where(np.argmax(X, axis=1)[:, None] == np.arange(3), 1.0, -1.0)
    steps = []
    plain = nearby_fits.NearbyFits._newton_step
    monkeypatch.setattr(
        nearby_fits.NearbyFits, "_newton_step", lambda self, goal: steps.append(1) or plain(self, goal)
    )
    counts, outputs = [], []
    for least in (newton.PLANE_DECREMENT, np.inf):
        monkeypatch.setattr(nearby_fits, "PLANE_DECREMENT", least)
        steps.clear()
        outputs.append(SmoothMachine(Logistic(), 100.0).solve(DenseGram(RBF(2.0)(X)), Y).outputs)
        counts.append(len(steps))
    assert counts[0] < counts[1]
    np.testing.assert_allclose(*outputs, rtol=1e-7, atol=1e-8)
