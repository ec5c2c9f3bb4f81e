r"""The representations a search goes through, from cheap to exact, and what a cheap one hides.

A search runs where it is cheap. With ``gram="auto"`` it starts on a few landmarks; at the optimum found,

.. math:: e = \sum_i w_i (K_{ii} - \tilde K_{ii})  \tag{1}

bounds what the approximation hides of the effective number of parameters and of the log-determinant (w are the
precisions of the solution, for kernel logistic regression :math:`C p(1-p)`). While e is not small against n the
search goes on from there with more landmarks, and at last with the whole matrix.
"""

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np

from foldless.core.errors import LandmarkWarning, UnknownName
from foldless.grams.builders import DenseBuilder, NystromBuilder
from foldless.grams.dask import DaskBuilder
from foldless.grams.landmarks import spread_landmarks, uniform_landmarks
from foldless.kernels.algebra import has_noise
from foldless.kernels.evaluate import diagonal
from foldless.kernels.precomputed import is_precomputed

GRAMS = ("auto", "dense", "lowrank", "nystrom", "dask")
SMALL = 250  # rows up to which the whole matrix is the cheapest Gram
LARGE = (
    2000  # rows (times functions that are fitted together) up to which a search can afford the whole matrix
)
HUGE = 5000  # the same for the last fit
FIRST, GROWTH = 100, 3  # landmarks to begin with, and how they multiply
MEMORY = 1.5e8  # numbers in a low-rank factor
WORK, LAST_WORK = 5e9, 3e10  # n m^2 of one look, and of the last fit


@dataclass(frozen=True, eq=False)
class RefinementSchedule:
    """The representations of one data set.

    Parameters
    ----------
    X : array or sparse matrix of shape (n, d)
    gram : {"auto", "dense", "lowrank", "nystrom", "dask"}
    n_components : int, optional
        Landmarks, where the user fixed their number.
    functions : int
        How many functions a machine fits together: its linear systems are so many times larger than the Gram.
    """

    X: Any
    gram: str = "auto"
    n_components: int | None = None
    n_joint_functions: int = 1

    def __post_init__(self):
        if self.gram not in GRAMS:
            raise UnknownName("gram", self.gram, GRAMS)

    @property
    def n(self):
        """Number of rows."""
        return self.X.shape[0]

    @property
    def free(self):
        """Whether the user left the choice to us."""
        return self.gram == "auto" and self.n_components is None

    def of(self, kernel, rng):
        """Yield the representations to search on, from cheap to exact."""
        self._tell_too_many()
        if self._dense_at_once(kernel):
            yield DenseBuilder(self.X)
            return
        if has_noise(kernel):
            raise ValueError(f"gram={self.gram!r} cannot hold the WhiteKernel of {kernel}; use gram='dense'.")
        draw = uniform_landmarks if self.gram == "nystrom" else spread_landmarks
        kind = DaskBuilder if self.gram == "dask" else NystromBuilder
        for m in self.counts:
            yield kind(self.X, draw(self.X, m, rng))
        if self.free and self._fits(LARGE):
            yield DenseBuilder(self.X)

    def _tell_too_many(self):
        if self.n_components is not None and self.n_components > self.n:
            message = (
                f"n_components={self.n_components} is more than the {self.n} rows; all of them are used."
            )
            warnings.warn(LandmarkWarning(message), stacklevel=3)

    def _dense_at_once(self, kernel):
        only = has_noise(kernel) or is_precomputed(kernel) or (self.n <= SMALL and self._fits(LARGE))
        return self.gram == "dense" or (self.gram == "auto" and only)

    def _fits(self, size):
        return self.n * self.n_joint_functions <= size

    @property
    def counts(self):
        """Numbers of landmarks to try in turn."""
        if self.n_components is not None:
            return [min(self.n, self.n_components)]
        few = self.gram == "auto" and self._fits(LARGE)
        most = self.n / 3 if few else self.affordable(WORK, LARGE)
        counts = [min(FIRST, self.affordable(WORK, LARGE))]
        while counts[-1] * GROWTH <= most:
            counts.append(counts[-1] * GROWTH)
        return counts

    def affordable(self, work, size):
        """Largest number of landmarks for the given work per pass over the rows, and size of a linear system."""
        passes = max(FIRST, min(np.sqrt(work / self.n), MEMORY / self.n))
        return int(min(self.n, passes, max(1, size // self.n_joint_functions)))

    def last(self, rng):
        """Return the finest representation that one fit can afford."""
        if self._fits(HUGE):
            return DenseBuilder(self.X)
        return NystromBuilder(self.X, spread_landmarks(self.X, self.affordable(LAST_WORK, HUGE), rng))


def approximation_gap(kernel, X, solution):
    """Eq. (1) over n; zero for a whole matrix."""
    if solution.gram.dense:
        return 0.0
    lost = np.maximum(diagonal(kernel, X) - solution.gram.diag(), 0)
    return float(np.mean(solution.precision * lost))
