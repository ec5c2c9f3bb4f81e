r"""Multinomial kernel logistic regression: one machine for all classes, probabilities that sum to one.

.. math:: \min_{f, b}\; \tfrac12 \sum_{c=1}^k \|f_c\|^2 + C \sum_i v_i \Bigl[ \log \sum_c e^{z_{ic}} - z_{i y_i} \Bigr],
          \qquad z_{ic} = f_c(x_i) + b_c,  \tag{1}

the biases unpenalised (or absent). A shift common to all classes changes no probability, and the penalty sets it to
zero: with the contrasts :math:`z_i = Q t_i` (columns of Q orthonormal and orthogonal to 1) k - 1 functions are left,
and the curvatures :math:`W_i = v_i Q' (\operatorname{diag} p_i - p_i p_i') Q` are regular. With features
:math:`F F' = C K` (and a column of ones with a bias) the Newton step is one of size rank times (k - 1):

.. math:: P = \sum_i f_i f_i' \otimes W_i + D \otimes I, \qquad
          x^{+} = P^{-1} \sum_i f_i \otimes (W_i t_i + a_i).  \tag{2}

For two classes it is kernel logistic regression with twice the C: :math:`f_1 = -f_0 = f/2`, so
:math:`\tfrac12 (\|f_0\|^2 + \|f_1\|^2) = \tfrac14 \|f\|^2`.

References
----------
.. [1] Rasmussen and Williams (2006), *Gaussian Processes for Machine Learning*, section 3.5.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Self

import numpy as np
from scipy.linalg import helmert
from scipy.special import log_softmax, softmax

from foldless.core.contracts import Gram, Matrix, Vector
from foldless.core.errors import Undefined
from foldless.core.gram import Rows
from foldless.core.linalg import cholesky, inverse_of_square, solve_lower
from foldless.core.memo import cached_property
from foldless.machines.base import MachineWithC, fraction_of_one_row, row_weights
from foldless.machines.newton import FINAL_DECREMENT, SEARCH_DECREMENT, minimise


@dataclass(frozen=True, eq=False)
class SoftmaxMachine(MachineWithC):
    """Multinomial kernel logistic regression.

    Parameters
    ----------
    C : float, default=1.0
        Weight of the loss against half the squared norms.
    bias : bool, default=True
        Whether unpenalised constants are part of the model.
    weights : array of shape (n,), optional
        Weights of the losses of the rows; by default 1.
    row_counts : array of shape (n,), optional
        Number of equal rows that each row stands for; see :class:`foldless.machines.SmoothMachine`.
    decrement : float, default=1e-20
        Stop when the Newton decrement falls below this, per row; a row of weight 2 counts twice.
    """

    loss_in_nats: ClassVar[bool] = True

    C: float = 1.0
    bias: bool = True
    weights: Vector | None = None
    row_counts: Vector | None = None
    decrement: float = FINAL_DECREMENT

    @property
    def with_search_accuracy(self) -> Self:
        """The machine at the lower accuracy that suffices while searching."""
        return replace(self, decrement=max(self.decrement, SEARCH_DECREMENT))

    def n_joint_functions(self, columns: int) -> int:
        """Return how many functions one linear system holds when ``Y`` has so many columns."""
        return max(1, columns - 1)

    def joined_start(self, starts: Sequence[Matrix], rows: Sequence[Rows], n: int) -> Matrix | None:
        """Return the outputs of all rows if every row belongs to a part."""
        if len(np.unique(np.concatenate(rows))) < n:
            return None
        Z = np.zeros((n, starts[0].shape[1]))
        for part, own in zip(starts, rows, strict=True):
            Z[own] = part
        return Z

    def solve(self, gram: Gram, Y: Matrix, start: Matrix | None = None) -> "SoftmaxSolution":
        """Fit all classes together.

        Parameters
        ----------
        gram : Gram
        Y : array of shape (n, k)
            Columns of -1 and 1, with one 1 in each row; a single column stands for two classes.
        start : array of shape (n, k), optional
            Earlier outputs ``z``, for instance ``solution.start`` of a similar problem.
        """
        T, v = indicators(Y), row_weights(self, gram.n)
        if self.bias and np.any(v @ T == 0):
            raise Undefined("a class has no points: with a free bias the fit has no minimum.")
        problem = _Problem.of(gram, self.C, self.bias, T, v)
        constant = problem.at(problem.constant())
        found = minimise(
            constant,
            self.decrement * float(v.sum()),
            f"C = {self.C:.3g}",
            None if start is None else _State(problem, constant.point, start),
        )
        return SoftmaxSolution(gram, self, problem, *found)


def indicators(Y: Matrix) -> Matrix:
    """Return 0 and 1 per class (n, k) for columns of -1 and 1; one column stands for two classes."""
    T = (1 + (np.hstack([-Y, Y]) if Y.shape[1] == 1 else Y)) / 2
    if not np.all((T == 0) | (T == 1)) or np.any(T.sum(axis=1) != 1):
        raise ValueError("Y must hold -1 and 1 with exactly one 1 in each row: the class of the point.")
    return T


@dataclass(frozen=True, eq=False)
class _Problem:
    """Features, contrasts and data: everything but the coefficients ``x`` (features, k - 1).

    Attributes
    ----------
    F : array of shape (n, r)
        Features; the last one is constant if there is a bias.
    D : array of shape (r,)
        1 for the features that are penalised, 0 for the constant.
    Q : array of shape (k, k - 1)
        Contrasts.
    T : array of shape (n, k)
        Indicators of the classes.
    v : array of shape (n,)
        Weights of the rows.
    """

    F: Matrix
    D: Vector
    Q: Matrix
    T: Matrix
    v: Vector

    @classmethod
    def of(cls, gram: Gram, C: float, bias: bool, T: Matrix, v: Vector) -> Self:
        U, mu = (gram.centred() if bias else gram).spectrum()
        kept = mu > gram.n * np.finfo(float).eps * np.max(mu, initial=0)
        F = U[:, kept] * np.sqrt(C * mu[kept])
        F = np.column_stack([F, np.ones(gram.n)]) if bias else F
        D = np.ones(F.shape[1])
        D[kept.sum() :] = 0
        return cls(F, D, helmert(T.shape[1]).T, T, v)

    @property
    def has_bias(self) -> bool:
        return len(self.D) > 0 and self.D[-1] == 0

    def constant(self) -> Matrix:
        """Return the coefficients of the best machine that has only biases."""
        x = np.zeros((self.F.shape[1], self.Q.shape[1]))
        if self.has_bias:
            x[-1] = np.log(self.v @ self.T / self.v.sum()) @ self.Q
        return x

    def at(self, x: Matrix) -> "_State":
        """Return the state at coefficients ``x``."""
        return _State(self, x, self.F @ (x @ self.Q.T))

    def curvatures(self, p: Matrix, scale: Vector) -> Matrix:
        r"""Return :math:`W_i` in contrasts (n, k - 1, k - 1)."""
        pQ = p @ self.Q
        W = np.einsum("ca,nc,cb->nab", self.Q, p, self.Q, optimize=True) - pQ[:, :, None] * pQ[:, None, :]
        return scale[:, None, None] * W

    def gather(self, E: Matrix) -> Matrix:
        r"""Return :math:`\sum_i f_i f_i' \otimes E_i` for symmetric blocks ``E``, class by class."""
        q, k = self.F.shape[1], self.Q.shape[1]
        M = np.empty((k, q, k, q))
        for c in range(k):
            for d in range(c + 1):
                M[c, :, d] = (self.F * E[:, c, d, None]).T @ self.F
                M[d, :, c] = M[c, :, d]
        return M.reshape(k * q, k * q)

    def blocks(self, R: Matrix) -> Matrix:
        r"""Return the blocks :math:`(f_i \otimes I)' R (f_i \otimes I)` of every point (n, k - 1, k - 1)."""
        q, k = self.F.shape[1], self.Q.shape[1]
        R, V = R.reshape(k, q, k, q), np.empty((len(self.F), k, k))
        for c in range(k):
            for d in range(c + 1):
                V[:, c, d] = V[:, d, c] = np.einsum("ij,ij->i", self.F @ R[c, :, d], self.F)
        return V

    def flat(self, B: Matrix) -> Vector:
        """Return ``F' B`` (features, k - 1) as a vector, class by class."""
        return (self.F.T @ B).T.ravel()

    def unflat(self, x: Vector) -> Matrix:
        """Return a vector as (features, k - 1)."""
        return x.reshape(self.Q.shape[1], -1).T


