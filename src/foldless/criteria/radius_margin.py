r"""The radius-margin bound of the squared-hinge machine.

References
----------
.. [1] Gold and Sollich, *Model selection for support vector machine classification*, (9): it needs K + 1/C, the
   squared hinge, and, with the offset in the kernel, a ball around the origin.
"""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from foldless.core.contracts import Adjoint, Reading, Vector
from foldless.criteria.base import Criterion, reads
from foldless.grams.adjoints import add_symmetric
from foldless.machines.box_qp.active_set import solve_box
from foldless.machines.box_qp.problem import BoxQP
from foldless.machines.columnwise import ColumnwiseSolutions
from foldless.machines.svm import SquaredHingeSolution, SupportSolution, SVMSolution

# Least ridge of the ball problem, in mean diagonals: it keeps equal points apart and is far below the digits of R^2.
BALL_RIDGE_FRACTION = 1e-10


@dataclass(frozen=True)
class RadiusMargin(Criterion):
    r"""Squared radius over squared margin per row, an upper bound of the fraction of leave-one-out errors.

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

    def __post_init__(self) -> None:
        if self.ball not in (None, "origin", "smallest"):
            raise ValueError(f"ball must be None, 'origin' or 'smallest', got {self.ball!r}.")

    def warning_for(self, solution: Any) -> str:
        """Return a warning for the hinge machine, where the value bounds nothing."""
        columns = solution.columns if isinstance(solution, ColumnwiseSolutions) else (solution,)
        if not isinstance(columns[0], SVMSolution):
            return ""
        return (
            "radius-margin bounds nothing for the hinge loss, whose slack it leaves out: it prefers the smallest C. "
            "Use loss='squared_hinge', or another criterion such as 'gacv'."
        )

    @reads(SVMSolution)
    def _read_hinge(self, solution: SVMSolution) -> Reading:
        radius2, _, _ = self._ball(solution)
        norm2 = solution.beta @ solution.gram.matmul(solution.beta)
        return Reading(float(radius2 * norm2 / solution.n), parts={"radius2": radius2})

    @reads(SquaredHingeSolution)
    def _read_squared_hinge(self, solution: SquaredHingeSolution) -> Reading:
        radius2, weights, inner = self._ball(solution)
        n, total, beta = solution.n, solution.alpha.sum(), solution.beta

        def derive() -> tuple[Adjoint, Vector]:  # eq. (3)
            G = solution.gram.diagonal(total / n * weights)
            G = add_symmetric(G, -radius2 / n * beta[:, None], beta[:, None])
            G = add_symmetric(G, -total / n * inner[:, None], inner[:, None])
            diag = (total * (weights - inner**2) - radius2 * beta**2) / n
            return G, np.array([-np.sum(diag * solution.ridge)])

        return Reading.lazy(float(radius2 * total / n), derive, {"radius2": radius2})

    def _ball(self, solution: SupportSolution) -> tuple[float, Vector, Vector]:
        """Return the squared radius of the ball, and diag(beta) and beta of eq. (3)."""
        smallest = solution.bias if self.ball is None else self.ball == "smallest"
        return _smallest_ball(solution) if smallest else _ball_about_origin(solution)


def _ball_about_origin(solution: SupportSolution) -> tuple[float, Vector, Vector]:
    k = solution.gram.diag() + solution.ridge
    weights = np.zeros(solution.n)
    weights[np.argmax(k)] = 1
    return float(np.max(k)), weights, np.zeros(solution.n)


def _smallest_ball(solution: SupportSolution) -> tuple[float, Vector, Vector]:
    """Solve eq. (2), a box problem without upper bounds: signs 1, linear term diag / 2, total 1.

    A small ridge keeps all points apart, also where K alone cannot (the hinge machine has no ridge of its own).
    """
    n, k = solution.n, solution.gram.diag() + solution.ridge
    ridge = np.maximum(solution.ridge, BALL_RIDGE_FRACTION * np.mean(k))
    beta, _, _ = solve_box(BoxQP(solution.gram, np.ones(n), np.full(n, np.inf), ridge, True, k / 2, 1.0))
    # On features a small ridge costs digits of the sum, and only a point with the sum 1 has an error of second order.
    beta = beta / beta.sum()
    radius2 = beta @ k - beta @ (solution.gram.matmul(beta) + solution.ridge * beta)
    return float(radius2), beta, beta
