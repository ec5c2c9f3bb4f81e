"""Slow honest definitions for LS-SVM and kernel criteria, written without the package."""

import numpy as np


def lssvm(K, y, lam, v=None, bias=True):
    """Solve the bordered system; return alpha and b."""
    n = len(y)
    v = np.ones(n) if v is None else v
    if not bias:
        return np.linalg.solve(K + lam * np.diag(1 / v), y), 0.0
    M = np.zeros((n + 1, n + 1))
    M[:n, :n] = K + lam * np.diag(1 / v)
    M[:n, n] = M[n, :n] = 1
    x = np.linalg.solve(M, np.r_[y, 0.0])
    return x[:n], x[n]


def left_out(K, y, lam, v=None, bias=True, blocks=None):
    """Predictions of every block by the machine fitted without it."""
    n = len(y)
    v = np.ones(n) if v is None else v
    out = np.empty(n)
    for rows in [[i] for i in range(n)] if blocks is None else blocks:
        keep = np.setdiff1d(np.arange(n), rows)
        alpha, b = lssvm(K[np.ix_(keep, keep)], y[keep], lam, v[keep], bias)
        out[rows] = K[np.ix_(rows, keep)] @ alpha + b
    return out


def hat(K, lam, v=None, bias=True):
    """Matrix that maps y to the fitted outputs."""
    n = len(K)
    columns = []
    for e in np.eye(n):
        alpha, b = lssvm(K, e, lam, v, bias)
        columns.append(K @ alpha + b)
    return np.array(columns).T


def spectral_measure(K, y, normaliser, r, weighted=True):
    """[Li](1) by matrix powers."""
    n = len(y)
    C = {"sum": K.sum(), "trace": np.trace(K), "frobenius": np.sqrt((K**2).sum())}[normaliser]
    if weighted:
        y = np.where(y > 0, n / np.sum(y > 0), -n / np.sum(y < 0))
    return y @ np.linalg.matrix_power(K / C, r) @ y / n


def mmd2(K, y):
    """Squared distance of the class means in feature space."""
    p, m = y > 0, y < 0
    return K[np.ix_(p, p)].mean() + K[np.ix_(m, m)].mean() - 2 * K[np.ix_(p, m)].mean()


def fsm(K, y):
    """Spread of the projections on the mean difference over the distance of means, with explicit features."""
    mu, U = np.linalg.eigh(K)
    F = U * np.sqrt(np.maximum(mu, 0))
    p, m = y > 0, y < 0
    gap = F[p].mean(axis=0) - F[m].mean(axis=0)
    distance = np.linalg.norm(gap)
    projected = F @ (gap / distance)
    return (projected[p].std(ddof=1) + projected[m].std(ddof=1)) / distance
