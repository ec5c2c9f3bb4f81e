r"""The n models without one row each, at new points: all of them from one solve, without refitting.

A fitted function is :math:`f(x) = k_x'\alpha + b`. The model without row i differs from it by

.. math:: f_{-i}(x) = f(x) - g_i(x)\, s_i, \qquad g(x) = G' k_x + g_0,  \tag{1}

with one matrix G for all rows (a :class:`Change`), so that a new point costs one product. Throughout, :math:`\varphi_i` is
the part of row i that is a single row (one over the number of equal rows it stands for), and with a free bias m are
weights with sum one and :math:`c = k_x - K m`.

*Least squares* (ridge, LS-SVM, subset; exact). The fit is linear in the targets, :math:`f(x) = h(x)'y`, and leaving row i
out is giving it the target that the left-out model predicts. With its left-out residual :math:`r_i`,

.. math:: g = h(x) = B'c + m, \qquad s_i = \varphi_i r_i, \qquad \alpha = B y, \quad m_i = v_i / \textstyle\sum_j v_j;  \tag{2}

for ridge and LS-SVM :math:`B = \tilde A`, the (bordered) inverse of :math:`K + \lambda V^{-1}`. As for the residuals, the
basis function of row i is kept with other penalties and in subsets.

*Smooth losses* (logistic, Poisson; one Newton step). Without row i the gradient at the solution is
:math:`\varphi_i C a_i k_{x_i}` and the Hessian loses :math:`\varphi_i C w_i k_{x_i} k_{x_i}'`. By the formula of Sherman and
Morrison, with :math:`\omega = C w`, V the posterior covariance of the rows and :math:`m = \omega / \sum_j \omega_j`,

.. math:: g = V(x, \cdot) = C \bigl[(I - V\Omega / C)\, c + 1 / \textstyle\sum_j \omega_j\bigr], \qquad
          s_i = \frac{\varphi_i a_i}{1 - \varphi_i w_i V_{ii}}.  \tag{3}

*Softmax* (one Newton step). With the features :math:`\phi(x)` of the machine, contrasts Q and
:math:`N_i = (I - \varphi_i V_{ii} W_i)^{-1}`,

.. math:: f_{-i}(x) = f(x) - Q\,(\phi(x) \otimes I)' P^{-1} (\phi(x_i) \otimes N_i' \varphi_i a_i).  \tag{4}

*Support vector machines* (the span's step: the sets of all other rows stay). Let H be the matrix of the free rows F,
bordered if there is a bias, and :math:`\eta(x)` the weights with which outputs at F are continued to x,
:math:`H \eta + \mu 1 = k_{x,F}`, :math:`1'\eta = 1`. Then

.. math:: g_i = \eta_i(x), \quad s_i = \beta_i / (H^{-1})_{ii} \quad (i \in F), \qquad
          g_i = k(x, x_i) - k_{x,F}'\eta(x_i) - \mu(x_i), \quad s_i = \beta_i \quad (i \text{ at its bound}),  \tag{5}

and rows without a coefficient change nothing.

References
----------
.. [1] Barber, Candès, Ramdas and Tibshirani, *Predictive inference with the jackknife+*, Annals of Statistics 49 (2021).
.. [2] Cawley and Talbot, *Efficient approximate leave-one-out cross-validation for kernel logistic regression*, (20).
.. [3] Chapelle, Vapnik, Bousquet and Mukherjee, *Choosing multiple parameters for support vector machines* (2002).
"""

import warnings
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import singledispatch
from typing import Any

import numpy as np
from numpy.typing import NDArray

from foldless.core.contracts import Gram, Machine, Matrix, Vector
from foldless.core.errors import JitterWarning, Undefined
from foldless.machines.base import fraction_of_one_row, row_weights
from foldless.machines.columnwise import ColumnwiseSolutions
from foldless.machines.least_squares.solution import LinearSolution
from foldless.machines.lssvm import LSSVMSolution
from foldless.machines.smooth import SmoothSolution
from foldless.machines.softmax import SoftmaxSolution
from foldless.machines.svm import SquaredHingeSolution, SupportSolution, SupportSolutions, SVMSolution

Rows = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class Change:
    """How the outputs of some columns change when each row is left out; eq. (1).

    Attributes
    ----------
    directions : array of shape (q, n)
        G in coordinates of the q points whose kernel functions carry the fit.
    constants : array of shape (n,)
        The constants :math:`g_0`.
    steps : array of shape (n, k)
        The steps s, for k columns.
    """

    directions: Matrix
    constants: Vector
    steps: Matrix

    def influence(self, cross: Matrix) -> Matrix:
        """Return g (p, n) for kernel values (p, q) of p new points."""
        return cross @ self.directions + self.constants

    def __call__(self, cross: Matrix) -> Matrix:
        """Return what leaving out each row takes from the outputs (p, n, k)."""
        return self.influence(cross)[:, :, None] * self.steps

    def with_refits(self, rows: Rows, directions: Matrix, constants: Vector) -> "Change":
        """Return the change of a single column with that of some rows replaced by what refits found."""
        G, g, s = self.directions.copy(), self.constants.copy(), self.steps.copy()
        G[:, rows], g[rows], s[rows] = directions, constants, 1.0
        return Change(G, g, s)


