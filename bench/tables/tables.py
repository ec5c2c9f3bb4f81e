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
    RecursiveFeatureMachine,
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
# Ranks are taken on sets up to these sizes, by these numbers at every size and by the AUC at the middle one.
LIMITS = (300, 1500, 5000)
NUMBERED = ("error", "log_loss")
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
    block_names = ("tables", "tables_sets")
    # A contender that takes longer is left out on the other splits of the set, and on more rows of it.
    max_seconds = 60.0

    @property
    def contenders(self) -> Sequence[Contender]:
        """Ours, and what people use; what takes minutes on many rows is limited to fewer."""
        small, large = LIMITS[0], LARGE_SIZES[0]
        ours = FoldlessDefault(), FoldlessOneWidth()
        defaults = Boosting(), Forest(), Linear()
        grids = SmallGridSearch(max_rows=large), GridSearch(max_rows=small)
        tuned = TunedBoosting(), RecursiveFeatureMachine(max_rows=large), GaussianProcess(max_rows=small)
        return *ours, *defaults, *grids, *tuned

    def blocks(self, results: Results) -> dict[str, str]:
        """Return the ranks, and every set."""
        places = [(what, limit) for what in NUMBERED for limit in LIMITS] + [("auc", LIMITS[1])]
        ranks = {(what, limit): Ranks.of(results, what, limit) for what, limit in places}
        caption = (
            "Mean rank (1 is the best) on the sets of at most so many rows, of the models that ran on all of them; one that took longer than "
            f"{self.max_seconds:.0f} seconds was given no other split of the set and no more rows. On how many sets the error is lower than "
            f"that of {BASE}; median processor seconds of a fit. {BASE} is `KernelClassifier()` for classes and `KernelRegressor()` for "
            "numbers; with one width it is `KernelLogisticRegression()` and `KernelRidgeRegressor()`."
        )
        details = (
            "Error in %, or root mean squared error in standard deviations of the target (processor seconds)."
        )
        return {
            "tables": self.text(results, caption, self._ranks(results, ranks)),
            "tables_sets": self.text(results, details, sets_table(results, None, "cpu_seconds")),
        }

    def _ranks(self, results: Results, ranks: Mapping[tuple[str, int], Ranks]) -> str:
        """Return a line per contender, the best by the error on sets of middle size first and those without a rank last."""
        rows = []
        leading = ranks["error", LIMITS[1]]
        for name in sorted(results.contenders, key=lambda name: np.nan_to_num(leading[name], nan=np.inf)):
            taken = [results.mean(problem, name, "cpu_seconds") for problem in results.problems]
            places = [number(found[name], ".1f") for found in ranks.values()]
            rows.append([name, *places, _wins(results, name), seconds(float(np.nanmedian(taken)))])
        titles = [
            f"{_words(what)}, up to {limit} rows ({found.n_sets} sets)"
            for (what, limit), found in ranks.items()
        ]
        return grid(["", *titles, f"better than {BASE}", "seconds"], rows)

    def figures(self, results: Results) -> dict[str, Any]:
        """Return the diagrams of critical differences, by error and by log loss."""
        from matplotlib.figure import Figure

        figure = Figure(figsize=(9, 3.6), layout="constrained")
        for axis, what in zip(figure.subplots(1, 2), NUMBERED, strict=True):
            found = Ranks.of(results, what, LIMITS[1])
            if len(found.names) > 1:
                title = f"mean rank by {_words(what)}, {found.n_sets} sets to {LIMITS[1]} rows"
                found.draw(axis, title)
        return {"tables_ranks.png": figure}


def _wins(results: Results, name: str) -> str:
    """Return on how many of its sets a contender has a lower error than ours."""
    means = np.array([[results.mean(p, one, "error") for p in results.problems] for one in (name, BASE)])
    theirs, ours = means[:, np.all(np.isfinite(means), axis=0)]
    lower = theirs < ours
    return "" if name == BASE else f"{int(lower.sum())} of {len(lower)}"


def _words(what: str) -> str:
    return {"log_loss": "log loss", "auc": "AUC"}.get(what, what)
