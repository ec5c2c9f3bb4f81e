r"""A kernel of columns whose large values are drawn in.

.. math:: k(x, x') = k_0\bigl(u(x), u(x')\bigr), \qquad u_j(x) = \tfrac1a \operatorname{asinh}(a\, x_j).  \tag{1}

Near zero u is x, far out it is a logarithm: a few rows with large values no longer lie far away from all others, and one
width suits the crowded part of a column too. Ranks would do so more strongly, but they have steps, lose how far apart two values are,
and know nothing of values outside of the range that was seen.
"""

import numpy as np
from sklearn.gaussian_process.kernels import Kernel

from foldless.core.contracts import Matrix
from foldless.kernels.evaluate import shown
from foldless.kernels.input_map import InputMap
from foldless.kernels.pairs import Pairs, Points


class Softened(InputMap):
    """Another kernel, of the points (1); for columns with mean 0 and deviation 1.

    Parameters
    ----------
    kernel : Kernel
    strength : float, default=1.0
        a: values well below 1 / a stay as they are. Not tuned.

    Examples
    --------
    >>> from sklearn.gaussian_process.kernels import RBF
    >>> RBF(1.0)([[0.0], [1.0], [9.0]]).round(3)
    array([[1.   , 0.607, 0.   ],
           [0.607, 1.   , 0.   ],
           [0.   , 0.   , 1.   ]])
    >>> Softened(RBF(1.0))([[0.0], [1.0], [9.0]]).round(3)
    array([[1.   , 0.678, 0.015],
           [0.678, 1.   , 0.132],
           [0.015, 0.132, 1.   ]])
    """

    def __init__(self, kernel: Kernel, strength: float = 1.0) -> None:
        self.kernel = kernel
        self.strength = strength

    def __repr__(self) -> str:
        return f"Softened({self.kernel!r}, strength={shown(self.strength)})"

    def changed(self, X: Points) -> Points:
        """Return (1); zeros of a sparse matrix stay zeros."""
        if not self.strength > 0:
            raise ValueError(f"strength must be positive, got {self.strength!r}.")
        return np.arcsinh(X * self.strength) / self.strength

    def slope(self, X: Matrix) -> Matrix:
        r"""Return the derivatives :math:`u_j'(x) = (1 + a^2 x_j^2)^{-1/2}`."""
        return 1 / np.hypot(1.0, self.strength * X)

    def changed_pairs(self, pairs: Pairs) -> Pairs:
        """Return the pairs of the points (1)."""
        return pairs.mapped(f"softened by {self.strength}".encode(), self.changed)

    def is_stationary(self) -> bool:
        """Return False: what a distance means depends on where it is."""
        return False
