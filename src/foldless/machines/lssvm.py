r"""Least-squares support vector machine: classification by least squares, and exact leave-one-out residuals.

.. math:: \min_{f, b}\; \sum_i v_i\, (y_i - f(x_i) - b)^2 + \lambda \|f\|^2, \qquad \lambda = 1/C.  \tag{1}

With :math:`A_v = (K + \lambda V^{-1})^{-1}` the coefficients and the bias come from

.. math:: \tilde A = A_v - \frac{A_v 1 1' A_v}{1' A_v 1}, \qquad \alpha = \tilde A y, \qquad
          b = \frac{\sum_i v_i\, (y_i - (K\alpha)_i)}{\sum_i v_i}  \tag{2}

(without a bias :math:`\tilde A = A_v`, :math:`b = 0`). The residuals are
:math:`\rho_i = \lambda \alpha_i / v_i`, and those of the machine that never saw sample i, weights kept, are exactly

.. math:: r_i = \frac{\rho_i}{1 - h_i / c_i}, \qquad 1 - h_i = \frac{\lambda \tilde A_{ii}}{v_i},  \tag{3}

where row i stands for :math:`c_i` samples; for one sample :math:`r_i = \alpha_i / \tilde A_{ii}`.

:math:`\tilde A` is a linear map of ``y``: all columns of a one-versus-rest problem share one factorisation.

References
----------
.. [1] Cawley, *Leave-one-out cross-validation based model selection criteria for weighted LS-SVMs* (2006).
.. [2] Li et al., *Efficient kernel selection via spectral analysis* (2017), Lemma 1.
"""

from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from numpy.typing import NDArray

from foldless.core.gram import Eigenpairs, Factor, Gram, Matrix, Vector
from foldless.core.memo import cached_property
from foldless.core.targets import balanced_weights
from foldless.grams import SpectralFactor
from foldless.machines.base import MachineWithC, row_weights
from foldless.machines.coefficients import range_gram, without_rounding
from foldless.machines.losses import Squared

ROUTES = ("cholesky", "spectrum")


@dataclass(frozen=True, eq=False)
class LSSVM(MachineWithC):
    """Least-squares support vector machine.

    Parameters
    ----------
    C : float, default=1.0
        Weight of the squared errors against the squared norm, ``1 / lambda``.
    bias : bool, default=True
        Whether an unpenalised constant is part of the model.
    weights : array of shape (n,) or "balanced", optional
        Positive sample weights; by default all 1. ``"balanced"`` gives the classes equal total weight.
    route : {"cholesky", "spectrum"}, default="cholesky"
        How to factor. One Cholesky factorisation serves one C; one eigendecomposition, cached by the Gram, serves
        all of them (see :meth:`path`). With a C so large that Cholesky would lose digits, both decompose.
    row_counts : array of shape (n,), optional
        Number of samples that each row stands for; they are part of ``weights`` already. Leaving one out leaves the
        others in.
    costs : array of shape (n,), optional
        Costs of errors on the rows when they are left out; by default all 1.
    """

    C: float = 1.0
    bias: bool = True
    weights: Vector | str | None = None
    route: str = "cholesky"
    row_counts: Vector | None = None
    costs: Vector | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if isinstance(self.weights, str) and self.weights != "balanced":
            raise ValueError(f"weights must be an array, 'balanced' or None, got {self.weights!r}.")
        if self.route not in ROUTES:
            raise ValueError(f"route must be one of {', '.join(ROUTES)}; got {self.route!r}.")

    @property
    def for_regularisation_path(self) -> Self:
        """The machine that solves through eigenpairs, which many values of C on one Gram share."""
        return replace(self, route="spectrum")

    @property
    def exact_left_out(self) -> bool:
        """True: the residuals of left-out rows are in closed form; eq. (3)."""
        return True

    @property
    def fits_by_cells(self) -> bool:
        """Whether the machine can be fitted cell by cell; see :mod:`foldless.tuning.cellwise`."""
        return True

    @property
    def smooth_loss(self) -> tuple[Squared, float]:
        """Half the squared error, and C."""
        return Squared(), self.C

    def on_rows(self, rows: NDArray[np.intp]) -> Self:
        """Return the machine for some of the rows, with their weights, counts and costs."""
        return super().on_rows(rows)._with_rows(rows, costs=self.costs)

    @property
    def loss_weights(self) -> Vector | None:
        """Number of equal rows times the cost of an error there; the weights of the fit do not count."""
        if self.row_counts is None or self.costs is None:
            return self.costs if self.row_counts is None else self.row_counts
        return self.row_counts * self.costs

    def solve(self, gram: Gram, Y: Matrix, start: None = None) -> "LSSVMSolution":
        """Fit all columns of ``Y`` (n, k) at once. The fit is in closed form and needs no start."""
        v = self._row_weights(gram.n, Y)
        return LSSVMSolution(gram, self, Y, v, self._factor(gram, v))

    def _row_weights(self, n: int, Y: Matrix) -> Vector:
        v = balanced_weights(Y) if isinstance(self.weights, str) else row_weights(self, n)
        if v.shape != (n,) or not np.all(v > 0):
            raise ValueError(
                f"weights must be {n} positive numbers; leave a point out rather than give it weight 0."
            )
        return v

    def _factor(self, gram: Gram, v: Vector) -> Factor:
        stable = range_gram(gram, self.C * float(np.max(v)))
        if self.route == "cholesky" and stable is gram:
            return gram.factor(v * self.C, self.bias)
        pairs = stable.weighted_spectrum(v, self.bias)
        if stable is not gram:
            pairs = _completed(pairs, v, self.bias)
        return SpectralFactor(pairs, v, 1 / self.C, self.bias)


