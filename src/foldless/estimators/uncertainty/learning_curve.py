r"""Would more rows help? The left-out loss against the number of rows, at the chosen parameters, and its continuation.

The rows are cut into blocks of n / 2, n / 4, ... rows, and every block is fitted by itself: for all sizes together that is
cheaper than one fit to all rows. Every row has a left-out loss at every size, so that sizes are compared on the same rows.
The mean losses are continued by the power law

.. math:: \ell(n) = a + b\, n^{-c}, \qquad a, b \ge 0,  \tag{1}

fitted by least squares; the spread over bootstrap samples of the rows is its standard error.

References
----------
.. [1] Cortes, Jackel, Solla, Vapnik and Denker, *Learning curves: asymptotic values and rate of convergence* (1993).
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import nnls
from sklearn.gaussian_process.kernels import Kernel

from foldless.core.contracts import Matrix, Vector
from foldless.core.errors import NotPositiveDefinite, Undefined
from foldless.core.memo import cached_property
from foldless.criteria.left_out import left_out_outputs, row_losses
from foldless.estimators.uncertainty.training_rows import TrainingRows
from foldless.grams.builders import DenseBuilder
from foldless.kernels.precomputed import is_precomputed
from foldless.tuning.row_blocks import row_blocks, stratified_order

CURVE_MAX_ROWS, BLOCK_MAX_ROWS, BLOCK_MIN_ROWS = 4000, 1500, 15
CURVE_MAX_SIZES = 5
EXPONENTS = np.geomspace(0.1, 2.0, 40)
N_BOOTSTRAP_SAMPLES = 200


@dataclass(frozen=True, eq=False)
class LearningCurve:
    """The left-out loss against the number of rows.

    Attributes
    ----------
    rows : array of shape (m,)
        Numbers of rows of a fit, increasing.
    losses : array of shape (used rows, m)
        Left-out loss of every row that was used, at every size.
    """

    rows: Vector
    losses: Matrix

    def __repr__(self) -> str:
        """Return the mean losses with their standard errors.

        Examples
        --------
        >>> LearningCurve(np.array([10.0, 20.0]), np.array([[3.0, 2.0], [1.0, 1.0]]))
        LearningCurve: 2 ± 1 with 10 rows, 1.5 ± 0.5 with 20 rows
        """
        found = zip(self.rows, self.values, self.standard_errors)
        return "LearningCurve: " + ", ".join(
            f"{value:.3g} ± {error:.2g} with {n:.0f} rows" for n, value, error in found
        )

    @cached_property
    def values(self) -> Vector:
        """Mean losses (m,)."""
        return self.losses.mean(axis=0)

    @cached_property
    def standard_errors(self) -> Vector:
        """Standard errors of the mean losses (m,); those of two sizes are not independent, as the rows are the same."""
        return self.losses.std(axis=0, ddof=1) / np.sqrt(len(self.losses))

    def extrapolate(self, rows: ArrayLike) -> tuple[Vector, Vector]:
        """Return the losses at other numbers of rows by the power law, and their standard errors.

        Parameters
        ----------
        rows : array-like of shape (p,)

        Examples
        --------
        >>> rows = np.array([25.0, 50.0, 100.0])
        >>> curve = LearningCurve(rows, np.tile(1 + 5 / rows, (30, 1)))
        >>> value, error = curve.extrapolate([200, 400])
        >>> value.round(2).tolist(), bool(error.max() < 1e-6)
        ([1.03, 1.01], True)
        """
        wanted = np.atleast_1d(np.asarray(rows, dtype=float))
        if len(self.rows) < 3:
            raise Undefined(
                f"a power law needs three sizes of fits, got {len(self.rows)}: there are too few rows to cut into blocks."
            )
        rng, n = np.random.default_rng(0), len(self.losses)
        draws = [self.losses[rng.integers(n, size=n)].mean(axis=0) for _ in range(N_BOOTSTRAP_SAMPLES)]
        found = [_power_law(self.rows, draw, wanted) for draw in draws]
        return _power_law(self.rows, self.values, wanted), np.std(found, axis=0, ddof=1)


def _power_law(rows: Vector, values: Vector, wanted: Vector) -> Vector:
    """Return eq. (1), fitted to some values, at other numbers of rows."""
    fits = []
    for c in EXPONENTS:
        design = np.column_stack([np.ones(len(rows)), (rows / rows[-1]) ** -c])
        coefficients, error = nnls(design, values)
        fits.append((error, c, coefficients))
    _, c, (a, b) = min(fits, key=lambda fit: fit[0])
    return np.asarray(a + b * (wanted / rows[-1]) ** -c)


def learning_curve(training: TrainingRows, kernel: Kernel, left_out: Matrix) -> LearningCurve:
    """Return the learning curve of a fit.

    Parameters
    ----------
    training : TrainingRows
    kernel : Kernel
        With the chosen parameters.
    left_out : array of shape (n, k)
        Left-out outputs of the fit to all rows.
    """
    if is_precomputed(kernel):
        raise Undefined(
            "a learning curve fits parts of the rows, for which kernel='precomputed' has no points."
        )
    Y, machine = training.Y, training.machine
    if not machine.fits_on_blocks:
        raise Undefined(
            "a learning curve fits parts of the rows, which this machine cannot: its basis is tied to rows."
        )
    order = stratified_order(Y, np.random.default_rng(0))[:CURVE_MAX_ROWS]
    sizes, losses = [float(training.n)], [row_losses(machine, Y, left_out)[order]]
    for n_blocks in _numbers_of_blocks(len(order)):
        found = np.full(len(order), np.nan)
        try:
            for block in row_blocks(Y[order], np.arange(len(order)), len(order), n_blocks):
                rows = order[block]
                solution = machine.on_rows(rows).solve(DenseBuilder(training.X[rows]).gram(kernel), Y[rows])
                found[block] = row_losses(machine, Y[rows], left_out_outputs(solution))
        except (Undefined, NotPositiveDefinite, np.linalg.LinAlgError):
            break
        sizes.append(len(order) / n_blocks)
        losses.append(found)
    return LearningCurve(np.array(sizes[::-1]), np.column_stack(losses[::-1]))


def _numbers_of_blocks(n: int) -> Iterator[int]:
    """Yield 2, 4, 8, ... as long as the blocks have a useful size, at most a few times."""
    sizes = [2**j for j in range(1, 20) if BLOCK_MIN_ROWS <= n / 2**j <= BLOCK_MAX_ROWS]
    yield from sizes[: CURVE_MAX_SIZES - 1]
