r"""Support vector machines with the hinge and the squared hinge loss.

.. math:: \min\; \tfrac12 \|f\|^2 + \sum_i C_i\, \ell_p(y_i \theta_i), \qquad \theta_i = f(x_i) + b, \qquad C_i = C v_i,  \tag{1}

with an unpenalised bias b or none (an offset may be part of the kernel), and sample weights v. The dual is the box
problem of :mod:`foldless.machines.box_qp.problem`:

====  ================  ==================  ====================================================
p     upper bound u     diagonal D          sets
====  ================  ==================  ====================================================
1     :math:`C_i`       0                   free: on the margin; upper: inside it or misclassified
2     none              :math:`1 / C_i`     free: :math:`s_i < 1`, with :math:`s_i = 1 - \alpha_i / C_i`
====  ================  ==================  ====================================================

The optimal value is :math:`F = \tfrac12 \beta'K\beta + \sum_i C_i \ell_p(s_i)`, :math:`\beta = y \circ \alpha`.

Duplicated points make the matrix of the free set singular for p = 1: the outputs are unique, alpha is not. A ridge
of ``JITTER`` times the mean diagonal then becomes part of the model, on every solution as ``ridge``, with a warning.
"""

import warnings
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from foldless.core.contracts import Gram, Machine, Vector
from foldless.core.errors import JitterWarning, NotPositiveDefinite, Undefined
from foldless.machines.box_qp.active_set import active_sets, solve_box
from foldless.machines.box_qp.problem import FREE, LOWER, UPPER, BoxQP
from foldless.machines.columnwise import ColumnwiseSolutions
from foldless.machines.losses import Hinge, SquaredHinge

JITTER = 1e-10
INDEFINITE = 1e-8  # relative to the trace


