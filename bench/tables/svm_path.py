"""A path of twenty values of C of a hinge machine, in cold fits of libsvm; processor seconds on one thread.

Ours solves each C to rounding, warm-started at the one before; libsvm solves each at its own tolerance, with its own kernel or
with the matrix given. Each side runs twice, the first is not counted.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sklearn.gaussian_process.kernels import RBF
from sklearn.svm import SVC
from threadpoolctl import threadpool_limits

from bench.contenders import Contender, Measurement
from bench.contenders.grids import axis
from bench.markdown import grid, number
from bench.measure import timed
from bench.problems import Split, Task
from bench.results import Results, SizedSet
from bench.tables.base import Table
from foldless.core.targets import as_columns
from foldless.grams import DenseGram
from foldless.kernels import gram
from foldless.machines import HingeSVM

STRENGTHS = axis((1e-2, 1e2), 20)
OURS, THEIRS = "path", "libsvm"
GIVEN = ", matrix given"


def width(X: Any) -> float:
    """Return the width of the kernel: of the size of a typical distance."""
    return 4.0 if X.shape[1] > 2 else 0.5


@dataclass(frozen=True)
class Path(Contender):
    """Our path; the kernel matrix is counted unless it is given."""

    is_given: bool
    tasks = ("classes",)

    def run(self, split: Split, task: Task, jobs: int) -> Measurement:
        """Measure the second of two paths."""
        y, kernel = as_columns(split.y), RBF(width(split.X))
        K = gram(kernel, split.X)

        def work() -> None:
            used = K if self.is_given else gram(kernel, split.X)
            HingeSVM().path(DenseGram(used, semidefinite=True), y, STRENGTHS)

        return second_run(work)


@dataclass(frozen=True)
class ColdFits(Path):
    """Twenty fits of libsvm from nothing."""

    def run(self, split: Split, task: Task, jobs: int) -> Measurement:
        """Measure the second of two rounds."""
        gamma = 0.5 / width(split.X) ** 2
        kernel = {"kernel": "precomputed"} if self.is_given else {"gamma": gamma}
        rows = gram(RBF(width(split.X)), split.X) if self.is_given else split.X

        def work() -> None:
            for C in STRENGTHS:
                SVC(C=C, cache_size=500, **kernel).fit(rows, split.y)

        return second_run(work)


def second_run(work: Any) -> Measurement:
    """Return the time of a second call on one thread."""
    with threadpool_limits(1):
        work()
        _, clock = timed(work)
    return Measurement(*clock)


class SVMPath(Table):
    """The table of docs/guide/speed.md: how many cold fits a path costs."""

    name = "svm_path"
    title = "a path of twenty values of C of the hinge machine, in cold fits of libsvm"
    cases = tuple((name, rows) for name in ("twonorm", "noisy") for rows in (500, 1000, 2000))
    splits = range(3)
    block_names = ("svm_path",)

    @property
    def contenders(self) -> Sequence[Contender]:
        """Ours and theirs, with the kernel matrix and without."""
        return (
            Path(OURS, False),
            Path(OURS + GIVEN, True),
            ColdFits(THEIRS, False),
            ColdFits(THEIRS + GIVEN, True),
        )

    def blocks(self, results: Results) -> dict[str, str]:
        """Return how many mean fits of libsvm a path takes."""
        sizes = sorted({problem.rows for problem in results.problems})
        names = list(dict.fromkeys(problem.set for problem in results.problems))
        rows = [
            [name + suffix, *(self._cell(results, SizedSet(name, n), suffix) for n in sizes)]
            for name in names
            for suffix in ("", GIVEN)
        ]
        table = grid(["", *(f"n = {n}" for n in sizes)], rows)
        caption = (
            f"A path of {len(STRENGTHS)} values of C in fits of libsvm at one of them, in processor seconds."
        )
        return {"svm_path": self.text(results, caption, table)}

    def _cell(self, results: Results, problem: SizedSet, suffix: str) -> str:
        ratio = results.ratio(problem, OURS + suffix, THEIRS + suffix, "cpu_seconds")
        return number(len(STRENGTHS) * ratio, ".1f")
