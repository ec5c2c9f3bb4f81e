r"""Regression on some of the kernel functions, without a penalty.

.. math:: \min_{\alpha, b}\; \sum_i v_i \Bigl(y_i - b - \sum_{j \in S} \alpha_j K_{ij}\Bigr)^2  \tag{1}

The smoother is an orthogonal projector (in whitened coordinates) and df its rank; redundant columns are recognised by
their singular values. The columns *not* in S are zero: the printed membership sign of [1] depends on the copy.

References
----------
.. [1] Sugiyama and Müller, JMLR 3 (2002), section 3.3.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from numpy.typing import NDArray

from foldless.core.contracts import Gram, Matrix, Vector
from foldless.core.errors import Undefined
from foldless.machines.base import LinearMachine
from foldless.machines.coefficients import smallest_coefficients
from foldless.machines.least_squares.eigenbasis import EPS, Basis, column_space, intercept, scale
from foldless.machines.least_squares.smoother import SpectralSmoother
from foldless.machines.least_squares.solution import LinearSolution, checked_targets, without_mean


@dataclass(frozen=True, eq=False)
class Subset(LinearMachine):
    """Least squares on the kernel functions of a subset of the points.

    Parameters
    ----------
    indices : array of shape (m,)
        Rows whose kernel functions are used.
    bias : bool, default=False
        Whether an intercept is part of the model.
    weights : array of shape (n,), optional
        Positive sample weights; by default all 1.
    row_counts : array of shape (n,), optional
        Number of equal rows that each row stands for; criteria count them.

    Examples
    --------
    >>> import numpy as np
    >>> from foldless.grams import DenseGram
    >>> K = np.array([[2.0, 1.0], [1.0, 2.0]])
    >>> Subset([0]).solve(DenseGram(K), np.array([[4.0], [2.0]])).alpha.ravel()
    array([2., 0.])
    """

    indices: Sequence[int] | NDArray[np.intp]
    bias: bool = False
    weights: Vector | None = None
    row_counts: Vector | None = None

    def __post_init__(self) -> None:
        S = np.asarray(self.indices)
        if S.ndim != 1:
            raise ValueError(f"indices must be a list of row numbers, got {self.indices!r}.")
        if len(S) == 0:
            raise ValueError("the subset is empty: indices must name at least one row.")
        if not np.issubdtype(S.dtype, np.integer):
            raise ValueError(f"indices must be integers, got {S.dtype}.")
        if len(np.unique(S)) < len(S):
            raise ValueError("the subset repeats an index.")
        if self.weights is not None and not np.min(self.weights) > 0:
            raise ValueError("weights must be positive; leave out rows of weight zero.")
        object.__setattr__(self, "indices", S)

    @property
    def fits_on_blocks(self) -> bool:
        """False: the basis functions belong to given rows."""
        return False

    def on_rows(self, rows: NDArray[np.intp]) -> Self:
        """Return the machine for some of the rows; it loses the kernel functions of the others."""
        place = {row: position for position, row in enumerate(np.asarray(rows).tolist())}
        kept = [place[row] for row in np.asarray(self.indices).tolist() if row in place]
        return replace(super().on_rows(rows), indices=kept)

    def solve(self, gram: Gram, Y: Matrix, start: None = None) -> "SubsetSolution":
        """Fit all columns of ``Y`` (n, k). The fit is in closed form and needs no start."""
        if np.min(self.indices) < 0 or np.max(self.indices) >= gram.n:
            raise ValueError(f"indices must lie in 0..{gram.n - 1}.")
        Y, basis = checked_targets(gram, Y), self._basis(gram)
        return SubsetSolution(
            gram, self, Y, SpectralSmoother(basis, 1.0), basis.targets(without_mean(self, Y))
        )

    def _basis(self, gram: Gram) -> Basis:
        """Return a basis in which everything is free and nothing penalised."""
        n, root = gram.n, None if self.weights is None else np.sqrt(self.weights)
        ones = np.ones(n) if root is None else root
        C = scale(ones, gram.block(np.arange(n), np.asarray(self.indices)))
        free, back = column_space(np.column_stack([ones, C]) if self.bias else C)
        if free.shape[1] == 0:
            raise Undefined("every kernel function of the subset is zero on the data.")
        free_coef_map = np.zeros((n, free.shape[1]))
        free_coef_map[self.indices] = back[int(self.bias) :]
        none = np.zeros((n, 0))
        return Basis(none, np.zeros(0), free, free.shape[1] >= n, root, none, free_coef_map)


@smallest_coefficients.register
def _(machine: Subset, gram: Gram, Z: Matrix) -> None:
    """Return None: the coefficients are those of the subset alone, and nothing makes them large."""


@dataclass(frozen=True, eq=False)
class SubsetSolution(LinearSolution):
    """A subset fit; see :class:`foldless.machines.least_squares.solution.LinearSolution`."""


@dataclass(frozen=True)
class Forward:
    """Result of a forward selection.

    Attributes
    ----------
    indices : array of shape (m,)
        The best subset.
    values : tuple of float
        The cost after each step.
    order : tuple of int
        The rows in the order in which they were added, those after the best step included.
    cut_short : bool
        Whether the time was over before the cost stopped falling.
    """

    indices: NDArray[np.intp]
    values: tuple[float, ...]
    order: tuple[int, ...]
    cut_short: bool = False


def forward(
    gram: Gram,
    Y: Matrix,
    score: Callable[[SubsetSolution], float],
    machine: Subset,
    max_size: int | None = None,
    pool: int = 20,
    patience: int = 5,
    seconds: float | None = None,
) -> Forward:
    """Choose a subset greedily: at each step the kernel function whose addition scores best.

    Parameters
    ----------
    gram : Gram
    Y : array of shape (n, k)
    score : callable
        Solution to cost, for instance ``lambda s: criteria.LOO()(s).value``.
    machine : Subset
        Its intercept and weights are kept, its indices ignored.
    max_size : int, optional
        At most this many functions; by default half of the rows.
    pool : int, default=20
        Candidates scored per step: those that lower the residual sum of squares most. For Mallows' criterion one
        candidate would already be the exact greedy step, since df grows by one whichever is taken.
    patience : int, default=5
        Steps without improvement after which the search ends.
    seconds : float, optional
        No further function is added after so many; the first one always is.

    Returns
    -------
    found : Forward
    """
    n, deadline = gram.n, np.inf if seconds is None else time.perf_counter() + seconds
    root = np.ones(n) if machine.weights is None else np.sqrt(machine.weights)
    free = intercept(n, machine.bias, machine.weights)
    # Kernel functions and targets, orthogonal to everything that is in the model.
    Z = _without(free, scale(root, gram.matmul(np.eye(n))))
    rho = _without(free, scale(root, np.asarray(Y, float)))
    floor = n * EPS * max((Z**2).sum(0).max(), np.finfo(float).tiny)
    order: list[int] = []
    values: list[float] = []
    cut_short = False
    for _ in range(max(1, n // 2) if max_size is None else max_size):
        candidates = _promising(Z, rho, floor, pool)
        scored = [(_score(score, gram, Y, replace(machine, indices=[*order, j])), j) for j in candidates]
        if not scored or not np.isfinite(min(scored)[0]):
            break
        value, j = min(scored)
        order, values = [*order, j], [*values, value]
        q = (Z[:, j] / np.linalg.norm(Z[:, j]))[:, None]
        Z, rho = _without(q, Z), _without(q, rho)
        Z[:, j] = 0
        if len(values) - int(np.argmin(values)) > patience:
            break
        cut_short = time.perf_counter() > deadline
        if cut_short:
            break
    if not order:
        raise Undefined("no kernel function could be added: the criterion is undefined for every one.")
    return Forward(np.array(order[: int(np.argmin(values)) + 1]), tuple(values), tuple(order), cut_short)


def _without(Q: Matrix, M: Matrix) -> Matrix:
    """Return the part of M orthogonal to the orthonormal columns of Q."""
    return M - Q @ (Q.T @ M)


def _promising(Z: Matrix, rho: Matrix, floor: float, pool: int) -> list[int]:
    """Return the columns of Z that lower the residual sum of squares most, at most ``pool`` of them."""
    norms = (Z**2).sum(0)
    drop = np.where(norms > floor, ((Z.T @ rho) ** 2).sum(1) / np.maximum(norms, floor), -1.0)
    best = np.argsort(-drop, kind="stable")[:pool]
    return best[drop[best] >= 0].tolist()


def _score(score: Callable[[SubsetSolution], float], gram: Gram, Y: Matrix, machine: Subset) -> float:
    try:
        return score(machine.solve(gram, Y))
    except Undefined:
        return np.inf
