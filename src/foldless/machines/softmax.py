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

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from scipy.linalg import helmert, lapack
from scipy.special import log_softmax, softmax

from foldless.core.contracts import Gram, Machine, Matrix, Vector
from foldless.core.errors import Undefined
from foldless.core.linalg import cholesky, mirror, solve_lower

DECREMENT = 1e-20  # the Newton decrement at which a fit is final, per point
ROUGH = 1e-10
NEAR = 1e-9
ROUNDS = 200


@dataclass(frozen=True, eq=False)
class SoftmaxMachine(Machine):
    """Multinomial kernel logistic regression.

    Parameters
    ----------
    C : float, default=1.0
        Weight of the loss against the squared norms.
    bias : bool, default=True
        Whether unpenalised constants are part of the model.
    weights : array of shape (n,), optional
        What the loss of each point counts; by default 1.
    row_counts : array of shape (n,), optional
        How many equal rows each point stands for; see :class:`foldless.machines.SmoothMachine`.
    decrement : float, default=1e-20
        Stop when the Newton decrement falls below this, per point.
    """

    C: float = 1.0
    bias: bool = True
    weights: Vector | None = None
    row_counts: Vector | None = None
    decrement: float = DECREMENT

    def __post_init__(self):
        if not 0 < self.C < np.inf:
            raise ValueError(f"C must be a positive number, got {self.C!r}.")

    @property
    def with_search_accuracy(self):
        """The same machine at the accuracy a search needs."""
        return replace(self, decrement=max(self.decrement, ROUGH))

    @property
    def theta(self):
        """``[log C]``."""
        return np.array([np.log(self.C)])

    def with_theta(self, theta):
        """Return the machine with another C."""
        return replace(self, C=float(np.exp(theta[0])))

    def n_joint_functions(self, columns):
        """How many functions are fitted together for so many columns of targets."""
        return max(1, columns - 1)

    def solve(self, gram, Y, start=None):
        """Fit all classes together.

        Parameters
        ----------
        gram : Gram
        Y : array of shape (n, k)
            Columns of -1 and 1, with one 1 in each row; a single column stands for two classes.
        start : array of shape (n, k), optional
            Earlier outputs ``z``, for instance ``solution.start`` of a neighbouring problem.
        """
        T = indicators(Y)
        v = np.ones(gram.n) if self.weights is None else self.weights
        if self.bias and np.any(v @ T == 0):
            raise Undefined("a class has no points: with a free bias the fit has no minimum.")
        space = _Space.of(gram, self.C, self.bias, T, v)
        return SoftmaxSolution(gram, self, T, v, space, *self._descend(space, start))

    def _descend(self, space, start):
        """Return coefficients and rounds of the damped Newton iteration; eq. (2)."""
        state, last = self._begin(space, start), np.inf
        for rounds in range(1, ROUNDS + 1):
            x = state.newton()
            decrement = state.decrement(x)
            if not np.isfinite(decrement):
                raise Undefined(f"the Newton step is not finite (C = {self.C:.3g}).")
            near = decrement <= NEAR * max(1.0, state.value)
            if decrement <= self.decrement * len(space.T) or (near and decrement >= last):
                return x, rounds
            full = space.look(x)
            state = full if near else self._damped(space, state, full)
            last = decrement if near else np.inf
        raise Undefined(f"the Newton iteration did not converge in {ROUNDS} rounds (C = {self.C:.3g}).")

    def _begin(self, space, start):
        cold = space.look(space.cold())
        if start is None:
            return cold
        warm = space.look(space.at_outputs(start).newton())
        return warm if warm.value < cold.value else cold

    def _damped(self, space, old, new):
        t, full = 1.0, new
        while not new.value < old.value:
            t /= 2
            if t < 1e-10:
                raise Undefined(f"no Newton step lowers the objective (C = {self.C:.3g}).")
            new = space.look(old.x + t * (full.x - old.x))
        return new


def indicators(Y):
    """Return 0 and 1 per class (n, k) for columns of -1 and 1; one column stands for two classes."""
    T = (1 + (np.hstack([-Y, Y]) if Y.shape[1] == 1 else Y)) / 2
    if not np.all((T == 0) | (T == 1)) or np.any(T.sum(axis=1) != 1):
        raise ValueError("Y must hold -1 and 1 with exactly one 1 in each row: the class of the point.")
    return T