def changes_of(solution: Any, point_map: Matrix | None = None) -> tuple[Change, ...]:
    """Return the changes of all columns of a solution, in order.

    Parameters
    ----------
    solution : Solution
    point_map : array of shape (n, q), optional
        Turns kernel values (p, q) at the points that carry the fit into those at the rows, ``cross @ point_map.T``:
        the transposed map from ``alpha`` to coefficients. By default the points are the rows.
    """
    return _changes(solution, point_map)


@singledispatch
def _changes(solution: Any, T: Matrix | None) -> tuple[Change, ...]:
    raise TypeError(f"no left-out models for {type(solution).__name__}.")


@_changes.register
def _(solution: ColumnwiseSolutions, T: Matrix | None) -> tuple[Change, ...]:
    return tuple(change for column in solution.columns for change in _changes(column, T))


@_changes.register
def _(solution: LinearSolution, T: Matrix | None) -> tuple[Change, ...]:
    root, smoother = solution.smoother.root, solution.smoother
    r = solution.loo_residuals if root is None else solution.loo_residuals / root[:, None]
    m = _shares(row_weights(solution.machine, solution.n), solution.machine.bias)
    constants = m - smoother.target_weights(solution.gram.matmul(m))
    weights = smoother.target_weight_matrix() if T is None else smoother.target_weights(T)
    return (Change(weights.T, constants, solution.fraction_of_one_row[:, None] * r),)


@_changes.register
def _(solution: LSSVMSolution, T: Matrix | None) -> tuple[Change, ...]:
    m = _shares(solution.v, solution.machine.bias)
    constants = m - solution.factor.solve(solution.gram.matmul(m))
    steps = solution.loo_residuals / solution.row_counts[:, None]
    return (Change(solution.factor.solve(_map(T, solution)).T, constants, steps),)


def _map(point_map: Matrix | None, solution: Any) -> Matrix:
    """Return the map from rows to points (n, q), by default the identity."""
    return np.eye(solution.gram.n) if point_map is None else point_map


def _shares(weights: Vector, bias: bool) -> Vector:
    """Return the weights m with sum one, zeros without a bias."""
    return weights / weights.sum() if bias else np.zeros(len(weights))


@_changes.register
def _(solution: SmoothSolution, T: Matrix | None) -> tuple[Change, ...]:
    omega, C = solution.precision, solution.C

    def residual(M: Matrix) -> Matrix:
        weighted = omega * M if M.ndim == 1 else omega[:, None] * M
        return C * (M - solution.factor.covariance(weighted))

    constants = np.zeros(len(omega))
    if solution.machine.bias:
        constants = C / omega.sum() - residual(solution.gram.matmul(omega / omega.sum()))
    steps = solution.fraction_of_one_row * solution.a / solution.one_minus_leverage
    return (Change(residual(_map(T, solution)).T, constants, steps[:, None]),)


@_changes.register
def _(solution: SoftmaxSolution, T: Matrix | None) -> tuple[Change, ...]:
    T, space, phi = _map(T, solution), solution.space, solution.fraction_of_one_row
    F, penalised = space.F, space.D > 0
    k, q = space.Q.shape[1], F.shape[1]
    VW = np.matmul(solution.V, phi[:, None, None] * solution.state.W)
    N = np.linalg.inv(np.eye(k) - VW)
    s = np.einsum("nba,nb->na", N, phi[:, None] * solution.state.a)
    inverse = solution.inverse.reshape(k, q, k, q)
    moved = [sum(inverse[c, :, d] @ (F * s[:, d, None]).T for d in range(k)) for c in range(k)]
    # Features of a new point from kernel values: the machine's own, the rows centred if there is a bias.
    norms = np.sum(F[:, penalised] ** 2, axis=0)
    from_kernel = solution.C * F[:, penalised] / norms
    shift = from_kernel.T @ solution.gram.matmul(_shares(np.ones(len(F)), solution.machine.bias))
    features, ones = T.T @ from_kernel, np.ones((len(F), 1))

    def change(weights: Vector) -> Change:
        B = np.tensordot(weights, moved, axes=1)
        constants = B[~penalised].sum(axis=0) - shift @ B[penalised]
        return Change(features @ B[penalised], constants, ones)

    return tuple(change(weights) for weights in space.Q)


@_changes.register
def _(solution: SquaredHingeSolution, T: Matrix | None) -> tuple[Change, ...]:
    return (_change_of_free(solution, _map(T, solution)),)


