r"""A kernel for categories, on integer codes.

.. math:: k(x, x') = \exp\Bigl(-\sum_a [x_a \ne x'_a] / \ell_a\Bigr), \qquad
          \frac{\partial k}{\partial \log \ell_a} = k\, [x_a \ne x'_a] / \ell_a  \tag{1}

Each column contributes :math:`e^{-1/\ell} + (1 - e^{-1/\ell}) [x_a = x'_a]`, a constant plus the indicator of equality;
both are positive semi-definite, and so is their product over the columns. One-hot columns under an RBF are the same
kernel with :math:`\ell` equal to the squared width; the codes need no extra columns.
"""

from collections.abc import Iterator

import numpy as np
from sklearn.gaussian_process.kernels import (
    NormalizedKernelMixin,
    StationaryKernelMixin,
)

from foldless.core.contracts import Matrix, Vector
from foldless.core.errors import DataError
from foldless.kernels.base import LengthScales, PairKernel
from foldless.kernels.evaluate import gram, is_semidefinite, pullback
from foldless.kernels.pairs import Pairs, Points, to_dense


class Categorical(LengthScales, StationaryKernelMixin, NormalizedKernelMixin, PairKernel):
    """Kernel that falls by a factor exp(-1 / length_scale) for every column in which two rows differ; eq. (1).

    Parameters
    ----------
    length_scale : float or array of shape (d,), default=1.0
        One for all columns, or one for each.
    length_scale_bounds : pair of floats or "fixed", default=(0.01, 100.0)

    Notes
    -----
    The columns hold integer codes 0, 1, 2, ... A negative code or NaN stands for a category that is not known, such as
    one that did not occur in training: it matches nothing, not even the same code in another row. Between two sets of
    points it matches nothing at all; in the matrix of one set with itself a row still equals itself, so that the
    diagonal is 1.

    Examples
    --------
    >>> Categorical(1.0)([[0, 2], [0, 1], [-1, 1], [-1, 1]]).round(4)
    array([[1.    , 0.3679, 0.1353, 0.1353],
           [0.3679, 1.    , 0.3679, 0.3679],
           [0.1353, 0.3679, 1.    , 0.3679],
           [0.1353, 0.3679, 0.3679, 1.    ]])
    """

    def __init__(
        self,
        length_scale: float | Vector = 1.0,
        length_scale_bounds: tuple[float, float] | str = (1e-2, 1e2),
    ) -> None:
        self.length_scale = length_scale
        self.length_scale_bounds = length_scale_bounds

    def derivatives(self, pairs: Pairs) -> Iterator[Matrix]:
        """Yield the derivatives in the logarithms of the length scales, if they are free."""
        if self.hyperparameter_length_scale.fixed:
            return
        K = gram(self, pairs)
        for D in _scaled(self, pairs):
            yield K * D


def _check_codes(kernel: Categorical, points: Points) -> None:
    """Raise if some number is neither an integer nor NaN, or if length scales and columns differ in number."""
    values = to_dense(points)
    if kernel.anisotropic and np.size(kernel.length_scale) != values.shape[1]:
        raise ValueError(
            f"Categorical has {np.size(kernel.length_scale)} length scales for {values.shape[1]} columns."
        )
    wrong = np.argwhere((values != np.rint(values)) & ~np.isnan(values))
    if len(wrong):
        row, column = wrong[0]
        raise DataError(
            f"Categorical needs integer codes, but column {column} holds {values[row, column]:.6g}. "
            "Use another kernel for columns of numbers: Columns(RBF(), ...) * Columns(Categorical(), ...)."
        )


def _scaled(kernel: Categorical, pairs: Pairs) -> Iterator[Matrix]:
    """Yield mismatches over the length scale: their number for a single scale, else column by column."""
    if not kernel.anisotropic:
        yield pairs.mismatches / float(np.squeeze(kernel.length_scale))
        return
    X, Y = pairs.codes
    for a, length in enumerate(np.asarray(kernel.length_scale)):
        yield np.not_equal.outer(X[:, a], Y[:, a]) / length


@gram.register
def _(kernel: Categorical, pairs: Pairs) -> Matrix:
    key = np.asarray(kernel.length_scale, float).tobytes()
    K = pairs.recall("categorical", key)
    if K is not None:
        return K
    for points in (pairs.X, pairs.Y):
        _check_codes(kernel, points)
    return pairs.remember("categorical", key, np.exp(-sum(_scaled(kernel, pairs), start=np.zeros(1))))


@pullback.register
def _(kernel: Categorical, pairs: Pairs, adjoint: Matrix) -> Vector:
    if kernel.hyperparameter_length_scale.fixed:
        return np.zeros(0)
    B = adjoint * gram(kernel, pairs)
    return np.array([np.vdot(B, D) for D in _scaled(kernel, pairs)])  # eq. (1)


@is_semidefinite.register
def _(kernel: Categorical) -> bool:
    return True
