"""Two workers against one: how many times as fast, and whether the result is the same."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from sklearn.svm import SVC

from bench.contenders import Contender, Measurement
from bench.markdown import grid, seconds, times
from bench.measure import timed
from bench.problems import Split, Task
from bench.results import Results, SizedSet
from bench.tables.base import Table
from foldless import KernelLogisticRegression, KernelSearch, compare

Values = tuple[float, ...]


def fit(X: Any, y: Any, n_jobs: int) -> Values:
    """Fit the default: there is one start and one kernel, so the linear algebra is what could be shared."""
    return _chosen(KernelLogisticRegression(n_jobs=n_jobs).fit(X, y))


def starts(X: Any, y: Any, n_jobs: int) -> Values:
    """Descend from eight starts."""
    return _chosen(KernelLogisticRegression(n_starts=8, n_jobs=n_jobs).fit(X, y))


def kernels(X: Any, y: Any, n_jobs: int) -> Values:
    """Choose among four kernels."""
    candidates = ["rbf", "matern", "laplacian", "poly"]
    return _chosen(KernelLogisticRegression(candidates, n_jobs=n_jobs).fit(X, y))


def combinations(X: Any, y: Any, n_jobs: int) -> Values:
    """Search for an SVC with four combinations of listed values."""
    space = {"kernel": ["rbf", "linear"], "C": (0.1, 100), "class_weight": [None, "balanced"]}
    return tuple(KernelSearch(SVC(), space, n_jobs=n_jobs).fit(X, y).cv_results_["mean_test_score"])


def repeats(X: Any, y: Any, n_jobs: int) -> Values:
    """Compare two machines under two criteria, four times."""
    found = compare(X, y, ["logistic", "lssvc"], ["loo", "evidence"], repeats=4, n_jobs=n_jobs)
    return tuple(found.errors.ravel())


def _chosen(model: KernelLogisticRegression) -> Values:
    return float(model.C_), float(model.criterion_value_)


@dataclass(frozen=True)
class Workers(Contender):
    """One piece of work with a fixed number of workers."""

    work: Callable[[Any, Any, int], Values]
    n_jobs: int

    tasks = ("classes",)
    details: ClassVar[tuple[str, ...]] = ("result",)

    @classmethod
    def of(cls, work: Callable[[Any, Any, int], Values], n_jobs: int, max_rows: int | None) -> "Workers":
        """Return the contender with the name of its work."""
        return cls(name_of(work.__name__, n_jobs), work, n_jobs, max_rows=max_rows)

    def run(self, split: Split, task: Task, jobs: int) -> Measurement:
        """Measure the work, and keep what was chosen to the last digit."""
        found, clock = timed(lambda: self.work(split.X, split.y, self.n_jobs))
        return Measurement(*clock, details={"result": " ".join(float(value).hex() for value in found)})


def name_of(work: str, n_jobs: int) -> str:
    """Return the name of a contender."""
    return f"{work}, {n_jobs} worker{'s' if n_jobs > 1 else ''}"


class WorkersTable(Table):
    """The table of docs/guide/searching.md; a split is a round, and the quickest round counts."""

    name = "workers"
    title = "two workers against one"
    cases = (("ripley", 400), ("twonorm", 2000), ("ten-classes", 1000), ("banana", 100_000))
    splits = range(5)
    block_names = ("workers",)

    works = (fit, starts, kernels, combinations, repeats)
    # Only a plain fit is tried with more rows.
    small_rows = 400

    @property
    def contenders(self) -> Sequence[Contender]:
        """Every piece of work with one worker and with two."""
        limits = {fit: None, kernels: 2000}
        return [
            Workers.of(work, n_jobs, limits.get(work, self.small_rows))
            for work in self.works
            for n_jobs in (1, 2)
        ]

    def blocks(self, results: Results) -> dict[str, str]:
        """Return a line for every piece of work."""
        rows = [
            self._row(results, problem, work.__name__)
            for problem in results.problems
            for work in self.works
            if results.of(problem, name_of(work.__name__, 1))
            and results.of(problem, name_of(work.__name__, 2))
        ]
        header = ["set", "rows", "what", "one worker", "two", "times as fast", "same result"]
        caption = "Seconds of the quickest round."
        return {"workers": self.text(results, caption, grid(header, rows))}

    def _row(self, results: Results, problem: SizedSet, work: str) -> list[str]:
        one, two = (results.of(problem, name_of(work, n_jobs)) for n_jobs in (1, 2))
        slow, fast = (min(record.seconds for record in found.values()) for found in (one, two))
        shared = one.keys() & two.keys()
        same = all(one[split].details["result"] == two[split].details["result"] for split in shared)
        answer = "yes" if same else "**no**"
        return [
            problem.title,
            str(problem.rows),
            work,
            seconds(slow),
            seconds(fast),
            times(slow / fast),
            answer,
        ]
