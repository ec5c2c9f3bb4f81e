"""Slow, honest definitions for smooth kernel machines, and the data sets of the specification."""

import numpy as np
from scipy.special import expit

X1 = np.array(
    [(0, 0.2), (1, 0.9), (0.3, 1.1), (1.4, 0.1), (-0.8, 0.5), (-0.2, -0.9), (0.6, 0.4), (-1.1, -0.3)], float
)
Y1 = np.array([1, 1, 1, 1, -1, -1, -1, 1.0])
WIDTH1 = 0.9
FOLDS1 = [np.array([0, 4]), np.array([1, 5]), np.array([2, 6]), np.array([3, 7])]

X2 = np.array([-900, -3, -1, -0.2, 0.3, 0.5, 2, 800.0])
Y2 = np.array([-1, -1, -1, 1, -1, 1, 1, 1.0])
K2 = np.outer(X2, X2)


def squared_distances(X, Y=None):
    Y = X if Y is None else Y
    return ((X[:, None, :] - Y[None, :, :]) ** 2).sum(axis=2)


def rbf(X, width, Y=None):
    return np.exp(-squared_distances(X, Y) / (2 * width**2))


K1 = rbf(X1, WIDTH1)


def rbf_slope(X, width):
    """dK / dlog width."""
    return rbf(X, width) * squared_distances(X) / width**2


def root(K):
    """F with F F' = K."""
    mu, U = np.linalg.eigh(K)
    keep = mu > len(K) * np.finfo(float).eps * max(mu[-1], 1e-300)
    return U[:, keep] * np.sqrt(mu[keep])


def printed(text, units=0.75):
    """The number and the tolerance that its printed digits allow, as (value, absolute tolerance)."""
    digits, _, exponent = text.partition("e")
    decimals = len(digits.partition(".")[2])
    return float(text), units * 10.0 ** (int(exponent or 0) - decimals)


def agrees(value, text, units=0.75):
    """Does ``value`` equal the number printed as ``text``, at its digits?"""
    reference, tolerance = printed(text, units)
    return abs(value - reference) <= tolerance


class Design:
    """Explicit features: z = F x, penalty D, of the problem 1/2 x'Dx + sum v l(y, Fx) with F F' = C K."""

    def __init__(self, K, C, bias):
        F = root(C * K)
        self.F = np.column_stack([F, np.ones(len(K))]) if bias else F
        self.D = np.ones(self.F.shape[1])
        if bias:
            self.D[-1] = 0


def logistic(y, z):
    """Loss and its three derivatives in z."""
    w = expit(z) * expit(-z)
    return np.logaddexp(0, -y * z), -y * expit(-y * z), w, w * (expit(-z) - expit(z))


def fit(design, y, v, loss=logistic, rounds=500):
    """Minimise by damped Newton in feature space."""
    F, D = design.F, design.D
    x = np.zeros(F.shape[1])

    def objective(x):
        return 0.5 * x @ (D * x) + v @ loss(y, F @ x)[0]

    for _ in range(rounds):
        step = newton_step(design, y, v, x, loss)
        if np.max(np.abs(F @ step)) < 1e-12 * max(1.0, np.max(np.abs(F @ x))):
            return x + step
        t, now = 1.0, objective(x)
        rounding = 8 * np.finfo(float).eps * abs(now)  # near the optimum it hides the decrease of a good step
        while objective(x + t * step) > now + rounding and t > 1e-12:
            t /= 2
        x = x + t * step
    return x


def rounding_error(K, s):
    r"""Size of the change e that rounding makes in A r, A = C K, where the last Newton step is (I + A W) z = A r + b.

    The right side is r = W z + a, so e is n eps of \|A\| \|r\|, and z changes by dz = (I + A W)^{-1} e. As
    S (I + A W)^{-1} S^{-1} = (I + S A S)^{-1}, S = W^{1/2}, is a contraction, \|S dz\| <= max(S) \|e\|. The residuals a
    change by -W dz, and z - A a - b, which is 0, becomes (I + A W) dz.
    """
    terms = s.C * np.linalg.norm(K, 2) * np.linalg.norm(s.w * s.z + s.a) + np.linalg.norm(s.z)
    return len(K) * np.finfo(float).eps * terms


def newton_step(design, y, v, x, loss=logistic):
    F, D = design.F, design.D
    _, l1, l2, _ = loss(y, F @ x)
    P = F.T @ ((v * l2)[:, None] * F) + np.diag(D)
    scale = 1 / np.sqrt(np.diag(P))
    gradient = F.T @ (v * l1) + D * x
    return -scale * np.linalg.solve(P * np.outer(scale, scale), scale * gradient)


def refit_outputs(K, y, C, bias, folds, v=None, loss=logistic):
    """Outputs of each fold by the machine that did not see it: k refits (D5)."""
    design, out = Design(K, C, bias), np.empty(len(y))
    v = np.ones(len(y)) if v is None else v
    for rows in folds:
        left = v.copy()
        left[rows] = 0
        out[rows] = design.F[rows] @ fit(design, y, left, loss)
    return out


def newton_outputs(K, y, C, bias, folds, v=None, loss=logistic):
    """Outputs of each fold after one explicit Newton step from the full solution."""
    design, out = Design(K, C, bias), np.empty(len(y))
    v = np.ones(len(y)) if v is None else v
    x = fit(design, y, v, loss)
    for rows in folds:
        left = v.copy()
        left[rows] = 0
        out[rows] = design.F[rows] @ (x + newton_step(design, y, left, x, loss))
    return out


def singles(n):
    return [np.array([i]) for i in range(n)]


def covariance(K, w, bias):
    """V = (K^-1 + W)^-1 (limit for a bias) from z = K b + c 1, b = I - W z, 1'b = 0."""
    n = len(w)
    system = np.block([[np.eye(n) + K * w, -np.ones((n, 1))], [-w[None, :], np.zeros((1, 1))]])
    right = np.vstack([K, -np.ones((1, n))])
    if not bias:
        system, right = system[:n, :n], right[:n]
    return np.linalg.solve(system, right)[:n]


def bordered_inverse(K, w, bias):
    """A = (K + W^-1)^-1 (bordered for a bias) from (I + W K) x + w c = W M, 1'x = 0."""
    n = len(w)
    system = np.block([[np.eye(n) + w[:, None] * K, w[:, None]], [np.ones((1, n)), np.zeros((1, 1))]])
    right = np.vstack([np.diag(w), np.zeros((1, n))])
    if not bias:
        system, right = system[:n, :n], right[:n]
    return np.linalg.solve(system, right)[:n]


def directional(value, K, direction, step=1e-4):
    """Fourth-order central difference of ``value(K + t direction)`` at t = 0."""

    def at(t):
        return value(K + t * direction)

    return (8 * (at(step) - at(-step)) - (at(2 * step) - at(-2 * step))) / (12 * step)


def slope(value, t, step=1e-4):
    """Fourth-order central difference of ``value`` at t."""
    return (8 * (value(t + step) - value(t - step)) - (value(t + 2 * step) - value(t - 2 * step))) / (
        12 * step
    )


def random_problem(seed, n=14, d=2, width=1.2, flip=0.15):
    """Two noisy classes that overlap, with an RBF Gram matrix."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    y = np.where(X[:, 0] + 0.5 * rng.normal(size=n) > 0, 1.0, -1.0)
    y[rng.random(n) < flip] *= -1
    y[:2] = 1, -1
    return X, rbf(X, width), y
