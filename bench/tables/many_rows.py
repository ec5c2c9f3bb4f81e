"""Many rows: error, processor seconds and memory beside what people use on large tables."""

from collections.abc import Sequence
from functools import partial

import numpy as np

from bench.contenders import (
    LOGISTIC,
    LSSVM,
    RIDGE,
    Boosting,
    Contender,
    FoldlessDefault,
    FoldlessOnDask,
    Forest,
    LiquidSVM,
    NystroemLinear,
)
from bench.markdown import error, error_and_seconds, grid, number, seconds
from bench.results import Results, SizedSet
from bench.tables.base import Table

# liquidSVM is stopped after so many seconds by the clock, several times what any other contender takes.
LIQUIDSVM_MAX_SECONDS = 300.0
# What takes hours beyond these rows is left out there.
SLOW_MAX_ROWS = 100_000
# The README shows sets from so many rows on.
MANY_ROWS = 100_000
# What it shows of ours, by the contender's name: the first of them that was measured on a set.
SHOWN = {"KernelClassifier, KernelRegressor": "KernelClassifier", "KernelLSSVC": "KernelLSSVC"}
BOOSTING = "HistGradientBoosting"


class ManyRows(Table):
    """The table of docs/guide/large.md."""

    name = "many_rows"
    title = "thousands to a million rows: error, seconds and memory"
    cases = (
        ("abalone", None),
        ("usps", None),
        ("california_housing", 15_000),
        ("letter", 16_000),
        ("susy_30k", 25_000),
        ("a9a", None),
        ("protein_casp", 40_000),
        ("checkerboard", 100_000),
        ("checkerboard", 1_000_000),
        ("collisions", 100_000),
        ("collisions", 1_000_000),
    )
    splits = range(80, 83)
    block_names = ("many_rows", "many_rows_summary")
    isolated = True
    max_seconds = 3600.0

    @property
    def contenders(self) -> Sequence[Contender]:
        """Ours without choices, for classes and for numbers, on a cluster; boosting, a forest, landmarks with a linear model, liquidSVM's cells."""
        cells = LiquidSVM("liquidSVM, cells", cells=True, max_seconds=LIQUIDSVM_MAX_SECONDS)
        on_dask = FoldlessOnDask("KernelLSSVC, Dask", LSSVM.estimator)
        default = FoldlessDefault("KernelClassifier, KernelRegressor", max_rows=SLOW_MAX_ROWS)
        slow = Forest(max_rows=SLOW_MAX_ROWS), NystroemLinear(max_rows=SLOW_MAX_ROWS)
        return default, LOGISTIC, LSSVM, RIDGE, on_dask, Boosting(), *slow, cells

    def blocks(self, results: Results) -> dict[str, str]:
        """Return error, processor seconds and megabytes of every contender."""
        caption = (
            "Error in %, or root mean squared error in standard deviations of the target; processor seconds of all threads; "
            "growth of memory in a process of its own."
        )
        if any(_is_stopped(results, problem, n) for problem in results.problems for n in results.contenders):
            caption += f" What had not ended after {LIQUIDSVM_MAX_SECONDS:.0f} s by the clock was stopped."
        rows = [
            [problem.title, str(problem.rows), *(self._cell(results, problem, n) for n in results.contenders)]
            for problem in results.problems
        ]
        table = grid(["set", "rows", *results.contenders], rows)
        return {"many_rows": self.text(results, caption, table), "many_rows_summary": self._summary(results)}

    def _summary(self, results: Results) -> str:
        """Return the largest sets for the README: an estimator of ours beside boosting."""
        large = [problem for problem in results.problems if problem.rows >= MANY_ROWS] or results.problems
        caption = "Error in % and seconds of a fit with many rows, by `KernelClassifier` where it was measured, else by `KernelLSSVC`."
        rows = [
            [
                problem.title,
                f"{problem.rows:,}".replace(",", " "),
                f"`{SHOWN[ours]}`",
                *(error_and_seconds(results, problem, name, None) for name in (ours, BOOSTING)),
            ]
            for problem in large
            for ours in [name for name in SHOWN if results.of(problem, name)][:1]
        ]
        return self.text(results, caption, grid(["set", "rows", "estimator", "foldless", BOOSTING], rows))

    def _cell(self, results: Results, problem: SizedSet, name: str) -> str:
        if not results.of(problem, name):
            return ""
        mean = partial(results.mean, problem, name)
        if _is_stopped(results, problem, name):
            return f"stopped ({seconds(mean('cpu_seconds'))})"
        memory = mean("megabytes")
        shown = "" if np.isnan(memory) else f", {number(memory, '.0f')} MB"
        return f"{error(mean('error'), results.task(problem))} ({seconds(mean('cpu_seconds'))}{shown})"


def _is_stopped(results: Results, problem: SizedSet, name: str) -> bool:
    return bool(results.of(problem, name)) and np.isnan(results.mean(problem, name, "error"))
