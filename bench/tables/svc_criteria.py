"""Which criterion should tune a support vector machine? Test errors and processor seconds on the archive of Rätsch."""

from collections.abc import Sequence

import numpy as np

from bench.contenders import Contender, Foldless, GridSearch
from bench.markdown import grid, number
from bench.results import Results, mean_ranks
from bench.tables.base import Table
from foldless import KernelSVC
from foldless.criteria import KRIC


class SVCCriteria(Table):
    """The table of docs/guide/criteria.md."""

    name = "svc_criteria"
    title = "criteria for KernelSVC with either loss, against a grid search"
    cases = tuple(
        (f"raetsch_{name}", None)
        for name in (
            "banana",
            "breast_cancer",
            "diabetes",
            "flare_solar",
            "heart",
            "ringnorm",
            "titanic",
            "twonorm",
        )
    )
    block_names = ("svc_criteria",)

    @property
    def contenders(self) -> Sequence[Contender]:
        """Both losses under every criterion that reads them."""
        squared = ("smoothed-span", "gacv", "evidence", "evidence-ep", "loo")
        hinge = ("gacv", "evidence", "evidence-ep", "xi-alpha", "span")
        kric = KernelSVC(loss="hinge", criterion=KRIC(tune_kernel=True))
        return [
            *(Foldless(f"{name}, squared", KernelSVC(criterion=name)) for name in squared),
            *(Foldless(f"{name}, hinge", KernelSVC(loss="hinge", criterion=name)) for name in hinge),
            Foldless("kric, hinge", kric),
            GridSearch(),
        ]

    def blocks(self, results: Results) -> dict[str, str]:
        """Return mean errors, their mean over the sets, mean ranks and seconds."""
        errors = np.array(
            [[results.mean(p, name, "error") for p in results.problems] for name in results.contenders]
        )
        rows = []
        for name, found, rank in zip(results.contenders, errors, mean_ranks(errors), strict=True):
            taken = float(np.nanmean([results.mean(p, name, "cpu_seconds") for p in results.problems]))
            rows.append([name, *map(number, found), number(found.mean()), number(rank, ".1f"), number(taken)])
        header = ["", *(problem.title for problem in results.problems), "mean", "rank", "seconds"]
        caption = "Test errors in %, their mean over the sets, mean rank, and processor seconds of a fit."
        return {"svc_criteria": self.text(results, caption, grid(header, rows))}