@dataclass(frozen=True, eq=False)
class _State:
    """The objective at coefficients ``point`` with outputs ``z`` (n, k)."""

    problem: _Problem
    point: Matrix
    z: Matrix

    def at(self, point: Matrix) -> "_State":
        """Return the state at other coefficients."""
        return self.problem.at(point)

    @cached_property
    def p(self) -> Matrix:
        """Probabilities (n, k)."""
        return softmax(self.z, axis=1)

    @cached_property
    def a(self) -> Matrix:
        """Residuals in contrasts (n, k - 1)."""
        problem = self.problem
        return (problem.v[:, None] * (problem.T - self.p)) @ problem.Q

    @cached_property
    def W(self) -> Matrix:
        """Curvatures in contrasts (n, k - 1, k - 1)."""
        return self.problem.curvatures(self.p, self.problem.v)

    @property
    def is_curved(self) -> bool:
        """Whether any point has curvature."""
        return bool(np.any(self.W))

    @cached_property
    def loss(self) -> float:
        """Sum of the weighted losses."""
        problem = self.problem
        return float(-problem.v @ np.sum(problem.T * log_softmax(self.z, axis=1), axis=1))

    @cached_property
    def value(self) -> float:
        """The objective."""
        return float(self.problem.D @ np.sum(self.point**2, axis=1) / 2) + self.loss

    @cached_property
    def L(self) -> Matrix:
        """Cholesky factor of P; eq. (2)."""
        P = self.problem.gather(self.W)
        P.flat[:: len(P) + 1] += np.tile(self.problem.D, self.problem.Q.shape[1])
        return cholesky(P)

    def newton_point(self) -> Matrix:
        """Return the coefficients after the undamped step; eq. (2)."""
        r = np.einsum("nab,nb->na", self.W, self.z @ self.problem.Q) + self.a
        return self._solved(self.problem.flat(r))

    def conjugate_point(self, other: "_State") -> None:
        """Return None: a factorisation costs little beside the products."""

    def plane_point(self, target: Matrix) -> None:
        """Return None: every point in the plane would need curvatures that are matrices."""

    def chord_point(self, other: "_State") -> Matrix:
        """Return the coefficients after a step from another state with the Hessian of this one."""
        return other.point - self._solved(other.gradient)

    def _solved(self, r: Vector) -> Matrix:
        """Return ``P^{-1} r`` as (features, k - 1)."""
        return self.problem.unflat(solve_lower(self.L, solve_lower(self.L, r), transposed=True))

    @cached_property
    def gradient(self) -> Vector:
        """Derivative of the objective in the coefficients, class by class."""
        problem = self.problem
        return (problem.D[:, None] * self.point).T.ravel() - problem.flat(self.a)

    def decrement(self, target: Matrix) -> float:
        """Return minus the gradient times the step to ``target``."""
        return float(-self.gradient @ (target - self.point).T.ravel())


