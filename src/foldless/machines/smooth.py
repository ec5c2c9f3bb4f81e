r"""Kernel machines with a smooth convex loss: kernel logistic regression and its relatives.

.. math:: \min_{f, b}\; \tfrac12 \|f\|^2 + C \sum_i v_i\, \ell(y_i, f(x_i) + b)  \tag{1}

with the bias ``b`` unpenalised (or absent) and sample weights ``v``. Write :math:`A = C K`,
:math:`a = -v \circ \ell'`, :math:`w = v \circ \ell''`. At the solution :math:`z = A a + b 1` and, with a
bias, :math:`1'a = 0`. One Newton step, in :mod:`foldless.machines.newton`, is

.. math:: z^{+} = V (W z + a), \qquad \beta^{+} = W (z - z^{+}) + a, \qquad V = (A^{-1} + W)^{-1},  \tag{2}

(V the bias-included limit where there is one), so that :math:`z^+ = A \beta^+ + b^+ 1`. From a point with
:math:`z = A \beta + b 1` the same step with the V and W of an earlier point is

.. math:: z^{+} = z + V (a - \beta), \qquad \beta^{+} = \beta + (a - \beta) - W (z^{+} - z).  \tag{3}

The objective is :math:`\tfrac12 \beta' A \beta + \sum_i v_i \ell`.

References
----------
.. [1] Cawley and Talbot, *Efficient approximate leave-one-out cross-validation for kernel logistic
   regression*, (2)-(14).
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import ClassVar, NamedTuple, Self

import numpy as np

from foldless.core.conjugate_gradients import solve_near
from foldless.core.freed_memory import KEPT_BYTES
from foldless.core.gram import Factor, Gram, Matrix, Rows, Vector
from foldless.core.linalg import TILED_MIN_ROWS
from foldless.core.memo import cached_property
from foldless.core.parallel import side_by_side
from foldless.grams import DenseGram
from foldless.grams.dense import DenseFactor
from foldless.machines.base import MachineWithC, fraction_of_one_row, row_weights
from foldless.machines.coefficients import range_gram
from foldless.machines.columnwise import ColumnwiseSolutions
from foldless.machines.large_fits import LargeFits
from foldless.machines.losses.protocols import SmoothLoss
from foldless.machines.newton import FINAL_DECREMENT, SEARCH_CHORD_DECREMENT, SEARCH_DECREMENT, minimise
from foldless.machines.step_plane import best_in_plane

# Outputs are foretold for changes of log C up to this one.
MAX_LOG_C_CHANGE = 3.0
# A factorisation takes as long as so many products with the covariance for every row; with fewer than the least nothing is gained.
CONJUGATE_STEPS_PER_ROW, MIN_CONJUGATE_STEPS = 1 / 150, 6
# What conjugate gradients leave of the decrement of a Newton step: this fraction, or the decrement itself if that is less.
CONJUGATE_ERROR = 0.01
# Rows from which on the plane of a step is searched.
PLANE_MIN_ROWS = 300
# Rows from which on fits are large ones, and columns from which on steps for all of them together are cheaper than steps for each.
LARGE_MIN_ROWS, TOGETHER_MIN_COLUMNS = 600, 3


@dataclass(frozen=True, eq=False)
class SmoothMachine(MachineWithC):
    """Kernel machine with a smooth loss.

    Parameters
    ----------
    loss : SmoothLoss
        One of ``foldless.machines.losses``, or your own.
    C : float, default=1.0
        Weight of the loss against half the squared norm.
    bias : bool, default=True
        Whether an unpenalised constant is part of the model.
    weights : array of shape (n,), optional
        Weights of the losses of the rows; by default 1.
    row_counts : array of shape (n,), optional
        Number of equal rows that each row stands for; by default 1. They are part of ``weights`` already. A
        leave-one-out criterion leaves out one of the equal rows, not all.
    decrement : float, default=1e-20
        Stop when the Newton decrement falls below this, per row; a row of weight 2 counts twice.
    """

    loss_in_nats: ClassVar[bool] = True

    loss: SmoothLoss
    C: float = 1.0
    bias: bool = True
    weights: Vector | None = None
    row_counts: Vector | None = None
    decrement: float = FINAL_DECREMENT

    @property
    def with_search_accuracy(self) -> Self:
        """The machine at the lower accuracy that suffices while searching."""
        return replace(self, decrement=max(self.decrement, SEARCH_DECREMENT))

    @property
    def is_for_search(self) -> bool:
        """Whether the accuracy is that of a search."""
        return self.decrement >= SEARCH_DECREMENT

    @property
    def fits_columns_together(self) -> bool:
        """Whether large fits to several columns take steps for all of them: for labels."""
        return self.loss.labels

    @property
    def fits_by_cells(self) -> bool:
        """Whether the machine can be fitted cell by cell; see :mod:`foldless.tuning.cellwise`."""
        return True

    @property
    def smooth_loss(self) -> tuple[SmoothLoss, float]:
        """The loss, and C."""
        return self.loss, self.C

    def one_class_output(self, n: int) -> float:
        """Return the log-odds of a class that was seen n times and never contradicted, by Laplace's rule."""
        return float(np.log(n + 1))

    def n_separate_fits(self, columns: int) -> int:
        """Return the number of columns: each is fitted by itself."""
        return columns

    def solve(self, gram: Gram, Y: Matrix, start: list["WarmStart"] | None = None) -> "SmoothSolutions":
        """Fit one problem per column of ``Y``.

        Parameters
        ----------
        gram : Gram
        Y : array of shape (n, k)
        start : list of k WarmStart, optional
            Earlier outputs: ``solution.start`` of a similar problem.
        """
        self.loss.check(Y)
        starts = [None] * Y.shape[1] if start is None else start
        tasks = [
            partial(self._column, gram, y, start)
            if z is None
            else partial(SmoothSolution, gram, self, y, row_weights(self, gram.n), z, 0)
            for y, start, z in zip(Y.T, starts, self._large_fits(gram, Y, starts), strict=True)
        ]
        columns = side_by_side(tasks)
        # Searches read gradients from the factors of their small blocks.
        n_kept = 0 if self.is_for_search and gram.n < TILED_MIN_ROWS else len(columns)
        if n_kept > 1 and gram.dense and 2 * n_kept * 8 * gram.n**2 > KEPT_BYTES:
            columns = [replace(column, keeps_factor=False) for column in columns]
        return SmoothSolutions(tuple(columns))

    def _large_fits(
        self, gram: Gram, Y: Matrix, starts: Sequence["WarmStart | None"]
    ) -> Sequence[Vector | None]:
        """Return the outputs of the columns that are found as large fits, and None for the others.

        Many columns share one model, few have one each.
        """
        nothing, k = [None] * Y.shape[1], Y.shape[1]
        shares = k >= TOGETHER_MIN_COLUMNS
        fits = self.fits_columns_together and (shares or not self.is_for_search)
        if not (fits and gram.n >= LARGE_MIN_ROWS and isinstance(gram, DenseGram)):
            return nothing
        v = row_weights(self, gram.n)
        constants = np.array([self._best_constant(y, v) for y in Y.T])
        large = LargeFits(gram, self.loss, self.C, self.bias, v, self.decrement * float(v.sum()))
        if shares:
            return large.outputs(Y, constants)
        outputs = [None if start is None else start.outputs(self.C) for start in starts]
        tasks = [partial(large.outputs, Y[:, i : i + 1], constants[i : i + 1], outputs[i]) for i in range(k)]
        return [z for found in side_by_side(tasks) for z in found]

    def joined_start(
        self, starts: Sequence[list["WarmStart"]], rows: Sequence[Rows], n: int
    ) -> list["WarmStart"] | None:
        """Return the outputs of all rows if every row belongs to a part."""
        if len(np.unique(np.concatenate(rows))) < n:
            return None
        return [WarmStart.joined(parts, rows, n) for parts in zip(*starts, strict=True)]

    def _column(self, gram: Gram, y: Vector, start: "WarmStart | None") -> "SmoothSolution":
        v = row_weights(self, gram.n)
        curvature = v * self.loss.derivatives(y, np.full(gram.n, self._best_constant(y, v)))[1]
        stable = range_gram(gram, self.C * float(np.max(curvature)))
        problem = _Problem(stable, self, y, v)
        (_, z), n_iterations = minimise(
            problem.best_constant(),
            self.decrement * float(v.sum()),
            f"C = {self.C:.3g}",
            None if start is None else problem.with_outputs(start.outputs(self.C)),
            SEARCH_CHORD_DECREMENT * float(v.sum()) if self.is_for_search else None,
        )
        return SmoothSolution(gram, self, y, v, z, n_iterations)

    def _best_constant(self, y: Vector, v: Vector) -> float:
        return self.loss.start(y, v) if self.bias else 0.0


