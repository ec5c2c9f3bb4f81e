r"""Kernels that are a product over the coordinates of one function of the difference.

.. math:: k(x, x') = \prod_a \varphi(x_a - x'_a)  \tag{1}

Value and derivative in the logarithm of the one parameter are carried along coordinate by coordinate,

.. math:: P \leftarrow P \varphi_a, \qquad \dot P \leftarrow \dot P \varphi_a + P \dot\varphi_a,  \tag{2}

so zeros of a factor do no harm and only n x m arrays are held.

References
----------
.. [1] Sugiyama and Müller, *The subspace information criterion for infinite dimensional hypothesis spaces*,
   JMLR 3 (2002), section 5.
"""

import numpy as np
import scipy.sparse as sp
from sklearn.gaussian_process.kernels import Hyperparameter, Kernel, StationaryKernelMixin

from foldless.kernels.evaluate import gram_of, pullback_of
from foldless.kernels.pairs import Pairs


class CoordinateProduct(StationaryKernelMixin, Kernel):
    """Base of the kernels (1): a subclass gives ``_factor(u)`` and, if it has a parameter, ``_factor_slope(u)``."""

    def __call__(self, X, Y=None, eval_gradient=False):
        """Return the kernel matrix, and its derivative in theta, (n, n, 1) or (n, n, 0)."""
        if eval_gradient and Y is not None:
            raise ValueError("Gradient can only be evaluated when Y is None.")
        pairs = Pairs(np.atleast_2d(X), None if Y is None else np.atleast_2d(Y))
        if not eval_gradient:
            return _value(self, pairs)
        if self.n_dims == 0:
            return _value(self, pairs), np.zeros((*pairs.shape, 0))
        K, slope = _value_and_slope(self, pairs)
        return K, slope[:, :, None]

    def diag(self, X):
        """Return the diagonal, a constant."""
        n, d = np.shape(X)
        return np.full(n, float(self._factor(np.zeros(1))[0]) ** d)


def _differences(pairs):
    """Yield the differences of each coordinate, (n, m) at a time."""
    X, Y = (M.toarray() if sp.issparse(M) else M for M in (pairs.X, pairs.Y))
    for a in range(X.shape[1]):
        yield np.subtract.outer(X[:, a], Y[:, a])


def _value(kernel, pairs):
    K = np.ones(pairs.shape)
    for u in _differences(pairs):
        K *= kernel._factor(u)
    return K


def _value_and_slope(kernel, pairs):
    K, slope = np.ones(pairs.shape), np.zeros(pairs.shape)
    for u in _differences(pairs):  # eq. (2)
        f = kernel._factor(u)
        slope *= f
        slope += K * kernel._factor_slope(u)
        K *= f
    return K, slope


@gram_of.register
def _(kernel: CoordinateProduct, pairs):
    return _value(kernel, pairs)


@pullback_of.register
def _(kernel: CoordinateProduct, pairs, adjoint):
    if kernel.n_dims == 0:
        return np.zeros(0)
    return np.array([np.vdot(adjoint, _value_and_slope(kernel, pairs)[1])])


class Sinc(CoordinateProduct):
    r"""Reproducing kernel of the functions band-limited to :math:`[-W, W]`, with the plain inner product.

    .. math:: \varphi(u) = \frac{\sin W u}{\pi u}, \qquad \varphi(0) = W / \pi.

    Entries can be negative, and far apart points on the grid of its zeros are orthogonal. (With :math:`\sin(t)/t` for
    "sinc" without the scale of t one gets another, wrong kernel.)

    Parameters
    ----------
    bandwidth : float, default=1.0
        W.
    bandwidth_bounds : pair of floats or "fixed", default=(1e-05, 100000.0)

    Examples
    --------
    >>> import numpy as np
    >>> Sinc(np.pi)(np.array([[0.0], [0.5], [1.0]])).round(4)
    array([[1.    , 0.6366, 0.    ],
           [0.6366, 1.    , 0.6366],
           [0.    , 0.6366, 1.    ]])
    """

    def __init__(self, bandwidth=1.0, bandwidth_bounds=(1e-5, 1e5)):
        self.bandwidth = bandwidth
        self.bandwidth_bounds = bandwidth_bounds

    @property
    def hyperparameter_bandwidth(self):
        """W, in logarithms."""
        return Hyperparameter("bandwidth", "numeric", self.bandwidth_bounds)

    def _factor(self, u):
        W = self.bandwidth
        return W / np.pi * np.sinc(W / np.pi * u)

    def _factor_slope(self, u):
        W = self.bandwidth
        return W / np.pi * np.cos(W * u)


class TrigonometricPolynomial(CoordinateProduct):
    r"""Regularised trigonometric polynomials of every degree (the Poisson kernel), :math:`0 < q < 1`.

    .. math:: \varphi(u) = \tfrac12 + \sum_{k \ge 1} q^k \cos k u
              = \frac{1 - q^2}{2 [(1 - q)^2 + 4 q \sin^2(u/2)]}

    Positive everywhere, and periodic: inputs must span at most one period.

    Parameters
    ----------
    q : float, default=0.5
        How slowly the coefficients decay; near 1 the kernel is narrow.
    q_bounds : pair of floats or "fixed", default=(0.001, 0.999)
        Within (0, 1).
    period : float, default=6.283185307179586
        In units of the inputs; not tuned.
    """

    def __init__(self, q=0.5, q_bounds=(1e-3, 0.999), period=2 * np.pi):
        self.q = q
        self.q_bounds = q_bounds
        self.period = period

    @property
    def hyperparameter_q(self):
        """q, in logarithms."""
        return Hyperparameter("q", "numeric", self.q_bounds)

    def _ratio(self, u):
        """Numerator and denominator."""
        q = self.q
        if not 0 < q < 1:
            raise ValueError(f"q must lie between 0 and 1, got {q!r}. Keep q_bounds inside (0, 1).")
        s2 = np.sin(np.pi / self.period * u) ** 2
        return 1 - q**2, 2 * ((1 - q) ** 2 + 4 * q * s2), s2

    def _factor(self, u):
        top, bottom, _ = self._ratio(u)
        return top / bottom

    def _factor_slope(self, u):
        q = self.q
        top, bottom, s2 = self._ratio(u)
        return q * (-2 * q - top / bottom * 4 * (2 * s2 - (1 - q))) / bottom


class Dirichlet(CoordinateProduct):
    r"""Trigonometric polynomials of one degree N, not regularised: of rank at most 2N + 1 per coordinate.

    .. math:: \varphi(u) = \tfrac12 + \sum_{k=1}^N \cos k u

    Entries can be negative and the Gram matrix of more than 2N + 1 points is singular.

    Parameters
    ----------
    degree : int, default=3
        N; not tuned.
    period : float, default=6.283185307179586
        In units of the inputs; not tuned.
    """

    def __init__(self, degree=3, period=2 * np.pi):
        self.degree = degree
        self.period = period

    def _factor(self, u):
        if self.degree < 0 or self.degree != int(self.degree):
            raise ValueError(f"degree must be a non-negative integer, got {self.degree!r}.")
        v = 2 * np.pi / self.period * u
        return 0.5 + sum((np.cos(k * v) for k in range(1, int(self.degree) + 1)), start=np.zeros_like(v))
