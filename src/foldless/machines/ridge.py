r"""Kernel ridge regression and its relatives with another penalty.

.. math:: \min_{\alpha, b}\; \sum_i v_i \bigl(y_i - (K\alpha)_i - b\bigr)^2 + \lambda\, \alpha' T \alpha,  \tag{1}

with T = K (the squared norm of the function), T = I, or any positive semi-definite matrix; the intercept b is free, or
absent. In the whitened coordinates of :mod:`foldless.machines.least_squares.eigenbasis` every one of them is
:math:`H = \text{free} + S (S + \lambda I)^{-1}` with, on the complement of the free directions,

.. math:: S = D K D \;\;(T = K), \qquad S = Z Z', \quad Z = D K L^{-T} \;\;(T = L L').  \tag{2}

S comes from one eigendecomposition, or one singular value decomposition of Z (K² is never formed), and serves every
:math:`\lambda`. Directions that T does not penalise join the free ones.

The posterior reading of the same model, :math:`f \sim N(0, \sigma^2 K / \lambda)` for T = K, has the marginal likelihood

.. math:: -2 \ln p(y) = m \ln(2\pi\sigma^2) - \ln\det R + y'R y / \sigma^2 - \sum_i \ln v_i
          \;\bigl[+ \ln \textstyle\sum_i v_i - \ln n\bigr],  \tag{3}

m = n, or n - 1 and the bracket (the restricted likelihood) with an intercept; profiled, :math:`\sigma^2 = y'Ry/m`.

References
----------
.. [1] Sugiyama and Müller, JMLR 3 (2002), (6) for T = K and (7) for a general T.
.. [2] Akaike, *Likelihood and the Bayes procedure* (1980).
"""

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from foldless.core.contracts import Machine, Vector
from foldless.core.errors import NotPositiveDefinite, Undefined
from foldless.machines.least_squares.eigenbasis import (
    EPS,
    Basis,
    column_space,
    intercept,
    kernel_basis,
    scale,
    thin,
)
from foldless.machines.least_squares.gp_posterior import spread
from foldless.machines.least_squares.smoother import DenseSmoother, SpectralSmoother, along_path
from foldless.machines.least_squares.solution import LinearSolution, Sensitivity, checked_targets

VISITS = 2  # solves on one Gram before the eigendecomposition pays: it costs about ten factorisations
TINY = 1e4 * EPS  # alpha over n K_ii below which an explicit inverse keeps no more than four digits
AT_ONCE = 0.2  # rank over n up to which thin factors are quicker even for one solve
NEGATIVE = 1e-8  # eigenvalues of T below minus this, relative to the largest, are no rounding