class WarmStart(NamedTuple):
    """The outputs of a fit, and how they change with C.

    Attributes
    ----------
    z : array of shape (n,)
    growth : array of shape (n,), default=0
        Derivative of z in the logarithm of C: V a.
    log_C : float
        Where the growth is known.
    """

    z: Vector
    growth: Vector | float = 0.0
    log_C: float = 0.0

    @classmethod
    def joined(cls, parts: Sequence["WarmStart"], rows: Sequence[Rows], n: int) -> "WarmStart":
        """Return the outputs of parts of the rows as those of all n rows."""
        z = np.zeros(n)
        for part, own in zip(parts, rows, strict=True):
            z[own] = part.z
        return cls(z)

    def outputs(self, C: float) -> Vector:
        """Return the outputs that are expected for another C."""
        change = float(np.clip(np.log(C) - self.log_C, -MAX_LOG_C_CHANGE, MAX_LOG_C_CHANGE))
        return self.z + change * self.growth


@dataclass(frozen=True, eq=False)
class _Problem:
    """One column of targets; a point is the array ``[beta, z]``, with ``z = A beta + b``."""

    gram: Gram
    machine: SmoothMachine
    y: Vector
    v: Vector

    def best_constant(self) -> "_State":
        """Return the state of the best constant."""
        return self.with_outputs(np.full(self.gram.n, self.machine._best_constant(self.y, self.v)))

    def with_outputs(self, z: Vector) -> "_State":
        """Return a state for given outputs; unless they are constant, no coefficients belong to them."""
        return _State(self, np.array([np.zeros_like(z), z]))


