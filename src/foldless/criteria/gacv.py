r"""Generalised approximate cross-validation.

References
----------
.. [1] Gold and Sollich, *Model selection for support vector machine classification*, (13), after Wahba.
"""

from dataclasses import dataclass
from functools import singledispatchmethod
from typing import ClassVar

import numpy as np

from foldless.contracts import Reading
from foldless.criterion import Criterion
from foldless.inference import implicit
from foldless.linalg import add_symmetric
from foldless.machines import SquaredHingeSolution, SVMSolution


@dataclass(frozen=True)
class GACV(Criterion):
    r"""Generalised approximate cross-validation.

    *Support vector machines*: an upper bound of the hinge loss left out, if the offset is part of the kernel,

    .. math:: \frac1n \sum_i \bigl[(1 - s_i)_+ + \alpha_i K_{ii} f_i\bigr], \qquad f_i = 2 \text{ if } s_i < -1, \text{ else } 1.  \tag{1}

    It jumps where some :math:`s_i` crosses -1. Between jumps, with the bounded points b of the hinge loss,

    .. math:: n G = \operatorname{diag}(\alpha \circ f) - \operatorname{sym}\bigl((y \circ 1_b)(y \circ \alpha)'\bigr), \qquad
              n g_C = \sum_b C_i f_i K_{ii} - 1_b'Q(C \circ 1_b), \qquad n q = f_m k_m - (Q 1_b)_m,  \tag{2}

    and :math:`-y'1_b` for the bias; for the squared hinge, where :math:`1 - s_i = \alpha_i / C_i`,

    .. math:: n G = \operatorname{diag}(\alpha \circ f), \qquad n g_C = -\sum_i \alpha_i / C_i, \qquad n q_i = f_i K_{ii} + 1 / C_i,  \tag{3}

    before the implicit step.
    """

    name: ClassVar[str] = "gacv"

    @singledispatchmethod
    def read(self, solution) -> Reading:
        """Read one solution."""
        raise self.unreadable(solution)

    @read.register
    def _(self, solution: SVMSolution) -> Reading:
        n, y, k, f, value = _svm_gacv(solution)
        m, b = solution.free, solution.upper
        inside = np.zeros(n)
        inside[b] = y[b]
        pull = solution.gram.matmul(inside)  # y (Q 1_b)
        G = add_symmetric(
            solution.gram.diagonal(solution.alpha * f / n), -inside[:, None] / n, solution.beta[:, None]
        )
        slope = (solution.C[b] @ (f * k)[b] - pull[b] @ solution.beta[b]) / n
        q = ((f * k)[m] - (y * pull)[m]) / n
        adjoint, slope = implicit(solution, G, slope, q, -inside.sum() / n)  # eq. (2)
        return Reading(value, adjoint, np.array([slope]), {"gacv": value})

    @read.register
    def _(self, solution: SquaredHingeSolution) -> Reading:
        n, _, k, f, value = _svm_gacv(solution)
        A, alpha, C = solution.free, solution.alpha, solution.C
        G = solution.gram.diagonal(alpha * f / n)
        q = ((f * k)[A] + 1 / C[A]) / n
        adjoint, slope = implicit(solution, G, -np.sum(alpha[A] / C[A]) / n, q)  # eq. (3)
        return Reading(value, adjoint, np.array([slope]), {"gacv": value})


def _svm_gacv(solution):
    """Eq. (1) and its ingredients. No test s > 1: alpha is 0 there, and rounding must not drop marginal points."""
    k, s = solution.gram.diag(), solution.s
    f = np.where(s < -1, 2.0, 1.0)
    value = float(np.mean(np.maximum(1 - s, 0) + solution.alpha * k * f))
    return solution.n, solution.y, k, f, value
