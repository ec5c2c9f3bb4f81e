r"""A fit through landmarks as a sum over parts of the rows, of which no two need to be in one place.

With the features :math:`\phi(x) = L^{-1} k(\text{landmarks}, x)`, :math:`L L' = K_{mm}`, and a constant 1 behind them for a bias, every
machine with a smooth loss minimises

.. math:: J(\beta) = \tfrac12 \beta' D \beta + C \sum_i v_i\, \ell(y_i, \phi(x_i)' \beta),  \tag{1}

D being the identity with a zero for the constant. Value, gradient and Hessian are sums over the rows of numbers that do not
depend on how many rows there are: a Newton step is one pass over the parts, and the coefficients are all that travels to them.
The Hessian takes two operations of :math:`n m^2`, the features and their products. Value and gradient alone take neither: with
:math:`K = k(X, \text{landmarks})` and :math:`a = L'^{-1} \beta` the outputs are :math:`K a`, and the gradient is :math:`L^{-1} K' (v \circ \ell')`. So after
one pass for a Hessian some cheap ones follow, as long as they pay: the chords of :mod:`foldless.machines.newton`.

At the optimum, with the factor :math:`R R'` of the Hessian, :math:`V_i = C \|R^{-1} \phi_i\|^2` and the part :math:`u_i` of the weight that
is a single row, the output of the fit without row i is

.. math:: z_i + \frac{u_i \ell'_i V_i}{1 - u_i \ell''_i V_i}  \tag{2}

up to second order, exactly for the squared loss. Since :math:`R^{-1} \phi_i = (L R)^{-1} k_i`, it takes one triangular system a row.

All columns of targets share the passes. For the squared loss J is quadratic and its Hessian the same for all columns: one pass tells all sums.
"""

from collections.abc import Callable, Iterator
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
from foldless.machines.newton import CHORD_SHRINKAGE, minimise

# Decrement per row of a step with an earlier Hessian that is the last.
FINAL_DECREMENT = 1e-12
# Decrement per row and unit of C from which on a Hessian of all rows serves until the end.
NEAR_DECREMENT = 1e-4
# Rows of which a Hessian is computed at a time, and rows for each of its columns if those are more.
HESSIAN_STRIP_ROWS, HESSIAN_STRIP_ROWS_PER_COLUMN = 2048, 8


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
        return _penalty(self.width, self.bias)

    def __call__(self, X: Points) -> Matrix:
        """Return the features of some rows (n, width)."""
        return self._before_constant(solve_lower(self.L, self._values(X).T).T)

    def in_strips(self, X: Points) -> Matrix:
        """Return the features of rows (n, width), with little memory beside them."""
        F = np.empty((X.shape[0], self.width))
        for rows in long_strips(X.shape[0], self.width):
            F[rows, : len(self.L)] = solve_lower(self.L, self._values(X[rows]).T).T
        F[:, len(self.L) :] = 1.0
        return F

    def kernel_values(self, X: Points) -> Matrix:
        """Return the values that :attr:`root` turns into features (n, width)."""
        return self._before_constant(self._values(X))

    @property
    def root(self) -> Matrix:
        """L, with a row for the constant: features are kernel values that are solved with it."""
        root = np.eye(self.width)
        root[: len(self.L), : len(self.L)] = self.L
        return root

    def coefficients(self, beta: Matrix) -> Matrix:
        """Return what gives the outputs from kernel values as ``beta`` does from features (width, k)."""
        return solve_lower(self.root, beta, transposed=True)

    def _values(self, X: Points) -> Matrix:
        return gram(self.kernel, Pairs(X, self.points))

    def _before_constant(self, F: Matrix) -> Matrix:
        return np.column_stack([F, np.ones(len(F))]) if self.bias else F

    def expansion(self, beta: Matrix) -> tuple[Matrix, Vector]:
        """Return the coefficients of the kernel functions at the landmarks (m, k), and the intercepts (k,)."""
        m = len(self.L)
        intercept = beta[m] if self.bias else np.zeros(beta.shape[1])
        return solve_lower(self.L, beta[:m], transposed=True), intercept


def _penalty(width: int, bias: bool) -> Vector:
    return np.r_[np.ones(width - bias), np.zeros(int(bias))]


