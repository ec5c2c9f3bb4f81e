"""When a length scale per feature over-fits the criterion, and what helps: paired differences from one width."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from bench.contenders import Contender, Foldless
from bench.markdown import STARS, difference, error, grid
from bench.results import Results, mean_ranks
from bench.tables.base import Table
from foldless import KernelLogisticRegression, KernelSearch
from foldless.criteria import HyperPrior
from foldless.searches import LBFGS, EarlyStopping

BASE = "one width"


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
        """Kernel logistic regression with one width, and with many."""
        models = {
            BASE: KernelLogisticRegression(),
            "one width, ensemble": KernelSearch(KernelLogisticRegression(), ensemble=True),
            "tied": KernelLogisticRegression("rbf-ard"),
            "free": _per_feature(),
            "free, by evidence": _per_feature(criterion="evidence"),
            "prior 0.1": _per_feature(criterion=HyperPrior("loo", 0.1)),
            "prior 1": _per_feature(criterion=HyperPrior("loo", 1.0)),
            "prior 10": _per_feature(criterion=HyperPrior("loo", 10.0)),
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
