r"""Fits that are linear in their targets: coefficients, residuals and leave-one-out.

In the whitened coordinates of :mod:`foldless.machines.least_squares.eigenbasis` the residuals are :math:`\rho = R y`, and
those of the fit without row i are :math:`\rho_i / R_{ii}`.

References
----------
.. [1] Sugiyama and Müller, *The subspace information criterion for infinite dimensional hypothesis spaces*,
   JMLR 3 (2002), (5)-(8).
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from foldless.core.contracts import Gram, Matrix, Vector
from foldless.core.errors import Undefined
from foldless.core.linalg import check_symmetric
from foldless.core.memo import cached_property
from foldless.grams import DenseGram
from foldless.machines.base import LinearMachine
from foldless.machines.least_squares import sensitivity
from foldless.machines.least_squares.counted_rows import CountedRows
from foldless.machines.least_squares.eigenbasis import EPS, Basis, Targets, kernel_basis, scale
from foldless.machines.least_squares.smoother import DenseSmoother, SpectralSmoother


def checked_targets(gram: Gram, Y: Matrix) -> Matrix:
    """Return ``Y`` (n, k) as numbers; raise if they are not finite or do not fit, or if ``gram`` is no Gram matrix."""
    Y = np.asarray(Y, dtype=float)
    if Y.ndim != 2 or len(Y) != gram.n:
        raise ValueError(f"Y must have shape ({gram.n}, k), got {Y.shape}.")
    if not np.isfinite(Y).all():
        raise ValueError("Y contains NaN or infinity.")
    gram.memo.get("checked", compute=lambda: _check_gram(gram))
    return Y


def without_mean(machine: LinearMachine, Y: Matrix) -> Matrix:
    """Return ``Y`` (n, k) less the weighted means of its columns if there is an intercept.

    R and every criterion are blind to them, but large means would cost digits: 1e6 beside a deviation of 77 left
    eight digits of the evidence.
    """
    return Y - np.average(Y, axis=0, weights=machine.weights) if machine.bias else Y


def _check_gram(gram: Gram) -> None:
    """Raise if K contains NaN, or if it was given as an array and is not symmetric."""
    if isinstance(gram, DenseGram) and not gram.semidefinite:
        check_symmetric(gram.K, "the Gram matrix")
    elif not np.isfinite(gram.matmul(np.ones(gram.n))).all():
        raise ValueError("the Gram matrix contains NaN or infinity.")


@dataclass(frozen=True, eq=False)
class LinearSolution(CountedRows):
    """A fit that is linear in its targets: what ridge and subset regression return.

    Attributes
    ----------
    Y : array of shape (n, k)
        Targets as they came.
    smoother : SpectralSmoother or DenseSmoother
    targets : Targets
        Whitened, without their means if there is an intercept.
    """

    gram: Gram
    machine: LinearMachine
    Y: Matrix
    smoother: SpectralSmoother | DenseSmoother
    targets: Targets

    start = None  # the fit is in closed form and needs no warm start

    @cached_property
    def alpha(self) -> Matrix:
        """Coefficients (n, k): ``f = K alpha + b``."""
        return self.smoother.coefficients(self.targets)

    @cached_property
    def b(self) -> Vector:
        """Intercepts (k,)."""
        if not self.machine.bias:
            return np.zeros(self.Y.shape[1])
        return np.average(self.Y - self.gram.matmul(self.alpha), axis=0, weights=self.machine.weights)

    @property
    def outputs(self) -> Matrix:
        """Outputs of the rows, intercepts included (n, k)."""
        root = self.smoother.root
        return self.Y - (
            self.whitened_residuals if root is None else scale(1 / root, self.whitened_residuals)
        )

    @cached_property
    def whitened_residuals(self) -> Matrix:
        """Whitened residuals R y (n, k)."""
        return self.smoother.residual(self.targets)

    @cached_property
    def rss(self) -> Vector:
        """Weighted residual sums of squares (k,)."""
        return self.smoother.rss(self.targets)

    @cached_property
    def rss_slope(self) -> Vector:
        """Derivatives of :attr:`rss` in ln lam (k,)."""
        return self.smoother.rss_slope(self.targets)

    @cached_property
    def one_minus_leverage(self) -> Vector:
        """One minus the leverage of a single row: the diagonal of R, closer to 1 for a row with copies.

        Raises
        ------
        Undefined
            Where a leverage is 1: without that row its value is not determined.
        """
        fraction = self.fraction_of_one_row
        rest = fraction * self.smoother.diag() + (1 - fraction)
        lowest = int(np.argmin(rest))
        if rest[lowest] <= self.n * EPS:
            raise Undefined(
                f"leave-one-out is undefined: point {lowest} has leverage 1 "
                f"(1 - leverage = {rest[lowest]:.1e}). Raise alpha or use fewer basis functions."
            )
        return rest

    @cached_property
    def loo_residuals(self) -> Matrix:
        """Whitened leave-one-out residuals ``rho_i / R_ii`` (n, k)."""
        return scale(1 / self.one_minus_leverage, self.whitened_residuals)

    def press(self) -> float:
        """Return the weighted mean squared leave-one-out residual, averaged over outputs."""
        return float((self.loo_residuals**2).sum()) / (self.total_weight * self.Y.shape[1])

    def metric(self) -> Basis:
        """Return the basis of K itself, whitened and beside the intercept."""
        return kernel_basis(self.gram, self.machine.bias, self.machine.weights)

    def slope_along_alpha(self, slope: float) -> Vector:
        """Return d/d theta of the machine from d/d ln lam; empty if there is no ridge parameter."""
        return np.full(len(self.machine.theta), float(slope))

    def slope(self, M: sensitivity.Sensitivity) -> float:
        """Return the derivative in ln lam of a criterion with this sensitivity."""
        return sensitivity.slope_in_log_alpha(self, M)

    def adjoint(self, M: sensitivity.Sensitivity) -> Any:
        """Return dvalue/dK of a criterion with this sensitivity: an array on a dense Gram, else an operator."""
        return sensitivity.adjoint(self, M)
