r"""Coefficients for predictions, which do not cancel however large C is.

A dual coefficient has the size of C times a residual. On a Gram of rank r < n such coefficients cancel in
:math:`f = K\alpha`: with C = 1e12 no digit of f is left. The function depends on its values alone, since
:math:`K\delta = 0` makes :math:`\sum_i \delta_i k(x_i, \cdot)` the zero function. So the coefficients may be replaced by
the smallest ones with the same outputs z. With :math:`K = F F'` and :math:`J = I - 11'/n` (or I without a bias),

.. math:: J F = U S V', \qquad \alpha = U S^{-2} U' z, \qquad b = \tfrac1n 1'(z - K\alpha).  \tag{1}

These are also the coefficients of the function with the smallest norm among those with :math:`f + b = z`, which is the one
that a machine with a free bias chooses. The singular values come from the root F: those of JKJ would have half the digits.
"""

from functools import singledispatch
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from foldless.core.contracts import Gram, Machine, Matrix, Vector
from foldless.core.linalg import thin_root
from foldless.grams import DenseGram, LowRankGram
from foldless.grams.builders import Builder
from foldless.grams.expansion import Expansion

EPS = float(np.finfo(float).eps)
MAX_OUTPUT_ERROR = 1e-7  # of an expansion, relative to the largest output
EIGENVALUE_ROUNDING = 16 * EPS  # relative to the largest
# Estimated relative error of outputs up to which a dense Gram is factored as it is. Rounding exceeds the estimate by a small
# factor (1.4 seen), and outputs should be right to 1e-6.
MAX_DIGIT_LOSS = 2e-7


class ExpandedSolution(Protocol):
    """What the coefficients are computed from."""

    @property
    def gram(self) -> Gram:
        """The Gram."""

    @property
    def machine(self) -> Machine:
        """The machine."""

    @property
    def alpha(self) -> Any:
        """Coefficients (n, k) or (n,)."""

    @property
    def b(self) -> Any:
        """Biases (k,) or a number."""

    @property
    def outputs(self) -> Any:
        """Outputs of the rows (n, k) or (n,), biases included."""


def expand(builder: Builder, solution: ExpandedSolution) -> Expansion:
    """Return the fitted function, for predictions; ``builder`` made the Gram of the solution."""
    alpha, b = expansion_coefficients(solution)
    points, coefficients = builder.expansion(solution.gram, alpha)
    return Expansion(points, coefficients, b)


def expansion_coefficients(solution: ExpandedSolution) -> tuple[Matrix, Vector]:
    """Return alpha (n, k) and b (k,) for predictions: those of the solution, or the smallest ones if they err less."""
    gram, n = solution.gram, solution.gram.n
    alpha, b = np.reshape(solution.alpha, (n, -1)), np.atleast_1d(np.asarray(solution.b, float))
    Z = np.reshape(solution.outputs, (n, -1))
    error = _output_error(gram, alpha, b, Z)
    if error <= MAX_OUTPUT_ERROR * np.max(np.abs(Z)):
        return alpha, b
    found = smallest_coefficients(solution.machine, gram, Z)
    return (alpha, b) if found is None or _output_error(gram, *found, Z) >= error else found


def _output_error(gram: Gram, alpha: Matrix, b: Vector, Z: Matrix) -> float:
    return float(np.max(np.abs(gram.matmul(alpha) + b - Z)))


@singledispatch
def smallest_coefficients(machine: Machine, gram: Gram, Z: Matrix) -> tuple[Matrix, Vector] | None:
    """Return the coefficients and biases with outputs ``Z`` (n, k) that the machine's penalty prefers; None if unknown.

    They are those of eq. (1) for a machine that penalises the norm of its function; others register their own.
    """
    F = range_root(gram)
    return None if F is None else _smallest_norm(F, gram, Z, machine.bias)


def _smallest_norm(F: Matrix, gram: Gram, Z: Matrix, bias: bool) -> tuple[Matrix, Vector]:
    """Return alpha and b of eq. (1)."""
    U, s, _ = _thin_svd(F, bias)
    alpha = U @ ((U.T @ Z) / s[:, None] ** 2)
    if not bias:
        return alpha, np.zeros(Z.shape[1])
    alpha = alpha - np.mean(alpha, axis=0)
    return alpha, np.mean(Z - gram.matmul(alpha), axis=0)


def _thin_svd(F: Matrix, bias: bool) -> tuple[Matrix, Vector, Matrix]:
    """Return the singular triplets of F, centred if there is a bias, that rounding of F F' does not hide."""
    U, s, Vt = np.linalg.svd(F - np.mean(F, axis=0) if bias else F, full_matrices=False)
    kept = s**2 > len(F) * EPS * np.max(s, initial=0.0) ** 2
    return U[:, kept], s[kept], Vt[kept]


def range_root(gram: Gram) -> Matrix | None:
    """Return F (n, r) with ``K = F F'`` and r the numerical rank, computed once; None if the Gram is not in memory."""
    if isinstance(gram, LowRankGram):
        return gram.F
    if not isinstance(gram, DenseGram):
        return None
    return gram.memo.get("range root", compute=lambda: thin_root(gram.K, gram.n))


def without_rounding(eigenvalues: Vector) -> Vector:
    """Return eigenvalues with exact zeros in place of those that rounding cannot tell from zero."""
    floor = EIGENVALUE_ROUNDING * np.max(eigenvalues, initial=0.0)
    return np.where(eigenvalues > floor, eigenvalues, 0.0)


def loses_digits(gram: Gram, weight: float) -> bool:
    """Return True if a factor of the dense matrix ``I + weight K`` would lose too many digits."""
    return gram.dense and weight * float(np.sum(gram.diag())) * EPS > MAX_DIGIT_LOSS


def range_gram(gram: Gram, weight: float) -> Gram:
    """Return the Gram on which a machine keeps its digits when the loss has this weight: a dense K by its root.

    A factor of ``I + weight K`` loses about ``weight * trace(K) * eps`` of its digits. With a root nothing cancels: outputs
    are F times coefficients of moderate size.
    """
    if not loses_digits(gram, weight):
        return gram
    F = range_root(gram)
    return gram if F is None else gram.memo.get("range gram", compute=lambda: LowRankGram(F))


def corrected_outputs(
    gram: Gram, beta: Vector, rows: NDArray[np.intp], z: Vector, bias: bool
) -> Vector | None:
    r"""Return the outputs (n,) of the function nearest to :math:`K\beta` that has the outputs ``z`` at some ``rows``.

    The distance is the norm of the difference of the functions. None if the Gram is not in memory.
    """
    F = range_root(gram)
    if F is None:
        return None
    u = F.T @ beta
    U, s, Vt = _thin_svd(F[rows], bias)
    u = u + Vt.T @ ((U.T @ (z - F[rows] @ u)) / s)
    return F @ u + (np.mean(z - F[rows] @ u) if bias else 0.0)