@dataclass(frozen=True, eq=False)
class SoftmaxSolution:
    """All classes fitted together.

    Attributes
    ----------
    space : object
        Features ``F``, contrasts ``Q``, indicators ``T`` of the classes and weights ``v`` of the rows.
    x : array of shape (r, k - 1)
        Coefficients of the features.
    n_iterations : int
        Newton steps that were needed, without the first one of a warm start.
    """

    gram: Gram
    machine: SoftmaxMachine
    space: _Problem
    x: Matrix
    n_iterations: int

    @property
    def C(self) -> float:
        """Weight of the loss."""
        return self.machine.C

    @property
    def T(self) -> Matrix:
        """Indicators of the classes (n, k)."""
        return self.space.T

    @property
    def Y(self) -> Matrix:
        """Targets -1 and 1 (n, k)."""
        return 2 * self.T - 1

    @property
    def v(self) -> Vector:
        """Weights of the rows (n,)."""
        return self.space.v

    @cached_property
    def state(self) -> _State:
        """Outputs, residuals and curvatures at the solution."""
        return self.space.at(self.x)

    @property
    def z(self) -> Matrix:
        """Outputs (n, k), biases included; their sum over the classes is zero."""
        return self.state.z

    @property
    def outputs(self) -> Matrix:
        """Outputs of the rows, biases included (n, k)."""
        return self.z

    @property
    def start(self) -> Matrix:
        """Outputs, for a warm start."""
        return self.z

    @property
    def p(self) -> Matrix:
        """Probabilities (n, k)."""
        return self.state.p

    @cached_property
    def alpha(self) -> Matrix:
        """Coefficients (n, k): ``f = K alpha``."""
        return self.C * self.v[:, None] * (self.T - self.p)

    @cached_property
    def b(self) -> Vector:
        """Biases (k,)."""
        if not self.machine.bias:
            return np.zeros(self.T.shape[1])
        return np.mean(self.z - self.gram.matmul(self.alpha), axis=0)

    @property
    def loss(self) -> float:
        """Sum of the weighted losses."""
        return self.state.loss

    @property
    def precision(self) -> Vector:
        """Weights of the rows against the prior: C times the trace of their curvature."""
        return self.C * np.trace(self.state.W, axis1=1, axis2=2)

    @cached_property
    def fraction_of_one_row(self) -> Vector:
        """The part of each point that is a single row: one over the number of equal rows it stands for."""
        return fraction_of_one_row(self.machine, self.gram.n)

    @cached_property
    def inverse(self) -> Matrix:
        """Inverse of P; eq. (2)."""
        return inverse_of_square(self.state.L)

    @cached_property
    def V(self) -> Matrix:
        """Blocks of the Laplace covariance of the contrasts (n, k - 1, k - 1)."""
        return self.space.blocks(self.inverse)

    def covariance(self, B: Matrix) -> Matrix:
        """Return ``V B`` for one vector of contrasts per point."""
        return self.space.F @ self.space.unflat(self.inverse @ self.space.flat(B))
