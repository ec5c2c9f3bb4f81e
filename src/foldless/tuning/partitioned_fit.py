r"""A fit through landmarks as a sum over parts of the rows, of which no two need to be in one place.

With the features :math:`\phi(x) = L^{-1} k(\text{landmarks}, x)`, :math:`L L' = K_{mm}`, and a constant 1 behind them for a bias, every
machine with a smooth loss minimises

.. math:: J(\beta) = \tfrac12 \beta' D \beta + C \sum_i v_i\, \ell(y_i, \phi(x_i)' \beta),  \tag{1}

D being the identity with a zero for the constant. Value, gradient and Hessian are sums over the rows of numbers that do not
depend on how many rows there are: a Newton step is one pass over the parts, and the coefficients are all that travels to them.
At the optimum, with :math:`V_i = C \phi_i' H^{-1} \phi_i` for the Hessian H, the output of the fit without row i is

.. math:: z_i + \frac{v_i \ell'_i V_i}{1 - v_i \ell''_i V_i}  \tag{2}

up to second order, exactly for the squared loss.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from sklearn.gaussian_process.kernels import Kernel

from foldless.core.contracts import Matrix, Vector
from foldless.core.linalg import cholesky, long_strips, pivoted_cholesky, solve_cholesky, solve_lower
from foldless.core.memo import cached_property
from foldless.kernels.evaluate import gram
from foldless.kernels.pairs import Pairs, Points
from foldless.machines.losses import SmoothLoss
from foldless.machines.newton import minimise

# Decrement per row at which a fit is final: outputs are then right to about eight digits.
FINAL_DECREMENT = 1e-16


@dataclass(frozen=True, eq=False)
class LandmarkFeatures:
    """The features of rows.

    Attributes
    ----------
    kernel : Kernel
    points : array or sparse matrix of shape (m, d)
        Landmarks, none of them redundant.
    L : array of shape (m, m)
        Cholesky factor of the landmarks' own matrix.
    bias : bool
        Whether a constant stands behind the features.
    """

    kernel: Kernel
    points: Points
    L: Matrix
    bias: bool

    @classmethod
    def of(cls, kernel: Kernel, points: Points, bias: bool) -> Self:
        """Return the features of given landmarks, without those that are redundant."""
        L, kept = pivoted_cholesky(gram(kernel, Pairs(points)))
        return cls(kernel, points[kept], L, bias)

    @property
    def width(self) -> int:
        """Number of features."""
        return len(self.L) + self.bias

    @property
    def penalty(self) -> Vector:
        """Diagonal of D in eq. (1)."""
        return np.r_[np.ones(len(self.L)), np.zeros(int(self.bias))]

    def __call__(self, X: Points) -> Matrix:
        """Return the features of some rows (n, width)."""
        F = solve_lower(self.L, gram(self.kernel, Pairs(X, self.points)).T).T
        return np.column_stack([F, np.ones(len(F))]) if self.bias else F

    def expansion(self, beta: Matrix) -> tuple[Matrix, Vector]:
        """Return the coefficients of the kernel functions at the landmarks (m, k), and the intercepts (k,)."""
        m = len(self.L)
        intercept = beta[m] if self.bias else np.zeros(beta.shape[1])
        return solve_lower(self.L, beta[:m], transposed=True), intercept


@dataclass(frozen=True, eq=False)
class Sums:
    """Sums over rows: losses, and their first and second derivatives in the coefficients of one column."""

    value: float
    gradient: Vector
    hessian: Matrix

    def __add__(self, other: "Sums") -> "Sums":
        """Return the sums over the rows of both."""
        return Sums(self.value + other.value, self.gradient + other.gradient, self.hessian + other.hessian)


def row_sums(
    features: LandmarkFeatures, loss: SmoothLoss, beta: Vector, X: Points, y: Vector, v: Vector
) -> Sums:
    """Return the sums over some rows, a strip of them at a time."""
    total = Sums(0.0, np.zeros(features.width), np.zeros((features.width, features.width)))
    for rows in long_strips(X.shape[0], features.width):
        F = features(X[rows])
        z = F @ beta
        first, second, _ = loss.derivatives(y[rows], z)
        weighted = F * (v[rows] * second)[:, None]
        value = float(v[rows] @ loss.value(y[rows], z))
        total = total + Sums(value, F.T @ (v[rows] * first), F.T @ weighted)
    return total


def outputs_left_out(
    features: LandmarkFeatures,
    loss: SmoothLoss,
    C: float,
    beta: Vector,
    root: Matrix,
    X: Points,
    y: Vector,
    v: Vector,
) -> Vector:
    """Return the outputs of some rows when each is left out; eq. (2), ``root`` being the factor of the Hessian."""
    outputs = np.empty(X.shape[0])
    for rows in long_strips(X.shape[0], features.width):
        F = features(X[rows])
        z = F @ beta
        first, second, _ = loss.derivatives(y[rows], z)
        V = C * np.sum(solve_lower(root, F.T) ** 2, axis=0)
        rest = np.maximum(1 - v[rows] * second * V, np.finfo(float).eps)
        outputs[rows] = z + v[rows] * first * V / rest
    return outputs


@dataclass(frozen=True, eq=False)
class PrimalState:
    """J of eq. (1) around one point, for one column of targets.

    Parameters
    ----------
    sums : callable
        Maps coefficients to the sums over all rows.
    C : float
    penalty : array of shape (r,)
    point : array of shape (r,)
    """

    sums: Callable[[Vector], Sums]
    C: float
    penalty: Vector
    point: Vector

    @cached_property
    def _sums(self) -> Sums:
        return self.sums(self.point)

    @property
    def value(self) -> float:
        """J."""
        return float(self.penalty @ self.point**2 / 2 + self.C * self._sums.value)

    @property
    def is_curved(self) -> bool:
        """Whether any row has curvature."""
        return bool(np.any(np.diag(self._sums.hessian)))

    @property
    def gradient(self) -> Vector:
        """Derivative of J."""
        return self.penalty * self.point + self.C * self._sums.gradient

    @cached_property
    def root(self) -> Matrix:
        """Cholesky factor of the Hessian of J."""
        return cholesky(self.C * self._sums.hessian + np.diag(self.penalty))

    def at(self, point: Vector) -> Self:
        """Return the state at another point."""
        return replace(self, point=point)

    def newton_point(self) -> Vector:
        """Return where the undamped step leads."""
        return self.point - solve_cholesky(self.root, self.gradient[:, None])[:, 0]

    def chord_point(self, other: Self) -> None:
        """Return nothing: the gradient alone takes a pass over the rows, as a Newton step does."""

    def decrement(self, target: Vector) -> float:
        """Return minus the gradient times the step to ``target``."""
        return float(-self.gradient @ (target - self.point))


def minimise_sums(state: PrimalState, n: int) -> Vector:
    """Return the coefficients that minimise J over n rows."""
    beta, _ = minimise(state, FINAL_DECREMENT * n, f"C = {state.C:.3g}")
    return np.asarray(beta)
