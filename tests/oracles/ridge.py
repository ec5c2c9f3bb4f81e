"""Slow honest definitions of penalised regression: normal equations, refits."""

import numpy as np


def fit(K, Y, T, lam, bias=False, v=None):
    """Return alpha (n, k) and b (k,) minimising sum v (y - K alpha - b)^2 + lam alpha'T alpha."""
    n = len(K)
    v = np.ones(n) if v is None else v
    A = np.column_stack([K, np.ones(n)]) if bias else K
    P = np.zeros((A.shape[1], A.shape[1]))
    P[:n, :n] = lam * T
    beta = np.linalg.lstsq(A.T @ (v[:, None] * A) + P, A.T @ (v[:, None] * Y), rcond=1e-13)[0]
    return beta[:n], beta[n] if bias else np.zeros(Y.shape[1])


def bordered(K, Y, lam, bias=False, v=None):
    """Return alpha and b of kernel ridge regression from its linear system."""
    n = len(K)
    M = np.zeros((n + 1, n + 1))
    M[:n, :n] = K + np.diag(np.full(n, lam) if v is None else lam / v)
    M[n, :n] = M[:n, n] = float(bias)
    M[n, n] = 1.0 - bias
    x = np.linalg.solve(M, np.vstack([Y, np.zeros((1, Y.shape[1]))]))
    return x[:n], x[n]


def left_out(K, Y, lam, rows, bias=False, v=None):
    """Return residuals of ``rows`` under kernel ridge regression trained without them."""
    rest = np.setdiff1d(np.arange(len(K)), rows)
    alpha, b = bordered(K[np.ix_(rest, rest)], Y[rest], lam, bias, None if v is None else v[rest])
    return Y[rows] - K[np.ix_(rows, rest)] @ alpha - b


def left_out_basis_kept(K, Y, T, lam, rows, bias=False, v=None):
    """The same with a fixed penalty: the kernel functions of ``rows`` stay."""
    v = np.ones(len(K)) if v is None else v.copy()
    v[rows] = 0
    alpha, b = fit(K, Y, T, lam, bias, v)
    return Y[rows] - K[rows] @ alpha - b