@_changes.register
def _(solution: SVMSolution, T: Matrix | None) -> tuple[Change, ...]:
    T, free, bounded = _map(T, solution), solution.free, solution.upper
    if solution.bias and free.size < 2:
        # The span does not exist: the machine is refitted without each support vector.
        nothing = Change(np.zeros((T.shape[1], solution.n)), np.zeros(solution.n), np.ones((solution.n, 1)))
        return refitted_changes((nothing,), SupportSolutions((solution,)), solution.support, T)
    change = _change_of_free(solution, T)
    if not bounded.size:
        return (change,)
    G, g, steps = change.directions, change.constants, change.steps
    G[:, bounded] = T[bounded].T
    steps[bounded, 0] = solution.beta[bounded]
    if free.size:
        cross, block = solution.gram.block(free, bounded), solution.block
        start = _shares(np.ones(free.size), solution.bias)
        eta = start[:, None] + block.solve(cross - block.matmul(start)[:, None])
        G[:, bounded] -= T[free].T @ eta
        if solution.bias:
            residual = solution.gram.block(free, free) @ eta + solution.jitter * eta
            g[bounded] = -np.mean(cross - residual, axis=0)
    return (change,)


def _change_of_free(solution: SupportSolution, T: Matrix) -> Change:
    """Return the change for the free rows; eq. (5)."""
    n, free = solution.n, solution.free
    G, g, steps = np.zeros((T.shape[1], n)), np.zeros(n), np.zeros((n, 1))
    if free.size:
        block, start = solution.block, _shares(np.ones(free.size), solution.bias)
        G[:, free] = block.solve(T[free]).T
        g[free] = start - block.solve(block.matmul(start))
        steps[free, 0] = solution.beta[free] / block.inverse_diag()
    return Change(G, g, steps)


def refitted_changes(
    changes: tuple[Change, ...], solution: Any, rows: Rows, point_map: Matrix | None = None
) -> tuple[Change, ...]:
    """Return the changes with those of some rows from fits without them.

    Where the machine cannot be fitted without a row (the last one of its class), that row keeps its change.
    """
    gram, Y, machine = solution.gram, solution.Y, solution.machine
    T = _map(point_map, solution)
    alpha, b = np.reshape(solution.alpha, (gram.n, -1)), np.atleast_1d(solution.b)
    fitted, moved, constants = [], [], []
    for i in rows:
        with suppress(Undefined):
            other, b_i = coefficients_without(machine, gram, Y, int(i))
            fitted.append(i)
            moved.append(T.T @ (alpha - other))
            constants.append(b - b_i)
    if not fitted:
        return changes
    directions, offsets = np.stack(moved, axis=1), np.array(constants)
    return tuple(
        change.with_refits(np.array(fitted), directions[:, :, c], offsets[:, c])
        for c, change in enumerate(_one_per_column(changes))
    )


def _one_per_column(changes: tuple[Change, ...]) -> tuple[Change, ...]:
    return tuple(
        Change(change.directions, change.constants, steps[:, None])
        for change in changes
        for steps in change.steps.T
    )


def coefficients_without(machine: Machine, gram: Gram, Y: Matrix, row: int) -> tuple[Matrix, Vector]:
    """Return alpha (n, k) and b (k,) of the machine fitted without one row: one of the equal rows that it stands for."""
    kept, fewer = _without(machine, gram.n, row)
    with warnings.catch_warnings():
        # The fit to all rows has already warned about its jitter.
        warnings.simplefilter("ignore", JitterWarning)
        solution = fewer.solve(gram.subset(kept), Y[kept])
    alpha = np.zeros((gram.n, np.shape(Y)[1]))
    alpha[kept] = np.reshape(solution.alpha, (len(kept), -1))
    return alpha, np.atleast_1d(np.asarray(solution.b, dtype=float))


def _without(machine: Machine, n: int, row: int) -> tuple[Rows, Machine]:
    """Return the rows that are left and the machine for them."""
    fraction = fraction_of_one_row(machine, n)[row]
    if fraction >= 1:
        kept = np.delete(np.arange(n), row)
        return kept, machine.on_rows(kept)
    weights, counts = row_weights(machine, n).copy(), np.array(machine.row_counts, dtype=float)
    weights[row] *= 1 - fraction
    counts[row] -= 1
    changed: Any = replace(machine, weights=weights, row_counts=counts)  # type: ignore[type-var]
    return np.arange(n), changed


@singledispatch
def leverages(solution: Any) -> Vector:
    """Return the leverage (n,) of every row: the part of its output that is its own doing, 1 where it is all of it.

    With several columns it is the largest one; for a softmax machine the spectral radius of its block.
    """
    raise Undefined(
        "the hinge loss has no curvature, and so its rows have no leverages. Use loss='squared_hinge', or name the rows to refit: "
        "refit_left_out(rows)."
    )


@leverages.register(LinearSolution)
@leverages.register(LSSVMSolution)
@leverages.register(SmoothSolution)
def _(solution: Any) -> Vector:
    return np.asarray(1 - solution.one_minus_leverage)


@leverages.register
def _(solution: ColumnwiseSolutions) -> Vector:
    return np.max([leverages(column) for column in solution.columns], axis=0)


@leverages.register
def _(solution: SoftmaxSolution) -> Vector:
    VW = np.matmul(solution.V, solution.fraction_of_one_row[:, None, None] * solution.state.W)
    return np.max(np.abs(np.linalg.eigvals(VW)), axis=1)


@leverages.register
def _(solution: SquaredHingeSolution) -> Vector:
    found = np.zeros(solution.n)
    found[solution.free] = 1 - solution.block.inverse_diag() / solution.C[solution.free]
    return found
