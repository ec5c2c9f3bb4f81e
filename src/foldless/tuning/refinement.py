r"""The Gram approximations on which a search runs, from cheap to exact, and the error of a cheap one.

A search runs where it is cheap. With ``gram="auto"`` it starts on a few landmarks; at the optimum found,

.. math:: e = \sum_i w_i (K_{ii} - \tilde K_{ii})  \tag{1}

bounds the error of the approximation in the effective number of parameters and in the log-determinant (w are the
precisions of the solution, for kernel logistic regression :math:`C p(1-p)`). While e is not small against n the
search continues from there with more landmarks, and at last with the whole matrix.
"""

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.gaussian_process.kernels import Kernel

from foldless.core.contracts import Gram
from foldless.core.errors import LandmarkWarning, UnknownName
from foldless.grams.builders import Builder, DenseBuilder, NystromBuilder
from foldless.grams.dask import DaskBuilder
from foldless.grams.landmarks import spread_landmarks, uniform_landmarks
from foldless.kernels.algebra import has_noise
from foldless.kernels.evaluate import diagonal
from foldless.kernels.precomputed import is_precomputed
from foldless.tuning.search_space import START_LOG_WIDTH_STEPS
from foldless.tuning.shared_cache import SharedGrams

GRAMS = ("auto", "dense", "lowrank", "nystrom", "dask")
# Rows up to which no approximation is cheaper than the whole matrix.
LANDMARKS_MIN_ROWS = 250
# Rows, times the functions that are fitted together, up to which a search or a single fit can afford the whole matrix.
SEARCH_DENSE_MAX_ROWS, FIT_DENSE_MAX_ROWS = 2000, 5000
FIRST_LANDMARKS, LANDMARK_GROWTH_FACTOR = 100, 3
# Largest fraction of the rows that are landmarks if the whole matrix can follow.
LANDMARK_MAX_FRACTION = 1 / 3
LANDMARK_GRAM_MAX_ENTRIES = 1.5e8
# Operations n m^2 of one evaluation and of a single fit with m landmarks.
SEARCH_MAX_OPERATIONS, FIT_MAX_OPERATIONS = 5e9, 3e10
# Rows up to which a criterion makes its estimates before the search on the whole matrix, and landmarks beyond.
PROBE_DENSE_MAX_ROWS, PROBE_LANDMARKS = 800, 400


