r"""Landmarks with the rows on a cluster: ``gram="dask"``.

The features :math:`F = K_{nm} L^{-T}` are cut into blocks of rows, each with a worker of Dask together with its rows of X
and their distances from the landmarks. What a machine asks for is a sum over blocks of small matrices, or a list of
numbers per row (see :class:`foldless.grams.features.Features`), and so is the gradient: only vectors of n numbers and matrices
of r x r travel.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

import numpy as np
from sklearn.gaussian_process.kernels import Kernel

from foldless.core.cluster import gathered
from foldless.core.errors import NeedsLocalFeatures
from foldless.core.gram import LandmarkRoot, Matrix, Rows, Vector
from foldless.core.linalg import pivoted_cholesky
from foldless.core.memo import cached_property
from foldless.core.optional_imports import import_extra
from foldless.grams import FeatureGram
from foldless.grams.adjoints import FeatureProducts, RowTerm
from foldless.grams.builders import NystromBuilder, RowsTimesLandmarks
from foldless.grams.features import Features
from foldless.kernels.evaluate import gram
from foldless.kernels.pairs import Pairs, Points

BLOCK_MAX_ROWS = 50_000  # rows that one task works on

# Mean, constant, rows and triangular factor: the fields of Features behind F.
Border = tuple[Vector | None, float | None, Rows | None, Matrix | None]


@dataclass(frozen=True, eq=False)
class Blocks:
    """A matrix whose rows are with the workers.

    Parameters
    ----------
    client : distributed.Client
    futures : list
        One array of rows each, in order.
    rows : list of slice
        The rows of each.
    shape : pair of int
    """

    client: Any
    futures: list[Any]
    rows: list[slice]
    shape: tuple[int, int]

    def __len__(self) -> int:
        """Return the number of rows."""
        return self.shape[0]

    def run(
        self,
        verb: Callable[..., Matrix],
        border: Border,
        compute: Callable[..., Matrix],
        vectors: Sequence[Matrix],
    ) -> list[Matrix]:
        """Return ``verb(block, border, compute, vectors)`` for every block, with its rows of the vectors."""
        tasks = [
            self.client.submit(verb, block, border, compute, [v[rows] for v in vectors], pure=False)
            for block, rows in zip(self.futures, self.rows, strict=True)
        ]
        return gathered(self.client, tasks)


def _total(F: Matrix, border: Border, compute: Callable[..., Matrix], vectors: Sequence[Matrix]) -> Matrix:
    return Features(F, *border).total(compute, *vectors)


def _each(F: Matrix, border: Border, compute: Callable[..., Matrix], vectors: Sequence[Matrix]) -> Matrix:
    return Features(F, *border).each(compute, *vectors)


class RemoteFeatures(Features):
    """Features whose ``F`` are :class:`Blocks`."""

    @property
    def border(self) -> Border:
        """The fields behind F, with which a worker completes its rows."""
        return self.mean, self.last, self.index, self.L

    def whitened(self, L: Matrix) -> RemoteFeatures:
        """Return the features ``F L^{-T}``."""
        return replace(self, L=L)

    def take(self, rows: slice | Rows) -> Matrix:
        """Raise an error: the rows are with the workers."""
        raise NeedsLocalFeatures("take")

    def total(self, compute: Callable[..., Matrix], *vectors: Matrix) -> Matrix:
        """Return the sum of ``compute(strip, *parts)`` over all strips of all blocks."""
        return np.sum(self.F.run(_total, self.border, compute, vectors), axis=0)

    def each(self, compute: Callable[..., Matrix], *vectors: Matrix) -> Matrix:
        """Return the rows ``compute(strip, *parts)``, as one array."""
        return np.concatenate(self.F.run(_each, self.border, compute, vectors))


@dataclass(frozen=True, eq=False)
class DaskGram(FeatureGram):
    """``K = F F' + constant 11'`` with the rows of F on a cluster."""

    blocks: Blocks
    landmark_root: LandmarkRoot | None
    constant: float = 0.0

    def missing(self, verb: str) -> NeedsLocalFeatures:
        """Return the error for a verb that needs all features in one place."""
        return NeedsLocalFeatures(verb)

    def features(self, bias: bool = False) -> RemoteFeatures:
        """Return the rows of F, with a bias those of [F less its mean, 1]: centring removes the constant."""
        if bias:
            return RemoteFeatures(self.blocks, self._mean, 1.0)
        return RemoteFeatures(self.blocks, None, np.sqrt(self.constant) if self.constant else None)

    @cached_property
    def _mean(self) -> Vector:
        return RemoteFeatures(self.blocks).transpose_times(np.full(self.n, 1 / self.n))

    def shifted(self, constant: float) -> DaskGram:
        """Return ``K + constant 11'``."""
        return replace(self, constant=self.constant + constant)


