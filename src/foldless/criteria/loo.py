r"""Leave-one-out without refitting.

References
----------
.. [1] Cawley and Talbot, *Efficient approximate leave-one-out cross-validation for kernel logistic regression*,
   equation (20).
.. [2] Cawley, *Leave-one-out cross-validation based model selection criteria for weighted LS-SVMs* (2006).
"""

from dataclasses import dataclass, replace
from functools import partial, singledispatch
from typing import Any, ClassVar, Self, cast

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_softmax, softmax

from foldless.core.contracts import Adjoint, Machine, Matrix, Reading, Vector
from foldless.core.errors import Undefined
from foldless.core.parallel import side_by_side
from foldless.core.targets import error_fraction, is_pm1, weighted_mean
from foldless.criteria.base import Criterion, reads
from foldless.criteria.derivatives.lssvm import total_derivative_from_left_out
from foldless.criteria.derivatives.refits import Refits
from foldless.criteria.derivatives.second_steps import one_step_outputs, second_step_changes
from foldless.criteria.derivatives.smooth import CovarianceAdjoint, differentiate
from foldless.criteria.derivatives.softmax import differentiate_blocks, third_derivative_term
from foldless.criteria.derivatives.svm import refit_margins, span_margins
from foldless.machines.columnwise import ColumnwiseSolutions
from foldless.machines.least_squares.sensitivity import Sensitivity
from foldless.machines.least_squares.solution import LinearSolution
from foldless.machines.lssvm import LSSVMSolution
from foldless.machines.smooth import SmoothMachine, SmoothSolution
from foldless.machines.softmax import SoftmaxSolution
from foldless.machines.svm import SquaredHingeSolution, SupportSolution, SupportSolutions, SVMSolution

# The one-step formula holds if refits of the doubtful rows change the value by no more than this fraction;
# what other rows add is far below 1 %.
MAX_FORMULA_ERROR = 0.04
# It errs by less if second steps change the loss of all rows by no more than this fraction: further steps are smaller.
MAX_SECOND_STEPS = 0.02
# A row is refitted if a second step would change its loss by more than this fraction of the loss of all rows.
DOUBTFUL_FRACTION = 1e-3
# Rows up to which the formula is checked: a search on more rows runs on blocks of them.
CHECK_MAX_ROWS = 1200