@dataclass(frozen=True, eq=False)
class _State:
    problem: _Problem
    point: Matrix

    def at(self, point: Matrix) -> "_State":
        """Return the state at another point."""
        return _State(self.problem, point)

    @property
    def z(self) -> Vector:
        """Outputs."""
        return self.point[1]

    @cached_property
    def _derivatives(self) -> tuple[Vector, Vector, Vector]:
        return self.problem.machine.loss.derivatives(self.problem.y, self.z)

    @cached_property
    def a(self) -> Vector:
        """Minus the first derivatives of the weighted losses."""
        return -self.problem.v * self._derivatives[0]

    @cached_property
    def w(self) -> Vector:
        """Second derivatives of the weighted losses."""
        return self.problem.v * self._derivatives[1]

    @property
    def is_curved(self) -> bool:
        """Whether any point has curvature."""
        return bool(self.w.any())

    @cached_property
    def value(self) -> float:
        """The objective."""
        p, (beta, z) = self.problem, self.point
        return float(beta @ z / 2 + p.v @ p.machine.loss.value(p.y, z))

    def newton_point(self) -> Matrix:
        """Return ``[beta, z]`` after the undamped step; eq. (2)."""
        r = self.w * self.z + self.a
        z = self._covariance(r)
        return np.array([r - self.w * z, z])

    def chord_point(self, other: "_State") -> Matrix:
        """Return ``[beta, z]`` after a step from another state with ``V`` and ``W`` of this one; eq. (3)."""
        r = other.a - other.point[0]
        # Cheap products lose digits that a search has no use for.
        covariance = self._cheap_covariance if self.problem.machine.is_for_search else self._covariance
        dz = covariance(r)
        return other.point + np.array([r - self.w * dz, dz])

    def conjugate_point(self, other: "_State") -> Matrix | None:
        """Return ``[beta, z]`` after a Newton step from another state, solved with the factors of this one; None if those do not help."""
        gram = self.problem.gram
        limit = int(CONJUGATE_STEPS_PER_ROW * gram.n) if gram.dense else 0
        if limit < MIN_CONJUGATE_STEPS:
            return None
        r, D = other.a - other.point[0], other.w - self.w
        rough = partial(np.minimum, CONJUGATE_ERROR)
        found = solve_near(self._cheap_covariance, D[:, None], r[:, None], rough, limit)
        dz, s = found.x[:, 0], found.s[:, 0]
        return other.point + np.array([s - self.w * dz, dz]) if found.is_solved[0] else None

    def plane_point(self, target: Matrix) -> Matrix | None:
        """Return ``[beta, z]`` of the best point in the plane of a step; None where a factorisation takes no longer than that."""
        if self.problem.gram.n < PLANE_MIN_ROWS:
            return None
        p, (beta, z), (dbeta, dz) = self.problem, self.point[:, :, None], (target - self.point)[:, :, None]
        found = best_in_plane(p.machine.loss, p.y[:, None], p.v[:, None], (z, beta), (dz, dbeta))
        return np.array([found[1][:, 0], found[0][:, 0]])

    def _covariance(self, r: Vector) -> Vector:
        return self.problem.machine.C * self._factor.covariance(r)

    def _cheap_covariance(self, R: Matrix) -> Matrix:
        factor = self._factor
        if isinstance(factor, DenseFactor) and factor.has_quick_covariance:
            return self.problem.machine.C * factor.quick_covariance(R)
        return self.problem.machine.C * factor.covariance(R)

    @cached_property
    def _factor(self) -> Factor:
        machine = self.problem.machine
        return self.problem.gram.factor(machine.C * self.w, machine.bias)

    def decrement(self, target: Matrix) -> float:
        """Return minus the gradient times the step to ``target``."""
        return float((self.a - self.point[0]) @ (target[1] - self.z))