def _completed(pairs: Eigenpairs, v: Vector, bias: bool) -> Eigenpairs:
    """Return the pairs with those of eigenvalue zero, so that a dense Gram gets dense adjoints."""
    known = np.column_stack([np.sqrt(v), pairs.Q]) if bias else pairs.Q
    null = np.linalg.qr(known, mode="complete")[0][:, known.shape[1] :]
    return Eigenpairs(np.hstack([pairs.Q, null]), np.r_[without_rounding(pairs.nu), np.zeros(null.shape[1])])


@dataclass(frozen=True, eq=False)
class LSSVMSolution:
    """All columns of a fitted LS-SVM; ``factor.solve`` multiplies by the matrix of eq. (2).

    Attributes
    ----------
    Y : array of shape (n, k)
        Targets.
    v : array of shape (n,)
        Weights of the rows.
    factor : Factor
    """

    gram: Gram
    machine: LSSVM
    Y: Matrix
    v: Vector
    factor: Factor

    start = None  # the fit is in closed form and needs no warm start

    @property
    def lam(self) -> float:
        """Weight of the squared norm, ``1 / C``."""
        return 1 / self.machine.C

    @cached_property
    def alpha(self) -> Matrix:
        """Coefficients (n, k); eq. (2)."""
        return self.factor.solve(self.Y)

    @cached_property
    def b(self) -> Vector:
        """Biases (k,); eq. (2)."""
        if not self.machine.bias:
            return np.zeros(self.Y.shape[1])
        return self.v @ (self.Y - self.gram.matmul(self.alpha)) / self.v.sum()

    @property
    def row_counts(self) -> Vector:
        """Number of samples that each row stands for (n,)."""
        return np.ones(self.gram.n) if self.machine.row_counts is None else self.machine.row_counts

    @property
    def costs(self) -> Vector:
        """Cost of an error on each sample when it is left out (n,)."""
        return np.ones(self.gram.n) if self.machine.costs is None else self.machine.costs

    @property
    def precision(self) -> Vector:
        """Weights of the squares against the squared norm (n,)."""
        return self.factor.w

    @cached_property
    def residuals(self) -> Matrix:
        """``Y - f - b`` (n, k)."""
        return self.alpha / self.factor.w[:, None]

    @property
    def outputs(self) -> Matrix:
        """Outputs of the rows, biases included (n, k)."""
        return self.Y - self.residuals

    @cached_property
    def one_minus_leverage(self) -> Vector:
        """One minus the leverage of a single sample (n,)."""
        rest = self.factor.inverse_diag()
        return rest if self.machine.row_counts is None else 1 - (1 - rest) / self.row_counts

    @cached_property
    def loo_residuals(self) -> Matrix:
        """Residuals of each sample under the machine fitted without it (n, k); eq. (3)."""
        return self.residuals / self.one_minus_leverage[:, None]

    @property
    def loo_outputs(self) -> Matrix:
        """Outputs of each sample under the machine fitted without it (n, k)."""
        return self.Y - self.loo_residuals

    @cached_property
    def df(self) -> float:
        """Effective number of parameters, the bias included."""
        return float(self.gram.n - self.factor.inverse_diag().sum())