@dataclass(frozen=True)
class LOO(Criterion):
    r"""Leave-one-out loss per row.

    The values are means, or for smooth and softmax machines sums divided by the total weight: nats per row for a log
    likelihood, squared units of y for least squares, the fraction of errors for support vector machines.

    *Smooth machines*: one Newton step of the problem without point i, started at the full solution,

    .. math:: \sum_i v_i \ell(y_i, u_i), \qquad u_i = z_i - \frac{a_i V_{ii}}{1 - w_i V_{ii}}.  \tag{1}

    A point that stands for f equal rows loses one of them: :math:`a_i` and :math:`w_i` in (1) are then multiplied by
    :math:`\varphi_i = 1/f_i`. With :math:`k_i = 1 - \varphi_i w_i V_{ii}`, :math:`g_i = v_i \ell'(y_i, u_i)` and
    :math:`e_i = -g_i \varphi_i a_i / k_i^2`,

    .. math:: \Phi_z = g / k + w' \circ \varphi \circ e \circ V_{ii}^2, \qquad \Phi_V = \operatorname{diag}(e).  \tag{2}

    One step is too short where the other points react strongly, as they do where C is large and few points carry the fit:
    the formula can then be a tenth of the truth. A search therefore checks the point it found: the points for which a
    second step would matter are refitted, and if that changes the value by more than 4 %, the search goes on with these
    points refitted everywhere (``refit_rows``), derivatives included; see :mod:`foldless.criteria.derivatives.refits`. The
    parts ``max_leverage`` (of :math:`\varphi_i w_i V_{ii}`) and ``refitted_rows`` are reported.

    *LS-SVM*: exact, with the residuals :math:`r_i = \alpha_i / d_i`, :math:`d = \operatorname{diag}\tilde A` of the
    machines that did not see the point (averaged over the columns of a multi-class problem),

    .. math::
        \frac1n \sum_i r_i^2, \qquad \frac{d}{dK} = \frac1n \Bigl[ 2 \tilde A \operatorname{diag}(r^2 / d) \tilde A
        - (\tilde A (r/d)) \alpha' - \alpha (\tilde A (r/d))' \Bigr].  \tag{3}

    The fraction of leave-one-out errors is among the parts; it has no derivative.

    *Support vector machines*: the fraction of points misclassified when left out; by refits of the points that may
    be (hinge), by the span, exact while the active set stays the same (squared hinge). With several columns a point
    counts as an error when another class has the largest output left out. Points with weights count by them. No
    derivative.

    *Softmax machines*: (1) with blocks, one Newton step without the point,

    .. math:: u_i = z_i - T_i \varphi_i a_i, \qquad T_i = N_i V_{ii}, \qquad
              N_i = (I - \varphi_i V_{ii} W_i)^{-1},  \tag{4}

    .. math::
        \Phi_{z,i} = N_i' g_i - \varphi_i^2 \langle T^{(3)}_i, (T_i g_i)(T_i a_i)' \rangle, \qquad
        \Phi_{V,i} = -\tfrac{\varphi_i}2 \bigl[ (N_i'g_i)(N_i'a_i)' + (N_i'a_i)(N_i'g_i)' \bigr].  \tag{5}

    *Linear smoothers* (ridge, subset; weights :math:`v`, mean over outputs): exact,

    .. math:: \sum_i v_i r_i^2 \Big/ \sum_i v_i, \qquad \sqrt{v_i}\, r_i = \rho_i / R_{ii},  \tag{6}

    for the penalty K the residual of retraining without point i; for other penalties and for subsets the basis
    function of point i is kept; of a point that stands for f equal rows one is left out, and :math:`R_{ii}` is
    :math:`1 - H_{ii}/f`. With whitened :math:`r` and :math:`w_i = r_i / R_{ii}` the sensitivity is

    .. math:: M = \bigl[ -(w y' + y w') + 2 \operatorname{diag}(r_i^2 / R_{ii}) \bigr] \Big/ \sum_i v_i.  \tag{7}

    Parameters
    ----------
    refit_rows : tuple of int, or of tuples of int, default=()
        Rows of a smooth machine that are left out by fitting without them instead of (1): the same for all columns of the
        targets, or those of every column. The numbers belong to one set of rows; :meth:`corrected` finds them.
    """

    refit_rows: tuple[int, ...] | tuple[tuple[int, ...], ...] = ()

    name: ClassVar[str] = "loo"
    title: ClassVar[str] = "Leave-one-out loss"
    unit: ClassVar[str] = "loss per row"

    def of_column(self, i: int) -> Self:
        """Return the criterion with the rows that are refitted for one column."""
        rows = self.refit_rows
        return replace(self, refit_rows=rows[i]) if rows and isinstance(rows[0], tuple) else self

    def approximates(self, machine: Machine) -> bool:
        """Return True for smooth machines: leaving a point out is one Newton step."""
        return isinstance(machine, SmoothMachine)

    def corrected(self, solution: Any) -> Self:
        """Return the criterion with more points refitted if (1) errs by more than 4 % at a solution; else itself."""
        columns = solution.columns if isinstance(solution, ColumnwiseSolutions) else (solution,)
        if not all(isinstance(column, SmoothSolution) for column in columns):
            return replace(self, refit_rows=())
        if solution.gram.n > CHECK_MAX_ROWS:
            return self
        of_columns = side_by_side([partial(_second_step_changes, column) for column in columns])
        changes, totals = zip(*of_columns, strict=True)
        total = sum(totals)
        if sum(float(np.sum(change)) for change in changes) <= MAX_SECOND_STEPS * total:
            return self
        # Equal rows are doubtful or not one by one.
        doubtful = [
            np.flatnonzero(~(change * column.fraction_of_one_row <= DOUBTFUL_FRACTION * total))
            for change, column in zip(changes, columns, strict=True)
        ]
        found = [
            np.union1d(rows, self.of_column(i).refit_rows).astype(int) for i, rows in enumerate(doubtful)
        ]
        by_column = tuple(tuple(rows.tolist()) for rows in found)
        refitting = replace(self, refit_rows=by_column if len(columns) > 1 else by_column[0])
        if refitting == self:
            return self
        before, after = self(solution).value, refitting(solution).value
        return refitting if abs(after - before) > MAX_FORMULA_ERROR * abs(after) else self

    @reads(SmoothSolution)
    def _read_smooth(self, solution: SmoothSolution) -> Reading:
        loss, y, v = solution.machine.loss, solution.y, solution.v
        a, V, k, phi = solution.a, solution.V, solution.one_minus_leverage, solution.fraction_of_one_row
        refits = Refits.of(solution, cast(tuple[int, ...], self.refit_rows))
        u = loo_outputs(solution)
        u[refits.rows] = refits.outputs
        value = float(v @ loss.value(y, u))

        def derive() -> tuple[Adjoint, Vector]:  # eq. (2)
            g = v * loss.derivatives(y, u)[0]
            by_refit, g[refits.rows] = g[refits.rows], 0.0
            e = -g * phi * a / k**2
            G, slope = differentiate(solution, g / k + solution.dw * phi * e * V**2, CovarianceAdjoint(e))
            return refits.add_derivatives(by_refit, G, slope)

        parts = {"max_leverage": float(1 - np.min(k)), "refitted_rows": float(len(refits.rows))}
        return Reading.lazy(value, derive, solution.wrong("loo_error", u) | parts, v.sum())

    @reads(LSSVMSolution)
    def _read_lssvm(self, solution: LSSVMSolution) -> Reading:
        row_counts = solution.row_counts
        if np.min(solution.one_minus_leverage) <= solution.gram.n * np.finfo(float).eps:
            raise Undefined("leave-one-out does not exist: a point fixes its own output. Lower C.")
        r = solution.loo_residuals
        count = row_counts * solution.costs
        size = count.sum() * r.shape[1]
        value = float(count @ np.sum(r**2, axis=1) / size)

        def derive() -> tuple[Adjoint, Vector]:
            return total_derivative_from_left_out(solution, 2 / size * count[:, None] * r)  # eq. (3)

        parts = {}
        if is_pm1(solution.Y):
            parts["loo_error"] = error_fraction(solution.Y, solution.loo_outputs, row_counts)
        return Reading.lazy(value, derive, parts)

    @reads(LinearSolution)
    def _read_linear(self, solution: LinearSolution) -> Reading:
        r, R_ii, phi = solution.loo_residuals, solution.one_minus_leverage, solution.fraction_of_one_row
        size = solution.total_weight * solution.Y.shape[1]

        def slope() -> Vector:
            d_residuals = solution.smoother.residual_slope(solution.targets)
            d_diag = phi * solution.smoother.diag_slope()
            per_row = ((r * d_residuals).sum(1) - (r**2).sum(1) * d_diag) / R_ii
            return solution.slope_along_alpha(2 * per_row.sum() / size)

        def adjoint() -> Adjoint:  # eq. (7)
            diag = 2 * phi * (r**2).sum(1) / R_ii / size
            return solution.adjoint(Sensitivity(diag, P=-r / R_ii[:, None] / size, Q=solution.targets.Y))

        return Reading(solution.press(), adjoint, slope, {"df": solution.df})

    @reads(SVMSolution)
    def _read_hinge(self, solution: SVMSolution) -> Reading:
        rows = solution.support
        if not solution.bias:
            # The left-out margin is at least s_i - alpha_i K_ii, so that most points need no refit.
            may_be_wrong = (solution.alpha > 0) & (solution.s <= solution.alpha * solution.gram.diag())
            rows = np.flatnonzero(may_be_wrong)
        return _error_reading(solution, refit_margins(solution, rows) <= 0)

    @reads(SoftmaxSolution)
    def _read_softmax(self, solution: SoftmaxSolution) -> Reading:
        removal = _SoftmaxRemoval(solution)
        value = float(-solution.v @ np.sum(solution.T * log_softmax(removal.u, axis=1), axis=1))
        error = float(solution.v @ _misses(solution.T, removal.u) / solution.v.sum())
        return Reading.lazy(value, removal.derive, {"loo_error": error}, solution.v.sum())

    @reads(SquaredHingeSolution)
    def _read_squared_hinge(self, solution: SquaredHingeSolution) -> Reading:
        return _error_reading(solution, span_margins(solution) <= 0)

    @reads(SupportSolutions)
    def _read_support(self, solution: SupportSolutions) -> Reading:
        if len(solution.columns) == 1:
            return self.read(solution.columns[0])
        outputs = np.column_stack([loo_outputs(column) for column in solution.columns])
        value = error_fraction(solution.Y, outputs, solution.columns[0].C)
        return Reading(value, parts={"loo_error": value})


