"""Slow honest definitions for support vector machines, and the reference problems of their specification."""

from itertools import pairwise

import numpy as np
from scipy.optimize import minimize
from scipy.special import logsumexp
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


def markov_log_z(x, y, k0, length, koff, log_t, nodes=16, outer=40, tail=9.0):
    r"""ln of the integral of N(theta; 0, K) prod t(y theta) for K = k0 exp(-|x - x'| / length) + koff.

    Ornstein-Uhlenbeck paths on a line are Markov, so the integral is a product of transfer matrices on one fixed grid:
    Gauss-Legendre between the kinks, transition N(rho f, k0 (1 - rho^2)). The constant koff is integrated outside by
    Gauss-Hermite. Points at the same place share their factor.
    """
    order = np.argsort(x, kind="stable")
    x, y = x[order], y[order]
    if koff == 0:
        return _line(x, y, k0, length, 0.0, log_t, nodes, tail)
    z, w = np.polynomial.hermite_e.hermegauss(outer)
    inner = [_line(x, y, k0, length, c, log_t, nodes, tail) for c in z * np.sqrt(koff)]
    return logsumexp(inner, b=w / np.sqrt(2 * np.pi))


def _line(x, y, k0, length, constant, log_t, nodes, tail):
    wide = tail * np.sqrt(k0)
    inside = [b for b in sorted({-1 - constant, 1 - constant}) if -wide < b < wide]
    edges = np.r_[-wide, inside, wide]
    pieces = [
        np.linspace(a, b, max(2, int(np.ceil((b - a) / np.sqrt(k0) * 1.0)) + 1)) for a, b in pairwise(edges)
    ]
    g, gw = np.polynomial.legendre.leggauss(nodes)
    f, w = [], []
    for piece in pieces:
        for a, b in pairwise(piece):
            f.append((a + b) / 2 + (b - a) / 2 * g)
            w.append((b - a) / 2 * gw)
    f, w = np.concatenate(f), np.concatenate(w)
    density = np.exp(-(f**2) / (2 * k0)) / np.sqrt(2 * np.pi * k0)
    total = 0.0
    for i in range(len(x)):
        if i and x[i] > x[i - 1]:
            rho = np.exp(-(x[i] - x[i - 1]) / length)
            var = k0 * (1 - rho**2)
            T = np.exp(-((f[:, None] - rho * f) ** 2) / (2 * var)) / np.sqrt(2 * np.pi * var)
            density = T @ (w * density)
        density = density * np.exp(log_t(y[i] * (f + constant)))
        mass = w @ density
        total += np.log(mass)
        density = density / mass
    return total
