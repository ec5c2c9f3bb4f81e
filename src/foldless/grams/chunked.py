"""The Gram matrix that is never stored: its rows are made a strip at a time, used and forgotten."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy.sparse.linalg import LinearOperator
from sklearn.gaussian_process.kernels import Kernel

from foldless.core.errors import NotStored
from foldless.core.gram import Gram, Matrix, Rows, Vector
from foldless.kernels.evaluate import diagonal, gram
from foldless.kernels.pairs import Pairs, Points

STRIP_ENTRIES = 4_000_000  # entries of K that exist at a time by default


@dataclass(frozen=True, eq=False)
class ChunkedGram(Gram):
    """``K`` by its kernel and points; every verb passes over strips of rows once.

    Parameters
    ----------
    kernel : sklearn.gaussian_process.kernels.Kernel
        Without a white-noise term: strips do not know their place on the diagonal.
    X : array or sparse matrix of shape (n, d)
    chunk : int, optional
        Rows per strip; by default so many that a strip holds four million entries.
    """

    kernel: Kernel
    X: Points
    chunk: int | None = None

    def missing(self, verb: str) -> NotStored:
        """Return the error for a verb that needs the whole matrix."""
        return NotStored(verb)

    @property
    def n(self) -> int:
        """Number of rows."""
        return self.X.shape[0]

    def strips(self) -> Iterator[tuple[slice, Pairs]]:
        """Yield (rows, pairs) in order: a slice and the pairs of its points with all points."""
        step = max(1, STRIP_ENTRIES // self.n) if self.chunk is None else self.chunk
        for i in range(0, self.n, step):
            yield slice(i, min(i + step, self.n)), Pairs(self.X[i : i + step], self.X)

    def matmul(self, M: Matrix) -> Matrix:
        """Return ``K @ M``."""
        return np.concatenate([gram(self.kernel, pairs) @ M for _, pairs in self.strips()])

    def diag(self) -> Vector:
        """Return the diagonal."""
        return diagonal(self.kernel, self.X)

    def subset(self, rows: Rows) -> "ChunkedGram":
        """Return the Gram of some rows."""
        return ChunkedGram(self.kernel, self.X[rows], self.chunk)

    def norm(self) -> float:
        """Return the Frobenius norm."""
        return float(np.sqrt(sum(np.sum(gram(self.kernel, pairs) ** 2) for _, pairs in self.strips())))

    def centred_norm(self) -> float:
        """Return the Frobenius norm of ``J K J``, in two passes: means first."""
        m = self.matmul(np.full(self.n, 1 / self.n))
        shift = m - m.mean()
        total = sum(np.sum((gram(self.kernel, p) - m - shift[rows, None]) ** 2) for rows, p in self.strips())
        return float(np.sqrt(total))

    def inner(self, adjoint: "FactoredAdjoint") -> float:
        """Return ``<adjoint, K>``."""
        return float(sum(np.vdot(adjoint.strip(rows, p), gram(self.kernel, p)) for rows, p in self.strips()))

    def adjoint(self, P: Matrix, Q: Matrix, identity: float = 0.0, itself: float = 0.0) -> "FactoredAdjoint":
        """Return ``(P Q' + Q P') / 2 + identity I + itself K``, kept in factors."""
        return FactoredAdjoint(self, P, Q, identity, itself)


class FactoredAdjoint(LinearOperator):
    """``(P Q' + Q P') / 2 + identity I + itself K``, which can show a strip of its rows."""

    def __init__(self, gram: ChunkedGram, P: Matrix, Q: Matrix, identity: float, itself: float) -> None:
        super().__init__(dtype=float, shape=(gram.n, gram.n))
        self.gram, self.P, self.Q, self.identity, self.itself = gram, P, Q, identity, itself

    def _matmat(self, M: Matrix) -> Matrix:
        out = (self.P @ (self.Q.T @ M) + self.Q @ (self.P.T @ M)) / 2 + self.identity * M
        return out + self.itself * self.gram.matmul(M) if self.itself else out

    def _adjoint(self) -> "FactoredAdjoint":
        return self

    def strip(self, rows: slice, pairs: Pairs) -> Matrix:
        """Return some rows as an array; ``pairs`` are those of their points with all points."""
        G = (self.P[rows] @ self.Q.T + self.Q[rows] @ self.P.T) / 2
        if self.itself:
            G += self.itself * gram(self.gram.kernel, pairs)
        G[np.arange(len(G)), np.arange(rows.start, rows.stop)] += self.identity
        return G