@dataclass(frozen=True, eq=False)
class _Space:
    """Features, contrasts and data of one problem: everything but the coefficients ``x`` (features, k - 1)."""

    F: Matrix  # with a column of ones when there is a bias
    D: Vector
    Q: Matrix
    T: Matrix
    v: Vector

    @classmethod
    def of(cls, gram, C, bias, T, v):
        U, mu = (gram.centred() if bias else gram).spectrum()
        kept = mu > gram.n * np.finfo(float).eps * np.max(mu, initial=0)
        F = U[:, kept] * np.sqrt(C * mu[kept])
        F = np.column_stack([F, np.ones(gram.n)]) if bias else F
        D = np.ones(F.shape[1])
        D[kept.sum() :] = 0
        return cls(F, D, helmert(T.shape[1]).T, T, v)

    def cold(self):
        """The coefficients of a machine that knows only the biases."""
        x = np.zeros((self.F.shape[1], self.Q.shape[1]))
        if len(self.D) and self.D[-1] == 0:
            x[-1] = np.log(self.v @ self.T / self.v.sum()) @ self.Q
        return x

    def look(self, x):
        """Return the state at coefficients ``x``."""
        return _State(self, x, self.F @ (x @ self.Q.T))

    def at_outputs(self, z):
        """Return the state at outputs that belong to no coefficients."""
        return _State(self, None, z)

    def curvatures(self, p, scale):
        r"""Return :math:`W_i` in contrasts, (n, k - 1, k - 1)."""
        pQ = p @ self.Q
        W = np.einsum("ca,nc,cb->nab", self.Q, p, self.Q, optimize=True) - pQ[:, :, None] * pQ[:, None, :]
        return scale[:, None, None] * W

    def gather(self, E):
        r"""Return :math:`\sum_i f_i f_i' \otimes E_i` for symmetric blocks ``E``, class by class."""
        q, k = self.F.shape[1], self.Q.shape[1]
        M = np.empty((k, q, k, q))
        for c in range(k):
            for d in range(c + 1):
                M[c, :, d] = (self.F * E[:, c, d, None]).T @ self.F
                M[d, :, c] = M[c, :, d]
        return M.reshape(k * q, k * q)

    def blocks(self, R):
        r"""Return the blocks :math:`(f_i \otimes I)' R (f_i \otimes I)` of every point, (n, k - 1, k - 1)."""
        q, k = self.F.shape[1], self.Q.shape[1]
        R, V = R.reshape(k, q, k, q), np.empty((len(self.F), k, k))
        for c in range(k):
            for d in range(c + 1):
                V[:, c, d] = V[:, d, c] = np.einsum("ij,ij->i", self.F @ R[c, :, d], self.F)
        return V

    def flat(self, B):
        """Return ``F' B`` (features, k - 1) as a vector, class by class."""
        return (self.F.T @ B).T.ravel()

    def unflat(self, x):
        """Return a vector as (features, k - 1)."""
        return x.reshape(self.Q.shape[1], -1).T


@dataclass(frozen=True, eq=False)
class _State:
    space: _Space
    x: Any
    z: Matrix

    @cached_property
    def a(self):
        """Residuals in contrasts."""
        s = self.space
        return (s.v[:, None] * (s.T - softmax(self.z, axis=1))) @ s.Q

    @cached_property
    def W(self):
        return self.space.curvatures(softmax(self.z, axis=1), self.space.v)

    @cached_property
    def value(self):
        s = self.space
        return s.D @ np.sum(self.x**2, axis=1) / 2 - s.v @ np.sum(s.T * log_softmax(self.z, axis=1), axis=1)

    @cached_property
    def L(self):
        """Cholesky factor of P; eq. (2)."""
        P = self.space.gather(self.W)
        P.flat[:: len(P) + 1] += np.tile(self.space.D, self.space.Q.shape[1])
        return cholesky(P)

    def newton(self):
        s = self.space
        r = np.einsum("nab,nb->na", self.W, self.z @ s.Q) + self.a
        return s.unflat(solve_lower(self.L, solve_lower(self.L, s.flat(r)), transposed=True))

    def decrement(self, x):
        s = self.space
        step, gradient = (x - self.x).T.ravel(), (s.D[:, None] * self.x).T.ravel() - s.flat(self.a)
        return -gradient @ step


@dataclass(frozen=True, eq=False)
class SoftmaxSolution:
    """All classes fitted together.

    Attributes
    ----------
    T : array of shape (n, k)
        Indicators of the classes.
    x : array
        Coefficients in feature space.
    """

    gram: Gram
    machine: SoftmaxMachine
    T: Matrix
    v: Vector
    space: _Space
    x: Matrix
    rounds: int

    @property
    def C(self):
        """Weight of the loss."""
        return self.machine.C

    @cached_property
    def state(self):
        """Outputs, residuals and curvatures at the solution."""
        return self.space.look(self.x)

    @property
    def z(self):
        """Outputs (n, k), biases included; their sum over the classes is zero."""
        return self.state.z

    @property
    def start(self):
        """Outputs, for a warm start."""
        return self.z

    @cached_property
    def p(self):
        """Probabilities (n, k)."""
        return softmax(self.z, axis=1)

    @cached_property
    def alpha(self):
        """Coefficients (n, k): ``f = K alpha``."""
        return self.C * self.v[:, None] * (self.T - self.p)

    @cached_property
    def b(self):
        """Biases (k,)."""
        if not self.machine.bias:
            return np.zeros(self.T.shape[1])
        return np.mean(self.z - self.gram.matmul(self.alpha), axis=0)

    @cached_property
    def loss(self):
        """Sum of the weighted losses."""
        return float(-self.v @ np.sum(self.T * log_softmax(self.z, axis=1), axis=1))

    @property
    def precision(self):
        """Weights of the points: C times the trace of their curvature."""
        return self.C * np.trace(self.state.W, axis1=1, axis2=2)

    @cached_property
    def fraction_of_one_row(self):
        """The part of a point that is one row: 1, or one over the number of its copies."""
        return (
            np.ones(self.gram.n)
            if self.machine.row_counts is None
            else 1 / np.maximum(self.machine.row_counts, 1)
        )

    @cached_property
    def inverse(self):
        """Inverse of P; eq. (2)."""
        return mirror(lapack.dpotri(self.state.L, lower=1)[0])

    @cached_property
    def V(self):
        """Blocks of the Laplace covariance of the contrasts, (n, k - 1, k - 1)."""
        return self.space.blocks(self.inverse)

    def covariance(self, B):
        """Return ``V B`` for one vector of contrasts per point."""
        return self.space.F @ self.space.unflat(self.inverse @ self.space.flat(B))