@dataclass(frozen=True, eq=False)
class RefinementSchedule:
    """The Gram approximations of one data set.

    Parameters
    ----------
    X : array or sparse matrix of shape (n, d)
    gram : {"auto", "dense", "lowrank", "nystrom", "dask"} or SharedGrams
    n_components : int, optional
        Number of landmarks, if the user fixed it.
    n_joint_functions : int
        How many functions a machine fits together: its linear systems are so many times larger than the Gram.
    """

    X: Any
    gram: str | SharedGrams = "auto"
    n_components: int | None = None
    n_joint_functions: int = 1

    def __post_init__(self) -> None:
        if self.form not in GRAMS:
            raise UnknownName("gram", self.form, GRAMS)

    @property
    def form(self) -> str:
        """Name of the form of the Gram."""
        return self.gram.name if isinstance(self.gram, SharedGrams) else self.gram

    @property
    def n(self) -> int:
        """Number of rows."""
        return self.X.shape[0]

    @property
    def is_automatic(self) -> bool:
        """Whether the user left the choice to us."""
        return self.form == "auto" and self.n_components is None

    def builders(self, kernel: Kernel, rng: np.random.Generator) -> Iterator[Builder]:
        """Yield the builders of the Grams to search on, from cheap to exact."""
        self._warn_of_too_many_landmarks()
        if self._is_dense_at_once(kernel):
            yield self._shared(DenseBuilder(self.X))
            return
        if has_noise(kernel):
            raise ValueError(f"gram={self.form!r} cannot hold the WhiteKernel of {kernel}; use gram='dense'.")
        draw = uniform_landmarks if self.form == "nystrom" else spread_landmarks
        kind = DaskBuilder if self.form == "dask" else NystromBuilder
        for m in self.landmark_counts:
            yield self._shared(kind(self.X, draw(self.X, m, rng)))
        if self.is_automatic and self._fits(SEARCH_DENSE_MAX_ROWS):
            yield self._shared(DenseBuilder(self.X))

    def _shared(self, builder: Builder) -> Builder:
        return self.gram.cache.builder(builder) if isinstance(self.gram, SharedGrams) else builder

    def _warn_of_too_many_landmarks(self) -> None:
        if self.n_components is not None and self.n_components > self.n:
            message = (
                f"n_components={self.n_components} is more than the {self.n} rows; all of them are used."
            )
            warnings.warn(LandmarkWarning(message), stacklevel=3)

    def _is_dense_at_once(self, kernel: Kernel) -> bool:
        is_small = self.n <= LANDMARKS_MIN_ROWS and self._fits(SEARCH_DENSE_MAX_ROWS)
        only_dense = has_noise(kernel) or is_precomputed(kernel) or is_small
        return self.form == "dense" or (self.form == "auto" and only_dense)

    def _fits(self, max_rows: int) -> bool:
        return self.n * self.n_joint_functions <= max_rows

    @property
    def landmark_counts(self) -> list[int]:
        """Numbers of landmarks to try in turn."""
        if self.n_components is not None:
            return [min(self.n, self.n_components)]
        affordable = self.max_landmarks(SEARCH_MAX_OPERATIONS, SEARCH_DENSE_MAX_ROWS)
        dense_follows = self.form == "auto" and self._fits(SEARCH_DENSE_MAX_ROWS)
        most = self.n * LANDMARK_MAX_FRACTION if dense_follows else affordable
        counts = [min(FIRST_LANDMARKS, affordable)]
        while counts[-1] * LANDMARK_GROWTH_FACTOR <= most:
            counts.append(counts[-1] * LANDMARK_GROWTH_FACTOR)
        return counts

    def max_landmarks(self, operations: float, system_rows: int) -> int:
        """Return the largest number of landmarks for the given operations per fit and rows of a linear system."""
        affordable = min(np.sqrt(operations / self.n), LANDMARK_GRAM_MAX_ENTRIES / self.n)
        in_one_system = max(1, system_rows // self.n_joint_functions)
        return int(min(self.n, max(FIRST_LANDMARKS, affordable), in_one_system))

    def last_builder(self, rng: np.random.Generator) -> Builder:
        """Return the builder of the most accurate Gram that a single fit can afford."""
        if self._fits(FIT_DENSE_MAX_ROWS):
            return DenseBuilder(self.X)
        m = self.max_landmarks(FIT_MAX_OPERATIONS, FIT_DENSE_MAX_ROWS)
        return NystromBuilder(self.X, spread_landmarks(self.X, m, rng))


def approximation_gap(kernel: Kernel, X: Any, solution: Any) -> float:
    """Return eq. (1) divided by n; zero for a whole matrix."""
    if solution.gram.dense:
        return 0.0
    lost = np.maximum(diagonal(kernel, X) - solution.gram.diag(), 0)
    return float(np.mean(solution.precision * lost))


def probe_grams(kernels: Sequence[Kernel], X: Any, seed: Any) -> Iterator[Gram]:
    """Yield Grams around the given kernels, from which a criterion makes its estimates before the search."""
    rng = np.random.default_rng(seed)
    for kernel in kernels:
        only_dense = has_noise(kernel) or is_precomputed(kernel)
        builder: Builder = DenseBuilder(X)
        if X.shape[0] > PROBE_DENSE_MAX_ROWS and not only_dense:
            builder = NystromBuilder(X, spread_landmarks(X, PROBE_LANDMARKS, rng))
        low, high = kernel.bounds.reshape(-1, 2).T
        for step in START_LOG_WIDTH_STEPS if len(kernel.theta) else (0.0,):
            theta = np.clip(kernel.theta + step, low, high)
            yield builder.gram(kernel.clone_with_theta(theta) if len(theta) else kernel)