@dataclass(frozen=True)
class KnownFeatures:
    """Stands for :class:`LandmarkFeatures` where the features themselves are given in place of the rows.

    Attributes
    ----------
    width : int
    bias : bool
        Whether the last of them is a constant.
    """

    width: int
    bias: bool

    @property
    def penalty(self) -> Vector:
        """Diagonal of D in eq. (1)."""
        return _penalty(self.width, self.bias)

    def __call__(self, F: Matrix) -> Matrix:
        """Return the features."""
        return F

    def kernel_values(self, F: Matrix) -> Matrix:
        """Return the features: they need no :attr:`root`."""
        return F

    @property
    def root(self) -> Matrix:
        """The identity."""
        return np.eye(self.width)

    def coefficients(self, beta: Matrix) -> Matrix:
        """Return ``beta``."""
        return beta


@dataclass(frozen=True, eq=False)
class Slopes:
    """Sums over rows: losses, and their derivatives in the coefficients (r, k).

    Attributes
    ----------
    value : float
    gradient : array of shape (r, k)
    curvatures : array of shape (k,)
        Second derivatives in the outputs.
    """

    value: float
    gradient: Matrix
    curvatures: Vector

    def __add__(self, other: "Slopes") -> "Slopes":
        """Return the sums over the rows of both."""
        return Slopes(
            self.value + other.value, self.gradient + other.gradient, self.curvatures + other.curvatures
        )


@dataclass(frozen=True, eq=False)
class Sums:
    """Sums over rows, those of second derivatives in the coefficients among them.

    Attributes
    ----------
    slopes : Slopes
    hessians : array of shape (k, r, r) or (1, r, r)
        Their lower triangles; one that all columns share, for the squared loss.
    """

    slopes: Slopes
    hessians: NDArray[np.float64]

    def __add__(self, other: "Sums") -> "Sums":
        """Return the sums over the rows of both."""
        return Sums(self.slopes + other.slopes, self.hessians + other.hessians)


def feature_sums(F: Matrix, loss: SmoothLoss, beta: Matrix, Y: Matrix, v: Vector) -> Sums:
    """Return the sums over rows with the features F (n, r), targets (n, k) and weights (n,)."""
    slopes, second = _slopes_of(F, loss, beta, Y, v)
    curvatures = v[:, None] * (second[:, :1] if isinstance(loss, Squared) else second)
    return Sums(slopes, np.array([blas.dsyrk(1.0, (F * np.sqrt(w)[:, None]).T) for w in curvatures.T]))


def feature_slopes(F: Matrix, loss: SmoothLoss, beta: Matrix, Y: Matrix, v: Vector) -> Slopes:
    """Return the cheaper sums over rows with the features F (n, r), targets (n, k) and weights (n,)."""
    return _slopes_of(F, loss, beta, Y, v)[0]


def _slopes_of(F: Matrix, loss: SmoothLoss, beta: Matrix, Y: Matrix, v: Vector) -> tuple[Slopes, Matrix]:
    """Return the sums over rows, and the second derivative of every loss in its output."""
    Z = F @ beta
    first, second, _ = loss.derivatives(Y, Z)
    value = float(np.sum(v @ loss.value(Y, Z)))
    return Slopes(value, F.T @ (v[:, None] * first), v @ np.broadcast_to(second, Z.shape)), second


def row_sums(
    features: LandmarkFeatures | KnownFeatures,
    loss: SmoothLoss,
    beta: Matrix,
    X: Points,
    Y: Matrix,
    v: Vector,
) -> Sums:
    """Return the sums over some rows, a strip of them at a time."""
    strips = _hessian_strips(X.shape[0], features.width)
    return reduce(
        Sums.__add__, (feature_sums(features(X[rows]), loss, beta, Y[rows], v[rows]) for rows in strips)
    )


def _hessian_strips(n: int, width: int) -> Iterator[slice]:
    """Yield the rows in strips, each of which is large beside the Hessian that is added up after it."""
    step = max(HESSIAN_STRIP_ROWS, HESSIAN_STRIP_ROWS_PER_COLUMN * width)
    for i in range(0, max(n, 1), step):
        yield slice(i, min(i + step, n))


def row_slopes(
    features: LandmarkFeatures | KnownFeatures,
    loss: SmoothLoss,
    beta: Matrix,
    X: Points,
    Y: Matrix,
    v: Vector,
) -> Slopes:
    """Return the cheaper sums over some rows, from the kernel values of a strip of them at a time."""
    coefficients, strips = features.coefficients(beta), long_strips(X.shape[0], features.width)
    values = ((features.kernel_values(X[rows]), rows) for rows in strips)
    total = reduce(
        Slopes.__add__, (feature_slopes(K, loss, coefficients, Y[rows], v[rows]) for K, rows in values)
    )
    return replace(total, gradient=solve_lower(features.root, total.gradient))


