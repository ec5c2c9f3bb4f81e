"""Coverage of prediction intervals on sets on disk: ours and MAPIE's, each tuned on the rows that train."""

import importlib
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import GridSearchCV, LeaveOneOut
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from bench.contenders import Contender, Measurement
from bench.contenders.grids import pipeline_and_grid
from bench.markdown import grid, seconds
from bench.measure import timed
from bench.problems import SHIPPED, Split, Task
from bench.problems.stored import NUMBERS
from bench.results import Results, SizedSet
from bench.tables.base import Table
from foldless import KernelRidgeRegressor

LEVEL, ROWS, TEST_ROWS = 0.9, 200, 1000
# Splits of MAPIE, whose n fits take long; the table says how many were run.
MAPIE_MAX_SPLIT = 200
OURS, MAPIE = "jackknife+", "MAPIE, jackknife+"


@dataclass(frozen=True)
class TunedIntervals(Contender):
    """Tuning, fit and intervals together: seconds, coverage in % and mean width."""

    tasks = ("numbers",)
    details: ClassVar[tuple[str, ...]] = ("coverage", "width")

    def run(self, split: Split, task: Task, jobs: int) -> Measurement:
        """Measure everything on the first test rows."""
        ends, clock = timed(lambda: self.intervals(split, split.X_test[:TEST_ROWS], jobs))
        y = split.y_test[:TEST_ROWS]
        inside = 100 * float(np.mean((ends[:, 0] <= y) & (y <= ends[:, 1])))
        width = float(np.mean(ends[:, 1] - ends[:, 0]))
        return Measurement(*clock, details={"coverage": inside, "width": width})

    @abstractmethod
    def intervals(self, split: Split, X: NDArray[Any], jobs: int) -> NDArray[Any]:
        """Return the ends (p, 2) at some rows."""


@dataclass(frozen=True)
class FoldlessIntervals(TunedIntervals):
    """Kernel ridge regression tuned by leave-one-out error."""

    method: str
    calibration: str = "same"

    def intervals(self, split: Split, X: NDArray[Any], jobs: int) -> NDArray[Any]:
        """Return the ends by a method."""
        model = make_pipeline(StandardScaler(), KernelRidgeRegressor(calibration=self.calibration))
        model.fit(split.X, split.y)
        return np.asarray(model[-1].predict_interval(model[0].transform(X), LEVEL, self.method))


@dataclass(frozen=True)
class MapieIntervals(TunedIntervals):
    """MAPIE with leave-one-out around the kernel ridge regression that a grid of 5 x 5 points and five folds chose."""

    name: str = MAPIE
    package = "mapie"

    def takes(self, task: Task, rows: int, number: int) -> bool:
        """Return whether this is one of the first splits."""
        return number < MAPIE_MAX_SPLIT and super().takes(task, rows, number)

    def intervals(self, split: Split, X: NDArray[Any], jobs: int) -> NDArray[Any]:
        """Return the ends from n fits."""
        conformal = importlib.import_module("mapie.regression")
        search = GridSearchCV(*pipeline_and_grid("numbers", points=5), cv=5, n_jobs=jobs)
        chosen = search.fit(split.X, split.y).best_estimator_
        model = conformal.CrossConformalRegressor(
            chosen, confidence_level=LEVEL, method="plus", cv=LeaveOneOut()
        )
        return np.asarray(model.fit_conformalize(split.X, split.y).predict_interval(X)[1][:, :, 0])


class CoverageSets(Table):
    """The table of docs/guide/uncertainty.md on coverage of real targets."""

    name = "coverage_sets"
    title = "coverage of 90 % prediction intervals on sets on disk, parameters tuned, beside MAPIE"
    cases = tuple((name, ROWS) for name in sorted(NUMBERS | SHIPPED.keys()))
    splits = range(100, 200)
    block_names = ("coverage_sets",)

    @property
    def contenders(self) -> Sequence[Contender]:
        """Two constructions, tuning on other rows, and MAPIE."""
        return (
            FoldlessIntervals(OURS, "jackknife+"),
            FoldlessIntervals("minmax", "minmax"),
            FoldlessIntervals("jackknife+, calibration='split'", "jackknife+", "split"),
            MapieIntervals(),
        )

    def blocks(self, results: Results) -> dict[str, str]:
        """Return coverages with their standard errors, and the mean widths."""
        names = results.contenders
        rows = [
            [
                problem.title,
                *(self._cell(results, problem, name) for name in names),
                *self._paired(results, problem),
            ]
            for problem in results.problems
        ]
        header = ["set", *names, "coverage less MAPIE's", "width over MAPIE's"]
        return {"coverage_sets": self.text(results, CAPTION, grid(header, rows))}

    def _cell(self, results: Results, problem: SizedSet, name: str) -> str:
        found = results.values(problem, name, "coverage")
        if not len(found):
            return ""
        error = np.std(found, ddof=1) / np.sqrt(len(found)) if len(found) > 1 else 0.0
        taken = seconds(float(np.median(results.values(problem, name, "cpu_seconds"))))
        width = results.mean(problem, name, "width")
        return f"{np.mean(found):.1f} ± {error:.1f} ({width:.2f}; {taken}; {_splits(len(found))})"

    def _paired(self, results: Results, problem: SizedSet) -> tuple[str, str]:
        """Return how far coverage and width are from MAPIE's on the splits that both have."""
        difference = results.difference(problem, OURS, MAPIE, "coverage")
        if not len(difference.values):
            return "", ""
        ratio = results.ratio(problem, OURS, MAPIE, "width")
        return f"{difference.mean:+.2f} ± {difference.standard_error:.2f}", f"{ratio:.3f}"


def _splits(number: int) -> str:
    return "1 split" if number == 1 else f"{number} splits"


CAPTION = (
    f"Share of new targets in their 90 % intervals, in % ± its standard error over training sets of {ROWS} rows (mean width, with targets of "
    "variance one; median processor seconds of tuning, fit and intervals; number of splits). Ours is tuned by leave-one-out, MAPIE's machine once by a "
    "grid of 5 x 5 points and five folds on the same rows. The last two columns are the difference of coverages in points and the ratio of "
    "widths, ours by jackknife+, on the splits that both have."
)
