"""Grams that several fits to the same rows have in common, computed once.

Searches by different criteria begin with the same coarse grid of kernels. A :class:`GramCache` keeps the builders (with
their distances) and the first Grams of each for the next search. The numbers do not change: a kept Gram is the one that
would have been computed.
"""

import time
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np
from sklearn.gaussian_process.kernels import Kernel

from foldless.core.contracts import Adjoint, Gram, Matrix, Vector
from foldless.grams.builders import Builder, NystromBuilder

# Numbers in all kept Grams together (400 MB), and Grams kept of each builder: more than a coarse grid has.
CACHE_MAX_ENTRIES = 5e7
CACHE_MAX_GRAMS = 12


class CachingBuilder(Builder):
    """A builder that keeps its first Grams in a cache.

    Parameters
    ----------
    builder : Builder
    cache : GramCache
    """

    def __init__(self, builder: Builder, cache: "GramCache") -> None:
        self.builder, self.cache, self.X = builder, cache, builder.X
        self._kept: list[tuple[Kernel, Gram, float]] = []

    @property
    def exact(self) -> bool:
        """Whether the Gram is the kernel matrix itself."""
        return self.builder.exact

    def gram(self, kernel: Kernel) -> Gram:
        """Return the Gram of ``kernel``, a kept one if there is one."""
        for known, gram, seconds in self._kept:
            if known == kernel and np.array_equal(known.theta, kernel.theta):
                self.cache.saved_seconds += seconds
                self.cache.n_reused += 1
                return gram
        begun = time.perf_counter()
        gram = self.builder.gram(kernel)
        size = self._n_entries()
        if len(self._kept) < CACHE_MAX_GRAMS and size <= self.cache.free_entries:
            self.cache.free_entries -= size
            self._kept.append((kernel, gram, time.perf_counter() - begun))
        return gram

    def _n_entries(self) -> int:
        """Return how many numbers a Gram holds."""
        n, builder = self.X.shape[0], self.builder
        return n * (builder.landmarks.shape[0] if isinstance(builder, NystromBuilder) else n)

    def pullback(self, kernel: Kernel, K: Any, adjoint: Adjoint) -> Vector:
        """Return the gradient in ``kernel.theta``."""
        return self.builder.pullback(kernel, K, adjoint)

    def expansion(self, K: Any, alpha: Matrix) -> tuple[Any, Matrix]:
        """Return points and coefficients ``beta`` with ``f(x) = k(x, points) @ beta``."""
        return self.builder.expansion(K, alpha)


@dataclass(eq=False)
class GramCache:
    """Builders of the same rows, each with its first Grams.

    Attributes
    ----------
    saved_seconds : float
        Time that the reused Grams took when they were computed.
    n_reused : int
        How often a kept Gram was used again.
    free_entries : float
        Numbers that may still be kept.
    """

    saved_seconds: float = 0.0
    n_reused: int = 0
    free_entries: float = CACHE_MAX_ENTRIES
    _builders: list[CachingBuilder] = field(default_factory=list)

    def builder(self, new: Builder) -> CachingBuilder:
        """Return the caching builder of an equal builder that was seen before, or else of ``new``."""
        for known in self._builders:
            if _equal(known.builder, new):
                return known
        self._builders.append(CachingBuilder(new, self))
        return self._builders[-1]


@dataclass(frozen=True)
class SharedGrams:
    """A form of the Gram together with a cache: several estimators that get it as ``gram`` share their Grams.

    Parameters
    ----------
    name : str
        The form, as in ``gram="auto"``.
    cache : GramCache
    """

    name: str
    cache: GramCache


def _equal(a: Any, b: Any) -> bool:
    """Return whether two builders are of one type and hold equal arrays (sparse ones: the same)."""
    if type(a) is not type(b):
        return False
    return all(_equal_parts(vars(a)[f.name], vars(b)[f.name]) for f in fields(a))


def _equal_parts(a: Any, b: Any) -> bool:
    return a is b or (isinstance(a, np.ndarray) and isinstance(b, np.ndarray) and np.array_equal(a, b))
