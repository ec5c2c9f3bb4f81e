r"""Landmarks with the rows on a cluster: ``gram="dask"``.

The features :math:`F = K_{nm} L^{-T}` are cut into blocks of rows, each with a worker of Dask together with its rows of X
and their distances from the landmarks. What a machine asks for is a sum over blocks of small matrices, or a list of
numbers per row (see :class:`foldless.grams.features.Features`), and so is the gradient: only vectors of n numbers and matrices
of r x r travel.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np

from foldless.core.errors import FoldlessError
from foldless.core.linalg import pivoted_cholesky
from foldless.core.optional_imports import import_extra
from foldless.grams import FeatureGram
from foldless.grams.adjoints import FeatureProducts, RowTerm
from foldless.grams.builders import NystromBuilder, RowsTimesLandmarks
from foldless.grams.features import Features
from foldless.kernels.evaluate import gram
from foldless.kernels.pairs import Pairs

ROWS = 50_000  # of a block, at most


class NeedsLocalFeatures(FoldlessError, TypeError):
    """Something was asked for that needs all features in one place."""

    def __init__(self, what):
        super().__init__(
            f"gram='dask' keeps the features with the workers, but {what} needs them in one place. Use gram='lowrank', "
            "or KernelLogisticRegression, KernelLSSVC or KernelPoissonRegressor with criterion='loo' or 'evidence'."
        )


@dataclass(frozen=True, eq=False)
class Blocks:
    """A matrix whose rows are with the workers.

    Parameters
    ----------
    client : distributed.Client
    futures : list
        One array of rows each, in order.
    rows : list of slice
        Which rows.
    shape : pair of int
    """

    client: Any
    futures: list
    rows: list
    shape: tuple

    def __len__(self):
        """Return the number of rows."""
        return self.shape[0]

    def run(self, verb, border, compute, vectors):
        """Return ``verb(block, border, compute, vectors)`` of every block, with the vectors' own rows."""
        return self.client.gather(
            [
                self.client.submit(verb, block, border, compute, [v[rows] for v in vectors], pure=False)
                for block, rows in zip(self.futures, self.rows, strict=True)
            ]
        )


def _total(F, border, compute, vectors):
    return Features(F, *border).total(compute, *vectors)


def _each(F, border, compute, vectors):
    return Features(F, *border).each(compute, *vectors)


class RemoteFeatures(Features):
    """Features whose ``F`` are :class:`Blocks`."""

    @property
    def border(self):
        """What a worker does with its rows: the fields behind F."""
        return self.mean, self.last, self.index, self.L

    def whitened(self, L):
        """Return the features ``F L^{-T}``."""
        return replace(self, L=L)

    def take(self, rows):
        """Raise: see :class:`NeedsLocalFeatures`."""
        raise NeedsLocalFeatures("this machine or criterion")

    def total(self, compute, *vectors):
        """Return the sum of ``compute(strip, *parts)`` over all strips of all blocks."""
        return sum(self.F.run(_total, self.border, compute, vectors))

    def each(self, compute, *vectors):
        """Return the rows ``compute(strip, *parts)``, as one array."""
        return np.concatenate(self.F.run(_each, self.border, compute, vectors))


@dataclass(frozen=True, eq=False)
class DaskGram(FeatureGram):
    """``K = F F' + constant 11'`` with the rows of F on a cluster."""

    blocks: Blocks
    root: Any
    constant: float = 0.0
    verbs: ClassVar[tuple[str, ...]] = (
        *("subset", "block", "combine", "extremes", "centred", "spectrum", "weighted_spectrum"),
        *("image_beside", "norm", "centred_norm"),
    )

    def features(self, bias=False):
        """Return the rows of F, with a bias those of [F less its mean, 1]."""
        if bias:
            return RemoteFeatures(self.blocks, self._mean, 1.0)  # to which a constant is invisible
        return RemoteFeatures(self.blocks, None, np.sqrt(self.constant) if self.constant else None)

    @cached_property
    def _mean(self):
        return RemoteFeatures(self.blocks).transpose_times(np.full(self.n, 1 / self.n))

    def shifted(self, constant):
        """Return ``K + constant 11'``."""
        return replace(self, constant=self.constant + constant)

    def __getattr__(self, name):
        """Say why a verb of other Grams is missing."""
        if name in self.verbs:
            raise NeedsLocalFeatures("this machine or criterion")
        raise AttributeError(name)


def current_client():
    """Return the client that was made last in this process."""
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

    def __post_init__(self):
        object.__setattr__(self, "_client", current_client())  # before anything is computed

    @cached_property
    def _rows(self):
        n, workers = self.X.shape[0], len(self._client.ncores())
        edges = np.linspace(0, n, max(1, workers, -(-n // ROWS)) + 1).astype(int)
        return [slice(a, b) for a, b in pairwise(edges)]

    @cached_property
    def _crosses(self):
        parts = self._client.scatter([self.X[rows] for rows in self._rows], hash=False)
        Y = self._client.scatter(self.X[self.landmarks], broadcast=True, hash=False)
        return [self._client.submit(_beside, X, Y, pure=False) for X in parts]

    def gram(self, kernel):
        """Return the low-rank Gram of ``kernel``; its rows stay with the workers."""
        root = pivoted_cholesky(gram(kernel, self._own))
        futures = [
            self._client.submit(RowsTimesLandmarks.features, cross, kernel, root, pure=False)
            for cross in self._crosses
        ]
        return DaskGram(Blocks(self._client, futures, self._rows, (self.X.shape[0], len(root[1]))), root)

    def _across(self, kernel, root, thin):
        jobs = []
        for i, rows in enumerate(self._rows):
            parts = [(p.compute, [v[rows] for v in p.vectors], _border(p), p.scale) for p in thin.parts]
            blocks = [None if p.features is None else p.features.F.futures[i] for p in thin.parts]
            jobs.append(self._client.submit(_pull, self._crosses[i], blocks, kernel, root, parts, pure=False))
        return sum(self._client.gather(jobs))


def _beside(X, Y):
    return RowsTimesLandmarks(Pairs(X, Y))


def _border(part):
    return None if part.features is None else part.features.border


def _pull(cross, blocks, kernel, root, parts):
    """The gradient through the rows of one block."""
    here = [
        RowTerm(compute, vectors, None if F is None else Features(F, *border), scale)
        for F, (compute, vectors, border, scale) in zip(blocks, parts, strict=True)
    ]
    return cross.pullback(kernel, root, FeatureProducts(here, None))
