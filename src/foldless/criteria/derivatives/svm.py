r"""Support vector machines: the derivatives of their solutions, and their margins at points that are left out.

*The implicit step.* A criterion whose differential contains :math:`q'd\alpha_F + c\,db`, F the free set, gets with
:math:`[v, v_0]` from the (bordered) system of the free set

.. math:: \begin{pmatrix} H & y_F \\ y_F' & 0 \end{pmatrix} \begin{pmatrix} v \\ v_0 \end{pmatrix} =
          \begin{pmatrix} q \\ c \end{pmatrix}, \qquad H = Q_{FF} \text{ (p=1) or } (Q + 1/C)_{FF} \text{ (p=2)},  \tag{1}

the total derivatives

.. math:: \frac{d}{dK} \mathrel{-}= \operatorname{sym}\bigl((y \circ v)(y \circ \alpha)'\bigr), \qquad
          \frac{d}{d\ln C} \mathrel{-}= v'Q (C \circ 1_b) + v_0\, y'(C \circ 1_b) \text{ (p=1)}, \qquad
          \mathrel{+}= v'(\alpha / C) \text{ (p=2)}.  \tag{2}

*Points left out*: by the span of the support vectors (exact for p = 2 as long as the active set stays the same), or by
refits.

References
----------
.. [1] Gold and Sollich, *Model selection for support vector machine classification*, (10)-(12).
"""

import warnings
from dataclasses import replace
from functools import singledispatch
from typing import Any

import numpy as np
from numpy.typing import NDArray

from foldless.core.contracts import Adjoint, Vector
from foldless.core.errors import JitterWarning, Undefined
from foldless.grams.adjoints import add_symmetric
from foldless.machines.box_qp.problem import LOWER
from foldless.machines.svm import SquaredHingeSolution, SupportSolution, SVMSolution


def implicit_step(
    solution: SupportSolution, adjoint: Adjoint, slope: float, q: Vector, c: float = 0.0
) -> tuple[Adjoint, float]:
    """Return the adjoint and the slope after the implicit step (1), (2).

    Parameters
    ----------
    solution : SVMSolution or SquaredHingeSolution
    adjoint : array or operator
        Explicit part of the derivative in K.
    slope : float
        Explicit part of the derivative in log C.
    q : array of shape (number of free points,)
        Derivative in alpha on the free set.
    c : float
        Derivative in the bias.
    """
    if solution.free.size == 0:
        return _step_of_middle_bias(solution, adjoint, slope, c) if solution.bias and c else (adjoint, slope)
    v, v0 = _solve_free(solution, q, c)
    full = np.zeros(solution.n)
    full[solution.free] = v
    adjoint = add_symmetric(adjoint, -full[:, None], solution.beta[:, None])
    if solution.loss.power == 2:
        return adjoint, slope + float(v @ (solution.beta / solution.C)[solution.free])
    bounded = _bounded(solution)
    moved = v @ solution.gram.matmul(bounded)[solution.free] + v0 * bounded.sum()
    return adjoint, slope - float(moved)


def total_derivative_from_outputs(
    solution: SupportSolution, phi: Vector, adjoint: Adjoint, slope: float
) -> tuple[Adjoint, float]:
    r"""Return the total derivatives of a function of K, log C and the outputs :math:`\theta = K\beta + b`.

    With the explicit parts given and :math:`\varphi` the derivative in the outputs,

    .. math:: d/dK \mathrel{+}= \operatorname{sym}(\varphi \beta'), \qquad q = (y \circ K\varphi)_F, \qquad
              c = 1'\varphi, \qquad d/d\ln C \mathrel{+}= \varphi'K (\beta \circ 1_b) \text{ (p=1)},

    followed by the implicit step. A kink of the function at s = 1 is harmless: outputs on the margin stay there.
    """
    K_phi = solution.gram.matmul(phi) + solution.jitter * phi
    adjoint = add_symmetric(adjoint, phi[:, None], solution.beta[:, None])
    if solution.loss.power == 1:
        slope = slope + float(K_phi @ _bounded(solution))
    q = (solution.y * K_phi)[solution.free]
    return implicit_step(solution, adjoint, slope, q, float(phi.sum()) if solution.bias else 0.0)


def _solve_free(solution: SupportSolution, q: Vector, c: float) -> tuple[Vector, float]:
    """Return the solution of (1) in signed variables: ``y v`` and ``v_0``."""
    block, r = solution.block, solution.y[solution.free] * q
    shift = np.full(r.size, c / r.size) if solution.bias else np.zeros(r.size)
    r = r - block.matmul(shift)
    step = block.solve(r)
    return shift + step, block.border(r, step)


