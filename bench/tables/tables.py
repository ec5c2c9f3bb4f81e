"""Tables of 100 to 20 000 rows, classes and numbers: ranks by error and by log loss, and seconds."""

from collections.abc import Sequence

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
from bench.results import Results, mean_ranks
from bench.tables.base import Table

TWO_CLASSES = (
    "raetsch_banana", "raetsch_breast_cancer", "raetsch_diabetes", "raetsch_heart", "raetsch_image",
    "raetsch_ringnorm", "raetsch_twonorm", "sonar", "ionosphere", "breast_w", "bupa", "colic", "crabs", "vote", "a1a",
)  # fmt: skip
MORE_CLASSES = ("glass", "autos", "anneal")
NUMBERS = ("abalone", "delve_bank8fh", "delve_kin8nm", "delve_kin8fh")
LARGE = ("letter", "usps", "susy_30k", "a9a", "california_housing", "protein_casp")
LARGE_ROWS = 5000


class Tables(Table):
    """Ranks for the manual, and every set."""

    name = "tables"
    title = "default and tuned models on tables of 100 to 5000 rows: ranks by error and log loss, seconds"
    cases = (
        *((name, None) for name in TWO_CLASSES + MORE_CLASSES + NUMBERS),
        *((name, LARGE_ROWS) for name in LARGE),
    )
    splits = range(80, 85)
    block_names = ("tables", "tables_sets")

    @property
    def contenders(self) -> Sequence[Contender]:
        """Ours, and what people use."""
        ours = FoldlessDefault(), FoldlessOneWidth()
        grids = SmallGridSearch(max_rows=1500), GridSearch(max_rows=1500)
        process = GaussianProcess(max_rows=1500)
        return *ours, Boosting(), TunedBoosting(), Forest(), Linear(), *grids, process

    def blocks(self, results: Results) -> dict[str, str]:
        """Return the ranks, and every set."""
        caption = (
            "Mean rank by error and by log loss, over the sets that all contenders of the column have; median of "
            "the seconds of a fit. The default of foldless is `KernelClassifier()` for classes, `KernelRegressor()` for "
            "numbers; with one width it is kernel logistic or kernel ridge regression."
        )
        details = "Error in %, or root mean squared error in standard deviations of the target (seconds)."
        return {
            "tables": self.text(results, caption, self._ranks(results)),
            "tables_sets": self.text(results, details, sets_table(results, None)),
        }

    def _ranks(self, results: Results) -> str:
        by_error, by_loss = self._column(results, "error"), self._column(results, "log_loss")
        rows = []
        for name in results.contenders:
            taken = [results.mean(problem, name, "seconds") for problem in results.problems]
            rows.append(
                [
                    name,
                    number(by_error.get(name, np.nan), ".1f"),
                    number(by_loss.get(name, np.nan), ".1f"),
                    seconds(float(np.nanmedian(taken))),
                    str(int(np.isfinite(taken).sum())),
                ]
            )
        return grid(["", "rank by error", "rank by log loss", "seconds", "sets"], rows)

    def _column(self, results: Results, what: str) -> dict[str, float]:
        """Return the mean ranks of the contenders that have such a number on some set."""
        means = {n: [results.mean(p, n, what) for p in results.problems] for n in results.contenders}
        known = {name: values for name, values in means.items() if np.any(np.isfinite(values))}
        ranks = mean_ranks(np.array(list(known.values()))) if known else ()
        return dict(zip(known, map(float, ranks), strict=True))
