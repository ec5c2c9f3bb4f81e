r"""The eigenpairs that all ridge parameters of one Gram share, beside the directions fitted without penalty.

With :math:`D = \operatorname{diag}(\sqrt v)` for sample weights v everything lives in *whitened* coordinates,
:math:`y \to D y`. An orthonormal basis ``free`` (n, p) holds what is not penalised (an intercept:
:math:`\sqrt v / \|\sqrt v\|`); on its complement :math:`S = Q \operatorname{diag}(s)\, Q'`, and N is the projector on
what neither ``free`` nor ``Q`` spans.
"""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from foldless.core.contracts import Gram, Matrix, Vector
from foldless.core.linalg import thin_root
from foldless.core.memo import Latest, cached_property
from foldless.grams import DenseGram, LowRankGram
from foldless.grams.features import Features
from foldless.machines.coefficients import without_rounding

EPS = np.finfo(float).eps
SINGULAR_MAX_ROWS = 300  # up to which the root of any singular matrix is used: fast enough, and more accurate
THIN_MAX_RANK_FRACTION = 0.5  # rank over n up to which a thin root makes eigenpairs cheaper


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
    complete: bool  # Q and free span everything: N = 0
    root: Vector | None = None  # sqrt(v)
    coef_map: Matrix | None = None
    free_coef_map: Matrix | None = None
    latest_norm: Latest = field(default_factory=Latest, repr=False)
    _latest_targets: Latest = field(default_factory=Latest, repr=False)

    @property
    def n(self) -> int:
        """Number of rows."""
        return len(self.Q)

    @property
    def null(self) -> int:
        """Dimension of what neither ``free`` nor ``Q`` spans."""
        return 0 if self.complete else self.n - self.free.shape[1] - len(self.s)

    def squares(self, f: Matrix) -> Matrix:
        """Return the squares of ``Q`` times ``f``, (r,) or (r, L): diagonals of functions of S."""
        return Features(self.Q).each(lambda Q: Q**2 @ f)

    @cached_property
    def null_diag(self) -> Vector:
        """Diagonal of ``N``."""
        if self.complete:
            return np.zeros(self.n)
        return np.maximum(1 - (self.free**2).sum(1) - self.squares(np.ones(len(self.s))), 0)

    def outside(self, M: Matrix) -> Matrix:
        """Return ``N M``."""
        if self.complete:
            return np.zeros_like(M)
        M = M - self.free @ (self.free.T @ M)
        return M - self.Q @ (self.Q.T @ M)

    def whiten(self, M: Matrix) -> Matrix:
        """Return ``D M``."""
        return M if self.root is None else scale(self.root, M)

    def targets(self, Y: Matrix) -> Targets:
        """Return the targets in this basis; those of the last ``Y`` are cached for the next ridge parameter."""
        return self._latest_targets.get(Y.tobytes(), lambda: self._targets(self.whiten(Y)))

    def _targets(self, Y: Matrix) -> Targets:
        # Twice, since coefficients divide the rest by lambda: no rounding error along Q may be left in it.
        rest = None if self.complete else self.outside(self.outside(Y))
        rest2 = np.zeros(Y.shape[1]) if rest is None else (rest**2).sum(0)
        return Targets(Y, self.Q.T @ Y, rest, rest2)


def scale(v: Vector, M: Matrix) -> Matrix:
    """Return ``diag(v) M`` for a vector or a matrix M."""
    return v * M if M.ndim == 1 else v[:, None] * M


def intercept(n: int, bias: bool, weights: Vector | None) -> Matrix:
    """Return the free direction of an intercept (n, 1), or an array (n, 0) without one."""
    if not bias:
        return np.zeros((n, 0))
    root = np.ones(n) if weights is None else np.sqrt(weights)
    return (root / np.linalg.norm(root))[:, None]


def thin(gram: Gram, max_rank_fraction: float = THIN_MAX_RANK_FRACTION) -> Gram:
    """Return a Gram that equals ``gram`` to rounding and is cheap to decompose, or ``gram`` itself; computed once.

    The matrix of a smooth kernel has a numerical rank r far below n. With a thin root its eigenpairs cost O(n^2 r) and
    not O(n^3), and those of eigenvalue zero are known exactly. With few rows that makes it the choice for every r < n.

    Parameters
    ----------
    gram : Gram
    max_rank_fraction : float
        Largest r / n at which the thin root is returned. Small values make it cheap to find out that r is larger.
    """
    if not isinstance(gram, DenseGram):
        return gram
    memo: dict[str, Any] = gram.memo.get("thin", compute=dict)
    max_rank = int(max_rank_fraction * gram.n) if gram.n > SINGULAR_MAX_ROWS else gram.n - 1
    if "thin" not in memo and max_rank > memo.get("rank above", 0):
        F = thin_root(gram.K, max_rank)
        memo.update({"rank above": max_rank} if F is None else {"thin": LowRankGram(F)})
    found = memo.get("thin")
    return gram if found is None or found.F.shape[1] > max_rank else found


def kernel_basis(gram: Gram, bias: bool, weights: Vector | None) -> Basis:
    """Return the basis of K itself, whitened and beside the intercept; computed once per Gram.

    It is the basis of the penalty K, and function norms are measured in it for every other machine.
    """
    return gram.memo.get(
        "kernel basis", bias, weights, compute=lambda: _compute_kernel_basis(gram, bias, weights)
    )


def _compute_kernel_basis(gram: Gram, bias: bool, weights: Vector | None) -> Basis:
    free = intercept(gram.n, bias, weights)
    root = None if weights is None else np.sqrt(weights)
    if weights is None and not bias:
        Q, s = thin(gram).spectrum()
    else:
        v = np.ones(gram.n) if weights is None else weights
        pairs = thin(gram).weighted_spectrum(v, bias)
        Q, s = pairs.Q, pairs.nu
    return Basis(Q, without_rounding(s), free, Q.shape[1] + free.shape[1] >= gram.n, root)


def column_space(C: Matrix) -> tuple[Matrix, Matrix]:
    """Return an orthonormal basis U of the range of C, redundant columns recognised, and ``C^+ U``."""
    U, d, Vt = np.linalg.svd(C, full_matrices=False)
    rank = int(np.sum(d > max(C.shape) * EPS * d[0])) if len(d) else 0
    return U[:, :rank], Vt[:rank].T / d[:rank]