@dataclass(frozen=True, eq=False)
class Ridge(Machine):
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
        How many equal rows each row stands for (their weights are then part of ``weights``): criteria count them.
    route : {"auto", "spectrum", "factor"}, default="auto"
        How to solve. ``"spectrum"`` makes every further ridge parameter on the same Gram cheap, ``"factor"`` (dense
        Gram, T = K) is the faster one for a single solve. ``"auto"`` decomposes a matrix of low rank at once,
        and factors any other twice before it does.

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
    penalty: Any = "K"
    row_counts: Vector | None = None
    route: str = "auto"

    sign: ClassVar[float] = -1.0  # a larger alpha fits less

    def __post_init__(self):
        if not (np.isfinite(self.alpha) and self.alpha > 0):
            raise ValueError(f"alpha must be positive, got {self.alpha!r}.")
        if isinstance(self.penalty, str) and self.penalty not in ("K", "I"):
            raise ValueError(f"penalty must be 'K', 'I' or a matrix, got {self.penalty!r}.")
        if self.weights is not None and not (np.min(self.weights) > 0 and np.isfinite(self.weights).all()):
            raise ValueError("weights must be positive and finite; leave out rows of weight zero.")

    @property
    def theta(self):
        """``[log alpha]``."""
        return np.array([np.log(self.alpha)])

    def with_theta(self, theta):
        """Return the machine with another alpha."""
        return replace(self, alpha=float(np.exp(theta[0])))

    @property
    def penalty_is_kernel(self):
        """Whether the penalty moves with K."""
        return isinstance(self.penalty, str) and self.penalty == "K"

    def on_rows(self, rows):
        """Return the machine for some of the rows, with their weights and counts and the penalty of their coefficients."""
        fewer = super().on_rows(rows)
        if isinstance(self.penalty, str):
            return fewer
        return replace(fewer, penalty=np.asarray(self.penalty, float)[np.ix_(rows, rows)])

    def solve(self, gram, Y, start=None):
        """Fit all columns of ``Y`` (n, k); a warm start is of no use and ignored."""
        Y = checked_targets(gram, Y)
        if self._prefers_factor(gram):
            try:
                return self._by_factor(gram, Y)
            except NotPositiveDefinite:  # rounding below zero, or an indefinite K: the spectrum tells
                pass
        basis = self.basis(gram)
        return RidgeSolution(gram, self, Y, SpectralSmoother(basis, self.alpha), basis.targets(Y))

    def path(self, gram, Y, alphas):
        """Fit a whole path of ridge parameters from one decomposition.

        Parameters
        ----------
        gram : Gram
        Y : array of shape (n, k)
        alphas : array of shape (L,)

        Returns
        -------
        solutions : tuple of L RidgeSolution
            Their leverages and residuals come from two matrix products for all of them.
        """
        Y, basis = checked_targets(gram, Y), self.basis(gram)
        machines = [replace(self, alpha=float(alpha), route="spectrum") for alpha in alphas]
        smoothers = along_path(basis, basis.targets(Y), [machine.alpha for machine in machines])
        return tuple(
            RidgeSolution(gram, machine, Y, smoother, basis.targets(Y))
            for machine, smoother in zip(machines, smoothers, strict=True)
        )

    def basis(self, gram):
        """Return the eigenpairs all ridge parameters share; computed once per Gram."""
        if self.penalty_is_kernel:
            return kernel_basis(gram, self.bias, self.weights)
        if self._key not in gram.memo:
            gram.memo[self._key] = (self._decompose(gram), self.penalty, self.weights)
        return gram.memo[self._key][0]

    @property
    def _key(self):
        penalty = self.penalty if isinstance(self.penalty, str) else id(self.penalty)
        return ("ridge", penalty, self.bias, id(self.weights))

    def _prefers_factor(self, gram):
        if not (self.penalty_is_kernel and gram.dense) or self.route == "spectrum":
            return False
        if self.route == "factor":
            return True
        if self.alpha < TINY * gram.n * np.max(gram.diag()):
            return False
        visits = gram.memo.setdefault(("visits", *self._key), [])
        visits.append(self.alpha)
        if len(visits) == 1:
            return thin(gram, AT_ONCE) is gram
        return len(visits) <= VISITS and thin(gram) is gram

    def _by_factor(self, gram, Y):
        v = np.ones(gram.n) if self.weights is None else self.weights
        R, logdet = gram.residual_maker(v / self.alpha, self.bias)
        logdet -= np.log(v.sum() / self.alpha) if self.bias else 0.0
        smoother = DenseSmoother(R, self.alpha, self._root, logdet, int(self.bias))
        return RidgeSolution(gram, self, Y, smoother, smoother.targets(Y))

    @property
    def _root(self):
        return None if self.weights is None else np.sqrt(self.weights)

    def _decompose(self, gram):
        if not isinstance(self.penalty, str):
            return self._matrix_basis(gram)
        if self.weights is None and not self.bias:
            Q, mu = thin(gram).spectrum()
            none = np.zeros((gram.n, 0))
            return Basis(Q, mu**2, none, Q.shape[1] >= gram.n, None, Q * mu, none)
        return self._identity_basis(gram)

    def _identity_basis(self, gram):
        free = intercept(gram.n, self.bias, self.weights)
        root = np.ones(gram.n) if self._root is None else self._root
        Q, s = thin(gram).image_beside(free, root)
        coef_map = gram.matmul(scale(root, Q))
        return Basis(
            Q, s, free, Q.shape[1] + free.shape[1] >= gram.n, self._root, coef_map, np.zeros_like(free)
        )

    def _matrix_basis(self, gram):
        r"""Basis for a matrix T: unpenalised coefficients are free, the others are measured by :math:`T^{1/2}`."""
        root = np.ones(gram.n) if self._root is None else self._root
        B, E = penalty_roots(self.penalty, gram.n)
        C = np.column_stack([*([root] if self.bias else []), scale(root, gram.matmul(E))])
        free, back = column_space(C)
        Q, s = thin(gram).image_beside(free, root, B)
        lift_free = E @ back[int(self.bias) :]
        coef_map = B @ (B.T @ gram.matmul(scale(root, Q)))
        coef_map = coef_map - lift_free @ (free.T @ scale(root, gram.matmul(coef_map)))
        return Basis(Q, s, free, Q.shape[1] + free.shape[1] >= gram.n, self._root, coef_map, lift_free)


