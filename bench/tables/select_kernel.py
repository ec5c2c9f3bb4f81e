"""One of 31 widths by the spectral measure, by leave-one-out and by refits of five folds; the machine is an LS-SVM."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.gaussian_process.kernels import RBF

from bench.contenders import Contender, Measurement
from bench.markdown import grid, number, seconds, times
from bench.measure import timed
from bench.problems import Split, Task
from bench.results import Results
from bench.tables.base import Table
from foldless import select_kernel
from foldless.core.targets import as_columns, error_fraction
from foldless.grams import DenseGram
from foldless.kernels import Pairs, gram
from foldless.machines import LSSVM

KERNELS = [RBF(np.sqrt(2.0**i), "fixed") for i in range(-15, 16)]
FOLDS = 5
Matrix = NDArray[Any]


def spectral(X: Matrix, y: Matrix) -> RBF:
    """Return the kernel with the best spectral measure."""
    return select_kernel(X, y, KERNELS, "spectral", gram="dense").kernel


def leave_one_out(X: Matrix, y: Matrix) -> RBF:
    """Return the kernel with the lowest leave-one-out error."""
    pairs, Y = Pairs(X), as_columns(y)
    errors = [error_fraction(Y, LSSVM().solve(DenseGram(gram(k, pairs)), Y).loo_outputs) for k in KERNELS]
    return KERNELS[int(np.argmin(errors))]


def five_folds(X: Matrix, y: Matrix) -> RBF:
    """Return the kernel with the lowest error over five folds."""
    pairs, Y = Pairs(X), as_columns(y)
    folds = np.arange(len(Y)) % FOLDS
    errors = []
    for kernel in KERNELS:
        K = DenseGram(gram(kernel, pairs))
        errors.append(np.mean([_refit(K, Y, folds != f, folds == f) for f in range(FOLDS)]))
    return KERNELS[int(np.argmin(errors))]


def _refit(K: DenseGram, Y: Matrix, train: Matrix, test: Matrix) -> float:
    solution = LSSVM().solve(K.subset(np.flatnonzero(train)), Y[train])
    return float(error_fraction(Y[test], K.K[np.ix_(test, train)] @ solution.alpha + solution.b))


@dataclass(frozen=True)
class Choice(Contender):
    """A rule that chooses a width."""

    choose: Callable[[Matrix, Matrix], RBF]
    tasks = ("classes",)
    details: ClassVar[tuple[str, ...]] = ("width",)

    def run(self, split: Split, task: Task, jobs: int) -> Measurement:
        """Measure the choice."""
        kernel, clock = timed(lambda: self.choose(split.X, split.y))
        return Measurement(*clock, details={"width": float(kernel.length_scale)})


class SelectKernel(Table):
    """The last lines of docs/reproduction/li.md."""

    name = "select_kernel"
    title = "31 widths by the spectral measure, leave-one-out and five folds: seconds and growth"
    cases = tuple(("twonorm", rows) for rows in (1000, 2000, 5000))
    splits = range(3)
    block_names = ("select_kernel",)

    @property
    def contenders(self) -> Sequence[Contender]:
        """Three rules."""
        rules = {"spectral": spectral, "leave-one-out": leave_one_out, "5 folds": five_folds}
        return [Choice(name, rule) for name, rule in rules.items()]

    def blocks(self, results: Results) -> dict[str, str]:
        """Return seconds, ratios to the spectral measure and exponents."""
        rows = []
        for name in results.contenders:
            known = [problem for problem in results.problems if results.of(problem, name)]
            taken = [results.mean(problem, name, "seconds") for problem in known]
            ratios = [times(results.ratio(problem, name, "spectral")) for problem in known]
            power = (
                np.polyfit(np.log([p.rows for p in known]), np.log(taken), 1)[0] if len(known) > 1 else np.nan
            )
            cells = [f"{seconds(s)} ({ratio})" for s, ratio in zip(taken, ratios, strict=True)]
            rows.append([name, *cells, *[""] * (len(results.problems) - len(cells)), number(float(power))])
        header = ["", *(f"n = {problem.rows}" for problem in results.problems), "exponent of n"]
        caption = "Seconds for 31 widths (times those of the spectral measure)."
        return {"select_kernel": self.text(results, caption, grid(header, rows))}
