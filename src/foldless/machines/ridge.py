r"""Kernel ridge regression and its relatives with another penalty.

.. math:: \min_{\alpha, b}\; \sum_i v_i \bigl(y_i - (K\alpha)_i - b\bigr)^2 + \lambda\, \alpha' T \alpha,  \tag{1}

with T = K (the squared norm of the function), T = I, or any positive semi-definite matrix; the intercept b is free, or
absent. In the whitened coordinates of :mod:`foldless.machines.least_squares.eigenbasis` every one of them is
:math:`H = \text{free} + S (S + \lambda I)^{-1}` with, on the complement of the free directions,

.. math:: S = D K D \;\;(T = K), \qquad S = Z Z', \quad Z = D K L^{-T} \;\;(T = L L').  \tag{2}

S comes from one eigendecomposition, or one singular value decomposition of Z (K² is never formed), and serves every
:math:`\lambda`. Directions that T does not penalise join the free ones. For a single :math:`\lambda` and T = K one Cholesky
factorisation is about ten times cheaper.

The posterior reading of the same model, :math:`f \sim N(0, \sigma^2 K / \lambda)` for T = K, has the marginal likelihood

.. math:: -2 \ln p(y) = m \ln(2\pi\sigma^2) - \ln\det R + y'R y / \sigma^2 - \sum_i \ln v_i
          \;\bigl[+ \ln \textstyle\sum_i v_i - \ln n\bigr],  \tag{3}

m = n, or n - 1 and the bracket (the restricted likelihood) with an intercept; profiled, :math:`\sigma^2 = y'Ry/m`.

References
----------
.. [1] Sugiyama and Müller, JMLR 3 (2002), (6) for T = K and (7) for a general T.
.. [2] Akaike, *Likelihood and the Bayes procedure* (1980).
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from foldless.core.contracts import Gram, Machine, Matrix, Vector
from foldless.core.errors import NotPositiveDefinite, Undefined
from foldless.machines.base import LinearMachine, row_weights
from foldless.machines.coefficients import loses_digits, smallest_coefficients
from foldless.machines.least_squares.eigenbasis import Basis, kernel_basis, thin
from foldless.machines.least_squares.gp_posterior import relative_variance
from foldless.machines.least_squares.penalty import identity_basis, matrix_basis, smallest_by_penalty
from foldless.machines.least_squares.sensitivity import Sensitivity
from foldless.machines.least_squares.smoother import DenseSmoother, SpectralSmoother, along_path
from foldless.machines.least_squares.solution import LinearSolution, checked_targets, without_mean
from foldless.machines.losses import Squared

ROUTES = ("auto", "spectrum", "factor")
SINGLE_SOLVE_MAX_RANK_FRACTION = 0.2  # rank over n up to which a thin root is faster even for a single solve


@dataclass(frozen=True, eq=False)
class Ridge(LinearMachine):
    r"""Kernel ridge regression.

    Parameters
    ----------
    alpha : float, default=1.0
        The ridge parameter :math:`\lambda` of (1): no 1/n in front of the loss, no factor 1/2.
    bias : bool, default=False
        Whether an unpenalised intercept is part of the model.
    weights : array of shape (n,), optional
        Positive sample weights; by default all 1.
    penalty : {"K", "I"} or array of shape (n, n), default="K"
        T in (1).
    row_counts : array of shape (n,), optional
        Number of equal rows that each row stands for (they are part of ``weights`` already): criteria count them.
    route : {"auto", "spectrum", "factor"}, default="auto"
        How to solve. ``"spectrum"`` makes every further ridge parameter on the same Gram cheap; see
        :attr:`for_regularisation_path`. ``"factor"`` (dense Gram, T = K) is faster for a single solve. ``"auto"``
        decomposes a matrix of low rank, or with a tiny alpha, and factors any other.

    Examples
    --------
    >>> import numpy as np
    >>> from foldless.grams import DenseGram
    >>> Ridge(alpha=1.0).solve(DenseGram(np.eye(2)), np.array([[2.0], [4.0]])).alpha.ravel()
    array([1., 2.])
    """

    alpha: float = 1.0
    bias: bool = False
    weights: Vector | None = None
    penalty: str | ArrayLike = "K"
    row_counts: Vector | None = None
    route: str = "auto"

    sign: ClassVar[float] = -1.0  # a larger alpha fits less closely

    def __post_init__(self) -> None:
        if not (np.isfinite(self.alpha) and self.alpha > 0):
            raise ValueError(f"alpha must be positive, got {self.alpha!r}.")
        if isinstance(self.penalty, str) and self.penalty not in ("K", "I"):
            raise ValueError(f"penalty must be 'K', 'I' or a matrix, got {self.penalty!r}.")
        if self.weights is not None and not (np.min(self.weights) > 0 and np.isfinite(self.weights).all()):
            raise ValueError("weights must be positive and finite; leave out rows of weight zero.")
        if self.route not in ROUTES:
            raise ValueError(f"route must be one of {', '.join(ROUTES)}; got {self.route!r}.")

    @property
    def theta(self) -> Vector:
        """``[log alpha]``."""
        return np.array([np.log(self.alpha)])

    def with_theta(self, theta: Vector) -> Self:
        """Return the machine with another alpha."""
        return replace(self, alpha=float(np.exp(theta[0])))

    @property
    def smooth_loss(self) -> tuple[Squared, float] | None:
        """Half the squared error, and 1 / alpha; None for another penalty than the norm."""
        return (Squared(), 1 / self.alpha) if self.penalty_is_kernel else None

    @property
    def for_regularisation_path(self) -> Self:
        """The machine that solves through eigenpairs, which many values of alpha on one Gram share."""
        return replace(self, route="spectrum")

    @property
    def penalty_is_kernel(self) -> bool:
        """Whether the penalty is the Gram matrix itself, so that it changes with the kernel."""
        return isinstance(self.penalty, str) and self.penalty == "K"

    @property
    def exact_left_out(self) -> bool:
        """True for T = K; with another penalty the kernel function of a left-out row stays."""
        return self.penalty_is_kernel

    @property
    def fits_by_cells(self) -> bool:
        """Whether the machine can be fitted cell by cell; see :mod:`foldless.tuning.cellwise`."""
        return self.penalty_is_kernel

    def on_rows(self, rows: NDArray[np.intp]) -> Self:
        """Return the machine for some of the rows, with their weights and counts and the penalty of their coefficients."""
        fewer = super().on_rows(rows)
        if isinstance(self.penalty, str):
            return fewer
        return replace(fewer, penalty=np.asarray(self.penalty, float)[np.ix_(rows, rows)])

    def solve(self, gram: Gram, Y: Matrix, start: None = None) -> "RidgeSolution":
        """Fit all columns of ``Y`` (n, k). The fit is in closed form and needs no start."""
        Y = checked_targets(gram, Y)
        if self._prefers_factor(gram):
            try:
                return self._by_factor(gram, Y)
            except NotPositiveDefinite:
                # Rounding made an eigenvalue negative, or K is indefinite: the eigenpairs can tell.
                pass
        basis = self.basis(gram)
        return RidgeSolution(
            gram, self, Y, SpectralSmoother(basis, self.alpha), basis.targets(without_mean(self, Y))
        )

    def path(self, gram: Gram, Y: Matrix, alphas: Sequence[float]) -> "tuple[RidgeSolution, ...]":
        """Fit a whole path of ridge parameters from one decomposition.

        Parameters
        ----------
        gram : Gram
        Y : array of shape (n, k)
        alphas : sequence of L floats

        Returns
        -------
        solutions : tuple of L RidgeSolution
            Their leverages and residuals come from two matrix products for all of them.
        """
        Y, basis = checked_targets(gram, Y), self.basis(gram)
        targets = basis.targets(without_mean(self, Y))
        machines = [replace(self.for_regularisation_path, alpha=float(alpha)) for alpha in alphas]
        smoothers = along_path(basis, targets, [machine.alpha for machine in machines])
        return tuple(
            RidgeSolution(gram, machine, Y, smoother, targets)
            for machine, smoother in zip(machines, smoothers, strict=True)
        )

    def basis(self, gram: Gram) -> Basis:
        """Return the eigenpairs that all ridge parameters share; computed once per Gram."""
        if self.penalty_is_kernel:
            return kernel_basis(gram, self.bias, self.weights)
        return gram.memo.get("ridge", *self.all_but_alpha, compute=lambda: self._decompose(gram))

    @property
    def all_but_alpha(self) -> tuple[Any, ...]:
        """The parameters on which the eigenpairs of a Gram depend."""
        return self.penalty, self.bias, self.weights

    def _decompose(self, gram: Gram) -> Basis:
        if isinstance(self.penalty, str):
            return identity_basis(gram, self.bias, self.weights)
        return matrix_basis(gram, self.penalty, self.bias, self.weights)

    def _prefers_factor(self, gram: Gram) -> bool:
        if not (self.penalty_is_kernel and gram.dense) or self.route == "spectrum":
            return False
        if self.route == "factor":
            return True
        if loses_digits(gram, float(np.max(row_weights(self, gram.n))) / self.alpha):
            return False
        return thin(gram, SINGLE_SOLVE_MAX_RANK_FRACTION) is gram

    def _by_factor(self, gram: Gram, Y: Matrix) -> "RidgeSolution":
        v = row_weights(self, gram.n)
        R, logdet = gram.residual_maker(v / self.alpha, self.bias)
        logdet -= np.log(v.sum() / self.alpha) if self.bias else 0.0
        root = None if self.weights is None else np.sqrt(self.weights)
        smoother = DenseSmoother(R, self.alpha, root, logdet, int(self.bias))
        return RidgeSolution(gram, self, Y, smoother, smoother.targets(without_mean(self, Y)))


@smallest_coefficients.register
def _(machine: Ridge, gram: Gram, Z: Matrix) -> tuple[Matrix, Vector] | None:
    if machine.penalty_is_kernel:
        return smallest_coefficients.dispatch(Machine)(machine, gram, Z)
    penalty = np.eye(gram.n) if isinstance(machine.penalty, str) else machine.penalty
    return smallest_by_penalty(gram, penalty, machine.bias, Z)


@dataclass(frozen=True, eq=False)
class RidgeSolution(LinearSolution):
    """A ridge fit; see :class:`foldless.machines.least_squares.solution.LinearSolution`."""

    machine: Ridge

    @property
    def lam(self) -> float:
        """The ridge parameter."""
        return self.machine.alpha

    @property
    def precision(self) -> Vector:
        """Weights of the rows against the prior, ``v / lam``."""
        return row_weights(self.machine, self.n) / self.lam

    def at(self, alpha: float) -> "RidgeSolution":
        """Return the fit with another ridge parameter, from the shared eigenpairs."""
        return replace(self.machine.for_regularisation_path, alpha=alpha).solve(self.gram, self.Y)

    def variances(self, sigma2: ArrayLike | None = None) -> Vector:
        """Return the given noise variances, or the profiled ones ``y'Ry / m``, (k,)."""
        if sigma2 is not None:
            return np.broadcast_to(np.asarray(sigma2, float), self.Y.shape[1:])
        q = self.smoother.quadratic(self.targets)
        if np.any(q <= 0):
            raise Undefined(
                "the marginal likelihood is unbounded: the targets are fitted exactly. Are they constant? "
                "criterion='loo' needs no noise."
            )
        if self.penalised <= 0:
            raise Undefined(
                f"the noise variance is undefined: the weights of the rows stand for {self.total_weight:.2g} rows, which "
                "is no more than the intercept takes. Weights count rows: make them larger."
            )
        return q / self.penalised

    def left_out_variances(self) -> Vector:
        r"""Return noise variances (k,) under which the left-out residuals are as large as the process expects them to be.

        Without row i the process gives a new target at :math:`x_i` the variance :math:`\sigma^2 / (1 - \varphi_i h_{ii})`, so that

        .. math:: \hat\sigma^2 = \sum_i v_i r_i^2 (1 - \varphi_i h_{ii}) \big/ \textstyle\sum_i v_i.

        The profiled variance of :meth:`variances` believes in the prior; this one believes in nothing but the residuals.
        """
        return np.asarray(self.one_minus_leverage @ self.loo_residuals**2 / self.total_weight)

    def deviance(self, sigma2: ArrayLike | None = None) -> tuple[float, float, Sensitivity]:
        """Return -2 log marginal likelihood, eq. (3), as (value, slope in ln lam, sensitivity); mean over outputs."""
        s, t = self.smoother, self.targets
        self._needs_proper_prior()
        m, s2 = self.penalised, self.variances(sigma2)
        value = m * np.log(2 * np.pi * s2) + s.quadratic(t) / s2 + s.logdet() + self._log_jacobian()
        slope = s.quadratic_slope(t) / s2 - (m - self.residual_df)
        M = Sensitivity(inverse=1.0, P=-t.Y / (2 * s2 * len(s2)), Q=t.Y)
        return float(value.mean()), float(slope.mean()), M

    def _log_jacobian(self) -> float:
        """Return the terms of eq. (3) that depend on the weights alone."""
        if self.machine.weights is None:
            return 0.0
        v, counts = self.machine.weights, self.machine.row_counts
        counts = np.ones(self.n) if counts is None else counts
        mean = np.log(v.sum() / counts.sum()) if self.machine.bias else 0.0
        return float(mean - counts @ np.log(v / counts))

    def _needs_proper_prior(self) -> None:
        if self.smoother.penalised + int(self.machine.bias) < self.n:
            raise Undefined("the marginal likelihood is undefined: the penalty matrix is singular.")

    def variance(self, cross: Matrix, prior: Vector, sigma2: ArrayLike | None = None) -> Matrix:
        r"""Return the posterior variance of the function at p new points, (p, k).

        For T = K it is the latent variance of a Gaussian process with kernel :math:`(\sigma^2/\lambda) k` and noise
        :math:`\sigma^2 / v_i`; see :mod:`foldless.machines.least_squares.gp_posterior`, eq. (2).

        Parameters
        ----------
        cross : array of shape (p, n)
            Kernel between the new points and the training points.
        prior : array of shape (p,)
            Kernel of each new point with itself.
        sigma2 : float or array of shape (k,), optional
            Noise variance; by default profiled.
        """
        return np.multiply.outer(relative_variance(self, cross, prior), self.variances(sigma2) / self.lam)
