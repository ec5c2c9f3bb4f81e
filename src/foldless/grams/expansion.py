r"""Fitted functions: sums of kernel functions at points,

.. math:: f(x) = \sum_j \beta_j\, k(x, x_j) + b,  \tag{1}

or such a sum in every cell of a :class:`~foldless.grams.cells.CellTree`, blended by the weights of the cells.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from foldless.core.contracts import Matrix, Vector
from foldless.grams.cells import CellTree
from foldless.kernels import gram
from foldless.kernels.input_gradients import input_gradient
from foldless.kernels.pairs import Pairs


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

    def gradients(self, kernel: Any, X: Any) -> Matrix:
        """Return the gradients of the outputs in the inputs, (n, k, d)."""
        if self.n_points == 0:  # a machine without support vectors is constant
            return np.zeros((X.shape[0], len(self.intercept), X.shape[1]))
        pairs = Pairs(X, self.points)
        weights = [np.broadcast_to(beta, pairs.shape) for beta in self.coefficients.T]
        return np.stack([input_gradient(kernel, pairs, W) for W in weights], axis=1)


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

    @property
    def points(self) -> Any:
        """The points of all cells."""
        parts = [cell.points for cell in self.cells]
        return sp.vstack(parts, format="csr") if sp.issparse(parts[0]) else np.concatenate(parts)

    def __call__(self, kernel: Any, X: Any) -> Matrix:
        """Return the outputs (n, k) at the rows of ``X``, blended where cells overlap."""
        outputs = np.zeros((X.shape[0], len(self.cells[0].intercept)))
        for number, rows, weights in self.tree.route(X):
            outputs[rows] += weights[:, None] * self.cells[number](kernel, X[rows])
        return outputs

    def gradients(self, kernel: Any, X: Any) -> Matrix:
        """Return the gradients of the outputs, (n, k, d), blended where cells overlap, for constant weights of the cells."""
        gradients = np.zeros((X.shape[0], len(self.cells[0].intercept), X.shape[1]))
        for number, rows, weights in self.tree.route(X):
            gradients[rows] += weights[:, None, None] * self.cells[number].gradients(kernel, X[rows])
        return gradients


def gradient_outer_product(expansion: Expansion | CellExpansion, kernel: Any, X: Any) -> Matrix:
    r"""Return the average gradient outer product of a fitted function, (d, d), summed over its outputs.

    .. math:: G = \frac1n \sum_i \nabla f(x_i) \nabla f(x_i)'
    """
    gradients = expansion.gradients(kernel, X).reshape(-1, X.shape[1])
    return gradients.T @ gradients / X.shape[0]
