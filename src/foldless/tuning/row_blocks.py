r"""Blocks of rows: the same problem with less data, exact and many times cheaper.

A search needs the criterion as a function of the parameters, not the fit to all rows. Cut (some of) the rows at random
into B blocks of about m rows and take the mean of the criterion over the blocks,

.. math:: J(\theta) = \sum_b \frac{n_b}{n} J_b(\theta).  \tag{1}

One evaluation costs :math:`B m^3` operations instead of :math:`(B m)^3`. The blocks are disjoint, so that (1) varies
from sample to sample about as little as the criterion of all their rows; its minimum is that of a fit to m rows, which
moves slowly with m (C is the weight of one row and stays, the width of the kernel shrinks slowly). Landmarks, in
contrast, restrict the functions that can be fitted, and make narrow kernels look worse than they are.

The blocks are stratified: each has the same shares of the classes, or of the quantiles of the targets.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.gaussian_process.kernels import Kernel

from foldless.core.contracts import (
    EvaluatesWithGradient,
    Evaluation,
    HasPrior,
    HasScale,
    Machine,
    Matrix,
    Vector,
)
from foldless.core.parallel import side_by_side
from foldless.core.targets import class_index, is_pm1
from foldless.tuning.objective import Objective

TARGET_QUANTILES = 10
# Up to so many rows (times the functions that one linear system holds) a search uses all of them from the beginning.
ONE_STAGE_MAX_ROWS = 300
# Otherwise it begins on some rows, and goes on with all of them at once, or in blocks where they are many.
FIRST_STAGE_ROWS, WHOLE_SEARCH_MAX_ROWS, BLOCK_MAX_ROWS = 250, 450, 400
# From LARGE_SEARCH_MIN_ROWS rows on, a last stage uses a few larger blocks: the width of a kernel shrinks as rows grow.
LARGE_SEARCH_MIN_ROWS, LARGE_BLOCK_ROWS, N_LARGE_BLOCKS = 5000, 1200, 2
SEARCH_MAX_ROWS = 4000
# Rows of a class that every block has, if there are so many at all.
CLASS_MIN_ROWS = 4

Rows = NDArray[np.intp]


def search_stages(
    Y: Matrix, rng: np.random.Generator, n_joint_functions: int = 1, n_separate_fits: int = 1
) -> list[list[Rows]]:
    """Return the blocks of rows on which a search runs, stage by stage.

    Parameters
    ----------
    Y : array of shape (n, k)
    rng : Generator
    n_joint_functions : int, default=1
        Functions that one linear system of the machine holds: it is so many times larger than a block.
    n_separate_fits : int, default=1
        Fits that a block takes, one for every class: with many of them fewer rows are used.

    Returns
    -------
    stages : list of lists of arrays
        All rows at once if they are few. Otherwise some rows, then all of them, at once or in blocks, then a few larger
        blocks.
    """
    n, k = len(Y), n_joint_functions
    if n * k <= ONE_STAGE_MAX_ROWS:
        return [[np.arange(n)]]
    order = stratified_order(Y, rng)
    stages = [row_blocks(Y, order, max(1, FIRST_STAGE_ROWS // k), 1)]
    if n * k * np.cbrt(n_separate_fits) <= WHOLE_SEARCH_MAX_ROWS:
        return [*stages, [np.arange(n)]]
    n_used = min(n, max(1, max(SEARCH_MAX_ROWS // n_separate_fits, BLOCK_MAX_ROWS) // k))
    stages.append(row_blocks(Y, order, n_used, _n_blocks(n_used * k)))
    if n >= LARGE_SEARCH_MIN_ROWS and k == n_separate_fits == 1:
        stages.append(row_blocks(Y, order, N_LARGE_BLOCKS * LARGE_BLOCK_ROWS, N_LARGE_BLOCKS))
    return stages


def _n_blocks(n_rows: int) -> int:
    """Return how many blocks hold so many rows: an even number unless it is 1, so that two workers have as much to do.

    Examples
    --------
    >>> [_n_blocks(n) for n in (300, 500, 1000, 4000)]
    [1, 2, 4, 10]
    """
    n_blocks = math.ceil(n_rows / BLOCK_MAX_ROWS)
    return n_blocks if n_blocks == 1 else n_blocks + n_blocks % 2


def stratified_order(Y: Matrix, rng: np.random.Generator) -> Rows:
    """Return the rows in a random order of which every beginning has the shares of the whole.

    Examples
    --------
    >>> Y = np.where(np.arange(100) < 20, 1.0, -1.0)[:, None]
    >>> order = stratified_order(Y, np.random.default_rng(0))
    >>> [int(np.sum(Y[order[:n]] > 0)) for n in (10, 50)]
    [2, 10]
    """
    place = np.empty(len(Y))
    for stratum in _strata(Y):
        rows = rng.permutation(stratum)
        place[rows] = (np.arange(len(rows)) + rng.random()) / len(rows)
    return np.argsort(place, kind="stable")


def _strata(Y: Matrix) -> list[Rows]:
    """Return the rows of each class, or of each range of the first target."""
    if is_pm1(Y):
        group = class_index(Y)
    else:
        ranks = np.argsort(np.argsort(Y[:, 0], kind="stable"), kind="stable")
        group = ranks * TARGET_QUANTILES // len(Y)
    return [np.flatnonzero(group == value) for value in np.unique(group)]


def some_rows(Y: Matrix, rng: np.random.Generator, n: int) -> Rows:
    """Return n of the rows, or all if there are no more, with the shares of the whole."""
    return row_blocks(Y, stratified_order(Y, rng), min(n, len(Y)), 1)[0]


def row_blocks(Y: Matrix, order: Rows, n_used: int, n_blocks: int) -> list[Rows]:
    """Return blocks of the first ``n_used`` rows in ``order``, each sorted and equal in size up to a few rows.

    They are disjoint but for classes too rare to be shared out: some rows of those are part of every block.
    """
    used = order[:n_used]
    rare = _rare_rows(Y, order, n_used, n_blocks)
    # Stratum after stratum, dealt out like cards: every block gets its share of each.
    dealt = np.concatenate([used[stratum] for stratum in _strata(Y[used])])
    return [np.union1d(dealt[i::n_blocks], rare) for i in range(n_blocks)]


def _rare_rows(Y: Matrix, order: Rows, n_used: int, n_blocks: int) -> Rows:
    """Return up to ``CLASS_MIN_ROWS`` rows of each class that has fewer of them for every block."""
    if not is_pm1(Y):
        return np.zeros(0, dtype=np.intp)
    group = class_index(Y)[order]
    n_rows = np.bincount(group[:n_used], minlength=group.max() + 1)
    rare = np.flatnonzero(n_rows < CLASS_MIN_ROWS * n_blocks)
    return np.concatenate([order[:0], *(order[group == c][:CLASS_MIN_ROWS] for c in rare)])


@dataclass(frozen=True, eq=False)
class BlockObjective(HasPrior, HasScale, EvaluatesWithGradient):
    """The mean of an objective over blocks of rows; eq. (1).

    Parameters
    ----------
    objectives : sequence of Objective
        One per block.
    n_jobs : int, optional
        How many blocks are evaluated side by side.
    rows : sequence of arrays, optional
        The rows of each block, where they are blocks of one table.
    """

    objectives: Sequence[Objective]
    n_jobs: int | None = None
    rows: Sequence[Rows] | None = None

    @property
    def n_rows(self) -> int:
        """Rows of all blocks."""
        return sum(len(objective.Y) for objective in self.objectives)

    @property
    def rows_at_once(self) -> int:
        """Rows of the largest block."""
        return max(len(objective.Y) for objective in self.objectives)

    @property
    def n_separate_fits(self) -> int:
        """Number of fits that an evaluation takes in every block."""
        return self.objectives[0].n_separate_fits

    @property
    def weights(self) -> Vector:
        """Share of each block in the rows."""
        return np.array([len(objective.Y) for objective in self.objectives]) / self.n_rows

    @property
    def value_scale(self) -> float | None:
        """Size of a large change of the criterion; ``None`` if that is the size of the value itself."""
        return self.objectives[0].value_scale

    @property
    def in_nats(self) -> bool:
        """Whether the criterion is in nats per row."""
        return self.objectives[0].in_nats

    @property
    def smallest_scale(self) -> float:
        """The size below which values differ by rounding alone."""
        return self.objectives[0].smallest_scale

    @property
    def nats_per_unit(self) -> float:
        """Nats of the log likelihood of all rows in one unit of the mean."""
        return sum(objective.nats_per_unit for objective in self.objectives)

    def prior(self) -> tuple[Vector, Vector]:
        """Return means and deviations of the criterion's prior of ``theta``, which does not depend on the rows."""
        return self.objectives[0].prior()

    def corrected(self, theta: Vector, start: Any = None) -> "BlockObjective":
        """Return the objective with the criterion of each block corrected where it misleads; itself if all hold."""
        pairs = zip(self.objectives, self._starts(start), strict=True)
        corrected = side_by_side([partial(one.corrected, theta, own) for one, own in pairs], self.n_jobs)
        held = all(new is old for new, old in zip(corrected, self.objectives, strict=True))
        return self if held else replace(self, objectives=corrected)

    def at(self, theta: Vector) -> tuple[Kernel, Machine]:
        """Return kernel and machine, that of the first block, with the parameters ``theta``."""
        return self.objectives[0].at(theta)

    def __call__(self, theta: Vector, warm_start: Any = None, /) -> Evaluation:
        """Evaluate every block; undefined in one is undefined. A gradient is computed from the beginning."""
        mean = self._mean(self._evaluate(_values, theta, warm_start))
        return replace(mean, derive=lambda: self.with_gradient(theta, warm_start).gradient)

    def with_gradient(self, theta: Vector, warm_start: Any = None) -> Evaluation:
        """Evaluate every block with its gradient; the fit of a block is dropped when both are known."""
        return self._mean(self._evaluate(_values_and_gradient, theta, warm_start))

    def _evaluate(
        self, evaluate: Callable[..., Evaluation], theta: Vector, warm_start: Any
    ) -> list[Evaluation]:
        pairs = zip(self.objectives, self._starts(warm_start), strict=True)
        tasks = [partial(evaluate, one, theta, start) for one, start in pairs]
        if self.rows_at_once < self.objectives[0].machine.threaded_min_rows:
            return [task() for task in tasks]
        return side_by_side(tasks, self.n_jobs)

    def _starts(self, warm_start: Any) -> Sequence[Any]:
        """Return the warm start of each block."""
        return [None] * len(self.objectives) if warm_start is None else warm_start

    def _mean(self, found: Sequence[Evaluation]) -> Evaluation:
        gradients = [one.gradient for one in found]
        known = all(gradient is not None for gradient in gradients)
        gradient = np.asarray(self.weights @ np.array(gradients)) if known else None
        starts = [one.warm_start for one in found]
        return Evaluation(
            float(self.weights @ [one.value for one in found]),
            derive=lambda: gradient,
            note=next((one.note for one in found if one.note), ""),
            warm_start=None if any(start is None for start in starts) else starts,
            n_rows=self.n_rows,
        )


def _values(objective: Objective, theta: Vector, warm_start: Any) -> Evaluation:
    """Return an evaluation that keeps nothing of the fit but its warm start."""
    found = objective(theta, warm_start)
    return Evaluation(found.value, note=found.note, warm_start=found.warm_start)


def _values_and_gradient(objective: Objective, theta: Vector, warm_start: Any) -> Evaluation:
    found = objective(theta, warm_start)
    gradient = found.gradient
    return Evaluation(found.value, lambda: gradient, note=found.note, warm_start=found.warm_start)
