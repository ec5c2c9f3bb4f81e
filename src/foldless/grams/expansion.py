r"""Fitted functions: sums of kernel functions at points,

.. math:: f(x) = \sum_j \beta_j\, k(x, x_j) + b,  \tag{1}

or such a sum in every cell of a :class:`~foldless.grams.cells.CellTree`, blended by the weights of the cells.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from foldless.core.contracts import Matrix, Vector
from foldless.grams.cells import CellTree
from foldless.kernels import gram


@dataclass(frozen=True, eq=False)
class Expansion:
    """One sum of kernel functions; eq. (1).

    Attributes
    ----------
    points : array or sparse matrix of shape (m, d)
    coefficients : array of shape (m, k)
    intercept : array of shape (k,)
    """

    points: Any
    coefficients: Matrix
    intercept: Vector

    @property
    def n_points(self) -> int:
        """Kernel functions per output."""
        return len(self.coefficients)

    def __call__(self, kernel: Any, X: Any) -> Matrix:
        """Return the outputs (n, k) at the rows of ``X``."""
        return np.asarray(gram(kernel, X, self.points) @ self.coefficients + self.intercept)


@dataclass(frozen=True, eq=False)
class CellExpansion:
    """One sum of kernel functions per cell.

    Attributes
    ----------
    tree : CellTree
    cells : tuple of Expansion
        In the order of the cells' numbers.
    """

    tree: CellTree
    cells: tuple[Expansion, ...]

    @property
    def n_points(self) -> int:
        """Kernel functions per output of the largest cell."""
        return max(cell.n_points for cell in self.cells)

    def __call__(self, kernel: Any, X: Any) -> Matrix:
        """Return the outputs (n, k) at the rows of ``X``, blended where cells overlap."""
        outputs = np.zeros((X.shape[0], len(self.cells[0].intercept)))
        for number, rows, weights in self.tree.route(X):
            outputs[rows] += weights[:, None] * self.cells[number](kernel, X[rows])
        return outputs
