r"""A learning curve in the unit of the target.

A machine of numbers has a curve of squared errors :math:`v \pm e`, which is shown as that of their roots, the RMSE:

.. math:: \sqrt v \pm \frac{e}{2 \sqrt v}.  \tag{1}
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from foldless.core.contracts import Vector
from foldless.estimators.uncertainty.learning_curve import LearningCurve


@dataclass(frozen=True, eq=False)
class RootCurve:
    """A learning curve of squared errors as one of their roots; eq. (1)."""

    squares: LearningCurve

    @property
    def rows(self) -> Vector:
        """Numbers of rows, increasing."""
        return self.squares.rows

    @property
    def values(self) -> Vector:
        """The errors at these numbers of rows."""
        return self._roots(self.squares.values, self.squares.standard_errors)[0]

    @property
    def standard_errors(self) -> Vector:
        """Standard errors of :attr:`values`."""
        return self._roots(self.squares.values, self.squares.standard_errors)[1]

    def extrapolate(self, rows: ArrayLike) -> tuple[Vector, Vector]:
        """Return the errors at other numbers of rows by the power law, and their standard errors."""
        return self._roots(*self.squares.extrapolate(rows))

    @staticmethod
    def _roots(squares: Vector, errors: Vector) -> tuple[Vector, Vector]:
        roots = np.sqrt(np.maximum(squares, np.finfo(float).tiny))
        return roots, errors / (2 * roots)
