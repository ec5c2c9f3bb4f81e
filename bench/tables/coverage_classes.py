"""Coverage and size of sets of classes on sets on disk, parameters tuned."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from bench.contenders import Contender, Measurement
from bench.markdown import grid
from bench.measure import timed
from bench.problems import Split, Task
from bench.results import Results, SizedSet
from bench.tables.base import Table
from foldless import KernelLogisticRegression, KernelLSSVC

LEVELS = (80, 90)
ROWS, FEWER_ROWS, TEST_ROWS = 200, 150, 500


@dataclass(frozen=True)
class TunedSets(Contender):
    """Tuning, fit and sets together: coverage in % and mean number of classes in a set, for every level."""

    estimator: BaseEstimator
    tasks = ("classes",)
    details: ClassVar[tuple[str, ...]] = tuple(
        f"{level} % {what}" for level in LEVELS for what in ("coverage", "size")
    )

    def run(self, split: Split, task: Task, jobs: int) -> Measurement:
        """Measure everything on the first test rows."""
        model = make_pipeline(StandardScaler(), clone(self.estimator))
        sets, clock = timed(lambda: self._sets(model, split))
        labels = np.searchsorted(model.classes_, split.y_test[:TEST_ROWS])
        found: dict[str, Any] = {}
        for level, members in sets.items():
            found[f"{level} % coverage"] = 100 * float(np.mean(members[np.arange(len(labels)), labels]))
            found[f"{level} % size"] = float(np.mean(members.sum(axis=1)))
        return Measurement(*clock, details=found)

    def _sets(self, model: Any, split: Split) -> dict[int, np.ndarray]:
        model.fit(split.X, split.y)
        points = model[0].transform(split.X_test[:TEST_ROWS])
        return {level: model[-1].predict_set(points, level / 100) for level in LEVELS}


class CoverageClasses(Table):
    """The table of docs/guide/uncertainty.md on sets of classes."""

    name = "coverage_classes"
    title = "coverage and size of 80 and 90 % sets of classes on sets on disk, parameters tuned"
    cases = (
        ("raetsch_banana", ROWS),
        ("raetsch_diabetes", ROWS),
        ("raetsch_image", ROWS),
        ("bupa", ROWS),
        ("ionosphere", ROWS),
        ("glass", FEWER_ROWS),
        ("usps", ROWS),
        ("letter", ROWS),
    )
    block_names = ("coverage_classes",)

    @property
    def contenders(self) -> Sequence[Contender]:
        """Exact and approximate left-out models, and tuning on other rows."""
        return (
            TunedSets("KernelLSSVC", KernelLSSVC()),
            TunedSets("KernelLogisticRegression", KernelLogisticRegression()),
            TunedSets("KernelLSSVC, calibration='split'", KernelLSSVC(calibration="split")),
        )

    def blocks(self, results: Results) -> dict[str, str]:
        """Return coverages with their standard errors, and the mean sizes."""
        names = results.contenders
        rows = [
            [problem.title, str(problem.rows), f"{level} %"]
            + [self._cell(results, problem, name, level) for name in names]
            for problem in results.problems
            for level in LEVELS
        ]
        return {"coverage_classes": self.text(results, CAPTION, grid(["set", "rows", "level", *names], rows))}

    def _cell(self, results: Results, problem: SizedSet, name: str, level: int) -> str:
        found = results.values(problem, name, f"{level} % coverage")
        if not len(found):
            return ""
        error = np.std(found, ddof=1) / np.sqrt(len(found)) if len(found) > 1 else 0.0
        return f"{np.mean(found):.1f} ± {error:.1f} ({results.mean(problem, name, f'{level} % size'):.2f})"


CAPTION = (
    "Share of new rows whose class is in their set, in % ± its standard error over training sets (mean number of classes in a set). Parameters "
    "are tuned on the training rows, for the last column on one half of them."
)
