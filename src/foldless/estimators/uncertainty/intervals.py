r"""Prediction intervals from the left-out models.

With the left-out predictions :math:`\mu_{-i}`, the left-out residuals :math:`R_i = |y_i - \mu_{-i}(x_i)|` and
:math:`\hat q^+\{v_i\}` the :math:`\lceil (1 - \alpha)(n + 1) \rceil`-th smallest of n values (infinite if that exceeds n),
:math:`\hat q^-\{v_i\} = -\hat q^+\{-v_i\}`, the level being :math:`1 - \alpha` [1]_:

.. math::
    \text{jackknife+:} &\quad \bigl[\hat q^-\{\mu_{-i}(x) - R_i\},\; \hat q^+\{\mu_{-i}(x) + R_i\}\bigr]  \tag{1} \\
    \text{minmax:} &\quad \bigl[\min_i \mu_{-i}(x) - \hat q^+\{R_i\},\; \max_i \mu_{-i}(x) + \hat q^+\{R_i\}\bigr]  \tag{2} \\
    \text{jackknife:} &\quad \mu(x) \pm \hat q^+\{R_i\}  \tag{3} \\
    \text{studentized:} &\quad \bigl[\hat q^-\{\mu_{-i}(x) - R_i \tau_{-i}(x)\},\;
    \hat q^+\{\mu_{-i}(x) + R_i \tau_{-i}(x)\}\bigr], \qquad R_i = |y_i - \mu_{-i}(x_i)| / \tau_{-i}(x_i)  \tag{4}

:math:`\tau_{-i}(x)` is the standard deviation of a new target at x under model :math:`-i`, so that (4) is (1) with another
score: wider where the data are thin. A common factor of :math:`\tau` cancels. For least squares with weights v (in units
of the noise variance, from :math:`\tau` of all rows and the weights h(x) of the targets in the prediction)

.. math:: \tau_{-i}^2(x) = \tau^2(x) + \frac{\varphi_i\, h_i(x)^2}{v_i (1 - \varphi_i h_{ii})}, \qquad
          \tau_{-i}^2(x_i) = \frac{1}{1 - \varphi_i h_{ii}}.  \tag{5}

Residuals of a fit with tuned parameters are first made those of rows that were left out of the tuning too, by
:mod:`foldless.estimators.uncertainty.retuning`. Rows that stand for several equal ones count as often in the quantiles. The posterior interval
:math:`\mu(x) \pm z\, \sigma \tau(x)` believes the Gaussian process behind ridge regression.

References
----------
.. [1] Barber, Candès, Ramdas and Tibshirani, *Predictive inference with the jackknife+*, Annals of Statistics 49 (2021).
"""

import warnings
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from foldless.core.contracts import Matrix, Vector
from foldless.core.errors import DataError, ResolutionWarning, UnknownName
from foldless.estimators.uncertainty.left_out import order_statistic

METHODS = ("jackknife+", "minmax", "jackknife", "studentized", "posterior")


def check_level(level: float) -> float:
    """Return the level, a number between 0 and 1."""
    if not isinstance(level, (float, np.floating)) or not 0 < level < 1:
        raise DataError(
            f"level must be a number between 0 and 1, such as 0.9 for 90 % of the rows; got {level!r}."
        )
    return float(level)


def check_method(method: str) -> str:
    """Return the name of a method for intervals."""
    if method not in METHODS:
        raise UnknownName("method", method, METHODS)
    return method


def warn_of_resolution(level: float, n_rows: float, what: str) -> None:
    """Warn if n rows cannot tell the level from certainty, n < 1 / alpha - 1."""
    if level * (n_rows + 1) > n_rows * (1 + 1e-9):
        warnings.warn(ResolutionWarning(level, n_rows, what), stacklevel=4)


@dataclass(frozen=True, eq=False)
class LeftOutPredictions:
    """Predictions at some new points, and what the training rows taught about their errors.

    Attributes
    ----------
    fitted : array of shape (p, k)
        Predictions of the fit to all rows.
    left_out : array of shape (p, n, k)
        Predictions of the left-out models.
    residuals : array of shape (n, k)
        Left-out residuals of the rows.
    counts : array of shape (n,)
        Number of equal rows that each row stands for.
    level : float
    """

    fitted: Matrix
    left_out: Matrix
    residuals: Matrix
    counts: Vector
    level: float

    def jackknife_plus(self, width: Matrix | float = 1.0) -> Matrix:
        """Return lower and upper ends (p, 2, k); eq. (1), or eq. (4) with residuals times ``width`` (p, n, k)."""
        reach = np.abs(self.residuals) * width
        lower = -self._quantile(reach - self.left_out)
        return np.stack([lower, self._quantile(self.left_out + reach)], axis=1)

    def minmax(self) -> Matrix:
        """Return the ends of eq. (2)."""
        reach = self._reach()
        return np.stack([self.left_out.min(axis=1) - reach, self.left_out.max(axis=1) + reach], axis=1)

    def jackknife(self) -> Matrix:
        """Return the ends of eq. (3)."""
        reach = self._reach()
        return np.stack([self.fitted - reach, self.fitted + reach], axis=1)

    def _reach(self) -> Matrix:
        return self._quantile(np.abs(self.residuals)[None])

    def _quantile(self, values: Matrix) -> Matrix:
        return order_statistic(values, self.level * (self.counts.sum() + 1), self.counts)


def ends(method: str, predictions: LeftOutPredictions, scales: Callable[[], tuple[Matrix, Matrix]]) -> Matrix:
    r"""Return lower and upper ends (p, 2, k) by any method but the posterior.

    ``scales`` returns :math:`\tau_{-i}(x)`, shape (p, n, k) or (p, n, 1), and :math:`\tau_{-i}(x_i)`, shape (n, k) or (n, 1).
    """
    if method == "minmax":
        return predictions.minmax()
    if method == "jackknife":
        return predictions.jackknife()
    if method == "jackknife+":
        return predictions.jackknife_plus()
    at_new, own = scales()
    # A rate that underflows has no scale: the smallest that can be told from the largest takes its place.
    smallest = max(np.finfo(float).eps * float(np.max(own)), np.finfo(float).tiny)
    with np.errstate(over="ignore"):
        return predictions.jackknife_plus(at_new / np.maximum(own, smallest))


def least_squares_scales(
    variance: Vector, influence: Matrix, weights: Vector, fraction: Vector, leverage: Vector
) -> tuple[Matrix, Matrix]:
    r"""Return :math:`\tau_{-i}(x)` (p, n, 1) and :math:`\tau_{-i}(x_i)` (n, 1); eq. (5).

    Parameters
    ----------
    variance : array of shape (p,)
        :math:`\tau^2(x)`, the noise included, in units of the noise variance.
    influence : array of shape (p, n)
        Weights h(x) of the targets.
    weights, fraction, leverage : arrays of shape (n,)
        v, :math:`\varphi` and :math:`\varphi_i h_{ii}`.
    """
    rest = 1 - leverage
    at_new = variance[:, None] + influence**2 * (fraction / (weights * rest))
    return np.sqrt(at_new)[:, :, None], 1 / np.sqrt(rest)[:, None]
