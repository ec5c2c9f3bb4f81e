"""Seconds against rows, from 250 to 100 000."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from bench.contenders import LOGISTIC, LSSVM, SVM, Boosting, Contender, LiquidSVM, SearchedSVC
from bench.markdown import error_and_seconds, grid, number
from bench.results import Results, SizedSet
from bench.tables.base import Table

SIZES = (250, 500, 1000, 2000, 5000, 10_000, 20_000, 50_000, 100_000)
LARGE_ROWS = 5000
SETS = ("banana", "twonorm", "checkerboard")


class Growth(Table):
    """The table and the picture of docs/guide/speed.md."""

    name = "growth"
    title = "seconds and error against rows, 250 to 100 000, with the exponent past 5000"
    cases = tuple((name, rows) for name in SETS for rows in SIZES)
    splits = range(80, 83)
    block_names = ("growth",)
    isolated = True
    max_seconds = 600.0

    @property
    def contenders(self) -> Sequence[Contender]:
        """The four defaults, boosting and liquidSVM."""
        return LOGISTIC, SVM, LSSVM, SearchedSVC(), Boosting(), LiquidSVM(max_seconds=self.max_seconds)

    def blocks(self, results: Results) -> dict[str, str]:
        """Return errors and seconds, and the exponents."""
        caption = (
            "Error in % (seconds) on generated rows; seconds grow like rows to the power in the lines "
            f"*exponent*, fitted from {LARGE_ROWS} rows on. A contender that took more than "
            f"{self.max_seconds:.0f} s was not given more rows, and liquidSVM was stopped then."
        )
        rows = []
        for name in dict.fromkeys(problem.set for problem in results.problems):
            sizes = [problem for problem in results.problems if problem.set == name]
            for problem in sizes:
                cells = [_cell(results, problem, n) for n in results.contenders]
                rows.append([name, str(problem.rows), *cells])
            exponents = [number(exponent(results, sizes, n)) for n in results.contenders]
            rows.append([f"{name}, *exponent*", "", *exponents])
        picture = "![Seconds against rows](../_static/growth.png)"
        table = grid(["set", "rows", *results.contenders], rows)
        return {"growth": self.text(results, caption, table, picture)}

    def figures(self, results: Results) -> dict[str, Any]:
        """Return seconds against rows, both logarithmic, one panel for a set."""
        from matplotlib.figure import Figure

        sets = list(dict.fromkeys(problem.set for problem in results.problems))
        figure = Figure(figsize=(4 * len(sets), 4), layout="constrained")
        axes = np.atleast_1d(figure.subplots(1, len(sets), sharey=True))
        for axis, name in zip(axes, sets, strict=True):
            for contender in results.contenders:
                points = _points(results, [p for p in results.problems if p.set == name], contender)
                axis.loglog(*points, marker="o", markersize=3, label=contender)
            axis.set(title=name, xlabel="training rows")
        axes[0].set_ylabel("seconds")
        axes[-1].legend(fontsize="small")
        return {"growth.png": figure}


def _cell(results: Results, problem: SizedSet, name: str) -> str:
    stopped = results.of(problem, name) and not len(results.values(problem, name, "error"))
    return "stopped" if stopped else error_and_seconds(results, problem, name, None)


def _points(results: Results, problems: Sequence[SizedSet], name: str) -> tuple[list[int], list[float]]:
    """Return rows and seconds of what was run."""
    known = [problem for problem in problems if len(results.values(problem, name, "error"))]
    return [p.rows for p in known], [results.mean(p, name, "seconds") for p in known]


def exponent(results: Results, problems: Sequence[SizedSet], name: str) -> float:
    """Return the slope of log seconds against log rows; not a number with fewer than two sizes."""
    rows, seconds = _points(results, [p for p in problems if p.rows >= LARGE_ROWS], name)
    return float(np.polyfit(np.log(rows), np.log(seconds), 1)[0]) if len(rows) > 1 else np.nan