def current_client() -> Any:
    """Return the Dask client that was made last in this process."""
    distributed = import_extra("distributed", "dask")
    try:
        return distributed.get_client()
    except ValueError:
        raise ValueError(
            "gram='dask' needs a cluster. Make a client first: distributed.Client(address), or "
            "distributed.Client() for workers on this machine."
        ) from None


@dataclass(frozen=True, eq=False)
class DaskBuilder(NystromBuilder):
    """Landmarks, with the rows on the cluster of the current Dask client."""

    _client: Any = field(default_factory=current_client, init=False, repr=False)

    @cached_property
    def _rows(self) -> list[slice]:
        n, workers = self.X.shape[0], len(self._client.ncores())
        edges = np.linspace(0, n, max(1, workers, -(-n // BLOCK_MAX_ROWS)) + 1).astype(int)
        return [slice(a, b) for a, b in pairwise(edges)]

    @cached_property
    def _remote_rows_times_landmarks(self) -> list[Any]:
        parts = self._client.scatter([self.X[rows] for rows in self._rows], hash=False)
        Y = self._client.scatter(self.points, broadcast=True, hash=False)
        return [self._client.submit(_rows_times_landmarks, X, Y, pure=False) for X in parts]

    def gram(self, kernel: Kernel) -> DaskGram:
        """Return the low-rank Gram of ``kernel``; its rows stay with the workers."""
        landmark_root = pivoted_cholesky(gram(kernel, self._landmark_pairs))
        futures = [
            self._client.submit(RowsTimesLandmarks.features, block, kernel, landmark_root, pure=False)
            for block in self._remote_rows_times_landmarks
        ]
        shape = (self.X.shape[0], len(landmark_root[1]))
        return DaskGram(Blocks(self._client, futures, self._rows, shape), landmark_root)

    def _pullback_of_rows(
        self, kernel: Kernel, landmark_root: LandmarkRoot, products: FeatureProducts
    ) -> Vector:
        tasks = []
        for i, rows in enumerate(self._rows):
            parts = [(p.compute, [v[rows] for v in p.vectors], _border(p), p.scale) for p in products.parts]
            blocks = [None if p.features is None else p.features.F.futures[i] for p in products.parts]
            points = self._remote_rows_times_landmarks[i]
            task = self._client.submit(
                _pullback_of_block, points, blocks, kernel, landmark_root, parts, pure=False
            )
            tasks.append(task)
        return np.sum(gathered(self._client, tasks), axis=0)


def _rows_times_landmarks(X: Points, Y: Points) -> RowsTimesLandmarks:
    return RowsTimesLandmarks(Pairs(X, Y))


def _border(part: Any) -> Border | None:
    return None if part.features is None else part.features.border


def _pullback_of_block(
    rows_times_landmarks: RowsTimesLandmarks,
    blocks: list[Matrix | None],
    kernel: Kernel,
    landmark_root: LandmarkRoot,
    parts: list[Any],
) -> Vector:
    """Return the gradient through the rows of one block."""
    terms = [
        RowTerm(compute, vectors, None if F is None else Features(F, *border), scale)
        for F, (compute, vectors, border, scale) in zip(blocks, parts, strict=True)
    ]
    return rows_times_landmarks.pullback(kernel, landmark_root, FeatureProducts(terms, None))
