r"""The power exponential kernel: from the Laplacian (q = 1) to the Gaussian (q = 2), with the power tuned.

.. math:: k(x, x') = \exp\bigl(-\|(x - x') / \ell\|_p^q\bigr), \qquad p \in \{1, 2\}, \quad 0 < q \le p  \tag{1}

It is positive definite for these powers and no others [1]_. With :math:`D = \|(x - x') / \ell\|_p` and :math:`T = D^q`

.. math:: \frac{\partial k}{\partial \log q} = -k\, T \log T, \qquad
          \frac{\partial k}{\partial \log \ell_a} = q\, k\, T\, \frac{|x_a - x'_a|^p}{\ell_a^p D^p}.  \tag{2}

The last fractions add up to one, so that a single length scale has the derivative :math:`q k T`.

References
----------
.. [1] Schoenberg, *Metric spaces and positive definite functions*, Trans. Amer. Math. Soc. 44 (1938).
"""

from collections.abc import Iterator
from numbers import Real

import numpy as np
from scipy.spatial.distance import cdist
from scipy.special import xlogy
from sklearn.gaussian_process.kernels import (
    Hyperparameter,
    NormalizedKernelMixin,
    StationaryKernelMixin,
)

from foldless.core.contracts import Matrix, Vector
from foldless.kernels.base import LengthScales, PairKernel
from foldless.kernels.evaluate import gram, is_semidefinite, pullback
from foldless.kernels.pairs import Pairs, to_dense
from foldless.kernels.stationary import MIN_EXPONENT, contract_length_scales

# A power may exceed p by this fraction: exp(log p) need not be p to the last digit.
POWER_TOLERANCE = 1e-12


class PowerExponential(LengthScales, StationaryKernelMixin, NormalizedKernelMixin, PairKernel):
    r"""Power exponential kernel :math:`\exp(-\|(x - x') / \ell\|_p^q)`.

    Parameters
    ----------
    length_scale : float or array of shape (d,), default=1.0
    power : float, default=1.0
        q, above 0 and at most p.
    p : {1, 2}, default=2
        The norm; not tuned.
    length_scale_bounds : pair of floats or "fixed", default=(1e-05, 100000.0)
    power_bounds : pair of floats or "fixed", default=(0.1, 2.0)
        The upper bound is lowered to p where it is larger.

    Notes
    -----
    ``power=2, p=2`` is the Gaussian: ``PowerExponential(l, 2)`` equals ``RBF(l / sqrt(2))``, because an RBF halves the
    squared distance. ``power=1`` is the Laplacian of the same norm and length scale.

    Examples
    --------
    >>> PowerExponential(2.0, power=1.5)([[0.0], [2.0], [4.0]]).round(4)
    array([[1.    , 0.3679, 0.0591],
           [0.3679, 1.    , 0.3679],
           [0.0591, 0.3679, 1.    ]])
    """

    def __init__(
        self,
        length_scale: float | Vector = 1.0,
        power: float = 1.0,
        p: int = 2,
        length_scale_bounds: tuple[float, float] | str = (1e-5, 1e5),
        power_bounds: tuple[float, float] | str = (0.1, 2.0),
    ) -> None:
        self.length_scale = length_scale
        self.power = power
        self.p = p
        self.length_scale_bounds = length_scale_bounds
        self.power_bounds = power_bounds

    @property
    def hyperparameter_power(self) -> Hyperparameter:
        """The power q, in logarithms."""
        _norm_and_power(self)
        bounds = self.power_bounds
        if not isinstance(bounds, str):
            low, high = np.ravel(bounds)
            bounds = (low, min(high, self.p))
        return Hyperparameter("power", "numeric", bounds)

    def derivatives(self, pairs: Pairs) -> Iterator[Matrix]:
        """Yield the derivatives (2) in the order of theta: length scales, then the power."""
        T = _exponent(self, pairs)
        K = _kernel_values(T)
        if not self.hyperparameter_length_scale.fixed:
            q = _norm_and_power(self)[1]
            for share in _shares(self, pairs, T):
                yield q * K * share
        if not self.hyperparameter_power.fixed:
            yield -K * xlogy(T, T)


def _norm_and_power(kernel: PowerExponential) -> tuple[int, float]:
    """Return p and q, checked."""
    p, q = kernel.p, kernel.power
    if p not in (1, 2):
        raise ValueError(f"p must be 1 or 2, got {p!r}.")
    if not isinstance(q, Real) or not 0 < q <= p * (1 + POWER_TOLERANCE):
        raise ValueError(
            f"power must be above 0 and at most p={p}, got {q!r}: other powers are not positive definite."
        )
    return p, min(float(q), float(p))


def _exponent(kernel: PowerExponential, pairs: Pairs) -> Matrix:
    """Return T, the distance to the power q."""
    p, q = _norm_and_power(kernel)
    key = np.r_[np.ravel(kernel.length_scale), p, q].tobytes()
    T = pairs.recall("power", key)
    if T is not None:
        return T
    length = kernel.length_scale if kernel.anisotropic else float(np.squeeze(kernel.length_scale))
    if p == 2:
        return pairs.remember("power", key, pairs.squared_over(length) ** (q / 2))
    if not kernel.anisotropic:
        return pairs.remember("power", key, (pairs.absolute / length) ** q)
    X, Y = to_dense(pairs.X), to_dense(pairs.Y)
    return pairs.remember("power", key, cdist(X / length, Y / length, "cityblock") ** q)


def _kernel_values(T: Matrix) -> Matrix:
    return np.exp(np.maximum(-T, MIN_EXPONENT))


def _shares(kernel: PowerExponential, pairs: Pairs, T: Matrix) -> Iterator[Matrix]:
    """Yield what each length scale contributes to T: the fractions of (2) times T."""
    if not kernel.anisotropic:
        yield T
        return
    p, q = _norm_and_power(kernel)
    # T / D^p, which is multiplied by 0 at a distance of 0.
    slope = np.power(T, 1 - p / q, out=np.zeros_like(T), where=T > 0)
    X, Y = to_dense(pairs.X), to_dense(pairs.Y)
    for a, length in enumerate(np.asarray(kernel.length_scale)):
        yield slope * (np.abs(np.subtract.outer(X[:, a], Y[:, a])) / length) ** p


@gram.register
def _(kernel: PowerExponential, pairs: Pairs) -> Matrix:
    return _kernel_values(_exponent(kernel, pairs))


@pullback.register
def _(kernel: PowerExponential, pairs: Pairs, adjoint: Matrix) -> Vector:
    p, q = _norm_and_power(kernel)
    if p == 1 or not kernel.anisotropic or kernel.hyperparameter_length_scale.fixed:
        return np.array([np.vdot(adjoint, derivative) for derivative in kernel.derivatives(pairs)])
    # One product for all length scales, as for the Gaussian: T / D^2 is the decay over q K.
    T = _exponent(kernel, pairs)
    K = _kernel_values(T)
    decay = q * K * np.power(T, 1 - 2 / q, out=np.zeros_like(T), where=T > 0)
    gradient = contract_length_scales(pairs, kernel.length_scale, adjoint, decay)
    if kernel.hyperparameter_power.fixed:
        return gradient
    return np.r_[gradient, -np.vdot(adjoint, K * xlogy(T, T))]


@is_semidefinite.register
def _(kernel: PowerExponential) -> bool:
    return True