def quadratic_sums(at_zero: Sums) -> Callable[[Matrix], Sums]:
    """Return the sums of the squared loss at any coefficients, given those at zero."""
    H, start = mirror(at_zero.hessians[0].copy()), at_zero.slopes

    def sums(beta: Matrix) -> Sums:
        step = H @ beta
        value = start.value + float(np.vdot(start.gradient + step / 2, beta))
        return Sums(Slopes(value, start.gradient + step, start.curvatures), at_zero.hessians)

    return sums


def outputs_left_out(
    features: LandmarkFeatures | KnownFeatures,
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
    coefficients = features.coefficients(beta)
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
    slopes : callable
        Maps them to the cheaper sums.
    C : float
    penalty : array of shape (r,)
    point : array of shape (r, k)
    """

    sums: Callable[[Matrix], Sums]
    slopes: Callable[[Matrix], Slopes]
    C: float
    penalty: Vector
    point: Matrix

    @cached_property
    def _sums(self) -> Sums:
        return self.sums(self.point)

    @cached_property
    def _slopes(self) -> Slopes:
        return self._sums.slopes if "_sums" in vars(self) else self.slopes(self.point)

    @property
    def value(self) -> float:
        """J."""
        return float(np.sum(self.penalty @ self.point**2) / 2 + self.C * self._slopes.value)

    @property
    def is_curved(self) -> bool:
        """Whether every column has a row with curvature."""
        return bool(np.all(self._slopes.curvatures > 0))

    @property
    def gradient(self) -> Matrix:
        """Derivative of J."""
        return self.penalty[:, None] * self.point + self.C * self._slopes.gradient

    @cached_property
    def roots(self) -> list[Matrix]:
        """Cholesky factors of the Hessians of J: one for each column, or one that all share."""
        return hessian_roots(self._sums, self.C, self.penalty)

    def at(self, point: Matrix) -> Self:
        """Return the state at another point."""
        return replace(self, point=point)

    def newton_point(self) -> Matrix:
        """Return where the undamped step leads."""
        return self._stepped(self.roots, self)

    def conjugate_point(self, other: Self) -> None:
        """Return None: a factorisation costs little beside the products."""

    def plane_point(self, target: Matrix) -> None:
        """Return None: every point in the plane would need a pass over the rows."""

    def chord_point(self, other: Self) -> Matrix:
        """Return where a step from ``other`` leads with the Hessians of this state."""
        return self._stepped(self.roots, other)

    @staticmethod
    def _stepped(roots: list[Matrix], state: "PrimalState") -> Matrix:
        if len(roots) == 1:
            return state.point - solve_cholesky(roots[0], state.gradient)
        columns = zip(roots, state.gradient.T, strict=True)
        return state.point - np.column_stack([solve_cholesky(root, g[:, None]) for root, g in columns])

    def decrement(self, target: Matrix) -> float:
        """Return minus the gradient times the step to ``target``."""
        return float(-np.vdot(self.gradient, target - self.point))


def hessian_roots(sums: Sums, C: float, penalty: Vector) -> list[Matrix]:
    """Return the Cholesky factors of the Hessians of J."""
    return [cholesky(C * H + np.diag(penalty)) for H in sums.hessians]


def minimise_sums(state: PrimalState, n: float, final_decrement: float = FINAL_DECREMENT) -> Matrix:
    """Return the coefficients that minimise J over n rows, with the given decrement per row in the last step."""
    beta, _ = minimise(state, _tolerance(final_decrement, n), f"C = {state.C:.3g}")
    return np.asarray(beta)


def near_minimum(model: PrimalState, state: PrimalState, n: float) -> PrimalState:
    """Return a state close to the minimum, as far as steps with the Hessians of another problem lead there.

    Parameters
    ----------
    model : PrimalState
        At the minimum for some of the rows, each of which stands for others.
    state : PrimalState
        The problem of all n rows, at the same point.
    n : float
    """
    last = np.inf
    while True:
        target = model.chord_point(state)
        decrement, following = state.decrement(target), state.at(target)
        if not decrement < last:
            return state
        # A Newton step comes next, which needs all sums there.
        if decrement <= NEAR_DECREMENT * state.C * n or decrement > CHORD_SHRINKAGE * last:
            return following
        if not following.value < state.value:
            return state
        state, last = following, decrement


def _tolerance(final_decrement: float, n: float) -> float:
    """Return the tolerance of a Newton step: it leaves about the square of that, where chords must arrive themselves."""
    return float(np.sqrt(final_decrement * n))
