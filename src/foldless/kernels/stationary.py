r"""RBF, Matérn and rational quadratic kernels: functions of a squared distance.

With :math:`D_{ij} = \sum_a (x_{ia} - y_{ja})^2 / \ell_a^2` and :math:`K = f(D)`, the derivative in the logarithm of a
length scale needs one function besides ``f``, the *decay* :math:`g = -2 f'`:

.. math:: \frac{\partial K_{ij}}{\partial \log \ell_a} = g(D_{ij}) \frac{(x_{ia} - y_{ja})^2}{\ell_a^2}.  \tag{1}

Contracted with an adjoint ``A`` and written with :math:`B = A \circ g(D)`, all length scales cost one product:

.. math:: \sum_i (B 1)_i z_{ia}^2 + \sum_j (B' 1)_j \tilde z_{ja}^2 - 2 \sum_i z_{ia} (B \tilde Z)_{ia},
          \qquad z = x / \ell.  \tag{2}
"""

import numpy as np
import scipy.sparse as sp
from sklearn.gaussian_process.kernels import RBF, Matern, RationalQuadratic

from foldless.core.linalg import strips
from foldless.kernels.evaluate import gram_of, pullback_of, semidefinite

VANISHED = (
    -600.0
)  # exponents are cut off here (1e-261): smaller numbers are denormal, and slow the processor down


def _rbf(D, scale=1.0, out=None):
    E = np.multiply(D, -0.5 * scale, out=out)
    return np.exp(np.maximum(E, VANISHED, out=E), out=E)


def _rbf_decay(D):
    return _rbf(D)


def _matern12(D):
    return np.exp(-np.sqrt(D))


def _matern12_decay(D):
    d = np.sqrt(D)
    return np.divide(
        np.exp(-d), d, out=np.zeros_like(d), where=d > 0
    )  # times D in (1): no limit is lost at 0


def _matern32(D):
    d = np.sqrt(3 * D)
    return (1 + d) * np.exp(-d)


def _matern32_decay(D):
    return 3 * np.exp(-np.sqrt(3 * D))


def _matern52(D):
    d = np.sqrt(5 * D)
    return (1 + d + d**2 / 3) * np.exp(-d)


def _matern52_decay(D):
    d = np.sqrt(5 * D)
    return 5 / 3 * (1 + d) * np.exp(-d)


PROFILES = {  # nu -> (f, g)
    0.5: (_matern12, _matern12_decay),
    1.5: (_matern32, _matern32_decay),
    2.5: (_matern52, _matern52_decay),
    np.inf: (_rbf, _rbf_decay),
}


def contract_length_scales(pairs, length_scale, adjoint, decay):
    """Equation (2) for one length scale per feature, or its sum for a single one; B is formed a strip at a time."""
    if np.ndim(length_scale) == 0:
        D = pairs.squared
        total = sum(np.vdot(adjoint[rows] * decay[rows], D[rows]) for rows in strips(len(D)))
        return np.array([total / float(length_scale) ** 2])
    Z, T = pairs.scaled(length_scale)
    Z2, T2 = (M.multiply(M) if sp.issparse(M) else M**2 for M in (Z, T))
    columns, total = np.zeros(T.shape[0]), np.zeros(T.shape[1])
    for rows in strips(Z.shape[0]):
        B = adjoint[rows] * decay[rows]
        columns += B.sum(0)
        total += B.sum(1) @ Z2[rows] - 2 * _products(Z[rows], B @ T)
    return total + columns @ T2


def _products(Z, BT):
    """Sums over the rows of the entries of Z times those of BT."""
    if sp.issparse(Z):
        return np.asarray(Z.multiply(BT).sum(axis=0)).ravel()
    return np.einsum("ij,ij->j", Z, BT)


def _key(length_scale, nu):
    return np.asarray(length_scale, float).tobytes() + np.float64(nu).tobytes()


def _profile_gram(pairs, length_scale, nu):
    def compute():
        if nu == np.inf and np.ndim(length_scale) == 0:  # one array less than the general way
            return _rbf(pairs.squared, 1 / float(length_scale) ** 2)
        if nu == np.inf:  # nothing else will ask for these distances
            D = pairs.fresh_squared_over(length_scale)
            return _rbf(D, out=D)
        return PROFILES[nu][0](pairs.squared_over(length_scale))

    return pairs.latest("stationary", _key(length_scale, nu), compute)


def _profile_pullback(kernel, pairs, adjoint, nu):
    if kernel.hyperparameter_length_scale.fixed:
        return np.zeros(0)
    if nu == np.inf:
        decay = _profile_gram(pairs, kernel.length_scale, nu)  # the RBF is its own decay
    else:
        decay = PROFILES[nu][1](pairs.squared_over(kernel.length_scale))
    return contract_length_scales(pairs, kernel.length_scale, adjoint, decay)


@gram_of.register
def _(kernel: RBF, pairs):
    return _profile_gram(pairs, kernel.length_scale, np.inf)


@pullback_of.register
def _(kernel: RBF, pairs, adjoint):
    return _profile_pullback(kernel, pairs, adjoint, np.inf)


@gram_of.register
def _(kernel: Matern, pairs):
    if kernel.nu not in PROFILES:
        return gram_of.dispatch(object)(kernel, pairs)
    return _profile_gram(pairs, kernel.length_scale, kernel.nu)


@pullback_of.register
def _(kernel: Matern, pairs, adjoint):
    if kernel.nu not in PROFILES:
        return pullback_of.dispatch(object)(kernel, pairs, adjoint)
    return _profile_pullback(kernel, pairs, adjoint, kernel.nu)


@gram_of.register
def _(kernel: RationalQuadratic, pairs):
    r""":math:`(1 + D / 2\alpha)^{-\alpha}`."""
    return (1 + pairs.squared_over(kernel.length_scale) / (2 * kernel.alpha)) ** -kernel.alpha


@pullback_of.register
def _(kernel: RationalQuadratic, pairs, adjoint):
    r"""In :math:`\log\alpha`: :math:`K (-\alpha \log u + D / 2u)`, in :math:`\log\ell`: :math:`D u^{-\alpha-1}`."""
    alpha, D = kernel.alpha, pairs.squared_over(kernel.length_scale)
    u = 1 + D / (2 * alpha)
    gradient = []
    if not kernel.hyperparameter_alpha.fixed:
        gradient.append(np.vdot(adjoint, u**-alpha * (D / (2 * u) - alpha * np.log(u))))
    if not kernel.hyperparameter_length_scale.fixed:
        gradient.append(np.vdot(adjoint, D * u ** (-alpha - 1)))
    return np.array(gradient)


@semidefinite.register(RBF)
@semidefinite.register(Matern)
@semidefinite.register(RationalQuadratic)
def _(kernel):
    return True
