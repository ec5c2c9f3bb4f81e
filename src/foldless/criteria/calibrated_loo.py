r"""Leave-one-out by the logarithmic loss of calibrated outputs, for classifiers that are fitted by least squares.

References
----------
.. [1] Platt, *Probabilistic outputs for support vector machines* (1999), for the targets that are not quite 0 and 1.
.. [2] Cawley, *Leave-one-out cross-validation based model selection criteria for weighted LS-SVMs* (2006).
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.special import expit

from foldless.core.contracts import Adjoint, Reading, Vector
from foldless.core.errors import Undefined
from foldless.core.targets import error_fraction, is_pm1
from foldless.criteria.base import Criterion, reads
from foldless.criteria.derivatives.lssvm import total_derivative_from_left_out
from foldless.machines.lssvm import LSSVMSolution

NEWTON_MAX_STEPS = 100
# Relative step at which Newton's method ends.
NEWTON_TOLERANCE = 1e-12
# Least curvature that a Newton step is divided by: no margin has any where all of them are huge.
CURVATURE_MIN = 1e-300


@dataclass(frozen=True)
class CalibratedLOO(Criterion):
    r"""Logarithmic loss of the left-out outputs times the best slope for them, in nats per row.

    Squared residuals ask outputs to be near -1 and 1; a class needs the sign alone. With the left-out margins
    :math:`m_i = y_i u_i` (exact, [2]_), one slope s for all and :math:`\epsilon = 1 / (n + 2)` as in [1]_, so that s stays
    finite where no margin is negative,

    .. math:: \Phi = \min_{s \ge 0}\; \frac1n \sum_i \bigl[\ln(1 + e^{-s m_i}) + \epsilon\, s\, m_i\bigr].  \tag{1}

    The sum is convex in s, and at its minimum s need not be differentiated: with the residuals :math:`r = y - u`

    .. math:: \frac{d\Phi}{dr_i} = \frac{s\, y_i}{n} \bigl[\sigma(-s m_i) - \epsilon\bigr].  \tag{2}

    Scaling all outputs leaves it as it is, so that it does not punish the heavy regularisation that often classifies best.
    One versus the rest, it is the mean over the columns, each with a slope of its own.
    """

    name: ClassVar[str] = "calibrated-loo"
    title: ClassVar[str] = "Leave-one-out log loss of calibrated outputs"
    unit: ClassVar[str] = "nats per row"

    @reads(LSSVMSolution)
    def _read_lssvm(self, solution: LSSVMSolution) -> Reading:
        if not is_pm1(solution.Y):
            raise Undefined(
                "calibrated-loo needs classes, labelled -1 and 1. Use criterion='loo' for numbers."
            )
        if np.min(solution.one_minus_leverage) <= solution.gram.n * np.finfo(float).eps:
            raise Undefined("leave-one-out does not exist: a point fixes its own output. Lower C.")
        count = (solution.row_counts * solution.costs)[:, None]
        weight, eps = count / (count.sum() * solution.Y.shape[1]), 1 / (count.sum() + 2)
        M = solution.Y * solution.loo_outputs
        s = np.array([best_slope(m, count[:, 0], eps) for m in M.T])
        value = float(np.sum(weight * (np.logaddexp(0, -s * M) + eps * s * M)))  # eq. (1)

        def derive() -> tuple[Adjoint, Vector]:
            p = weight * s * solution.Y * (expit(-s * M) - eps)  # eq. (2)
            return total_derivative_from_left_out(solution, p)

        error = error_fraction(solution.Y, solution.loo_outputs, solution.row_counts)
        return Reading.lazy(value, derive, {"loo_error": error, "slope": float(s.mean())})


def best_slope(m: Vector, count: Vector, eps: float) -> float:
    """Return the s of eq. (1) by Newton's method between bounds that close in; 0 if the best s is not positive.

    Examples
    --------
    Three of four points are right, so that the probability of an error is a quarter:

    >>> s = best_slope(np.array([1.0, 1.0, 1.0, -1.0]), np.ones(4), 0.0)
    >>> round(float(1 / (1 + np.exp(s))), 6)
    0.25
    """
    if count @ m * (eps - 0.5) >= 0:
        return 0.0
    low, high, s = 0.0, np.inf, 1 / np.max(np.abs(m))
    for _ in range(NEWTON_MAX_STEPS):
        wrong = expit(-s * m)
        descent = count @ (m * (wrong - eps))
        low, high = (s, high) if descent > 0 else (low, s)
        step = descent / max(count @ (m * m * wrong * (1 - wrong)), CURVATURE_MIN)
        if abs(step) <= NEWTON_TOLERANCE * s:
            break
        if low < s + step < high and step < s:
            s = s + step
        else:
            s = 2 * s if np.isinf(high) else (low + high) / 2
    return float(s)