def _bounded(solution: SupportSolution) -> Vector:
    """Return ``y C`` on the bounded points, 0 elsewhere."""
    out = np.zeros(solution.n)
    out[solution.upper] = solution.beta[solution.upper]
    return out


def _step_of_middle_bias(
    solution: SupportSolution, adjoint: Adjoint, slope: float, c: float
) -> tuple[Adjoint, float]:
    """Return the implicit step without free points: a bias in the middle of its interval follows the two ends of it."""
    qp, f = solution.qp, solution.f
    ends = [
        i
        for i in range(solution.n)
        if np.any(np.isclose(qp.c[i] - f[i], qp.interval(f, solution.sets), rtol=0, atol=1e-14))
    ]
    e = np.zeros(solution.n)
    e[ends] = 1 / len(ends)
    return add_symmetric(adjoint, -c * e[:, None], solution.beta[:, None]), slope - c * float(e @ f)


@singledispatch
def span_margins(solution: Any) -> Vector:
    """Return the margin of every point under the machine without it, if the sets of all other points stay the same."""
    raise TypeError(f"no span for {type(solution).__name__}.")


@span_margins.register
def _(solution: SquaredHingeSolution) -> Vector:
    r"""Return :math:`1 - \alpha_i / [(K + 1/C)_{AA}^{-1}]_{ii}` on the active set A."""
    s, A = solution.s.copy(), solution.free
    s[A] = 1 - solution.alpha[A] / solution.block.inverse_diag()
    return s


@span_margins.register
def _(solution: SVMSolution) -> Vector:
    r"""Return :math:`s_i - \alpha_i S_i^2`, :math:`S_i^2` the squared distance from the span of the (other) marginal points.

    :math:`S_i^2 = 1/[K_{mm}^{-1}]_{ii}` for a marginal point; for a bounded one
    :math:`\min_v (v'K_{mm}v - 2v'k_i + K_{ii})`, with :math:`1'v = 1` if the bias is free.
    """
    s, m, b = solution.s.copy(), solution.free, solution.upper
    # A single marginal point is at a bound itself, or the coefficients would not add up to zero.
    if solution.bias and m.size == 1:
        raise Undefined(
            "only one support vector is on the margin: with a free bias the span is then not defined."
        )
    if m.size:
        s[m] -= solution.alpha[m] / solution.block.inverse_diag()
    if b.size:
        s[b] -= solution.alpha[b] * _distances(solution, m, b)
    return s


def _distances(solution: SVMSolution, m: NDArray[np.intp], b: NDArray[np.intp]) -> Vector:
    """Return the squared distances of the bounded points from the span of the marginal ones."""
    own = solution.gram.diag()[b] + solution.jitter
    if not m.size:
        if solution.bias:
            raise Undefined(
                "no support vector is on the margin: with a free bias the span is then not defined."
            )
        return own
    k, block = solution.gram.block(m, b), solution.block
    start = np.full(m.size, 1 / m.size if solution.bias else 0.0)
    V = start[:, None] + block.solve(k - block.matmul(start)[:, None])
    HV = solution.gram.block(m, m) @ V + solution.jitter * V
    return own + np.einsum("ij,ij->j", V, HV - 2 * k)


def refit_margins(solution: SupportSolution, rows: NDArray[np.intp] | None = None) -> Vector:
    """Return the margin of every point under the machine refitted without it.

    Parameters
    ----------
    solution : SVMSolution or SquaredHingeSolution
    rows : array of int, optional
        Points to refit for; by default all support vectors (the others change nothing when they leave).
    """
    s = solution.s.copy()
    for i in solution.support if rows is None else rows:
        s[i] = _margin_without(solution, int(i))
    return s


def _margin_without(solution: SupportSolution, i: int) -> float:
    """Return the margin of point i under the machine refitted without it."""
    v = solution.C / solution.machine.C
    v[i] = 0
    # Without the only point of its class the machine knows only the other class.
    if len(np.unique(solution.y[v > 0])) < 2:
        return -1.0
    sets = solution.sets.copy()
    sets[i] = LOWER
    machine = replace(solution.machine, weights=v)
    with warnings.catch_warnings():
        # The fit to all points has already warned about its jitter.
        warnings.simplefilter("ignore", JitterWarning)
        refit = machine.solve(solution.gram, solution.y[:, None], [sets]).columns[0]
    return float(refit.y[i] * (refit.f[i] + refit.b))
