"""Tables of 100 to 5000 rows, classes and numbers: ranks by error, log loss and AUC, and seconds."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from bench.contenders import (
    Boosting,
    Contender,
    FoldlessDefault,
    FoldlessOneWidth,
    Forest,
    GaussianProcess,
    GridSearch,
    Linear,
    SmallGridSearch,
    TunedBoosting,
)
from bench.markdown import grid, number, seconds, sets_table
from bench.ranks import Ranks
from bench.results import Results
from bench.tables.base import Table

TWO_CLASSES = (
    "raetsch_banana", "raetsch_breast_cancer", "raetsch_diabetes", "raetsch_heart", "raetsch_image",
    "raetsch_ringnorm", "raetsch_twonorm", "sonar", "ionosphere", "breast_w", "bupa", "colic", "crabs", "vote", "a1a",
)  # fmt: skip
MORE_CLASSES = ("glass", "autos", "anneal")
NUMBERS = ("abalone", "boston_housing", "delve_bank8fh", "delve_kin8nm", "delve_kin8fh")
LARGE = ("letter", "usps", "susy_30k", "a9a", "california_housing", "protein_casp")
NUMBERS_ROWS = 1000
LARGE_SIZES = (2000, 5000)
BASE = FoldlessDefault().name


class Tables(Table):
    """Ranks for the manual, and every set."""

    name = "tables"
    title = (
        "default and tuned models on tables of 100 to 5000 rows: ranks by error, log loss and AUC, seconds"
    )
    cases = (
        *((name, None) for name in TWO_CLASSES + MORE_CLASSES),
        *((name, None if name == "boston_housing" else NUMBERS_ROWS) for name in NUMBERS),
        *((name, rows) for rows in LARGE_SIZES for name in LARGE),
    )
    splits = range(80, 82)
    block_names = ("tables", "tables_sets")

    @property
    def contenders(self) -> Sequence[Contender]:
        """Ours, and what people use; what takes minutes is left out on more rows."""
        ours = FoldlessDefault(), FoldlessOneWidth()
        grids = SmallGridSearch(), GridSearch(max_rows=300)
        slow = TunedBoosting(max_rows=1500), GaussianProcess(max_rows=500)
        return *ours, Boosting(), Forest(), Linear(), *grids, *slow

    def blocks(self, results: Results) -> dict[str, str]:
        """Return the ranks, and every set."""
        ranks = {what: Ranks.of(results, what) for what in ("error", "log_loss", "auc")}
        ranks = {what: found for what, found in ranks.items() if found.n_sets or what == "error"}
        counts = ", ".join(f"{found.n_sets} by {_words(what)}" for what, found in ranks.items())
        caption = (
            f"Mean rank (1 is the best) over tables of several sizes ({counts}), of the models that ran on all of them; on how many tables the "
            f"error is lower than that of {BASE}; median processor seconds of a fit. {BASE} is `KernelClassifier()` for classes and "
            "`KernelRegressor()` for numbers; with one width it is `KernelLogisticRegression()` and `KernelRidgeRegressor()`."
        )
        details = (
            "Error in %, or root mean squared error in standard deviations of the target (processor seconds)."
        )
        return {
            "tables": self.text(results, caption, self._ranks(results, ranks)),
            "tables_sets": self.text(results, details, sets_table(results, None, "cpu_seconds")),
        }

    def _ranks(self, results: Results, ranks: Mapping[str, Ranks]) -> str:
        """Return a line per contender, the best by error first and those without a rank last."""
        rows = []
        for name in sorted(
            results.contenders, key=lambda name: np.nan_to_num(ranks["error"][name], nan=np.inf)
        ):
            taken = [results.mean(problem, name, "cpu_seconds") for problem in results.problems]
            places = [number(found[name], ".1f") for found in ranks.values()]
            rows.append([name, *places, _wins(results, name), seconds(float(np.nanmedian(taken)))])
        header = ["", *(f"rank by {_words(what)}" for what in ranks), f"better than {BASE}", "seconds"]
        return grid(header, rows)

    def figures(self, results: Results) -> dict[str, Any]:
        """Return the diagrams of critical differences, by error and by log loss."""
        from matplotlib.figure import Figure

        figure = Figure(figsize=(9, 3.2), layout="constrained")
        for axis, what in zip(figure.subplots(1, 2), ("error", "log_loss"), strict=True):
            found = Ranks.of(results, what)
            if len(found.names) > 1:
                found.draw(axis, f"mean rank by {_words(what)}, {found.n_sets} sets")
        return {"tables_ranks.png": figure}


def _wins(results: Results, name: str) -> str:
    """Return on how many of its sets a contender has a lower error than ours."""
    means = np.array([[results.mean(p, one, "error") for p in results.problems] for one in (name, BASE)])
    theirs, ours = means[:, np.all(np.isfinite(means), axis=0)]
    lower = theirs < ours
    return "" if name == BASE else f"{int(lower.sum())} of {len(lower)}"


def _words(what: str) -> str:
    return {"log_loss": "log loss", "auc": "AUC"}.get(what, what)