def _second_step_changes(column: SmoothSolution) -> tuple[Vector, float]:
    """Return what second steps change, with the factor that the column is read from."""
    with column.holding_factor():
        return second_step_changes(column)


def _error_reading(solution: SupportSolution, wrong: NDArray[np.bool_]) -> Reading:
    value = weighted_mean(wrong, solution.C)
    return Reading(value, parts={"loo_error": value})


@singledispatch
def loo_outputs(solution: Any) -> Vector | Matrix:
    """Return the output at every point of the machine that did not see it.

    Parameters
    ----------
    solution : Solution
        A single column, except for machines that fit all columns together.
    """
    raise TypeError(f"no leave-one-out outputs for {type(solution).__name__}.")


@loo_outputs.register
def _(solution: SVMSolution) -> Vector:
    return solution.y * refit_margins(solution)


@loo_outputs.register
def _(solution: SquaredHingeSolution) -> Vector:
    return solution.y * span_margins(solution)


@loo_outputs.register
def _(solution: LSSVMSolution) -> Matrix:
    return solution.loo_outputs


@loo_outputs.register
def _(solution: SmoothSolution) -> Vector:
    return one_step_outputs(solution)  # eq. (1)


@loo_outputs.register
def _(solution: SoftmaxSolution) -> Matrix:
    return _SoftmaxRemoval(solution).u


