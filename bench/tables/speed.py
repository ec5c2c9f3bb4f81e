"""The defaults of foldless beside searches with folds, from 140 to 12 000 rows: how many times as fast, at which error."""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from bench.contenders import (
    LOGISTIC,
    LSSVM,
    SVM,
    Contender,
    GridSearch,
    LiquidSVM,
    OptunaSearch,
    SearchedSVC,
)
from bench.markdown import STARS, grid, sets_table, times
from bench.results import Results, SizedSet, geometric_mean
from bench.tables.base import Table

BASE, LIQUID, OURS = "GridSearchCV", "liquidSVM", "KernelSearch"
SIZE_LIMITS = (0, 250, 500, 1500, 5000, 20_000)
OWN_SIZES = (
    "sonar", "raetsch_heart", "raetsch_breast_cancer", "ionosphere", "raetsch_banana", "raetsch_ringnorm",
    "raetsch_twonorm", "raetsch_diabetes", "breast_w", "raetsch_image",
)  # fmt: skip
POOLED = ("raetsch_banana", "raetsch_ringnorm", "raetsch_twonorm")


class Speed(Table):
    """The table of the README."""

    name = "speed"
    title = "the defaults against GridSearchCV, optuna and liquidSVM: times as fast, and error"
    cases = (
        *((name, None) for name in OWN_SIZES),
        *((name, rows) for name in POOLED for rows in (1000, 2000, 4000)),
        ("susy_30k", 12_000),
        ("a9a", 12_000),
    )
    splits = range(80, 88)
    block_names = ("speed", "speed_bases", "speed_sets")

    @property
    def contenders(self) -> Sequence[Contender]:
        """Four of ours, three with folds; a grid with more than 2000 rows takes hours."""
        grid_search, optuna = GridSearch(max_rows=2000), OptunaSearch(max_rows=5000)
        return LOGISTIC, SVM, LSSVM, SearchedSVC(), grid_search, optuna, LiquidSVM()

    def blocks(self, results: Results) -> dict[str, str]:
        """Return the summary for the README, and every set for the manual."""
        bases = [name for name in (BASE, LIQUID) if name in results.contenders]
        details = f"Error in % (seconds). {STARS.format(base=BASE)}"
        return {
            "speed": self.text(results, self._short(results), *self._beside_liquid(results)),
            "speed_bases": self.text(results, *(self._summary(results, base) for base in bases)),
            "speed_sets": self.text(results, details, sets_table(results, BASE)),
        }

    def _short(self, results: Results) -> str:
        """Return the table of the README: how many times as fast as a grid, the fastest first."""
        groups = size_groups(results.problems)
        caption = (
            f"How many times as fast as `{BASE}` with 10 x 10 points and 10 folds, by the number of rows, and the difference of the error in "
            "percentage points (below zero: fewer errors), mean over the sets ± its standard error."
        )
        others = [name for name in results.contenders if name != BASE]
        others.sort(key=lambda name: -self._mean_speed(results, name))
        rows = [self._row(results, BASE, name, groups)[: len(groups) + 2] for name in others]
        return caption + "\n\n" + grid(["", *groups, "difference of error"], rows)

    def _mean_speed(self, results: Results, name: str) -> float:
        return geometric_mean(results.ratio(problem, BASE, name) for problem in results.problems)

    def _beside_liquid(self, results: Results) -> list[str]:
        """Return a sentence on the fastest of ours beside liquidSVM, and nothing if that was not measured."""
        if LIQUID not in results.contenders:
            return []
        groups = size_groups(results.problems)
        *ratios, error, lower, higher = self._row(results, LIQUID, OURS, groups)[1:]
        shown = ", ".join(
            f"{ratio} as fast with {group}" for ratio, group in zip(ratios, groups, strict=True) if ratio
        )
        return [
            f"Compared with {LIQUID}, a fast C++ program that uses folds, `{OURS}` is {shown}. Its error differs by {error} points "
            f"(significantly lower on {lower} sets, higher on {higher})."
        ]

    def _summary(self, results: Results, base: str) -> str:
        """Return, for every contender, how many times as fast as ``base`` it is by size, and by how much its error differs."""
        groups = size_groups(results.problems)
        caption = (
            f"How many times as fast as {base}, by the number of training rows (geometric mean over the sets); difference of the error in "
            "percentage points, mean over the sets ± its standard error; on how many sets the error is significantly lower and higher "
            "(paired t test, p < 0.05)."
        )
        header = ["", *groups, "error", "lower", "higher"]
        others = [name for name in results.contenders if name != base]
        return caption + "\n\n" + grid(header, [self._row(results, base, name, groups) for name in others])

    def _row(self, results: Results, base: str, name: str, groups: dict[str, list[SizedSet]]) -> list[str]:
        ratios = [
            times(geometric_mean(results.ratio(problem, base, name) for problem in group))
            for group in groups.values()
        ]
        found = [results.difference(problem, name, base) for problem in results.problems]
        found = [difference for difference in found if len(difference.values)]
        means = np.array([difference.mean for difference in found])
        doubt = f" ± {means.std(ddof=1) / np.sqrt(len(means)):.2f}" if len(means) > 1 else ""
        lower = sum(d.is_significant and d.mean < 0 for d in found)
        higher = sum(d.is_significant and d.mean > 0 for d in found)
        error = f"{means.mean():+.2f}{doubt}" if len(means) else ""
        return [name, *ratios, error, f"{lower} of {len(found)}", f"{higher} of {len(found)}"]


def size_groups(problems: Sequence[SizedSet]) -> dict[str, list[SizedSet]]:
    """Return the problems by their number of rows."""
    found: dict[str, list[SizedSet]] = {}
    for low, high in pairwise(SIZE_LIMITS):
        group = [problem for problem in problems if low < problem.rows <= high]
        if group:
            found[f"{low + 1} to {high} rows"] = group
    return found
