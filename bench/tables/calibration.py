"""Can the numbers be believed? Posterior deviations of regressors and probabilities of classifiers on new rows."""

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.stats import norm
from sklearn.calibration import CalibratedClassifierCV
from sklearn.model_selection import GridSearchCV

from bench.contenders import (
    LOGISTIC,
    LSSVM,
    SVM,
    Contender,
    Foldless,
    FoldlessDefault,
    GaussianProcess,
    Linear,
)
from bench.contenders.base import Details, EstimatorContender
from bench.contenders.grids import pipeline_and_grid
from bench.markdown import grid, number
from bench.problems import Split, Task
from bench.results import Results, SizedSet, mean_ranks
from bench.tables.base import Table
from foldless import KernelRidgeRegressor
from foldless.inspection import CalibrationDisplay

LEVELS = (68, 95)
BINS = 10
ROWS, FEWER_ROWS = 200, 150
NUMBERS = ("abalone", "boston_housing", "california_housing", "delve_bank8fh", "delve_kin8nm", "protein_casp")
CLASSES = (
    ("raetsch_banana", ROWS), ("raetsch_diabetes", ROWS), ("raetsch_heart", ROWS), ("raetsch_ringnorm", ROWS),
    ("raetsch_breast_cancer", ROWS), ("bupa", ROWS), ("ionosphere", ROWS), ("sonar", FEWER_ROWS), ("vote", ROWS),
    ("glass", FEWER_ROWS),
)  # fmt: skip


