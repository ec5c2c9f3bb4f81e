r"""The eigenpairs that all ridge parameters of one Gram share, beside the directions fitted without penalty.

With :math:`D = \operatorname{diag}(\sqrt v)` for sample weights v everything lives in *whitened* coordinates,
:math:`y \to D y`. An orthonormal basis ``free`` (n, p) holds what is not penalised (an intercept:
:math:`\sqrt v / \|\sqrt v\|`); on its complement :math:`S = Q \operatorname{diag}(s)\, Q'`, and N is the projector on
what neither ``free`` nor ``Q`` spans.
"""

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from foldless.core.contracts import Matrix, Vector
from foldless.core.linalg import thin_root
from foldless.grams import LowRankGram
from foldless.grams.features import Features

EPS = np.finfo(float).eps
FEW = 300  # rows up to which an eigendecomposition is too quick to be avoided


@dataclass(frozen=True, eq=False)
class Targets:
    """Whitened targets and their coordinates in a basis."""

    Y: Matrix
    c: Matrix  # Q'Y
    rest: Matrix | None  # N Y; None when N = 0
    rest2: Vector  # squared norms of its columns


@dataclass(frozen=True, eq=False)
class Basis:
    """Eigenpairs of S beside the free directions: all ridge parameters of one Gram share it.

    ``coef_map`` (n, q) and ``free_coef_map`` (n, p) turn coordinates into coefficients for a fixed penalty,
    ``X M = coef_map @ (Q'M / (s + lam)) + free_coef_map @ (free'M)``; they are None for the penalty K.
    """

    Q: Matrix
    s: Vector
    free: Matrix
    complete: bool
    root: Vector | None = None  # sqrt(v)
    coef_map: Matrix | None = None
    free_coef_map: Matrix | None = None
    memo: dict = field(default_factory=dict)

    @property
    def n(self):
        """Number of rows."""
        return len(self.Q)

    @property
    def null(self):
        """Dimension of what neither ``free`` nor ``Q`` spans."""
        return 0 if self.complete else self.n - self.free.shape[1] - len(self.s)

    def squares(self, f):
        """Return the squares of ``Q`` times ``f``, (r,) or (r, L): diagonals of functions of S."""
        return Features(self.Q).each(lambda Q: Q**2 @ f)

    @cached_property
    def null_diag(self):
        """Diagonal of ``N``."""
        if self.complete:
            return np.zeros(self.n)
        return np.maximum(1 - (self.free**2).sum(1) - self.squares(np.ones(len(self.s))), 0)

    def outside(self, M):
        """Return ``N M``."""
        if self.complete:
            return np.zeros_like(M)
        M = M - self.free @ (self.free.T @ M)
        return M - self.Q @ (self.Q.T @ M)

    def whiten(self, M):
        """Return ``D M``."""
        return M if self.root is None else scale(self.root, M)

    def targets(self, Y):
        """Return the targets in this basis, remembered for the next ridge parameter."""
        known = self.memo.get("targets", (None, None))
        if not same_array(known[0], Y):
            known = (Y, self._targets(self.whiten(Y)))
            self.memo["targets"] = known
        return known[1]

    def _targets(self, Y):
        rest = None if self.complete else self.outside(Y)
        rest2 = np.zeros(Y.shape[1]) if rest is None else (rest**2).sum(0)
        return Targets(Y, self.Q.T @ Y, rest, rest2)


def same_array(A, B):
    """Tell whether two arrays are views of the same numbers; A must be alive, None is none."""
    return A is B or (A is not None and A.__array_interface__ == B.__array_interface__)


def scale(v, M):
    """Return ``diag(v) M`` for a vector or a matrix M."""
    return v * M if M.ndim == 1 else v[:, None] * M


def intercept(n, bias, weights):
    """Return the free direction of an intercept, (n, 1), or none, (n, 0)."""
    if not bias:
        return np.zeros((n, 0))
    root = np.ones(n) if weights is None else np.sqrt(weights)
    return (root / np.linalg.norm(root))[:, None]


def thin(gram, most=0.5):
    """Return a Gram that equals ``gram`` to rounding and is cheap to decompose, or ``gram`` itself; found once.

    The matrix of a smooth kernel has a numerical rank r far below n. With thin factors its eigenpairs cost
    O(n^2 r) and not O(n^3).

    Parameters
    ----------
    gram : Gram
    most : float
        The largest r / n of use; beyond one half thin factors no longer pay. To learn that r is larger costs
        little where ``most`` is small.
    """
    if not gram.dense or gram.n <= FEW:
        return gram
    memo = gram.memo
    if "thin" not in memo and most > memo.get("thicker than", 0.0):
        F = thin_root(gram.K, int(most * gram.n))
        memo.update({"thicker than": most} if F is None else {"thin": LowRankGram(F)})
    return memo.get("thin", gram)


def kernel_basis(gram, bias, weights):
    """Return the basis of K itself, whitened and beside the intercept; computed once per Gram.

    It is the basis of the penalty K, and what function norms are measured in for every other machine.
    """
    key = ("kernel basis", bias, id(weights))
    if key not in gram.memo:
        free = intercept(gram.n, bias, weights)
        root = None if weights is None else np.sqrt(weights)
        v = np.ones(gram.n) if weights is None else weights
        if weights is None and not bias:
            Q, s = thin(gram).spectrum()
        else:
            pairs = thin(gram).weighted_spectrum(v, bias)
            Q, s = pairs.Q, pairs.nu
        gram.memo[key] = (Basis(Q, s, free, Q.shape[1] + free.shape[1] >= gram.n, root), weights)
    return gram.memo[key][0]


def column_space(C):
    """Return an orthonormal basis U of the range of C, redundant columns recognised, and ``C^+ U``."""
    U, d, Vt = np.linalg.svd(C, full_matrices=False)
    rank = int(np.sum(d > max(C.shape) * EPS * d[0])) if len(d) else 0
    return U[:, :rank], Vt[:rank].T / d[:rank]
