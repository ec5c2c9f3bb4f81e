r"""Cross-validation by refitting: the baseline that the other criteria do without."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import KFold, StratifiedKFold

from foldless.core.contracts import Gram, Machine, Matrix, Reading
from foldless.core.errors import DataError, Undefined
from foldless.core.targets import class_index, error_fraction, is_pm1, weighted_mean
from foldless.criteria.base import Criterion, reads
from foldless.criteria.left_out import row_losses
from foldless.machines.coefficients import expansion_coefficients
from foldless.machines.lssvm import LSSVMSolution
from foldless.machines.ridge import RidgeSolution
from foldless.machines.smooth import SmoothSolutions
from foldless.machines.svm import SupportSolutions


@dataclass(frozen=True)
class CV(Criterion):
    r"""Error of k-fold cross-validation by refits; no derivative.

    *Classification* (targets -1 and 1): the fraction of points misclassified by the machine that did not see their
    fold; with several columns the class with the largest output counts. The folds are shuffled and stratified.
    *Regression*: the mean loss of the machine: the squared error, or for counts minus the log likelihood.

    Parameters
    ----------
    folds : int, default=10
        Number of folds; fewer if a class has fewer points.
    seed : int, default=0
        Seed of the shuffle, so that every point of a search has the same folds.
    """

    folds: int = 10
    seed: int = 0
    name: ClassVar[str] = "cv"
    title: ClassVar[str] = "Error of cross-validation by refits"
    unit: ClassVar[str] = "error per row"

    def __post_init__(self) -> None:
        if self.folds < 2:
            raise ValueError(f"folds must be at least 2, got {self.folds!r}.")

    @reads(SmoothSolutions, SupportSolutions)
    def _read_columns(self, solution: SmoothSolutions | SupportSolutions) -> Reading:
        return self.error(solution.machine, solution.gram, solution.Y)

    @reads(LSSVMSolution)
    def _read_lssvm(self, solution: LSSVMSolution) -> Reading:
        return self.error(solution.machine, solution.gram, solution.Y)

    @reads(RidgeSolution)
    def _read_ridge(self, solution: RidgeSolution) -> Reading:
        if not isinstance(solution.machine.penalty, str):
            raise Undefined(
                "cv refits on fewer rows, for which a penalty matrix has no meaning. Use criterion='loo'."
            )
        return self.error(solution.machine, solution.gram, solution.Y)

    def error(self, machine: Machine, gram: Gram, Y: Matrix) -> Reading:
        """Return the reading of any machine whose solution has coefficients ``alpha`` (n, k) and biases ``b``."""
        labels = class_index(Y) if is_pm1(Y) else None
        outputs = held_out(machine, gram, Y, self.split(labels, gram.n))
        if labels is None:
            return Reading(weighted_mean(row_losses(machine, Y, outputs), machine.loss_weights))
        return Reading(error_fraction(Y, outputs, machine.loss_weights))

    def split(self, labels: NDArray[np.intp] | None, n: int) -> list[NDArray[np.intp]]:
        """Return the rows of each fold, stratified by the labels of classes if there are any."""
        most = n if labels is None else int(np.min(np.unique(labels, return_counts=True)[1]))
        if most < 2:
            raise DataError(
                "cv needs at least two rows of each class, got a class with one row. Leave that class out, or choose "
                "another criterion such as 'loo'."
            )
        splitter = KFold if labels is None else StratifiedKFold
        rows = np.zeros(n) if labels is None else labels
        folds = splitter(min(self.folds, most), shuffle=True, random_state=self.seed)
        return [test for _, test in folds.split(rows, rows)]


def held_out(machine: Machine, gram: Gram, Y: Matrix, folds: list[NDArray[np.intp]]) -> Matrix:
    """Return the outputs (n, k) of every point under the machine fitted without its fold."""
    outputs = np.zeros(Y.shape)
    for test in folds:
        train = np.setdiff1d(np.arange(gram.n), test)
        solution = machine.on_rows(train).solve(gram.subset(train), Y[train])
        alpha = np.zeros(Y.shape)
        alpha[train], b = expansion_coefficients(solution)
        outputs[test] = gram.matmul(alpha)[test] + b
    return outputs
