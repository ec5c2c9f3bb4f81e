r"""Kernel machines with a smooth convex loss: kernel logistic regression and its relatives.

.. math:: \min_{f, b}\; \tfrac12 \|f\|^2 + C \sum_i v_i\, \ell(y_i, f(x_i) + b)  \tag{1}

with the bias ``b`` unpenalised (or absent) and sample weights ``v``. Write :math:`A = C K`,
:math:`a = -v \circ \ell'`, :math:`w = v \circ \ell''`. At the solution :math:`z = A a + b 1` and, with a
bias, :math:`1'a = 0`. One Newton step is

.. math:: z^{+} = V (W z + a), \qquad \beta^{+} = W (z - z^{+}) + a, \qquad V = (A^{-1} + W)^{-1},  \tag{2}

(V the bias-included limit where there is one), so that :math:`z^+ = A \beta^+ + b^+ 1`. Steps are halved
until :math:`\tfrac12 \beta' A \beta + \sum_i v_i \ell` decreases.

References
----------
.. [1] Cawley and Talbot, *Efficient approximate leave-one-out cross-validation for kernel logistic
   regression*, (2)-(14).
"""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from foldless.core.contracts import Gram, Machine, Vector
from foldless.core.errors import Undefined
from foldless.machines.columnwise import ColumnwiseSolutions

DECREMENT = 1e-20  # the Newton decrement at which a fit is final, per unit of weight
ROUGH = 1e-10  # the same while searching: outputs to about five digits
NEAR = (
    1e-9  # below this decrement, relative to the objective, rounding hides any decrease: full steps are safe
)
ROUNDING = 1e-6  # a decrement that may be rounding, where C times K is so large that no step helps
ROUNDS = 200


@dataclass(frozen=True, eq=False)
class SmoothMachine(Machine):
    """Kernel machine with a smooth loss.

    Parameters
    ----------
    loss : object
        See ``foldless.machines.losses``.
    C : float, default=1.0
        Weight of the loss against the squared norm.
    bias : bool, default=True
        Whether an unpenalised constant is part of the model.
    weights : array of shape (n,), optional
        What the loss of each point counts; by default 1.
    row_counts : array of shape (n,), optional
        How many equal rows each point stands for; by default 1. Part of ``weights`` already, it tells a leave-one-out
        criterion to leave out one copy, not all.
    decrement : float, default=1e-20
        Stop when the Newton decrement falls below this, per point.
    """

    loss: Any
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

    def solve(self, gram, Y, start=None):
        """Fit one problem per column of ``Y``.

        Parameters
        ----------
        gram : Gram
        Y : array of shape (n, k)
        start : list of k arrays, optional
            Earlier outputs ``z``, for instance ``solution.start`` of a neighbouring problem.
        """
        self.loss.check(Y)
        starts = start if start is not None else [None] * Y.shape[1]
        return SmoothSolutions(tuple(self._column(gram, y, s) for y, s in zip(Y.T, starts, strict=True)))

    def _column(self, gram, y, start):
        v = np.ones(gram.n) if self.weights is None else self.weights
        state = self._warm(gram, y, v, start)
        if state is None:
            state = self._look(y, v, np.zeros(gram.n), np.full(gram.n, self._cold(y, v)))
        last = np.inf
        for rounds in range(1, ROUNDS + 1):
            beta, z = self._newton(gram, state)
            decrement = (state.a - state.beta) @ (z - state.z)
            if not np.isfinite(decrement):
                raise Undefined(f"the Newton step is not finite (C = {self.C:.3g}).")
            near = decrement <= NEAR * max(1.0, state.value)
            if decrement <= self.decrement * gram.n or (near and decrement >= last):
                return SmoothSolution(gram, self, y, v, z, rounds)
            full = self._look(y, v, beta, z, beta @ z / 2)
            before, state = state, full if near else self._damped(y, v, state, full)
            if state is before:  # no step lowers the objective any further
                if decrement > ROUNDING * max(1.0, state.value):
                    raise Undefined(f"no Newton step lowers the objective (C = {self.C:.3g}).")
                return SmoothSolution(gram, self, y, v, state.z, rounds)
            last = decrement if near else np.inf
        raise Undefined(f"the Newton iteration did not converge in {ROUNDS} rounds (C = {self.C:.3g}).")

    def _cold(self, y, v):
        return self.loss.start(y, v) if self.bias else 0.0

    def _look(self, y, v, beta, z, quadratic=0.0):
        l1, l2, _ = self.loss.derivatives(y, z)
        value = quadratic + v @ self.loss.value(y, z)
        return _State(beta, z, -v * l1, v * l2, quadratic, value)

    def _newton(self, gram, state):
        """Return the undamped step from ``state`` as (beta, z); eq. (2)."""
        r = state.w * state.z + state.a
        z = self.C * gram.factor(self.C * state.w, self.bias).covariance(r)
        return r - state.w * z, z

    def _warm(self, gram, y, v, start):
        """Start from outputs of another problem: they are no member of this model, one Newton step from them is."""
        if start is None:
            return None
        beta, z = self._newton(gram, self._look(y, v, np.zeros(gram.n), start))
        state = self._look(y, v, beta, z, beta @ z / 2)
        cold = v @ self.loss.value(y, np.full(gram.n, self._cold(y, v)))
        return state if state.value < cold else None

    def _damped(self, y, v, old, new):
        """Halve the step until the objective falls; return ``old`` if it never does."""
        t, full = 1.0, new
        while not (new.value < old.value and np.any(new.w)):  # without any curvature there is no next step
            t /= 2
            if t < 1e-10:
                return old
            beta, z = old.beta + t * (full.beta - old.beta), old.z + t * (full.z - old.z)
            new = self._look(y, v, beta, z, beta @ z / 2)
        return new


