r"""Eigenvalue ratio: a kernel whose spectrum ends early, balanced against its error on the training rows.

References
----------
.. [1] Liu and Liao, *Eigenvalues ratio for kernel selection of kernel methods* (2015).
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from foldless.core.contracts import Adjoint, Gram, HasTargets, Matrix, Reading, Vector
from foldless.core.errors import Undefined
from foldless.criteria.base import Criterion, reads


@dataclass(frozen=True)
class EigenvalueRatio(Criterion):
    r"""Training error of kernel ridge regression plus the inverse ratio of leading to trailing eigenvalues.

    .. math:: \frac1n \|\rho\|^2 + \frac{\eta}{B_t}, \qquad B_t = \frac{\sum_{i \le t} \mu_i}{\sum_{i > t} \mu_i}, \qquad
              \rho = \lambda (K + \lambda I)^{-1} y.  \tag{1}

    With :math:`a = (K + \lambda I)^{-1} y`, :math:`b = (K + \lambda I)^{-1} a`, the leading vectors :math:`U_t` and their
    sum m, the derivative is :math:`-\frac{\lambda^2}{n} (ab' + ba') + \frac{\eta}{m} (I - (1 + 1/B_t)\, U_t U_t')`.

    The first term is in squared units of y. The ratio is that of [1]_; only its abstract was at hand, and the combination
    with the training error is our reading of it.

    Parameters
    ----------
    t : int, default=4
        Number of leading eigenvalues.
    eta : float, default=1.0
        Weight of the inverse ratio.
    lam : float, default=1.0
        Regularisation of the ridge regression behind the residual; it has nothing to do with the machine's own C.
    """

    t: int = 4
    eta: float = 1.0
    lam: float = 1.0
    name: ClassVar[str] = "eigenvalue-ratio"
    title: ClassVar[str] = "Training error plus an eigenvalue ratio"
    unit: ClassVar[str] = "squared units of y"
    ignores_machine: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if not (isinstance(self.t, (int, np.integer)) and self.t >= 1):
            raise ValueError(f"t must be a positive integer, got {self.t!r}.")
        if not (self.eta >= 0 and self.lam > 0):
            raise ValueError(
                f"eta must not be negative and lam must be positive, got {self.eta!r} and {self.lam!r}."
            )

    @reads(HasTargets)
    def _read_targets(self, solution: HasTargets) -> Reading:
        gram, Y = solution.gram, solution.Y
        U, lead, inverse = self._ratio(gram)
        a, b = self._resolve(gram, Y)
        error = float(self.lam**2 * np.mean(a**2))

        def derive() -> tuple[Adjoint, Vector]:
            P = np.column_stack([-2 * self.lam**2 / a.size * a, -self.eta / lead * (1 + inverse) * U])
            adjoint = gram.adjoint(P, np.column_stack([b, U]), identity=self.eta / lead)
            return adjoint, np.zeros_like(solution.machine.theta)

        ratio = float(1 / inverse) if inverse > 0 else np.inf
        return Reading.lazy(
            error + self.eta * float(inverse), derive, {"ratio": ratio, "training_error": error}
        )

    def _ratio(self, gram: Gram) -> tuple[Matrix, float, float]:
        """Return the leading eigenvectors, the sum of their eigenvalues, and one over the ratio."""
        U, mu = gram.spectrum()
        lead, tail = mu[: self.t].sum(), mu[self.t :].sum()
        if not lead > 0:
            raise Undefined("the eigenvalue ratio does not exist: the Gram matrix is zero.")
        return U[:, : self.t], float(lead), float(tail / lead)

    def _resolve(self, gram: Gram, Y: Matrix) -> tuple[Matrix, Matrix]:
        """Return a and b of eq. (1), including their parts in the null space of a low-rank Gram."""
        U, mu = gram.spectrum()
        c = U.T @ Y
        rest = (Y - U @ c) / self.lam
        h = 1 / (mu + self.lam)[:, None]
        return U @ (h * c) + rest, U @ (h**2 * c) + rest / self.lam