class _SoftmaxRemoval:
    """One Newton step without each point of a softmax machine; eq. (4)."""

    def __init__(self, solution: SoftmaxSolution) -> None:
        self.solution, space, state = solution, solution.space, solution.state
        self.a = solution.fraction_of_one_row[:, None] * state.a
        VW = np.matmul(solution.V, solution.fraction_of_one_row[:, None, None] * state.W)
        self.N = np.linalg.inv(np.eye(VW.shape[1]) - VW)
        self.T = np.matmul(self.N, solution.V)
        self.Ta = np.einsum("nab,nb->na", self.T, self.a)
        self.u = solution.z - self.Ta @ space.Q.T

    def derive(self) -> tuple[Adjoint, Vector]:
        """Return adjoint and slope; eq. (5)."""
        s = self.solution
        g = s.v[:, None] * (softmax(self.u, axis=1) - s.T) @ s.space.Q
        Ng, Na = (np.einsum("nba,nb->na", self.N, x) for x in (g, self.a))
        Tg = np.einsum("nab,nb->na", self.T, g)
        E = -(Ng[:, :, None] * Na[:, None, :] + Na[:, :, None] * Ng[:, None, :]) / 2
        S = (Tg[:, :, None] * self.Ta[:, None, :] + self.Ta[:, :, None] * Tg[:, None, :]) / 2
        phi_z = Ng - s.fraction_of_one_row[:, None] * third_derivative_term(s, S)
        return differentiate_blocks(s, phi_z, E)


def _misses(T: Matrix, u: Matrix) -> NDArray[np.bool_]:
    """Return which points have an output for another class that is at least that for their own."""
    return np.max(np.where(T == 1, -np.inf, u), axis=1) >= np.sum(T * u, axis=1)