@dataclass(frozen=True, eq=False)
class _State:
    beta: Vector  # z = A beta + b
    z: Vector
    a: Vector
    w: Vector
    quadratic: float  # beta'A beta / 2
    value: float


@dataclass(frozen=True, eq=False)
class SmoothSolution:
    """One fitted problem.

    Attributes
    ----------
    z : array of shape (n,)
        Outputs, bias included.
    a, w, dw : arrays of shape (n,)
        Minus the first, the second and the third derivative of the weighted loss at ``z``.
    """

    gram: Gram
    machine: SmoothMachine
    y: Vector
    v: Vector
    z: Vector
    rounds: int

    @property
    def Y(self):
        """Targets as a column (n, 1)."""
        return self.y[:, None]

    @property
    def C(self):
        """Weight of the loss."""
        return self.machine.C

    @property
    def start(self):
        """Outputs, for a warm start."""
        return self.z

    @cached_property
    def _derivatives(self):
        return self.machine.loss.derivatives(self.y, self.z)

    @cached_property
    def a(self):
        """Residuals: minus the derivative of the loss."""
        return -self.v * self._derivatives[0]

    @cached_property
    def w(self):
        """Curvatures of the loss."""
        return self.v * self._derivatives[1]

    @cached_property
    def dw(self):
        """Derivatives of the curvatures."""
        return self.v * self._derivatives[2]

    @cached_property
    def factor(self):
        """Factor of ``I + S A S``; its covariance is ``V / C``."""
        return self.gram.factor(self.C * self.w, self.machine.bias)

    @property
    def precision(self):
        """Weights of the points: ``C w``."""
        return self.C * self.w

    @property
    def alpha(self):
        """Coefficients ``C a``: ``f = K alpha``."""
        return self.C * self.a

    @cached_property
    def b(self):
        """The bias."""
        return float(np.mean(self.z - self.gram.matmul(self.alpha))) if self.machine.bias else 0.0

    @cached_property
    def loss(self):
        """Sum of the weighted losses."""
        return float(self.v @ self.machine.loss.value(self.y, self.z))

    def wrong(self, name, u):
        """Return ``{name: fraction of points (by weight) on the wrong side}``; empty for losses on numbers."""
        return {name: float(self.v @ (self.y * u <= 0) / self.v.sum())} if self.machine.loss.labels else {}

    @cached_property
    def V(self):
        """Diagonal of the Laplace covariance of ``z``."""
        return self.C * self.factor.covariance_diag()

    def covariance(self, M):
        """Return ``V M``."""
        return self.C * self.factor.covariance(M)

    def with_bias_prior(self, scale):
        """Return the fit with a bias drawn from N(0, scale^2) in the units of z; itself if it has no bias."""
        if not self.machine.bias:
            return self
        if scale not in self._under_prior:
            gram = self.gram.shifted(scale**2 / self.C)
            machine = replace(self.machine, bias=False)
            self._under_prior[scale] = machine.solve(gram, self.y[:, None], [self.z]).columns[0]
        return self._under_prior[scale]

    @cached_property
    def _under_prior(self):
        return {}

    @cached_property
    def fraction_of_one_row(self):
        """The part of a point that is one row: 1, or one over the number of its copies."""
        return (
            np.ones(self.gram.n)
            if self.machine.row_counts is None
            else 1 / np.maximum(self.machine.row_counts, 1)
        )

    @cached_property
    def one_minus_leverage(self):
        """``1 - w V_ii`` for the share of a point that is one row: what it leaves to the others."""
        return self.factor.inverse_diag() + (1 - self.fraction_of_one_row) * self.w * self.V


@dataclass(frozen=True, eq=False)
class SmoothSolutions(ColumnwiseSolutions):
    """One :class:`SmoothSolution` per column of the targets; warm starts are their outputs."""

    @property
    def precision(self):
        """Weights of the points, averaged over the columns."""
        return np.mean([s.precision for s in self.columns], axis=0)
