r"""RBF, Matérn and rational quadratic kernels: functions of a squared distance.

With :math:`D_{ij} = \sum_a (x_{ia} - y_{ja})^2 / \ell_a^2` and :math:`K = f(D)`, the derivative in the logarithm of a
length scale needs one function besides ``f``, the *decay* :math:`g = -2 f'`:

.. math:: \frac{\partial K_{ij}}{\partial \log \ell_a} = g(D_{ij}) \frac{(x_{ia} - y_{ja})^2}{\ell_a^2}.  \tag{1}

Contracted with an adjoint ``A`` and written with :math:`B = A \circ g(D)`, all length scales cost one product:

.. math:: \sum_i (B 1)_i z_{ia}^2 + \sum_j (B' 1)_j \tilde z_{ja}^2 - 2 \sum_i z_{ia} (B \tilde Z)_{ia},
          \qquad z = x / \ell.  \tag{2}
"""

from collections.abc import Callable

import numpy as np
import scipy.sparse as sp
from sklearn.gaussian_process.kernels import RBF, Kernel, Matern, RationalQuadratic

from foldless.core.contracts import Matrix, Vector
from foldless.core.linalg import each_strip, strips
from foldless.kernels.evaluate import gram, is_semidefinite, pullback, with_theta
from foldless.kernels.pairs import Pairs, Points

# Exponents are cut off here (at 1e-261): denormal numbers would slow the processor down.
MIN_EXPONENT = -600.0


def _rbf(D: Matrix, scale: float = 1.0, out: Matrix | None = None) -> Matrix:
    K = np.empty_like(D) if out is None else out

    def fill(rows: slice) -> None:
        E = np.multiply(D[rows], -0.5 * scale, out=K[rows])
        np.exp(np.maximum(E, MIN_EXPONENT, out=E), out=E)

    each_strip(len(D), fill)
    return K


def _matern12(D: Matrix) -> Matrix:
    return np.exp(-np.sqrt(D))


def _matern12_decay(D: Matrix) -> Matrix:
    d = np.sqrt(D)
    # Equation (1) multiplies by D, so the value at a distance of 0 does not matter: take 0.
    return np.divide(np.exp(-d), d, out=np.zeros_like(d), where=d > 0)


def _matern32(D: Matrix) -> Matrix:
    d = np.sqrt(3 * D)
    return (1 + d) * np.exp(-d)


def _matern32_decay(D: Matrix) -> Matrix:
    return 3 * np.exp(-np.sqrt(3 * D))


def _matern52(D: Matrix) -> Matrix:
    d = np.sqrt(5 * D)
    return (1 + d + d**2 / 3) * np.exp(-d)


def _matern52_decay(D: Matrix) -> Matrix:
    d = np.sqrt(5 * D)
    return 5 / 3 * (1 + d) * np.exp(-d)


# nu -> (f, g); the RBF is its own decay.
PROFILES: dict[float, tuple[Callable[[Matrix], Matrix], Callable[[Matrix], Matrix]]] = {
    0.5: (_matern12, _matern12_decay),
    1.5: (_matern32, _matern32_decay),
    2.5: (_matern52, _matern52_decay),
    np.inf: (_rbf, _rbf),
}


def contract_length_scales(
    pairs: Pairs, length_scale: float | Vector, adjoint: Matrix, decay: Matrix
) -> Vector:
    """Return (2) for one length scale per feature, or its sum for a single one; B is formed a strip at a time."""
    if np.ndim(length_scale) == 0:
        D = pairs.squared
        parts = [np.vdot(adjoint[rows] * decay[rows], D[rows]) for rows in strips(len(D))]
        return np.array([sum(parts) / float(length_scale) ** 2])
    Z, T = pairs.scaled(length_scale)
    Z2, T2 = (M.multiply(M) if sp.issparse(M) else M**2 for M in (Z, T))
    columns, total = np.zeros(T.shape[0]), np.zeros(T.shape[1])
    for rows in strips(Z.shape[0]):
        B = adjoint[rows] * decay[rows]
        columns += B.sum(0)
        total += B.sum(1) @ Z2[rows] - 2 * _products(Z[rows], B @ T)
    return total + columns @ T2


def _products(Z: Points, BT: Matrix) -> Vector:
    """Return the sums over the rows of the entries of Z times those of BT."""
    if sp.issparse(Z):
        return np.asarray(Z.multiply(BT).sum(axis=0)).ravel()
    return np.einsum("ij,ij->j", Z, BT)


