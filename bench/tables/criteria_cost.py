"""What reading more criteria off one fit of kernel logistic regression costs, beside fitting and reading one."""

from collections.abc import Sequence
from dataclasses import dataclass

from sklearn.gaussian_process.kernels import RBF

from bench.contenders import Contender, Measurement
from bench.markdown import grid, number, times
from bench.measure import timed
from bench.problems import Split, Task
from bench.results import Results
from bench.tables.base import Table
from foldless import criteria
from foldless.core.targets import as_columns
from foldless.grams import DenseGram
from foldless.kernels import gram
from foldless.machines import SmoothMachine
from foldless.machines.losses import Logistic

FIRST = "loo"
SHARED = ("loo", "kfold", "kric", "kric-sollich", "aicd", "gacv", "jaakkola-haussler")
# The evidence under a prior on the bias is that of another fit.
REFITTED = (*SHARED, "evidence", "abic")


@dataclass(frozen=True)
class Readings(Contender):
    """A fit and the values of some criteria, with their derivatives if asked."""

    names: tuple[str, ...]
    is_derived: bool = False
    tasks = ("classes",)

    def run(self, split: Split, task: Task, jobs: int) -> Measurement:
        """Measure fit and readings."""
        K, Y = gram(RBF(2.0), split.X), as_columns(split.y)

        def work() -> None:
            solution = SmoothMachine(Logistic(), C=2.0).solve(DenseGram(K), Y)
            for name in self.names:
                reading = criteria.BY_NAME[name]()(solution)
                # Derivatives are computed when they are asked for.
                _ = (reading.adjoint, reading.slope) if self.is_derived else reading.value

        return Measurement(*timed(work)[1], evaluations=len(self.names))


class CriteriaCost(Table):
    """One fit, many criteria."""

    name = "criteria_cost"
    title = "reading every criterion off one fit, beside fitting and reading one"
    cases = (("noisy", 600), ("noisy", 1200))
    splits = range(5)
    block_names = ("criteria_cost",)

    @property
    def contenders(self) -> Sequence[Contender]:
        """One criterion, those of one fit, and those that fit again."""
        sets = {FIRST: (FIRST,), "7 criteria of one fit": SHARED, "and 2 that fit again": REFITTED}
        return [
            Readings(name + suffix, names, bool(suffix))
            for suffix in ("", ", derivatives")
            for name, names in sets.items()
        ]

    def blocks(self, results: Results) -> dict[str, str]:
        """Return processor seconds over those of one criterion."""
        rows = []
        for problem in results.problems:
            for name in results.contenders:
                first = FIRST + (", derivatives" if name.endswith("derivatives") else "")
                taken = results.mean(problem, name, "cpu_seconds")
                ratio = results.ratio(problem, name, first, "cpu_seconds")
                rows.append([str(problem.rows), name, number(taken, ".3f"), times(ratio)])
        caption = "Processor seconds of a fit and its readings, and times those with one criterion."
        table = grid(["rows", "criteria", "seconds", "times"], rows)
        return {"criteria_cost": self.text(results, caption, table)}