@dataclass(frozen=True)
class GaussianPrediction(EstimatorContender):
    """A regressor with a standard deviation for every new target."""

    tasks = ("numbers",)
    details: ClassVar[tuple[str, ...]] = (*(f"{level} %" for level in LEVELS), "width", "log density")

    @abstractmethod
    def deviations(self, model: Any, X: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return mean and standard deviation of new targets, the noise included."""

    def measure_details(self, model: Any, split: Split) -> Details:
        """Return the shares of targets within the intervals in %, the mean deviation and the mean log density."""
        mean, deviation = self.deviations(model, split.X_test)
        z = np.abs(split.y_test - mean) / deviation
        inside = {
            f"{level} %": 100 * float(np.mean(z <= norm.ppf((1 + level / 100) / 2))) for level in LEVELS
        }
        density = float(np.mean(norm.logpdf(split.y_test, mean, deviation)))
        return {**inside, "width": float(np.mean(deviation)), "log density": density}


@dataclass(frozen=True)
class RidgePosterior(GaussianPrediction, Foldless):
    """The Gaussian process whose mean a ridge fit is; ``return_std`` has no noise in it."""

    def deviations(self, model: Any, X: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return mean and deviation with the noise."""
        mean, deviation = model.predict(X, return_std=True)
        return mean, np.sqrt(deviation**2 + model[-1].noise_variance_)


@dataclass(frozen=True)
class Process(GaussianPrediction, GaussianProcess):
    """scikit-learn's Gaussian process, whose kernel contains the noise."""

    name: str = "GaussianProcessRegressor"

    def deviations(self, model: Any, X: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return mean and deviation."""
        mean, deviation = model.predict(X, return_std=True)
        return mean, deviation


@dataclass(frozen=True)
class Probabilities(EstimatorContender):
    """A classifier with probabilities."""

    tasks = ("classes",)
    details: ClassVar[tuple[str, ...]] = ("Brier", "calibration error")

    def measure_details(self, model: Any, split: Split) -> Details:
        """Return Brier's score and the expected calibration error of the most likely class in %."""
        P = model.predict_proba(split.X_test)
        own = split.y_test[:, None] == model.classes_
        right = own[np.arange(len(P)), np.argmax(P, axis=1)]
        ece = CalibrationDisplay(np.max(P, axis=1), right, BINS).ece
        return {"Brier": float(np.mean(np.sum((P - own) ** 2, axis=1))), "calibration error": 100 * ece}


@dataclass(frozen=True)
class Ours(Probabilities, Foldless):
    """An estimator of foldless."""


@dataclass(frozen=True)
class Default(Probabilities, FoldlessDefault):
    """The one that chooses the machine too."""

    name: str = "KernelClassifier"


@dataclass(frozen=True)
class ClassProcess(Probabilities, GaussianProcess):
    """Laplace's approximation, for several classes one against the rest."""

    name: str = "GaussianProcessClassifier"


@dataclass(frozen=True)
class Logistic(Probabilities, Linear):
    """Linear logistic regression."""

    name: str = "LogisticRegression"


@dataclass(frozen=True)
class CalibratedSVC(Probabilities):
    """A sigmoid over the outputs of an SVC whose parameters were searched on a 5 x 5 grid, five folds each."""

    name: str = "CalibratedClassifierCV(SVC)"

    def build(self, task: Task, jobs: int) -> Any:
        """Return the machine: five searches on four fifths of the rows, each calibrated on its fifth."""
        return CalibratedClassifierCV(
            GridSearchCV(*pipeline_and_grid(task, points=5), cv=5, n_jobs=jobs), cv=5
        )


class Calibration(Table):
    """The tables of docs/guide/uncertainty.md on posterior deviations and probabilities."""

    name = "calibration"
    title = "coverage of posterior deviations; log loss, Brier's score and calibration of probabilities"
    cases = (*((name, ROWS) for name in NUMBERS), *CLASSES)
    splits = range(100, 110)
    block_names = ("calibration_numbers", "calibration_classes", "calibration_sets")

    @property
    def contenders(self) -> Sequence[Contender]:
        """Regressors, then classifiers."""
        ours = tuple(Ours(one.name, one.estimator) for one in (LOGISTIC, LSSVM, SVM))
        return (
            RidgePosterior("KernelRidgeRegressor", KernelRidgeRegressor()),
            RidgePosterior("KernelRidgeRegressor, evidence", KernelRidgeRegressor(criterion="evidence")),
            Process(),
            *ours,
            Default(),
            ClassProcess(),
            Logistic(),
            CalibratedSVC(),
        )

    def blocks(self, results: Results) -> dict[str, str]:
        """Return the regressors set by set, the mean ranks of the classifiers, and the classifiers set by set."""
        return {
            "calibration_numbers": self.text(results, NUMBERS_CAPTION, self._numbers(results)),
            "calibration_classes": self.text(results, RANKS_CAPTION, self._ranks(results)),
            "calibration_sets": self.text(results, SETS_CAPTION, self._sets(results)),
        }

    def _of(self, results: Results, task: Task) -> tuple[list[SizedSet], list[str]]:
        """Return problems and contenders of a task."""
        takers = [contender.name for contender in self.contenders if task in contender.tasks]
        problems = [problem for problem in results.problems if results.task(problem) == task]
        return problems, [name for name in takers if name in results.contenders]

    def _numbers(self, results: Results) -> str:
        problems, names = self._of(results, "numbers")
        rows = [
            [problem.title, name, *(self._share(results, problem, name, level) for level in LEVELS)]
            + [number(results.mean(problem, name, what), ".3f") for what in ("width", "error", "log density")]
            for problem in problems
            for name in names
        ]
        header = ["set", "", "68 %", "95 %", "mean deviation", "root mean squared error", "log density"]
        return grid(header, rows)

    def _share(self, results: Results, problem: SizedSet, name: str, level: int) -> str:
        found = results.values(problem, name, f"{level} %")
        error = np.std(found, ddof=1) / np.sqrt(len(found)) if len(found) > 1 else 0.0
        return f"{np.mean(found):.1f} ± {error:.1f}"

    def _ranks(self, results: Results) -> str:
        problems, names = self._of(results, "classes")
        columns = [
            np.array([[results.mean(problem, name, what) for problem in problems] for name in names])
            for what in MEASURES
        ]
        ranks = [mean_ranks(column) for column in columns]
        rows = [
            [name, *(f"{mean:.3f} ({rank:.1f})" for mean, rank in zip(means, places, strict=True))]
            for name, means, places in zip(
                names,
                np.transpose([column.mean(axis=1) for column in columns]),
                np.transpose(ranks),
                strict=True,
            )
        ]
        return grid(["", *MEASURES.values()], rows)

    def _sets(self, results: Results) -> str:
        problems, names = self._of(results, "classes")
        rows = [
            [problem.title, str(problem.rows)]
            + [
                " / ".join(number(results.mean(problem, name, what), ".3f") for what in ("log_loss", "Brier"))
                + f" / {number(results.mean(problem, name, 'calibration error'), '.1f')}"
                for name in names
            ]
            for problem in problems
        ]
        return grid(["set", "rows", *names], rows)


MEASURES = {
    "log_loss": "log loss",
    "Brier": "Brier's score",
    "calibration error": "calibration error in %",
    "error": "wrong classes in %",
}
NUMBERS_CAPTION = (
    f"Share of new targets within the central 68 and 95 % of their Gaussian predictions, in % ± its standard error over training "
    f"sets of {ROWS} rows; mean deviation of the predictions, their error, and the mean log density of the targets (more is "
    "better), with targets of variance one. Scikit-learn's process tunes amplitude, width and noise by its marginal likelihood."
)
RANKS_CAPTION = (
    "Probabilities of new rows: mean over the sets, and mean rank in brackets. Calibration error: mean distance, over ten equally large "
    "groups of rows, between the probability of the most likely class and how often it came true."
)
SETS_CAPTION = "Log loss in nats / Brier's score / calibration error in %."
