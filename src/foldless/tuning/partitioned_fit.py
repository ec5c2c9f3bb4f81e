r"""A fit through landmarks as a sum over parts of the rows, of which no two need to be in one place.

With the features :math:`\phi(x) = L^{-1} k(\text{landmarks}, x)`, :math:`L L' = K_{mm}`, and a constant 1 behind them for a bias, every
machine with a smooth loss minimises

.. math:: J(\beta) = \tfrac12 \beta' D \beta + C \sum_i v_i\, \ell(y_i, \phi(x_i)' \beta),  \tag{1}

D being the identity with a zero for the constant. Value, gradient and Hessian are sums over the rows of numbers that do not
depend on how many rows there are: a Newton step is one pass over the parts, and the coefficients are all that travels to them.
At the optimum, with the factor :math:`R R'` of the Hessian, :math:`V_i = C \|R^{-1} \phi_i\|^2` and the part :math:`u_i` of the weight that
is a single row, the output of the fit without row i is

.. math:: z_i + \frac{u_i \ell'_i V_i}{1 - u_i \ell''_i V_i}  \tag{2}

up to second order, exactly for the squared loss. Since :math:`R^{-1} \phi_i = (L R)^{-1} k_i`, it takes one triangular system a row.

All columns of targets share the passes. For the squared loss J is quadratic and its Hessian the same for all columns: one pass tells all sums.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import reduce
from typing import Self

import numpy as np
from numpy.typing import NDArray
from sklearn.gaussian_process.kernels import Kernel

from foldless.core import blas
from foldless.core.contracts import Matrix, Vector
from foldless.core.linalg import cholesky, long_strips, mirror, pivoted_cholesky, solve_cholesky, solve_lower
from foldless.core.memo import cached_property
from foldless.kernels.evaluate import gram
from foldless.kernels.pairs import Pairs, Points
from foldless.machines.losses import SmoothLoss, Squared
from foldless.machines.newton import minimise

# Decrement per row at which one more step is the last.
FINAL_DECREMENT = 1e-12


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
        return self._before_constant(solve_lower(self.L, self._values(X).T).T)

    def kernel_values(self, X: Points) -> Matrix:
        """Return the values that :attr:`root` turns into features (n, width)."""
        return self._before_constant(self._values(X))

    @property
    def root(self) -> Matrix:
        """L, with a row for the constant: features are kernel values that are solved with it."""
        root = np.eye(self.width)
        root[: len(self.L), : len(self.L)] = self.L
        return root

    def _values(self, X: Points) -> Matrix:
        return gram(self.kernel, Pairs(X, self.points))

    def _before_constant(self, F: Matrix) -> Matrix:
        return np.column_stack([F, np.ones(len(F))]) if self.bias else F

    def expansion(self, beta: Matrix) -> tuple[Matrix, Vector]:
        """Return the coefficients of the kernel functions at the landmarks (m, k), and the intercepts (k,)."""
        m = len(self.L)
        intercept = beta[m] if self.bias else np.zeros(beta.shape[1])
        return solve_lower(self.L, beta[:m], transposed=True), intercept


@dataclass(frozen=True, eq=False)
class Sums:
    """Sums over rows: losses, and their first and second derivatives in the coefficients (r, k).

    Attributes
    ----------
    value : float
    gradient : array of shape (r, k)
    hessians : array of shape (k, r, r) or (1, r, r)
        Their lower triangles; one that all columns share, for the squared loss.
    """

    value: float
    gradient: Matrix
    hessians: NDArray[np.float64]

    def __add__(self, other: "Sums") -> "Sums":
        """Return the sums over the rows of both."""
        return Sums(self.value + other.value, self.gradient + other.gradient, self.hessians + other.hessians)


def feature_sums(F: Matrix, loss: SmoothLoss, beta: Matrix, Y: Matrix, v: Vector) -> Sums:
    """Return the sums over rows with the features F (n, r), targets (n, k) and weights (n,)."""
    Z = F @ beta
    first, second, _ = loss.derivatives(Y, Z)
    curvatures = v[:, None] * (second[:, :1] if isinstance(loss, Squared) else second)
    hessians = [blas.dsyrk(1.0, (F * np.sqrt(w)[:, None]).T) for w in curvatures.T]
    value = float(np.sum(v @ loss.value(Y, Z)))
    return Sums(value, F.T @ (v[:, None] * first), np.array(hessians))


def row_sums(
    features: LandmarkFeatures, loss: SmoothLoss, beta: Matrix, X: Points, Y: Matrix, v: Vector
) -> Sums:
    """Return the sums over some rows, a strip of them at a time."""
    strips = long_strips(X.shape[0], features.width)
    return reduce(
        Sums.__add__, (feature_sums(features(X[rows]), loss, beta, Y[rows], v[rows]) for rows in strips)
    )


def quadratic_sums(at_zero: Sums) -> Callable[[Matrix], Sums]:
    """Return the sums of the squared loss at any coefficients, given those at zero."""
    H = mirror(at_zero.hessians[0].copy())

    def sums(beta: Matrix) -> Sums:
        step = H @ beta
        value = at_zero.value + float(np.vdot(at_zero.gradient + step / 2, beta))
        return Sums(value, at_zero.gradient + step, at_zero.hessians)

    return sums


def outputs_left_out(
    features: LandmarkFeatures,
    loss: SmoothLoss,
    C: float,
    beta: Matrix,
    roots: list[Matrix],
    X: Points,
    Y: Matrix,
    u: Vector,
) -> Matrix:
    """Return the outputs (n, k) of some rows when each is left out; eq. (2), ``roots`` being the factors of the Hessians."""
    outputs = np.empty(Y.shape)
    coefficients = solve_lower(features.root, beta, transposed=True)
    whole_roots = [features.root @ root for root in roots]
    for rows in long_strips(X.shape[0], features.width):
        K = features.kernel_values(X[rows])
        Z = K @ coefficients
        first, second, _ = loss.derivatives(Y[rows], Z)
        V = C * np.column_stack([np.sum(solve_lower(root, K.T) ** 2, axis=0) for root in whole_roots])
        removed = u[rows, None] * V
        outputs[rows] = Z + removed * first / np.maximum(1 - removed * second, np.finfo(float).eps)
    return outputs


@dataclass(frozen=True, eq=False)
class PrimalState:
    """J of eq. (1) around one point, summed over the columns of targets.

    Parameters
    ----------
    sums : callable
        Maps coefficients (r, k) to the sums over all rows.
    C : float
    penalty : array of shape (r,)
    point : array of shape (r, k)
    """

    sums: Callable[[Matrix], Sums]
    C: float
    penalty: Vector
    point: Matrix

    @cached_property
    def _sums(self) -> Sums:
        return self.sums(self.point)

    @property
    def value(self) -> float:
        """J."""
        return float(np.sum(self.penalty @ self.point**2) / 2 + self.C * self._sums.value)

    @property
    def is_curved(self) -> bool:
        """Whether every column has a row with curvature."""
        return bool(np.all(np.any(np.diagonal(self._sums.hessians, axis1=1, axis2=2), axis=1)))

    @property
    def gradient(self) -> Matrix:
        """Derivative of J."""
        return self.penalty[:, None] * self.point + self.C * self._sums.gradient

    @cached_property
    def roots(self) -> list[Matrix]:
        """Cholesky factors of the Hessians of J: one for each column, or one that all share."""
        return hessian_roots(self._sums, self.C, self.penalty)

    def at(self, point: Matrix) -> Self:
        """Return the state at another point."""
        return replace(self, point=point)

    def newton_point(self) -> Matrix:
        """Return where the undamped step leads."""
        if len(self.roots) == 1:
            return self.point - solve_cholesky(self.roots[0], self.gradient)
        columns = zip(self.roots, self.gradient.T, strict=True)
        return self.point - np.column_stack([solve_cholesky(root, g[:, None]) for root, g in columns])

    def chord_point(self, other: Self) -> None:
        """Return nothing: the gradient alone takes a pass over the rows, as a Newton step does."""

    def decrement(self, target: Matrix) -> float:
        """Return minus the gradient times the step to ``target``."""
        return float(-np.vdot(self.gradient, target - self.point))


def hessian_roots(sums: Sums, C: float, penalty: Vector) -> list[Matrix]:
    """Return the Cholesky factors of the Hessians of J."""
    return [cholesky(C * H + np.diag(penalty)) for H in sums.hessians]


def minimise_sums(state: PrimalState, n: float) -> Matrix:
    """Return the coefficients that minimise J over n rows."""
    beta, _ = minimise(state, FINAL_DECREMENT * n, f"C = {state.C:.3g}")
    return np.asarray(beta)
