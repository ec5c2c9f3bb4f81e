"""Slow honest definitions for support vector machines, and the reference problems of their specification."""

import numpy as np
from scipy.optimize import minimize
from sklearn.gaussian_process.kernels import RBF, ConstantKernel

from foldless.grams import DenseGram, LowRankGram

POINTS = np.array(
    [(0, 0), (1, 0.5), (2, -0.5), (0.5, 1.5), (-1, 0.5), (-1.5, -1), (1.5, 2), (-0.5, -2)], dtype=float
)


def signs(text):
    return np.array([1.0 if c == "+" else -1.0 for c in text.split()])


CASES = {  # y, (k0, koff, lengths), C
    "A": (signs("+ - - - + + - -"), (2.0, 0.5, (1.0, 2.0)), 1.5),
    "B": (signs("+ - + + - + + +"), (4.0, 0.5, (2.0, 3.0)), 3.0),
}


def kernel(k0, koff, lengths):
    """theta = log (k0, lengths, koff)."""
    return ConstantKernel(k0) * RBF(lengths) + ConstantKernel(koff)


def in_order(slope, gradient):
    """(C, k0, koff, l1, l2) from the machine's slope and the pullback of :func:`kernel`."""
    k0, l1, l2, koff = gradient
    return np.array([slope[0], k0, koff, l1, l2])


def problem(n, seed=0, length=1.0, noise=0.5, d=2):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    y = np.sign(X[:, 0] + 0.6 * X[:, 1] ** 2 - 0.4 + noise * rng.normal(size=n))
    y[:2] = 1, -1
    D = np.sum((X[:, None] - X[None]) ** 2, axis=-1)
    return np.exp(-D / (2 * length**2)), y


def dense(K):
    return DenseGram(np.asarray(K, float))


def low_rank(K):
    mu, U = np.linalg.eigh(K)
    return LowRankGram(U * np.sqrt(np.maximum(mu, 0)))


GRAMS = [dense, low_rank]


def matrix(adjoint):
    """Adjoint as an array, whatever its form."""
    return adjoint @ np.eye(adjoint.shape[0])


def dual(K, y, C, p, bias):
    """Alpha by a general-purpose solver: sequential quadratic programming on the dual."""
    n = len(y)
    C = np.broadcast_to(np.asarray(C, float), n)
    Q = K * np.outer(y, y) + (np.diag(1 / C) if p == 2 else 0)
    constraints = [{"type": "eq", "fun": lambda a: y @ a, "jac": lambda a: y}] if bias else []
    bounds = [(0, c if p == 1 else None) for c in C]
    result = minimize(
        lambda a: a @ Q @ a / 2 - a.sum(),
        np.zeros(n),
        jac=lambda a: Q @ a - 1,
        bounds=bounds,
        constraints=constraints,
        method="SLSQP",
        options={"ftol": 1e-15, "maxiter": 2000},
    )
    return result.x


def central(function, step=1e-6):
    """Derivative at 0 by central differences of fourth order."""
    near, far = function(step) - function(-step), function(2 * step) - function(-2 * step)
    return (8 * near - far) / (12 * step)


def direction(n, seed=0):
    """A symmetric direction of change of K, positive semi-definite at most points."""
    A = np.random.default_rng(seed).normal(size=(n, n))
    return (A + A.T) / 2