def _profile_gram(pairs: Pairs, length_scale: float | Vector, nu: float) -> Matrix:
    """Return ``f(D)``, remembered by the pairs for the way back."""
    key = np.asarray(length_scale, float).tobytes() + np.float64(nu).tobytes()
    K = pairs.recall("stationary", key)
    return pairs.remember("stationary", key, _profile(pairs, length_scale, nu)) if K is None else K


def _profile(pairs: Pairs, length_scale: float | Vector, nu: float) -> Matrix:
    """Return ``f(D)``; for the RBF, which needs its distances only here, with one array less."""
    if nu != np.inf:
        return _by_strips(PROFILES[nu][0], pairs.squared_over(length_scale))
    if np.ndim(length_scale) == 0:
        return _rbf(pairs.squared, 1 / float(length_scale) ** 2)
    D = pairs.fresh_squared_over(length_scale)
    return _rbf(D, out=D)


def _by_strips(profile: Callable[[Matrix], Matrix], D: Matrix) -> Matrix:
    K = np.empty_like(D)

    def fill(rows: slice) -> None:
        K[rows] = profile(D[rows])

    each_strip(len(D), fill)
    return K


def _profile_pullback(kernel: RBF | Matern, pairs: Pairs, adjoint: Matrix, nu: float) -> Vector:
    if kernel.hyperparameter_length_scale.fixed:
        return np.zeros(0)
    if nu == np.inf:
        decay = _profile_gram(pairs, kernel.length_scale, nu)
    else:
        decay = _by_strips(PROFILES[nu][1], pairs.squared_over(kernel.length_scale))
    return contract_length_scales(pairs, kernel.length_scale, adjoint, decay)


@gram.register
def _(kernel: RBF, pairs: Pairs) -> Matrix:
    return _profile_gram(pairs, kernel.length_scale, np.inf)


@pullback.register
def _(kernel: RBF, pairs: Pairs, adjoint: Matrix) -> Vector:
    return _profile_pullback(kernel, pairs, adjoint, np.inf)


@gram.register
def _(kernel: Matern, pairs: Pairs) -> Matrix:
    if kernel.nu not in PROFILES:
        return gram.dispatch(object)(kernel, pairs)
    return _profile_gram(pairs, kernel.length_scale, kernel.nu)


@pullback.register
def _(kernel: Matern, pairs: Pairs, adjoint: Matrix) -> Vector:
    if kernel.nu not in PROFILES:
        return pullback.dispatch(object)(kernel, pairs, adjoint)
    return _profile_pullback(kernel, pairs, adjoint, kernel.nu)


@gram.register
def _(kernel: RationalQuadratic, pairs: Pairs) -> Matrix:
    r""":math:`(1 + D / 2\alpha)^{-\alpha}`."""
    return (1 + pairs.squared_over(kernel.length_scale) / (2 * kernel.alpha)) ** -kernel.alpha


@pullback.register
def _(kernel: RationalQuadratic, pairs: Pairs, adjoint: Matrix) -> Vector:
    r"""In :math:`\log\alpha`: :math:`K (-\alpha \log u + D / 2u)`, in :math:`\log\ell`: :math:`D u^{-\alpha-1}`."""
    alpha, D = kernel.alpha, pairs.squared_over(kernel.length_scale)
    u = 1 + D / (2 * alpha)
    gradient = []
    if not kernel.hyperparameter_alpha.fixed:
        gradient.append(np.vdot(adjoint, u**-alpha * (D / (2 * u) - alpha * np.log(u))))
    if not kernel.hyperparameter_length_scale.fixed:
        gradient.append(np.vdot(adjoint, D * u ** (-alpha - 1)))
    return np.array(gradient)


@with_theta.register
def _(kernel: RBF, theta: Vector) -> Kernel:
    # A subclass may take other parameters, and a fixed length scale is none.
    bounds = kernel.length_scale_bounds
    if (
        type(kernel) not in (RBF, Matern)
        or isinstance(bounds, str)
        or len(theta) != np.size(kernel.length_scale)
    ):
        return kernel.clone_with_theta(theta)
    length_scale = np.exp(theta) if len(theta) > 1 else np.exp(theta[0])
    if type(kernel) is RBF:
        return RBF(length_scale, bounds)
    return Matern(length_scale, bounds, nu=kernel.nu)


@is_semidefinite.register(RBF)
@is_semidefinite.register(Matern)
@is_semidefinite.register(RationalQuadratic)
def _(kernel: RBF | Matern | RationalQuadratic) -> bool:
    return True
