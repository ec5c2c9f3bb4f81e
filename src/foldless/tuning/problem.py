"""What a search minimises: the criterion of fits to all rows, to blocks of them stage by stage, or to cells."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.gaussian_process.kernels import Kernel

from foldless.core.contracts import Machine, Matrix, Vector
from foldless.core.memo import cached_property
from foldless.criteria.base import Criterion
from foldless.grams.builders import Builder, DenseBuilder
from foldless.grams.cells import CellTree
from foldless.kernels.precomputed import is_precomputed
from foldless.machines import NoMachine
from foldless.tuning.cellwise import order_of_cells
from foldless.tuning.objective import Objective, with_parameters
from foldless.tuning.polish import cell_objective
from foldless.tuning.row_blocks import BlockObjective, Rows, search_stages
from foldless.tuning.shared_cache import GramCache


@dataclass(frozen=True, eq=False)
class Problem:
    """Rows, machine and criterion; with a kernel they are an objective, on any of the rows.

    Parameters
    ----------
    X : array or sparse matrix of shape (n, d)
    Y : array of shape (n, k)
    machine : Machine
    criterion : Criterion
    tune_machine : bool
        Whether the regularisation is tuned with the kernel.
    seed : int
        Draws blocks of rows and cells.
    n_jobs : int, optional
        Blocks or cells that are evaluated side by side.
    cache : GramCache, optional
        Where Grams are shared with other searches.
    """

    X: Any
    Y: Matrix
    machine: Machine
    criterion: Criterion
    tune_machine: bool = True
    seed: Any = 0
    n_jobs: int | None = None
    cache: GramCache | None = None

    @cached_property
    def stages(self) -> list[list[Rows]]:
        """Blocks of rows, stage by stage."""
        if not self.machine.fits_on_blocks:
            return [[np.arange(len(self.Y))]]
        k = self.Y.shape[1]
        rng, machine = np.random.default_rng(self.seed), self.machine
        return search_stages(self.Y, rng, machine.n_joint_functions(k), machine.n_separate_fits(k))

    def on_blocks(self, kernel: Kernel, blocks: Sequence[Rows]) -> Objective | BlockObjective:
        """Return the objective of one block, or the mean over several."""
        objectives = [self.on_rows(kernel, rows) for rows in blocks]
        return objectives[0] if len(blocks) == 1 else BlockObjective(objectives, self.n_jobs, blocks)

    def on_rows(self, kernel: Kernel, rows: Rows) -> Objective:
        """Return the objective of some rows."""
        if len(rows) == len(self.Y):
            return self.through(DenseBuilder(self.X), kernel)
        points = self.X[rows][:, rows] if is_precomputed(kernel) else self.X[rows]
        return self._objective(kernel, self.search_machine.on_rows(rows), DenseBuilder(points), self.Y[rows])

    def through(self, builder: Builder, kernel: Kernel) -> Objective:
        """Return the objective of all rows, whose Gram a builder makes."""
        return self._objective(kernel, self.search_machine, builder, self.Y)

    def _objective(self, kernel: Kernel, machine: Machine, builder: Builder, Y: Matrix) -> Objective:
        """Return the objective for a builder, which is shared with other searches where that was asked for."""
        shared = builder if self.cache is None else self.cache.builder(builder)
        return Objective(kernel, machine, self.criterion, shared, Y, self.tune_machine)

    def on_cells(self, kernel: Kernel, tree: CellTree) -> BlockObjective | None:
        """Return the mean objective of some cells, drawn at random; None if nothing can be learned in any."""
        cells = [rows for _, rows, _ in tree.route(self.X)]
        order = order_of_cells(self.Y, cells, np.random.default_rng(self.seed))
        return self.on_some_of(kernel, [cells[i] for i in order])

    def on_some_of(self, kernel: Kernel, parts: Sequence[Rows]) -> BlockObjective | None:
        """Return the mean objective of the first few parts of the rows in which something can be learned; None if there is none."""
        machine = self.search_machine
        cells = ((self.X[rows], self.Y[rows], machine.on_rows(rows)) for rows in parts)
        return cell_objective(self.on_rows(kernel, parts[0]), cells, self.n_jobs)

    @property
    def search_machine(self) -> Machine:
        """The machine at the accuracy that a search needs."""
        return NoMachine() if self.criterion.ignores_machine else self.machine.with_search_accuracy

    def at(self, kernel: Kernel, theta: Vector) -> tuple[Kernel, Machine]:
        """Return kernel and machine, for all rows and to all digits, with the parameters ``theta``."""
        return with_parameters(kernel, self.machine, theta, self.tune_machine)