@dataclass(frozen=True, eq=False)
class _SVM(Machine):
    """What the two machines share.

    Parameters
    ----------
    C : float
        Weight of the loss against half the squared norm.
    bias : bool
        Whether an unpenalised constant is part of the model.
    weights : array of shape (n,), optional
        Sample weights v; a point of weight 0 takes no part, but has an output.
    """

    C: float = 1.0
    bias: bool = True
    weights: Vector | None = None

    loss: ClassVar[Any]

    def __post_init__(self):
        if not (np.isfinite(self.C) and self.C > 0):
            raise ValueError(f"C must be positive and finite, got {self.C!r}.")
        if self.weights is not None and not np.all(np.asarray(self.weights) >= 0):
            raise ValueError("weights must not be negative.")

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
            Entries -1 and 1.
        start : list of k arrays, optional
            Active sets of a neighbouring problem: its ``solution.start``.
        """
        if start is None:
            _refuse_indefinite(gram)
        starts = start if start is not None else [None] * Y.shape[1]
        C = self.C * (np.ones(gram.n) if self.weights is None else np.asarray(self.weights, float))
        return SupportSolutions(tuple(self._column(gram, y, C, s) for y, s in zip(Y.T, starts, strict=True)))

    def _column(self, gram, y, C, start):
        if len(np.unique(y[C > 0])) != 2 or not np.all(np.abs(y) == 1):
            raise Undefined("a support vector machine needs points of both classes, labelled -1 and 1.")
        return self._fit(gram, np.asarray(y, float), C, start)


@dataclass(frozen=True, eq=False)
class HingeSVM(_SVM):
    """Support vector machine with the hinge loss, p = 1.

    Parameters
    ----------
    C : float, default=1.0
        Weight of the losses against half the squared norm.
    bias : bool, default=True
        Whether the machine has a constant that is not penalised.
    weights : array of shape (n,), optional
        They multiply C.
    """

    loss: ClassVar[Any] = Hinge()
    default_loo_criterion: ClassVar[str] = (
        "span"  # where leave-one-out is asked for often: its refits are dear
    )

    def _fit(self, gram, y, C, start):
        clean = BoxQP(gram, y, C, np.zeros(gram.n), self.bias)
        try:
            return SVMSolution(gram, self, y, C, *solve_box(clean, start), clean.ridge)
        except NotPositiveDefinite:
            return self._jittered(clean, start)

    def _jittered(self, clean, start):
        """Solve with a ridge; keep it only if the sets it finds are singular or wrong without."""
        jitter = JITTER * float(np.mean(clean.gram.diag()))
        qp = replace(clean, ridge=np.full(len(clean.y), jitter))
        alpha, b, sets = solve_box(qp, start)
        try:
            found = active_sets(clean, sets, 8)
        except NotPositiveDefinite:
            found = None
        if found is not None:
            return SVMSolution(clean.gram, self, clean.y, clean.upper, *found, clean.ridge)
        warnings.warn(JitterWarning(JITTER), stacklevel=2)
        return SVMSolution(clean.gram, self, clean.y, clean.upper, alpha, b, sets, qp.ridge)


@dataclass(frozen=True, eq=False)
class SquaredHingeSVM(_SVM):
    """Support vector machine with the squared hinge loss (with its one half), p = 2.

    Parameters
    ----------
    C : float, default=1.0
        Weight of the losses against half the squared norm.
    bias : bool, default=True
        Whether the machine has a constant that is not penalised.
    weights : array of shape (n,), optional
        They multiply C.
    """

    loss: ClassVar[Any] = SquaredHinge()
    default_loo_criterion: ClassVar[str] = "smoothed-span"

    def _fit(self, gram, y, C, start):
        on = C > 0
        ridge = np.divide(1, C, out=np.ones(gram.n), where=on)
        found = solve_box(BoxQP(gram, y, np.where(on, np.inf, 0.0), ridge, self.bias), start)
        return SquaredHingeSolution(gram, self, y, C, *found, ridge)


def _refuse_indefinite(gram):
    level = INDEFINITE * float(np.sum(gram.diag()))
    if not level > 0:
        raise NotPositiveDefinite(
            "the Gram matrix", float(np.min(gram.diag())), "Its diagonal must be positive."
        )
    if not gram.semidefinite:
        gram.factor(np.full(gram.n, 1 / level))  # raises


@dataclass(frozen=True, eq=False)
class SupportSolution:
    """One fitted problem.

    Attributes
    ----------
    C : array of shape (n,)
        Weights of the points, ``C_i = C v_i``.
    alpha : array of shape (n,)
        Dual variables, not negative.
    b : float
        The bias; 0 without one.
    sets : array of shape (n,)
        -1 lower, 0 free, 1 upper.
    ridge : array of shape (n,)
        What was added to the diagonal of K: ``1 / C`` (p = 2), 0 or a jitter (p = 1).
    """

    gram: Gram
    machine: Any
    y: Vector
    C: Vector
    alpha: Vector
    b: float
    sets: Any
    ridge: Vector

    @property
    def n(self):
        """Number of points."""
        return len(self.y)

    @property
    def bias(self):
        """Whether the bias is free."""
        return self.machine.bias

    @property
    def loss(self):
        """The loss object."""
        return self.machine.loss

    @property
    def start(self):
        """Active sets, for a warm start."""
        return self.sets

    @cached_property
    def beta(self):
        """Signed coefficients: ``f = K beta``."""
        return self.y * self.alpha

    @cached_property
    def f(self):
        """Outputs without the bias and without the ridge."""
        return self.gram.matmul(self.beta)

    @property
    def theta(self):
        """Outputs, bias included (and for p = 1 the jitter, if there is one)."""
        return self.f + self.b + self.jitter * self.beta

    @property
    def jitter(self):
        """The part of the ridge that belongs to the kernel."""
        return 0.0

    @cached_property
    def s(self):
        """Margins ``y theta``; exactly 1 on the margin."""
        return self.y * self.theta

    @cached_property
    def free(self):
        """Indices of the free set."""
        return np.flatnonzero(self.sets == FREE)

    @cached_property
    def upper(self):
        """Indices at their upper bound."""
        return np.flatnonzero(self.sets == UPPER)

    @cached_property
    def support(self):
        """Indices with alpha > 0."""
        return np.flatnonzero(self.sets != LOWER)

    @cached_property
    def losses(self):
        """Sum of the losses weighted by C."""
        return float(self.C @ self.loss.value(self.s))

    @cached_property
    def F(self):
        """The optimal value of problem (1)."""
        return float(self.alpha @ (self.s - self.y * self.b)) / 2 + self.losses

    @cached_property
    def qp(self):
        """The dual problem."""
        upper = self.C if self.loss.power == 1 else np.where(self.C > 0, np.inf, 0.0)
        return BoxQP(self.gram, self.y, upper, self.ridge, self.bias)

    @cached_property
    def block(self):
        """The bordered matrix of the free set."""
        return self.qp.block(self.free)

    @property
    def precision(self):
        """A change of ``K_ii`` moves the margin of point i by this times the change."""
        return self.alpha

    @property
    def unique_bias(self):
        """False if the bias is free and no coefficient is strictly inside its bounds: b is then a middle."""
        return not self.bias or self.free.size > 0


@dataclass(frozen=True, eq=False)
class SVMSolution(SupportSolution):
    """A fit with the hinge loss; ``free`` are the marginal and ``upper`` the bounded support vectors."""

    @property
    def jitter(self):
        """The ridge is a jitter of the kernel here."""
        return float(self.ridge[0])

    @cached_property
    def s(self):
        """Margins ``y theta``; exactly 1 on the margin."""
        s = self.y * self.theta
        s[self.free] = 1.0
        return s


@dataclass(frozen=True, eq=False)
class SquaredHingeSolution(SupportSolution):
    """A fit with the squared hinge loss; ``free`` is the active set ``s < 1``."""

    @property
    def precision(self):
        """Curvature of the loss: C on the active set."""
        return np.where(self.sets == FREE, self.C, 0.0)

    @cached_property
    def s(self):
        r"""Margins ``y theta``; :math:`1 - \alpha_i / C_i` on the active set."""
        s = self.y * self.theta
        s[self.free] = 1 - self.alpha[self.free] / self.C[self.free]
        return s


@dataclass(frozen=True, eq=False)
class SupportSolutions(ColumnwiseSolutions):
    """One solution per column of the targets; warm starts are their active sets."""

    @property
    def alpha(self):
        """Signed coefficients, (n, k): ``f = K alpha``."""
        return np.column_stack([s.beta for s in self.columns])

    @property
    def precision(self):
        """How finely the diagonal of ``K`` must be known: a change of ``K_ii`` moves a margin by this times it."""
        return np.max([s.precision for s in self.columns], axis=0)


def path(machine, gram, Y, Cs):
    """Solve for several values of C, each warm-started at the one before.

    Parameters
    ----------
    machine : HingeSVM or SquaredHingeSVM
    gram : Gram
    Y : array of shape (n, k)
    Cs : sequence of float
        Best in increasing or decreasing order.

    Returns
    -------
    list of SupportSolutions
    """
    solutions, start = [], None
    for C in Cs:
        solution = replace(machine, C=float(C)).solve(gram, Y, start)
        solutions.append(solution)
        start = solution.start
    return solutions
