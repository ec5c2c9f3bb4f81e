"""Coverage of prediction intervals: parameters fixed in advance, tuned on the same rows, or tuned on other rows."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from sklearn.base import clone
from sklearn.gaussian_process.kernels import RBF

from bench.contenders import Contender, Measurement
from bench.markdown import grid
from bench.measure import timed
from bench.problems import Split, Task
from bench.results import Results, SizedSet
from bench.tables.base import Table
from foldless import KernelRidgeRegressor

LEVEL = 0.9
METHODS = ("jackknife+", "minmax", "jackknife", "studentized", "posterior")
FIXED_WIDTH, FIXED_ALPHA = 3.0, 0.3
# Test rows of a split: their share has a far smaller error than that between training sets.
TEST_ROWS = 500


@dataclass(frozen=True)
class Intervals(Contender):
    """Intervals of a kernel ridge regression by all methods: coverage in % and mean width."""

    estimator: KernelRidgeRegressor
    tasks = ("numbers",)
    details: ClassVar[tuple[str, ...]] = tuple(
        f"{method} {what}" for method in METHODS for what in ("%", "width")
    )

    def run(self, split: Split, task: Task, jobs: int) -> Measurement:
        """Fit, and measure all methods on the first test rows."""
        model = clone(self.estimator)
        _, clock = timed(lambda: model.fit(split.X, split.y))
        found: dict[str, Any] = {}
        for method in METHODS:
            ends = model.predict_interval(split.X_test[:TEST_ROWS], LEVEL, method)
            y = split.y_test[:TEST_ROWS]
            found[f"{method} %"] = 100 * float(np.mean((ends[:, 0] <= y) & (y <= ends[:, 1])))
            found[f"{method} width"] = float(np.mean(ends[:, 1] - ends[:, 0]))
        return Measurement(*clock, details=found)


class Coverage(Table):
    """The table of docs/guide/uncertainty.md."""

    name = "coverage"
    title = (
        "coverage of 90 % prediction intervals, parameters fixed, tuned on the same rows, tuned on other rows"
    )
    cases = tuple(("five-inputs", rows) for rows in (30, 60, 120, 500))
    splits = range(200)
    block_names = ("coverage",)

    @property
    def contenders(self) -> Sequence[Contender]:
        """Three ways to come by the parameters."""
        fixed = KernelRidgeRegressor(RBF(FIXED_WIDTH, "fixed"), alpha=FIXED_ALPHA)
        return (
            Intervals("fixed in advance", fixed),
            Intervals("tuned on the same rows", KernelRidgeRegressor()),
            Intervals("calibration='split'", KernelRidgeRegressor(calibration="split")),
        )

    def blocks(self, results: Results) -> dict[str, str]:
        """Return the coverages with their standard errors, and the mean widths."""
        caption = (
            "Share of new targets in their 90 % intervals, in % ± its standard error over training sets (mean width in "
            "brackets): kernel ridge regression on a function of five inputs with noise of standard deviation 0.5."
        )
        rows = [
            [str(problem.rows), name, *(self._cell(results, problem, name, method) for method in METHODS)]
            for problem in results.problems
            for name in results.contenders
        ]
        return {"coverage": self.text(results, caption, grid(["rows", "parameters", *METHODS], rows))}

    def _cell(self, results: Results, problem: SizedSet, name: str, method: str) -> str:
        found = results.values(problem, name, f"{method} %")
        if not len(found):
            return ""
        error = np.std(found, ddof=1) / np.sqrt(len(found)) if len(found) > 1 else 0.0
        width = results.mean(problem, name, f"{method} width")
        return f"{np.mean(found):.1f} ± {error:.1f} ({width:.2f})"
