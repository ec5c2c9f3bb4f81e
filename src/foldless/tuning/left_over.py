r"""Signal that a fit leaves over: what the residuals of its rows tell of each other.

Where noise is strong a few hundred rows show nothing of a function that ten thousand rows would: a search on blocks of rows then
ends in wide kernels, and a trend is all that is learned. The fit itself tells. Residuals R (n, k) of rows that are left out of a right
fit have independent signs; those of a fit that misses something are alike where rows are near. With the values K of a kernel

.. math:: T = \sum_{i \ne j} H_{ij} \Big/ \sqrt{2 \sum_{i \ne j} H_{ij}^2}, \qquad H_{ij} = K_{ij}\, r_i' r_j  \tag{1}

has mean zero and variance one if the signs are independent, and grows with the rows if a function as smooth as the kernel is left over
(the score test of such a term [1]_). Its size is known as well: the means over near rows, :math:`s_i = \sum_{j \ne i} K_{ij} r_j`, explain

.. math:: G = \langle R, S \rangle^2 \big/ \|S\|^2 \|R\|^2  \tag{2}

of the squares of the residuals, so that a least-squares machine of the variance G beside noise of the variance 1 - G has

.. math:: C = G / (1 - G).  \tag{3}

References
----------
.. [1] Lin (1997), *Variance component testing in generalised linear models with random effects*.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from sklearn.gaussian_process.kernels import Kernel

from foldless.core.contracts import Matrix
from foldless.core.gram import Rows
from foldless.core.parallel import side_by_side
from foldless.kernels import gram
from foldless.kernels.evaluate import with_theta
from foldless.tuning.search_space import has_length_scale, is_length_scale

# Length scales that are tried: those of the kernel as it was given, and shorter ones.
LENGTH_FACTORS = (1.0, 1 / 2, 1 / 4, 1 / 8)
# Rows that are compared: half of them, within bounds.
LEAST_ROWS, MOST_ROWS, ROWS_FRACTION = 500, 3000, 1 / 2
STRIP_ROWS = 256
# T of eq. (1) from which on something is left over. Right fits have negative values: what remains varies less than by chance.
MIN_T = 4.0


@dataclass(frozen=True, eq=False)
class LeftOver:
    """What is left over, as seen by one kernel.

    Attributes
    ----------
    kernel : Kernel
    T : float
        Eq. (1).
    share : float
        Eq. (2); zero where residuals of near rows are less alike than by chance.
    """

    kernel: Kernel
    T: float
    share: float

    @property
    def is_clear(self) -> bool:
        """Whether chance does not explain it."""
        return self.T > MIN_T

    @property
    def log_C(self) -> float:
        """Logarithm of eq. (3)."""
        share = np.clip(self.share, 1e-6, 0.99)
        return float(np.log(share / (1 - share)))


def left_over(kernel: Kernel, X: Any, residuals: Matrix, seed: Any) -> LeftOver | None:
    """Return what residuals (n, k) leave over, by the length scale that shows most of it; None for a kernel without any.

    Parameters
    ----------
    kernel : Kernel
        With a typical length scale.
    X : array or sparse matrix of shape (n, d)
    residuals : array of shape (n, k)
        Of left-out rows.
    seed : int
        Draws the rows that are compared.
    """
    if not has_length_scale(kernel):
        return None
    rows = _some_rows(len(residuals), seed)
    size = np.max(np.abs(residuals[rows]), initial=0.0)
    if not (size > 0 and np.isfinite(size)):
        return None
    points, R = X[rows], residuals[rows] / size
    R -= np.mean(R, axis=0)
    found = [seen_by(one, points, R) for one in _kernels(kernel)]
    return max(found, key=lambda one: one.T)


def _some_rows(n: int, seed: Any) -> Rows:
    m = int(np.clip(ROWS_FRACTION * n, LEAST_ROWS, MOST_ROWS))
    return np.sort(np.random.default_rng(seed).permutation(n)[:m])


def _kernels(kernel: Kernel) -> Iterator[Kernel]:
    """Yield the kernel with its own length scales and shorter ones."""
    for factor in LENGTH_FACTORS:
        yield with_theta(kernel, kernel.theta + np.log(factor) * is_length_scale(kernel))


def seen_by(kernel: Kernel, X: Any, R: Matrix) -> LeftOver:
    """Return eqs. (1) and (2) for one kernel: strips of the upper triangle, and their mirror images."""
    parts = [partial(_strip, kernel, X, R, strip) for strip in _strips(len(R))]
    S, squares = np.zeros_like(R), 0.0
    for strip, own, others, square in side_by_side(parts):
        S[strip] += own
        S[strip.stop :] += others
        squares += square
    total, smooth = float(np.vdot(R, S)), float(np.vdot(S, S))
    T = float(total / np.sqrt(2 * squares)) if squares > 0 else 0.0
    share = float(total**2 / (smooth * np.vdot(R, R))) if total > 0 else 0.0
    return LeftOver(kernel, T, share)


def _strips(n: int) -> Iterator[slice]:
    return (slice(i, min(i + STRIP_ROWS, n)) for i in range(0, n, STRIP_ROWS))


def _strip(kernel: Kernel, X: Any, R: Matrix, strip: slice) -> tuple[slice, Matrix, Matrix, float]:
    """Return the parts of S of some rows and of those behind them, and the part of the sum of squares of H."""
    width = strip.stop - strip.start
    K = np.array(gram(kernel, X[strip], X[strip.start :]))
    K[np.arange(width), np.arange(width)] = 0.0
    own, others = K @ R[strip.start :], K[:, width:].T @ R[strip]
    K *= R[strip] @ R[strip.start :].T
    return strip, own, others, 2 * float(np.vdot(K, K)) - float(np.sum(K[:, :width] ** 2))
