"""The Gram matrix that is never stored: its rows are made a strip at a time, used and forgotten."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from scipy.sparse.linalg import LinearOperator

from foldless.core.contracts import Matrix
from foldless.core.errors import FoldlessError
from foldless.kernels.evaluate import diagonal, gram
from foldless.kernels.pairs import Pairs

STRIP = 4_000_000  # entries of K that exist at a time, unless told


class NotStored(FoldlessError, TypeError):
    """A chunked Gram was asked for something that needs the whole matrix."""

    def __init__(self, what):
        super().__init__(
            f"a chunked Gram multiplies, but it cannot be {what}: the matrix is never stored. "
            "Use a dense or a low-rank Gram, or a criterion made of products (spectral with an integer r, "
            "alignment, centered-alignment, fsm)."
        )


@dataclass(frozen=True, eq=False)
class ChunkedGram:
    """``K`` by its kernel and points; every verb passes over strips of rows once.

    Parameters
    ----------
    kernel : sklearn.gaussian_process.kernels.Kernel
        Without a white-noise term: strips do not know their place on the diagonal.
    X : array or sparse matrix of shape (n, d)
    chunk : int, optional
        Rows per strip; by default so many that a strip holds four million entries.
    """

    kernel: Any
    X: Any
    chunk: int | None = None
    dense: ClassVar[bool] = False  # adjoints are operators
    semidefinite: ClassVar[bool] = False

    @cached_property
    def memo(self):
        """What was computed from this Gram and may be asked for again, by key."""
        return {}

    @property
    def n(self):
        """Number of rows."""
        return self.X.shape[0]

    def strips(self):
        """Yield (rows, pairs) in order: a slice and the pairs of its points with all points."""
        step = max(1, STRIP // self.n) if self.chunk is None else self.chunk
        for i in range(0, self.n, step):
            yield slice(i, min(i + step, self.n)), Pairs(self.X[i : i + step], self.X)

    def matmul(self, M):
        """Return ``K @ M``."""
        return np.concatenate([gram(self.kernel, pairs) @ M for _, pairs in self.strips()])

    def diag(self):
        """Return the diagonal."""
        return diagonal(self.kernel, self.X)

    def subset(self, rows):
        """Return the Gram of some rows."""
        return ChunkedGram(self.kernel, self.X[rows], self.chunk)

    def norm(self):
        """Return the Frobenius norm."""
        return float(np.sqrt(sum(np.sum(gram(self.kernel, pairs) ** 2) for _, pairs in self.strips())))

    def centred_norm(self):
        """Return the Frobenius norm of ``J K J``, in two passes: means first."""
        m = self.matmul(np.full(self.n, 1 / self.n))
        shift = m - m.mean()
        total = sum(np.sum((gram(self.kernel, p) - m - shift[rows, None]) ** 2) for rows, p in self.strips())
        return float(np.sqrt(total))

    def inner(self, adjoint):
        """Return ``<adjoint, K>``."""
        return float(sum(np.vdot(adjoint.strip(rows, p), gram(self.kernel, p)) for rows, p in self.strips()))

    def adjoint(self, P, Q, identity=0.0, itself=0.0):
        """Return ``(P Q' + Q P') / 2 + identity I + itself K``, kept in factors."""
        return FactoredAdjoint(self, P, Q, identity, itself)

    def factor(self, w, bias=False):
        """Raise: see :class:`NotStored`."""
        raise NotStored("factored")

    def spectrum(self):
        """Raise: see :class:`NotStored`."""
        raise NotStored("decomposed")

    def weighted_spectrum(self, v, bias=False):
        """Raise: see :class:`NotStored`."""
        raise NotStored("decomposed")

    def centred(self):
        """Raise: see :class:`NotStored`."""
        raise NotStored("centred")

    def shifted(self, constant):
        """Raise: see :class:`NotStored`."""
        raise NotStored("shifted")


class FactoredAdjoint(LinearOperator):
    """``(P Q' + Q P') / 2 + identity I + itself K``, which can show a strip of its rows."""

    def __init__(self, gram: ChunkedGram, P: Matrix, Q: Matrix, identity: float, itself: float):
        super().__init__(dtype=float, shape=(gram.n, gram.n))
        self.gram, self.P, self.Q, self.identity, self.itself = gram, P, Q, identity, itself

    def _matmat(self, M):
        out = (self.P @ (self.Q.T @ M) + self.Q @ (self.P.T @ M)) / 2 + self.identity * M
        return out + self.itself * self.gram.matmul(M) if self.itself else out

    def _adjoint(self):
        return self

    def strip(self, rows, pairs):
        """Return the rows ``rows`` (a slice) as an array."""
        G = (self.P[rows] @ self.Q.T + self.Q[rows] @ self.P.T) / 2
        if self.itself:
            G += self.itself * gram(self.gram.kernel, pairs)
        G[np.arange(len(G)), np.arange(rows.start, rows.stop)] += self.identity
        return G
