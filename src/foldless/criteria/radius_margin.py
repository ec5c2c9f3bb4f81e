r"""The radius-margin bound of the squared-hinge machine.

References
----------
.. [1] Gold and Sollich, *Model selection for support vector machine classification*, (9): it needs K + 1/C, the
   squared hinge, and, with the offset in the kernel, a ball around the origin.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from foldless.core.contracts import Reading
from foldless.criteria.base import Criterion, reads
from foldless.grams.adjoints import add_symmetric
from foldless.machines import SquaredHingeSolution, SVMSolution
from foldless.machines.box_qp.active_set import solve_box
from foldless.machines.box_qp.problem import BoxQP

APART = 1e-10  # of the mean diagonal


@dataclass(frozen=True)
class RadiusMargin(Criterion):
    r"""Squared radius over squared margin, an upper bound of the leave-one-out error.

    .. math:: \frac{R^2}{n} \sum_i \alpha_i  \tag{1}

    With :math:`\tilde K = K + 1/C`, :math:`R^2 = \max_i \tilde K_{ii}` about the origin, or that of the smallest ball,

    .. math:: R^2 = \max_\beta\; \beta'\operatorname{diag}(\tilde K) - \beta'\tilde K \beta, \qquad
              \beta \ge 0, \; 1'\beta = 1.  \tag{2}

    .. math:: n G = -R^2 (y \circ \alpha)(y \circ \alpha)' +
              (\textstyle\sum\alpha)\, (\operatorname{diag}\beta - \beta\beta'), \qquad
              g_C = -\sum_i G_{ii} / C_i,  \tag{3}

    without :math:`\beta\beta'` about the origin, where :math:`\beta` marks the largest diagonal entry.

    For the hinge machine the value is :math:`R^2 \|w\|^2 / n` with K for :math:`\tilde K`: slack costs nothing in it, so
    that it bounds nothing and prefers a small C. It is here for comparison, without a derivative.

    Parameters
    ----------
    ball : {None, "origin", "smallest"}, optional
        ``None`` takes the one that bounds: the smallest ball with a free bias, else the one about the origin.
    """

    ball: str | None = None
    name: ClassVar[str] = "radius-margin"
    title: ClassVar[str] = "Radius-margin bound of the leave-one-out error"
    unit: ClassVar[str] = "fraction of rows"

    def __post_init__(self):
        if self.ball not in (None, "origin", "smallest"):
            raise ValueError(f"ball must be None, 'origin' or 'smallest', got {self.ball!r}.")

    def warning_for(self, solution):
        """Say that the value of a hinge machine bounds nothing."""
        columns = getattr(solution, "columns", (solution,))
        if not isinstance(columns[0], SVMSolution):
            return ""
        return (
            "radius-margin bounds nothing for the hinge loss, whose slack it leaves out: it prefers the smallest C. "
            "Use loss='squared_hinge', or another criterion such as 'gacv'."
        )

    @reads(SVMSolution)
    def _read_hinge(self, solution: SVMSolution) -> Reading:
        ball = self.ball or ("smallest" if solution.bias else "origin")
        radius, _, _ = _smallest(solution) if ball == "smallest" else _origin(solution)
        value = float(radius * (solution.beta @ solution.gram.matmul(solution.beta)) / solution.n)
        return Reading(value, parts={"radius_margin": value, "radius2": float(radius)})

    @reads(SquaredHingeSolution)
    def _read_squared_hinge(self, solution: SquaredHingeSolution) -> Reading:
        ball = self.ball or ("smallest" if solution.bias else "origin")
        radius, weights, inner = _smallest(solution) if ball == "smallest" else _origin(solution)
        n, total, beta = solution.n, solution.alpha.sum(), solution.beta
        value = float(radius * total / n)
        G = add_symmetric(
            solution.gram.diagonal(total / n * weights), -radius / n * beta[:, None], beta[:, None]
        )
        G = add_symmetric(G, -total / n * inner[:, None], inner[:, None])  # eq. (3)
        diag = (total * (weights - inner**2) - radius * beta**2) / n
        return Reading(
            value,
            G,
            np.array([-np.sum(diag * solution.ridge)]),
            {"radius_margin": value, "radius2": float(radius)},
        )


def _origin(solution):
    k = solution.gram.diag() + solution.ridge
    weights = np.zeros(solution.n)
    weights[np.argmax(k)] = 1
    return np.max(k), weights, np.zeros(solution.n)


def _smallest(solution):
    """Eq. (2) is a box problem without upper bounds: signs 1, linear term diag / 2, total 1.

    A ridge far below the digits of R^2 keeps all points apart, also where K alone cannot (the hinge has none of its own).
    """
    n, k = solution.n, solution.gram.diag() + solution.ridge
    ridge = np.maximum(solution.ridge, APART * np.mean(k))
    beta, _, _ = solve_box(BoxQP(solution.gram, np.ones(n), np.full(n, np.inf), ridge, True, k / 2, 1.0))
    return beta @ k - beta @ (solution.gram.matmul(beta) + solution.ridge * beta), beta, beta
