"""KernelSearch in the place of GridSearchCV, HalvingGridSearchCV and optuna around the same SVC: error and time."""

from collections.abc import Sequence

from bench.contenders import LOGISTIC, Contender, GridSearch, HalvingSearch, OptunaSearch, SearchedSVC
from bench.markdown import STARS, error_and_seconds, grid, times
from bench.results import Results, geometric_mean
from bench.tables.base import Table

OURS, BASE = "KernelSearch", "GridSearchCV"


class KernelSearchTable(Table):
    """The table of docs/guide/kernel_search.md."""

    name = "kernel_search"
    title = "KernelSearch against GridSearchCV, HalvingGridSearchCV and optuna around one SVC"
    cases = tuple(
        (name, None)
        for name in (
            "raetsch_banana",
            "raetsch_diabetes",
            "raetsch_heart",
            "raetsch_ringnorm",
            "raetsch_twonorm",
            "sonar",
            "ionosphere",
            "breast_w",
        )
    )
    splits = range(80, 90)
    block_names = ("kernel_search", "kernel_search_summary")

    @property
    def contenders(self) -> Sequence[Contender]:
        """Four searches for the parameters of one machine, and another machine."""
        return SearchedSVC(), GridSearch(), HalvingSearch(), OptunaSearch(), LOGISTIC

    def blocks(self, results: Results) -> dict[str, str]:
        """Return the table, and a sentence for the README."""
        caption = f"Error in % (seconds; times those of {OURS}). {STARS.format(base=BASE)}"
        text = self.text(results, caption, self._table(results), self._verdict(results))
        return {"kernel_search": text, "kernel_search_summary": self._summary(results)}

    def _table(self, results: Results) -> str:
        rows = []
        for problem in results.problems:
            cells = [error_and_seconds(results, problem, name, BASE) for name in results.contenders]
            ratios = [times(results.ratio(problem, name, OURS)) for name in results.contenders]
            shown = [
                f"{cell[:-1]}; {ratio})" if cell else "" for cell, ratio in zip(cells, ratios, strict=True)
            ]
            rows.append([problem.title, str(problem.rows), *shown])
        means = [times(self._mean_ratio(results, name)) for name in results.contenders]
        return grid(["set", "rows", *results.contenders], [*rows, ["geometric mean", "", *means]])

    def _mean_ratio(self, results: Results, name: str) -> float:
        return geometric_mean(results.ratio(problem, name, OURS) for problem in results.problems)

    def _worse(self, results: Results) -> str:
        """Return on which of the sets that have two splits or more the error is significantly above that of the grid."""
        found = {p.title: results.difference(p, OURS, BASE) for p in results.problems}
        compared = {name: difference for name, difference in found.items() if len(difference.values) > 1}
        worse = [name for name, d in compared.items() if d.is_significant and d.mean > 0]
        named = f" ({', '.join(worse)})" if worse else ""
        return f"on {len(worse) or 'none'} of {len(compared)} sets{named}"

    def _verdict(self, results: Results) -> str:
        return f"{OURS} has a significantly higher error than {BASE} {self._worse(results)}."

    def _summary(self, results: Results) -> str:
        low, high = (f(problem.rows for problem in results.problems) for f in (min, max))
        return (
            f"Around the same `SVC` pipeline, on sets with {low} to {high} rows, `KernelSearch` is {times(self._mean_ratio(results, BASE))} as "
            f"fast as `GridSearchCV`, with a significantly higher error {self._worse(results)} (geometric mean over the sets, "
            f"{len(results.splits)} splits; `{self.command}`; docs/guide/kernel_search.md)."
        )