def penalty_roots(T, n):
    """Return B with ``T^+ = B B'`` and an orthonormal basis E of the null space of T.

    Parameters
    ----------
    T : array-like of shape (n, n)
        A penalty; one that is not symmetric, finite and positive semi-definite is refused.
    n : int
        The number of rows it is to have.
    """
    T = np.asarray(T, dtype=float)
    if T.shape != (n, n):
        raise ValueError(f"the penalty matrix must have shape ({n}, {n}), got {T.shape}.")
    if not np.isfinite(T).all():
        raise ValueError("the penalty matrix contains NaN or infinity.")
    if not np.allclose(T, T.T, rtol=0, atol=NEGATIVE * np.abs(T).max()):
        raise ValueError("the penalty matrix must be symmetric.")
    t, E = np.linalg.eigh(T)
    if t[0] < -NEGATIVE * max(t[-1], 0.0) or t[-1] <= 0:
        raise NotPositiveDefinite(
            "the penalty matrix", t[0], "It must be positive semi-definite and not zero."
        )
    used = t > n * EPS * t[-1]
    return E[:, used] / np.sqrt(t[used]), E[:, ~used]


@dataclass(frozen=True, eq=False)
class RidgeSolution(LinearSolution):
    """A ridge fit; see :class:`foldless.machines.least_squares.solution.LinearSolution`."""

    @property
    def lam(self):
        """The ridge parameter."""
        return self.machine.alpha

    @property
    def precision(self):
        """What a point weighs against the prior, ``v / lam``."""
        v = np.ones(self.n) if self.machine.weights is None else self.machine.weights
        return v / self.lam

    def at(self, alpha):
        """Return the fit with another ridge parameter, from the shared eigenpairs."""
        return replace(self.machine, alpha=alpha, route="spectrum").solve(self.gram, self.Y)

    def variances(self, sigma2=None):
        """Return the given noise variances, or the profiled ones ``y'Ry / m``, (k,)."""
        if sigma2 is not None:
            return np.broadcast_to(np.asarray(sigma2, float), self.Y.shape[1:])
        q = self.smoother.quadratic(self.targets)
        if np.any(q <= 0):
            raise Undefined(
                "the marginal likelihood is unbounded: the targets are fitted exactly. Are they constant? "
                "criterion='loo' needs no noise."
            )
        return q / self.penalised

    def deviance(self, sigma2=None):
        """Return -2 log marginal likelihood, eq. (3), as (value, slope in ln lam, sensitivity); mean over outputs."""
        s, t = self.smoother, self.targets
        self._needs_proper_prior()
        m, s2 = self.penalised, self.variances(sigma2)
        value = m * np.log(2 * np.pi * s2) + s.quadratic(t) / s2 + s.logdet() + self._jacobian()
        slope = s.quadratic_slope(t) / s2 - (m - self.residual_df)
        M = Sensitivity(inverse=1.0, P=-t.Y / (2 * s2 * len(s2)), Q=t.Y)
        return float(value.mean()), float(slope.mean()), M

    def _jacobian(self):
        if self.machine.weights is None:
            return 0.0
        v, row_counts = self.machine.weights, self.machine.row_counts
        row_counts = np.ones(self.n) if row_counts is None else row_counts
        mean = np.log(v.sum() / row_counts.sum()) if self.machine.bias else 0.0
        return mean - row_counts @ np.log(v / row_counts)

    def _needs_proper_prior(self):
        if self.smoother.penalised + int(self.machine.bias) < self.n:
            raise Undefined("the marginal likelihood is undefined: the penalty matrix is singular.")

    def variance(self, cross, prior, sigma2=None):
        r"""Posterior variance of the function at new points, (m, k): :mod:`foldless.machines.least_squares.gp_posterior`, eq. (2).

        For T = K the latent variance of a Gaussian process with kernel :math:`(\sigma^2/\lambda) k` and noise
        :math:`\sigma^2 / v_i`.

        Parameters
        ----------
        cross : array of shape (m, n)
            Kernel between the new points and the training points.
        prior : array of shape (m,)
            Kernel of each new point with itself.
        sigma2 : float or array of shape (k,), optional
            Noise variance; by default profiled.
        """
        return np.multiply.outer(spread(self, cross, prior), self.variances(sigma2) / self.lam)
