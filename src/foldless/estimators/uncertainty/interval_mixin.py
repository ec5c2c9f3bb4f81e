"""Prediction intervals and residuals, for every regressor; the formulas are in the other files of this folder."""

from abc import abstractmethod
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import norm

from foldless.core.contracts import Matrix, Vector
from foldless.core.errors import Undefined
from foldless.estimators.uncertainty.guarantee import sentence
from foldless.estimators.uncertainty.intervals import (
    LeftOutPredictions,
    check_level,
    check_method,
    ends,
    warn_of_resolution,
)
from foldless.estimators.uncertainty.left_out import Block
from foldless.estimators.uncertainty.left_out_mixin import LeftOutMixin, Rows
from foldless.estimators.uncertainty.retuning import retuned_residuals, sensitivities
from foldless.estimators.uncertainty.score import LooScore, left_out_regressor, loo_score


class IntervalMixin(LeftOutMixin):
    """Prediction intervals and what belongs to them, for regressors."""

    loo_predict_: np.ndarray
    loo_residuals_: np.ndarray

    _lowest: float = -np.inf  # no target is smaller

    @abstractmethod
    def _shaped(self, outputs: Matrix) -> np.ndarray:
        """Return outputs (..., k) in the shape that y had."""

    def _response(self, outputs: Matrix) -> Matrix:
        """Return the predicted targets of outputs."""
        return outputs

    def _stratify(self, y: ArrayLike) -> ArrayLike | None:
        return None

    def _keep_left_out(self, outputs: Matrix) -> None:
        self._left_out = outputs
        self.loo_predict_ = self._shaped(self._of_rows(self._response(outputs)))
        self.loo_residuals_ = self._shaped(self._of_rows(self._residual_columns()))

    def predict_interval(self, X: ArrayLike, level: float = 0.9, method: str = "jackknife+") -> Matrix:
        """Intervals that hold a new target with a given probability.

        Every row drew the tuned parameters towards its target, which makes left-out residuals too small. The intervals use what they
        would be, to first order, if the row had been left out of the tuning too; that costs two solves for every tuned parameter,
        once. With more than one tuned parameter for twenty rows that is not enough, and a warning says so.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, d)
        level : float, default=0.9
            Share of new targets that should lie in their intervals. With fewer than level / (1 - level) rows the only
            honest interval is infinite, and a warning says so.
        method : {"jackknife+", "minmax", "jackknife", "studentized", "posterior"}, default="jackknife+"
            ``"jackknife+"`` from the left-out models and residuals; ``"minmax"``, wider, with the stronger guarantee;
            ``"jackknife"``, symmetric around the prediction; ``"studentized"``, wider where the data are thin;
            ``"posterior"``, of the Gaussian process whose mean a ridge fit is. :meth:`guarantee` says what each promises.

        Returns
        -------
        intervals : array of shape (n, 2), or (n, 2, n_outputs)
            Lower and upper ends.
        """
        level, method = check_level(level), check_method(method)
        points = self._check_points(X)
        self._warn_of_parameters(method, "intervals")
        if method == "posterior":
            return self._posterior_interval(points, level)
        counts, residuals = self._rows_of_fit().counts, self._retuned_residuals()
        warn_of_resolution(level, counts.sum(), "the intervals are infinite")
        self._warn_of_leverage()
        found = np.empty((points.shape[0], 2, residuals.shape[1]))
        for block in self._left_out_models().blocks(points):
            fitted, left_out = self._response(block.outputs), self._response(block.left_out)
            predictions = LeftOutPredictions(fitted, left_out, residuals, counts, level)
            found[block.rows] = ends(method, predictions, partial(self._scales, block))
        return self._shaped(np.maximum(found, self._lowest))

    def _residual_columns(self) -> Matrix:
        return self._rows_of_fit().Y - self._response(self._own_outputs())

    def _retuned_residuals(self) -> Matrix:
        """Return the residuals (n, k) of models and parameters that have not seen the row."""
        own = self._residual_columns()
        J = self._once(
            "sensitivities", partial(sensitivities, self._rows_of_fit(), self.kernel_, self._response)
        )
        return retuned_residuals(own, J, self._rows_of_fit().counts, self._target_deviations())

    def _target_deviations(self) -> Matrix | float:
        """Return the deviations of the rows' targets up to a common factor, in a shape that broadcasts to (n, k)."""
        return 1.0

    def _scales(self, block: Block) -> tuple[Matrix, Matrix]:
        r"""Return the deviations :math:`\tau_{-i}(x)` (p, n, k) and :math:`\tau_{-i}(x_i)` (n, k)."""
        raise Undefined(
            "method='studentized' needs the deviation of a new target, which this machine lacks. Use method='jackknife+', "
            "or KernelRidgeRegressor."
        )

    def _posterior_interval(self, points: Any, level: float) -> Matrix:
        mean, deviation = self._gaussian_prediction(points)
        reach = norm.ppf((1 + level) / 2) * deviation
        return np.stack([mean - reach, mean + reach], axis=1)

    def _gaussian_prediction(self, points: Any) -> tuple[np.ndarray, np.ndarray]:
        """Return mean and standard deviation of new targets under a Gaussian process."""
        raise Undefined(
            "method='posterior' needs a Gaussian process, which this machine is not. Use method='jackknife+', or "
            "KernelRidgeRegressor."
        )

    def guarantee(self, level: float = 0.9, method: str = "jackknife+") -> str:
        """Return one sentence: what the intervals of :meth:`predict_interval` promise for this fit.

        Parameters
        ----------
        level : float, default=0.9
        method : str, default="jackknife+"
        """
        return sentence(check_method(method), check_level(level), self._conditions())

    @property
    def guarantee_(self) -> str:
        """What the 90 % intervals of ``predict_interval`` promise, in one sentence."""
        return self.guarantee()

    @property
    def suspicious_(self) -> Rows:
        """Numbers of the training rows, the one with the largest left-out residual (in units of its deviation) first."""
        return self._every_row[np.argsort(-self._of_rows(self._suspicion()), kind="stable")]

    def _suspicion(self) -> Vector:
        r"""Return the left-out residuals in units of :math:`\tau_{-i}(x_i)`, the root mean square over outputs (n,)."""
        residuals = self._residual_columns()
        # In units of the largest one: squares do not overflow.
        residuals = residuals / np.max(np.abs(residuals), axis=0).clip(1e-300)
        scale = np.ones(len(residuals))
        with suppress(Undefined):
            scale = np.sqrt(np.maximum(1 - self._leverage, 0))
        return scale * np.sqrt(np.mean((residuals / np.std(residuals, axis=0).clip(1e-300)) ** 2, axis=1))

    def loo_score(self, metric: str | Callable[..., float] = "r2") -> LooScore:
        """Score of the left-out predictions of all training rows together.

        Parameters
        ----------
        metric : str or callable, default="r2"
            A name of ``sklearn.metrics.get_scorer_names()``, a scorer, or a function of targets and predictions.

        Returns
        -------
        score : LooScore
            ``value``, and ``standard_error`` if the metric is a mean over rows (else NaN).
        """
        predicted = self._response(self._own_outputs())
        self._warn_of_leverage()
        y = self._shaped(predicted + self._residual_columns())
        return loo_score(metric, left_out_regressor(self._shaped(predicted)), y, *self._score_weights)
