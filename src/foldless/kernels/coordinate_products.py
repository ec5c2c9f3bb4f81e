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

from abc import abstractmethod
from collections.abc import Iterator

import numpy as np
from numpy.typing import ArrayLike
from sklearn.gaussian_process.kernels import Hyperparameter, StationaryKernelMixin

from foldless.core.contracts import Matrix, Vector
from foldless.kernels.base import PairKernel
from foldless.kernels.evaluate import gram
from foldless.kernels.pairs import Pairs, to_dense


class CoordinateProduct(StationaryKernelMixin, PairKernel):
    r"""Base class of the kernels (1).

    A subclass defines :math:`\varphi` as ``_factor(u)`` and, if it has a parameter, :math:`\dot\varphi` as
    ``_factor_slope(u)``.
    """

    @abstractmethod
    def _factor(self, u: Matrix) -> Matrix:
        r"""Return :math:`\varphi(u)`."""

    def _factor_slope(self, u: Matrix) -> Matrix:
        """Return the derivative of the factor in the logarithm of the parameter."""
        raise NotImplementedError(f"{type(self).__name__} has no parameter to differentiate in.")

    def derivatives(self, pairs: Pairs) -> Iterator[Matrix]:
        """Yield the derivative in the logarithm of the parameter, if it is free."""
        if self.n_dims:
            yield _value_and_slope(self, pairs)[1]

    def diag(self, X: ArrayLike) -> Vector:
        """Return the diagonal, a constant."""
        n, d = np.shape(X)
        return np.full(n, float(self._factor(np.zeros(1))[0]) ** d)


def _differences(pairs: Pairs) -> Iterator[Matrix]:
    """Yield the differences of each coordinate, an array (n, m) at a time."""
    X, Y = to_dense(pairs.X), to_dense(pairs.Y)
    for a in range(X.shape[1]):
        yield np.subtract.outer(X[:, a], Y[:, a])


def _value(kernel: CoordinateProduct, pairs: Pairs) -> Matrix:
    K = np.ones(pairs.shape)
    for u in _differences(pairs):
        K *= kernel._factor(u)
    return K


def _value_and_slope(kernel: CoordinateProduct, pairs: Pairs) -> tuple[Matrix, Matrix]:
    K, slope = np.ones(pairs.shape), np.zeros(pairs.shape)
    for u in _differences(pairs):  # eq. (2)
        f = kernel._factor(u)
        slope *= f
        slope += K * kernel._factor_slope(u)
        K *= f
    return K, slope


@gram.register
def _(kernel: CoordinateProduct, pairs: Pairs) -> Matrix:
    return _value(kernel, pairs)


class Sinc(CoordinateProduct):
    r"""Reproducing kernel of the functions band-limited to :math:`[-W, W]`, with the plain inner product.

    .. math:: \varphi(u) = \frac{\sin W u}{\pi u}, \qquad \varphi(0) = W / \pi.

    Entries can be negative, and distinct points on the grid of its zeros are orthogonal. (Another, wrong kernel results
    if "sinc" is read as :math:`\sin(t)/t` without the scale of t.)

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

    def __init__(
        self, bandwidth: float = 1.0, bandwidth_bounds: tuple[float, float] | str = (1e-5, 1e5)
    ) -> None:
        self.bandwidth = bandwidth
        self.bandwidth_bounds = bandwidth_bounds

    @property
    def hyperparameter_bandwidth(self) -> Hyperparameter:
        """W, in logarithms."""
        return Hyperparameter("bandwidth", "numeric", self.bandwidth_bounds)

    def _factor(self, u: Matrix) -> Matrix:
        W = self.bandwidth
        return W / np.pi * np.sinc(W / np.pi * u)

    def _factor_slope(self, u: Matrix) -> Matrix:
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

    def __init__(
        self,
        q: float = 0.5,
        q_bounds: tuple[float, float] | str = (1e-3, 0.999),
        period: float = 2 * np.pi,
    ) -> None:
        self.q = q
        self.q_bounds = q_bounds
        self.period = period

    @property
    def hyperparameter_q(self) -> Hyperparameter:
        """q, in logarithms."""
        return Hyperparameter("q", "numeric", self.q_bounds)

    def _ratio(self, u: Matrix) -> tuple[float, Matrix, Matrix]:
        r"""Return numerator, denominator and :math:`\sin^2(u / 2)`."""
        q = self.q
        if not 0 < q < 1:
            raise ValueError(f"q must lie between 0 and 1, got {q!r}. Keep q_bounds inside (0, 1).")
        s2 = np.sin(np.pi / self.period * u) ** 2
        return 1 - q**2, 2 * ((1 - q) ** 2 + 4 * q * s2), s2

    def _factor(self, u: Matrix) -> Matrix:
        top, bottom, _ = self._ratio(u)
        return top / bottom

    def _factor_slope(self, u: Matrix) -> Matrix:
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

    def __init__(self, degree: int = 3, period: float = 2 * np.pi) -> None:
        self.degree = degree
        self.period = period

    def _factor(self, u: Matrix) -> Matrix:
        if self.degree < 0 or self.degree != int(self.degree):
            raise ValueError(f"degree must be a non-negative integer, got {self.degree!r}.")
        v = 2 * np.pi / self.period * u
        return 0.5 + sum((np.cos(k * v) for k in range(1, int(self.degree) + 1)), start=np.zeros_like(v))
