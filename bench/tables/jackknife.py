"""Jackknife+ intervals of the same kernel ridge regression: all left-out models from one solve, or from n fits."""

import importlib
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.gaussian_process.kernels import RBF
from sklearn.kernel_ridge import KernelRidge
from sklearn.model_selection import LeaveOneOut

from bench.contenders import Contender, Measurement
from bench.markdown import grid, number, seconds, times
from bench.measure import timed
from bench.problems import Split, Task
from bench.results import Results, SizedSet
from bench.tables.base import Table
from foldless import KernelRidgeRegressor

LEVEL, WIDTH, ALPHA = 0.9, 3.0, 0.3
TEST_ROWS = 500
OURS, MAPIE = "foldless", "MAPIE"


@dataclass(frozen=True)
class JackknifePlus(Contender):
    """Fit and intervals together: seconds, coverage in % and mean width."""

    tasks = ("numbers",)
    details: ClassVar[tuple[str, ...]] = ("coverage", "width")

    def run(self, split: Split, task: Task, jobs: int) -> Measurement:
        """Measure fit and intervals."""
        ends, clock = timed(lambda: self.intervals(split))
        y = split.y_test[:TEST_ROWS]
        inside = 100 * float(np.mean((ends[:, 0] <= y) & (y <= ends[:, 1])))
        return Measurement(
            *clock, details={"coverage": inside, "width": float(np.mean(ends[:, 1] - ends[:, 0]))}
        )

    @abstractmethod
    def intervals(self, split: Split) -> NDArray[Any]:
        """Return the ends (p, 2) at the first test rows."""


@dataclass(frozen=True)
class OneSolve(JackknifePlus):
    """Ours."""

    name: str = OURS

    def intervals(self, split: Split) -> NDArray[Any]:
        """Return the ends from one solve."""
        model = KernelRidgeRegressor(RBF(WIDTH, "fixed"), alpha=ALPHA, fit_intercept=False)
        return model.fit(split.X, split.y).predict_interval(split.X_test[:TEST_ROWS], LEVEL)


@dataclass(frozen=True)
class ManyFits(JackknifePlus):
    """MAPIE around scikit-learn's kernel ridge regression, with leave-one-out."""

    name: str = MAPIE
    package = "mapie"

    def intervals(self, split: Split) -> NDArray[Any]:
        """Return the ends from n fits."""
        conformal = importlib.import_module("mapie.regression")

        machine = KernelRidge(kernel="rbf", gamma=1 / (2 * WIDTH**2), alpha=ALPHA)
        model = conformal.CrossConformalRegressor(
            machine, confidence_level=LEVEL, method="plus", cv=LeaveOneOut()
        )
        model.fit_conformalize(split.X, split.y)
        return np.asarray(model.predict_interval(split.X_test[:TEST_ROWS])[1][:, :, 0])


class Jackknife(Table):
    """The table of docs/guide/uncertainty.md on the price of n fits."""

    name = "jackknife"
    title = "jackknife+ intervals from one solve and from n fits (MAPIE): the same numbers, and how fast"
    cases = tuple(("five-inputs", rows) for rows in (60, 120, 500))
    splits = range(5)
    block_names = ("jackknife",)

    @property
    def contenders(self) -> Sequence[Contender]:
        """One solve, and n fits."""
        return OneSolve(), ManyFits()

    def blocks(self, results: Results) -> dict[str, str]:
        """Return coverage, width and seconds, and how many times faster one solve is."""
        caption = (
            f"90 % jackknife+ intervals of {TEST_ROWS} new rows, kernel ridge regression with fixed parameters; seconds of fit "
            "and intervals together. Processor seconds do not depend on what else the machine does."
        )
        names = results.contenders
        header = [
            "rows",
            *(f"{name}: {what}" for name in names for what in ("coverage in %", "width", "seconds")),
            "faster",
            "faster, in processor seconds",
        ]
        rows = [
            [
                str(p.rows),
                *(cell for name in names for cell in self._cells(results, p, name)),
                times(results.ratio(p, MAPIE, OURS)),
                times(results.ratio(p, MAPIE, OURS, "cpu_seconds")),
            ]
            for p in results.problems
        ]
        return {"jackknife": self.text(results, caption, grid(header, rows))}

    def _cells(self, results: Results, problem: SizedSet, name: str) -> list[str]:
        return [
            number(results.mean(problem, name, "coverage"), ".2f"),
            number(results.mean(problem, name, "width"), ".4f"),
            seconds(results.mean(problem, name, "seconds")),
        ]