@dataclass(frozen=True, eq=False)
class SmoothSolution:
    """One fitted problem.

    Attributes
    ----------
    v : array of shape (n,)
        Weights of the rows.
    z : array of shape (n,)
        Outputs, bias included.
    a, w, dw : arrays of shape (n,)
        Minus the first, the second and the third derivative of the weighted loss at ``z``.
    n_iterations : int
        Newton steps that were needed, without the first one of a warm start; none if the column was found as a large fit.
    keeps_factor : bool, default=True
        Whether the factor stays in memory after its diagonals were read. Those of many large columns would fill it, and fresh memory
        takes longer to come by than a factorisation.
    """

    gram: Gram
    machine: SmoothMachine
    y: Vector
    v: Vector
    z: Vector
    n_iterations: int
    keeps_factor: bool = True

    @property
    def Y(self) -> Matrix:
        """Targets as a column (n, 1)."""
        return self.y[:, None]

    @property
    def C(self) -> float:
        """Weight of the loss."""
        return self.machine.C

    @property
    def outputs(self) -> Vector:
        """Outputs of the rows, bias included (n,)."""
        return self.z

    @property
    def start(self) -> WarmStart:
        """Outputs and their growth, for a warm start."""
        return WarmStart(self.z, self.covariance(self.a), float(np.log(self.C)))

    @cached_property
    def _derivatives(self) -> tuple[Vector, Vector, Vector]:
        return self.machine.loss.derivatives(self.y, self.z)

    @cached_property
    def a(self) -> Vector:
        """Minus the first derivatives of the weighted losses."""
        return -self.v * self._derivatives[0]

    @cached_property
    def w(self) -> Vector:
        """Second derivatives of the weighted losses."""
        return self.v * self._derivatives[1]

    @cached_property
    def dw(self) -> Vector:
        """Third derivatives of the weighted losses."""
        return self.v * self._derivatives[2]

    @cached_property
    def factor(self) -> Factor:
        """Factor of ``I + S A S``; its covariance is ``V / C``."""
        return self.gram.factor(self.precision, self.machine.bias)

    @property
    def precision(self) -> Vector:
        """Weights of the rows against the prior: ``C w``."""
        return self.C * self.w

    @property
    def alpha(self) -> Vector:
        """Coefficients ``C a``: ``f = K alpha``."""
        return self.C * self.a

    @cached_property
    def b(self) -> float:
        """The bias."""
        return float(np.mean(self.z - self.gram.matmul(self.alpha))) if self.machine.bias else 0.0

    @cached_property
    def loss(self) -> float:
        """Sum of the weighted losses."""
        return float(self.v @ self.machine.loss.value(self.y, self.z))

    def wrong(self, name: str, u: Vector) -> dict[str, float]:
        """Return ``{name: fraction of rows (by weight) whose output in u has the wrong sign}``; empty for numbers."""
        return {name: float(self.v @ (self.y * u <= 0) / self.v.sum())} if self.machine.loss.labels else {}

    @cached_property
    def V(self) -> Vector:
        """Diagonal of the Laplace covariance of ``z``."""
        return self.C * self._diagonals[0]

    @cached_property
    def _diagonals(self) -> tuple[Vector, Vector]:
        """The diagonals of the factor's covariance, and of its inverse."""
        found = self.factor.covariance_diag(), self.factor.inverse_diag()
        self._release_factor()
        return found

    @contextmanager
    def holding_factor(self) -> Iterator[None]:
        """Keep the factor until the block ends, whatever becomes of it then."""
        self.__dict__["_is_held"] = True
        try:
            yield
        finally:
            self.__dict__["_is_held"] = False
            self._release_factor()

    def _release_factor(self) -> None:
        """Give the memory of the factor back, unless it is kept; it is made again when it is needed."""
        if not (self.keeps_factor or self.__dict__.get("_is_held")):
            self.__dict__.pop("factor", None)

    def covariance(self, M: Matrix) -> Matrix:
        """Return ``V M``."""
        return self.C * self.factor.covariance(M)

    def covariance_columns(self, rows: Rows) -> Matrix:
        """Return ``V[:, rows]``."""
        return self.C * self.factor.covariance_columns(rows)

    def repeated_covariance(self, M: Matrix) -> Matrix:
        """Return ``V M`` by a way that pays if there are many such products."""
        return self.C * self.factor.repeated_covariance(M)

    def with_bias_prior(self, scale: float) -> "SmoothSolution":
        """Return the fit whose bias has the prior N(0, scale^2), in units of z; itself if it has no bias."""
        if not self.machine.bias:
            return self
        if scale not in self._with_prior:
            gram = self.gram.shifted(scale**2 / self.C)
            machine = replace(self.machine, bias=False)
            self._with_prior[scale] = machine.solve(gram, self.Y, [WarmStart(self.z)]).columns[0]
        return self._with_prior[scale]

    @cached_property
    def _with_prior(self) -> dict[float, "SmoothSolution"]:
        return {}

    @cached_property
    def fraction_of_one_row(self) -> Vector:
        """The part of each point that is a single row: one over the number of equal rows it stands for."""
        return fraction_of_one_row(self.machine, self.gram.n)

    @cached_property
    def one_minus_leverage(self) -> Vector:
        """One minus the leverage ``w V_ii`` of a single row."""
        return self._diagonals[1] + (1 - self.fraction_of_one_row) * self.w * self.V


@dataclass(frozen=True, eq=False)
class SmoothSolutions(ColumnwiseSolutions[SmoothSolution]):
    """One :class:`SmoothSolution` per column of the targets; warm starts are their outputs."""

    @property
    def precision(self) -> Vector:
        """Weights of the rows against the prior, averaged over the columns."""
        return np.mean([s.precision for s in self.columns], axis=0)
