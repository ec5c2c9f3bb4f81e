"""The rows that a model was fitted to: kept with it, so that a loaded model can solve once more."""

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.gaussian_process.kernels import Kernel

from foldless.core.contracts import Machine, Matrix, Vector
from foldless.core.errors import Undefined
from foldless.criteria.loo import LOO
from foldless.criteria.tied import Tied
from foldless.grams.builders import Builder, DenseBuilder, NystromBuilder
from foldless.grams.dask import DaskBuilder
from foldless.machines.base import row_weights
from foldless.tuning.cellwise import CellSolution, fit_cells
from foldless.tuning.objective import with_parameters
from foldless.tuning.result import Selection


@dataclass(frozen=True, eq=False)
class TrainingRows:
    """Rows, targets and machine of the last fit.

    Attributes
    ----------
    X : array or sparse matrix of shape (n, d)
        With ``kernel="precomputed"`` the Gram matrix.
    Y : array of shape (n, k)
    machine : Machine
        With its weights and parameters.
    landmarks : array of shape (m,) or None
        Rows that serve as landmarks; None for the whole matrix.
    cells : CellSolution or None
        The fit by cells, if that is its form.
    tuned : bool
        Whether any parameter was chosen on these rows.
    tunes_machine : bool
        Whether the machine's parameter was one of them, as all free ones of the kernel are.
    tied : tuple of pairs of int
        First place and end of every group of length scales, among the tuned parameters, that were tied to each other.
    """

    X: Any
    Y: Matrix
    machine: Machine
    landmarks: NDArray[np.intp] | None
    cells: CellSolution | None
    tuned: bool
    # The defaults are those of a model that was saved before these were kept.
    tunes_machine: bool = False
    tied: tuple[tuple[int, int], ...] = ()

    @classmethod
    def of(cls, selection: Selection) -> Self | None:
        """Return the rows of a selection; None if they are spread over a cluster."""
        builder, solution = selection.builder, selection.solution
        if isinstance(builder, DaskBuilder):
            return None
        cells = solution if isinstance(solution, CellSolution) else None
        landmarks = builder.landmarks if isinstance(builder, NystromBuilder) and cells is None else None
        tuned = len(selection.objective.theta) > 0 or len(selection.trials) > 1
        criterion = selection.criterion
        groups = criterion.tied_groups(selection.kernel) if isinstance(criterion, Tied) else []
        return cls(
            builder.X,
            np.asarray(solution.Y),
            selection.machine,
            landmarks,
            cells,
            tuned,
            selection.objective.tune_machine,
            tuple((group.start, group.stop) for group in groups),
        )

    @property
    def n(self) -> int:
        """Number of rows that are stored."""
        return len(self.Y)

    @property
    def counts(self) -> Vector:
        """Number of equal rows that each row stands for (n,)."""
        counts = self.machine.row_counts
        return np.ones(self.n) if counts is None else np.asarray(counts, dtype=float)

    @property
    def weights(self) -> Vector:
        """Weights of the rows in the fit (n,)."""
        return row_weights(self.machine, self.n)

    @property
    def whole(self) -> bool:
        """Whether the fit is that of the whole kernel matrix."""
        return self.landmarks is None and self.cells is None

    def builder(self) -> Builder:
        """Return the builder of the Gram, for every form but cells."""
        return DenseBuilder(self.X) if self.landmarks is None else NystromBuilder(self.X, self.landmarks)

    def solve(self, kernel: Kernel) -> Any:
        """Return the fit, solved again."""
        if self.cells is not None:
            raise Undefined("a fit by cells has one solution per cell, and none for all rows.")
        return self.machine.solve(self.builder().gram(kernel), self.Y)

    def tuned_theta(self, kernel: Kernel) -> Vector:
        """Return the parameters that were tuned: the free ones of the kernel, then the machine's if it is one of them."""
        return np.r_[kernel.theta, self.machine.theta if self.tunes_machine else np.zeros(0)]

    def tuned_directions(self, kernel: Kernel) -> Matrix:
        """Return the directions (p, parameters) in which the parameters could move: length scales that stayed equal have one."""
        theta = self.tuned_theta(kernel)
        directions = np.eye(len(theta))
        equal = [slice(*ends) for ends in self.tied if np.ptp(theta[slice(*ends)]) == 0]
        for group in equal:
            directions[group.start] = directions[group].sum(axis=0)
        rest = np.concatenate([np.zeros(0, dtype=np.intp), *(np.r_[group][1:] for group in equal)])
        return np.delete(directions, rest, axis=0)

    def n_free(self, kernel: Kernel) -> int:
        """Return the number of tuned parameters, where length scales that were tied to each other are one."""
        return len(self.tuned_theta(kernel)) - sum(end - first - 1 for first, end in self.tied)

    def solve_at(self, kernel: Kernel, theta: Vector) -> Any:
        """Return the fit with other values of the tuned parameters; of all cells, if it is one by cells."""
        kernel, machine = with_parameters(kernel, self.machine, theta, self.tunes_machine)
        if self.cells is not None:
            return fit_cells(kernel, machine, LOO(), self.X, self.Y, self.cells.tree)
        return replace(self, machine=machine).solve(kernel)
