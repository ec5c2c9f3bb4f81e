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

Duplicated points make the matrix of the free set singular for p = 1: the outputs are unique, alpha is not. They are
solved as one point (:mod:`foldless.machines.box_qp.equal_rows`) and share its alpha. For what criteria read off the free
set, a ridge of ``JITTER`` times the mean diagonal is added there, with a warning; solutions show it as ``ridge``.
"""

import warnings
from abc import abstractmethod
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from foldless.core.contracts import Gram, Matrix, Vector
from foldless.core.errors import JitterWarning, NotPositiveDefinite, Undefined
from foldless.core.linalg import check_semidefinite
from foldless.core.memo import cached_property
from foldless.core.parallel import side_by_side
from foldless.grams import DenseGram
from foldless.machines.base import MachineWithC, row_weights
from foldless.machines.box_qp.active_set import solve_box
from foldless.machines.box_qp.equal_rows import MergedRows
from foldless.machines.box_qp.problem import FREE, LOWER, UPPER, Block, BoxQP, BoxSolution, Sets
from foldless.machines.coefficients import MAX_OUTPUT_ERROR, corrected_outputs, range_gram
from foldless.machines.columnwise import ColumnwiseSolutions
from foldless.machines.losses import Hinge, SmoothSquaredHinge, SquaredHinge
from foldless.machines.losses.protocols import MarginLoss

JITTER = 1e-10  # relative to the mean diagonal
# How often, and by how much, the jitter is raised where it is too small for the rank of K.
MAX_JITTER_GROWTHS, JITTER_GROWTH = 3, 100.0
CONFIRM_ITERATIONS = 8  # of active sets, to confirm without jitter the sets that were found with it


@dataclass(frozen=True, eq=False)
class SupportVectorMachine(MachineWithC):
    """What the two machines share.

    Parameters
    ----------
    C : float
        Weight of the loss against half the squared norm.
    bias : bool
        Whether an unpenalised constant is part of the model.
    weights : array of shape (n,), optional
        Sample weights v; a point of weight 0 takes no part in the fit, but has an output.
    """

    C: float = 1.0
    bias: bool = True
    weights: Vector | None = None

    loss: ClassVar[MarginLoss]
    # A larger C makes fits to noisy labels slow, and changes little: where classes are separable hardly any row has a loss.
    scaled_C_range: ClassVar[tuple[float, float]] = (1e-5, 1e4)
    # Few rows are on the margin, so that a fit consists of many small systems.
    threaded_min_rows: ClassVar[int] = 350

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.weights is not None and not np.all(np.asarray(self.weights) >= 0):
            raise ValueError("weights must not be negative.")

    @property
    def fits_by_cells(self) -> bool:
        """Whether the machine can be fitted cell by cell; see :mod:`foldless.tuning.cellwise`."""
        return True

    def n_separate_fits(self, columns: int) -> int:
        """Return the number of columns: each is fitted by itself."""
        return columns

    def solve(self, gram: Gram, Y: Matrix, start: list[Sets] | None = None) -> "SupportSolutions":
        """Fit one problem per column of ``Y``.

        Parameters
        ----------
        gram : Gram
        Y : array of shape (n, k)
            Entries -1 and 1.
        start : list of k arrays, optional
            Active sets of a similar problem: its ``solution.start``.
        """
        if start is None:
            _refuse_indefinite(gram)
        starts = [None] * Y.shape[1] if start is None else start
        C = self.C * row_weights(self, gram.n)
        columns = zip(Y.T, starts, strict=True)
        tasks = [partial(self._fit, gram, _checked_labels(y, C), C, s) for y, s in columns]
        return SupportSolutions(tuple(side_by_side(tasks)))

    def unsolved(self, gram: Gram, Y: Matrix) -> "ColumnwiseSolutions[SupportProblem]":
        """Return the problems that ``solve`` would solve."""
        _refuse_indefinite(gram)
        C = self.C * row_weights(self, gram.n)
        return ColumnwiseSolutions(tuple(SupportProblem(gram, self, _checked_labels(y, C), C) for y in Y.T))

    @abstractmethod
    def _fit(self, gram: Gram, y: Vector, C: Vector, start: Sets | None) -> "SupportSolution":
        """Return the solution for labels y and weights ``C_i``."""


@dataclass(frozen=True, eq=False)
class HingeSVM(SupportVectorMachine):
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

    loss: ClassVar[MarginLoss] = Hinge()
    # Exact leave-one-out refits the machine; the span does not.
    default_loo_criterion: ClassVar[str] = "span"

    def _fit(self, gram: Gram, y: Vector, C: Vector, start: Sets | None) -> "SVMSolution":
        qp = BoxQP(range_gram(gram, float(np.max(C))), y, C, np.zeros(gram.n), self.bias)
        try:
            found, jitter = solve_box(qp, start), 0.0
        except NotPositiveDefinite:
            found, jitter = _solve_singular(qp, start)
        return SVMSolution(gram, self, y, C, *found, np.full(gram.n, jitter))


def _solve_with_jitter(merged: MergedRows, jitter: float, start: Sets | None) -> tuple[BoxSolution, float]:
    """Return the solution with a jitter, a larger one where rounding keeps the active sets from ending, and that jitter."""
    for _ in range(MAX_JITTER_GROWTHS):
        try:
            return merged.solve(jitter, start), jitter
        except Undefined:
            jitter *= JITTER_GROWTH
    return merged.solve(jitter, start), jitter


def _solve_singular(qp: BoxQP, start: Sets | None) -> tuple[BoxSolution, float]:
    """Return the solution where blocks of K are singular, and the jitter that makes the one of the free set regular.

    Equal points are merged, which changes nothing. If that is not enough, the jitter becomes part of the problem.
    """
    merged, jitter = MergedRows.of(qp), JITTER * float(np.mean(qp.gram.diag()))
    try:
        found = merged.solve(0.0, start)
    except NotPositiveDefinite:
        found, jitter = _solve_with_jitter(merged, jitter, start)
        try:
            confirmed = merged.confirmed(found.sets, CONFIRM_ITERATIONS)
        except NotPositiveDefinite:
            confirmed = None
        if confirmed is None:
            warnings.warn(JitterWarning(JITTER), stacklevel=3)
            return found, jitter
        found = confirmed
    if not merged.has_free_copies(found.sets):
        return found, 0.0
    warnings.warn(JitterWarning(JITTER), stacklevel=3)
    return found, jitter


@dataclass(frozen=True, eq=False)
class SquaredHingeSVM(SupportVectorMachine):
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

    loss: ClassVar[MarginLoss] = SquaredHinge()

    @property
    def smooth_loss(self) -> tuple[SmoothSquaredHinge, float]:
        """The squared hinge as a function of the output, and C."""
        return SmoothSquaredHinge(), self.C

    default_loo_criterion: ClassVar[str] = "smoothed-span"

    def _fit(self, gram: Gram, y: Vector, C: Vector, start: Sets | None) -> "SquaredHingeSolution":
        active = C > 0
        ridge = np.divide(1, C, out=np.ones(gram.n), where=active)
        stable = range_gram(gram, float(np.max(C)))
        found = solve_box(BoxQP(stable, y, np.where(active, np.inf, 0.0), ridge, self.bias), start)
        return SquaredHingeSolution(gram, self, y, C, *found, ridge)


def _checked_labels(y: Vector, C: Vector) -> Vector:
    """Return labels after checking that rows of both classes have a weight ``C_i``."""
    if len(np.unique(y[C > 0])) != 2 or not np.all(np.abs(y) == 1):
        raise Undefined("a support vector machine needs points of both classes, labelled -1 and 1.")
    return np.asarray(y, float)


def _refuse_indefinite(gram: Gram) -> None:
    if not np.sum(gram.diag()) > 0:
        raise NotPositiveDefinite(
            "the Gram matrix", float(np.min(gram.diag())), "Its diagonal must be positive."
        )
    if isinstance(gram, DenseGram) and not gram.semidefinite:
        check_semidefinite(gram.K, "the Gram matrix")


@dataclass(frozen=True, eq=False)
class SupportProblem:
    """One problem, not solved.

    Attributes
    ----------
    C : array of shape (n,)
        Weights of the points, ``C_i = C v_i``.
    """

    gram: Gram
    machine: SupportVectorMachine
    y: Vector
    C: Vector

    @property
    def n(self) -> int:
        """Number of points."""
        return len(self.y)

    @property
    def row_shares(self) -> Vector:
        """Share (n,) of each point in a mean over points: ``1 / n``, or in proportion to the weights."""
        return self.C / self.C.sum()

    @property
    def bias(self) -> bool:
        """Whether the bias is free."""
        return self.machine.bias

    @property
    def loss(self) -> MarginLoss:
        """The loss object."""
        return self.machine.loss

    @property
    def start(self) -> Sets | None:
        """Warm start for a similar problem; there is none before a solution."""
        return None


@dataclass(frozen=True, eq=False)
class SupportSolution(SupportProblem):
    """One fitted problem.

    Attributes
    ----------
    alpha : array of shape (n,)
        Dual variables, not negative.
    b : float
        The bias; 0 without one. If no point is free, it is the middle of the interval of optimal biases.
    sets : array of shape (n,)
        -1 lower, 0 free, 1 upper.
    ridge : array of shape (n,)
        Added to the diagonal of K: ``1 / C`` (p = 2), 0 or a jitter (p = 1).
    """

    alpha: Vector
    b: float
    sets: Sets
    ridge: Vector

    @property
    def start(self) -> Sets:
        """Active sets, for a warm start."""
        return self.sets

    @cached_property
    def beta(self) -> Vector:
        """Signed coefficients: ``f = K beta``."""
        return self.y * self.alpha

    @cached_property
    def f(self) -> Vector:
        """Outputs without the bias and without the ridge."""
        return self.gram.matmul(self.beta)

    @property
    def theta(self) -> Vector:
        """Outputs as the dual coefficients give them, bias included."""
        return self.f + self.b

    @cached_property
    def outputs(self) -> Vector:
        """Outputs of the function at the rows, bias included (n,).

        They are K beta + b, unless C is so large that this cancels: then they are corrected by the margins of the free
        points, which are known without cancellation.
        """
        z, known = self.theta, (self.y * self.s)[self.free]
        error = np.max(np.abs(z[self.free] - known), initial=0.0)
        if error <= MAX_OUTPUT_ERROR * np.max(np.abs(z)):
            return z
        corrected = corrected_outputs(self.gram, self.beta, self.free, known, self.bias)
        return z if corrected is None else corrected

    @property
    def jitter(self) -> float:
        """The part of the ridge that belongs to the kernel."""
        return 0.0

    @cached_property
    def s(self) -> Vector:
        """Margins ``y theta``; exactly 1 on the margin."""
        return self.y * self.theta

    @cached_property
    def free(self) -> NDArray[np.intp]:
        """Indices of the free set."""
        return np.flatnonzero(self.sets == FREE)

    @cached_property
    def upper(self) -> NDArray[np.intp]:
        """Indices at their upper bound."""
        return np.flatnonzero(self.sets == UPPER)

    @cached_property
    def support(self) -> NDArray[np.intp]:
        """Indices with alpha > 0."""
        return np.flatnonzero(self.sets != LOWER)

    @cached_property
    def losses(self) -> float:
        """Sum of the losses weighted by C."""
        return float(self.C @ self.loss.value(self.s))

    @cached_property
    def F(self) -> float:
        """The optimal value of problem (1)."""
        return float(self.alpha @ (self.s - self.y * self.b)) / 2 + self.losses

    @cached_property
    def qp(self) -> BoxQP:
        """The dual problem."""
        upper = self.C if self.loss.power == 1 else np.where(self.C > 0, np.inf, 0.0)
        return BoxQP(self.gram, self.y, upper, self.ridge, self.bias)

    @cached_property
    def block(self) -> Block:
        """The bordered matrix of the free set."""
        return self.qp.block(self.free)

    @property
    def precision(self) -> Vector:
        """A change of ``K_ii`` moves the margin of point i by this times the change."""
        return self.alpha


@dataclass(frozen=True, eq=False)
class SVMSolution(SupportSolution):
    """A fit with the hinge loss; ``free`` are the marginal and ``upper`` the bounded support vectors."""

    @property
    def jitter(self) -> float:
        """The ridge, which is a jitter of the kernel here."""
        return float(self.ridge[0])

    @cached_property
    def s(self) -> Vector:
        """Margins ``y theta``; exactly 1 on the margin."""
        s = self.y * self.theta
        s[self.free] = 1.0
        return s


@dataclass(frozen=True, eq=False)
class SquaredHingeSolution(SupportSolution):
    """A fit with the squared hinge loss; ``free`` is the active set ``s < 1``."""

    @property
    def precision(self) -> Vector:
        """Curvature of the loss: C on the active set."""
        return np.where(self.sets == FREE, self.C, 0.0)

    @cached_property
    def s(self) -> Vector:
        r"""Margins ``y theta``; :math:`1 - \alpha_i / C_i` on the active set."""
        s = self.y * self.theta
        s[self.free] = 1 - self.alpha[self.free] / self.C[self.free]
        return s


@dataclass(frozen=True, eq=False)
class SupportSolutions(ColumnwiseSolutions[SupportSolution]):
    """One solution per column of the targets; warm starts are their active sets."""

    @property
    def alpha(self) -> Matrix:
        """Signed coefficients (n, k): ``f = K alpha``."""
        return np.column_stack([s.beta for s in self.columns])

    @property
    def precision(self) -> Vector:
        """A change of ``K_ii`` moves a margin of point i by at most this times the change."""
        return np.max([s.precision for s in self.columns], axis=0)
