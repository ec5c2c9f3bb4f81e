"""When a length scale per feature over-fits the criterion, and what helps: paired differences from one width."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from bench.contenders import Contender, Foldless
from bench.markdown import STARS, difference, error, grid
from bench.results import Results, mean_ranks
from bench.tables.base import Table
from foldless import KernelLogisticRegression
from foldless.criteria import HyperPrior
from foldless.searches import LBFGS, EarlyStopping
from foldless.tuning.search_space import START_LOG_C_OF_STEPS

BASE = "one width"
# Points of the coarse grid with equal widths, from the best of which a descent begins.
N_STARTS = sum(map(len, START_LOG_C_OF_STEPS.values()))


def _per_feature(**options: Any) -> KernelLogisticRegression:
    return KernelLogisticRegression("rbf-ard-free", **options)


class Overfitting(Table):
    """The table of docs/guide/kernel_search.md on many length scales."""

    name = "overfitting"
    title = "a length scale per feature against one width, free and held back in several ways"
    cases = tuple(
        (name, None)
        for name in (
            "sonar",
            "ionosphere",
            "raetsch_heart",
            "raetsch_breast_cancer",
            "raetsch_diabetes",
            "raetsch_banana",
            "raetsch_ringnorm",
            "raetsch_twonorm",
            "raetsch_flare_solar",
            "breast_w",
            "bupa",
            "colic",
            "crabs",
            "vote",
            "ripley_synth",
        )
    )
    block_names = ("overfitting",)

    @property
    def contenders(self) -> Sequence[Contender]:
        """Kernel logistic regression with one width, with many, with a learned metric, and with the best of six families."""
        models = {
            BASE: KernelLogisticRegression(),
            "auto": KernelLogisticRegression("auto"),
            "tied": KernelLogisticRegression("rbf-ard"),
            "metric": KernelLogisticRegression("rbf-metric"),
            "free": _per_feature(),
            "five steps": _per_feature(max_evaluations=N_STARTS + 5),
            "free, by evidence": _per_feature(criterion="evidence"),
            "prior": _per_feature(criterion=HyperPrior("loo", 1.0)),
            "stopped early": _per_feature(search=EarlyStopping(LBFGS())),
        }
        return [Foldless(name, model) for name, model in models.items()]

    def blocks(self, results: Results) -> dict[str, str]:
        """Return errors of the base, differences of the others, and mean ranks."""
        caption = (
            f"Error in % with {BASE}; for the others the mean difference from it in points ± its standard error. "
            f"{STARS.format(base=BASE)}"
        )
        others = [name for name in results.contenders if name != BASE]
        rows = [
            [problem.title, str(problem.rows), error(results.mean(problem, BASE, "error"), "classes")]
            + [difference(results.difference(problem, name, BASE)) for name in others]
            for problem in results.problems
        ]
        names = [name for name in (BASE, *others) if name in results.contenders]
        errors = np.array([[results.mean(p, name, "error") for p in results.problems] for name in names])
        ranks = [f"{rank:.1f}" for rank in mean_ranks(errors)]
        table = grid(["set", "rows", *names], [*rows, ["mean rank", "", *ranks]])
        return {"overfitting": self.text(results, caption, table)}
