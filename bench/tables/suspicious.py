"""Wrong labels: rows that surprise the model without them, beside cleanlab with the probabilities of ten folds."""

import importlib
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.metrics import average_precision_score
from sklearn.model_selection import GridSearchCV, StratifiedKFold, cross_val_predict
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler

from bench.contenders import Contender, Measurement
from bench.contenders.grids import pipeline_and_grid
from bench.markdown import grid, number, seconds, times
from bench.measure import timed
from bench.problems import Split, Task
from bench.results import Results, SizedSet
from bench.tables.base import Table
from foldless import KernelLogisticRegression, KernelLSSVC

FLIPPED_SHARE = 0.05
FOLDS = 10
OURS = ("KernelLSSVC", "KernelLogisticRegression")
CLEANLAB = tuple(f"cleanlab, {name}" for name in (*OURS, "SVC", "GridSearchCV(SVC)"))


@dataclass(frozen=True)
class WrongLabels(Contender):
    """Finds flipped labels among the training rows: seconds, and the average precision of its order."""

    tasks = ("classes",)
    details: ClassVar[tuple[str, ...]] = ("precision",)

    def run(self, split: Split, task: Task, jobs: int) -> Measurement:
        """Flip labels, and measure how well they are found."""
        y, flipped = with_flipped_labels(split.y, split.number)
        order, clock = timed(lambda: self.order(split.X, y, jobs))
        score = np.empty(len(y))
        score[order] = -np.arange(len(y))
        return Measurement(*clock, details={"precision": 100 * average_precision_score(flipped, score)})

    @abstractmethod
    def order(self, X: NDArray[Any], y: NDArray[Any], jobs: int) -> NDArray[np.intp]:
        """Return the numbers of all rows, the most suspicious first."""


def with_flipped_labels(y: NDArray[Any], seed: int) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    """Return codes of labels, some of which are those of the next class, and which rows these are."""
    classes, codes = np.unique(y, return_inverse=True)
    flipped = np.zeros(len(y), dtype=bool)
    chosen = np.random.default_rng(seed).choice(len(y), round(FLIPPED_SHARE * len(y)), replace=False)
    flipped[chosen] = True
    return np.where(flipped, (codes + 1) % len(classes), codes), flipped


def scaled(estimator: BaseEstimator) -> Pipeline:
    """Return an estimator behind a scaler."""
    return make_pipeline(StandardScaler(), clone(estimator))


@dataclass(frozen=True)
class LeftOutRows(WrongLabels):
    """One fit of ours, tuning included, and its ``suspicious_``."""

    estimator: BaseEstimator

    def order(self, X: NDArray[Any], y: NDArray[Any], jobs: int) -> NDArray[np.intp]:
        """Return ``suspicious_``."""
        return np.asarray(scaled(self.estimator).fit(X, y)[-1].suspicious_)


@dataclass(frozen=True)
class Cleanlab(WrongLabels):
    """``find_label_issues`` with the probabilities of ten folds."""

    estimator: BaseEstimator
    package = "cleanlab"

    def order(self, X: NDArray[Any], y: NDArray[Any], jobs: int) -> NDArray[np.intp]:
        """Return the issues in cleanlab's order, then all other rows by cleanlab's quality of their labels."""
        P = self.probabilities(X, y, jobs)
        issues = importlib.import_module("cleanlab.filter").find_label_issues(
            y, P, return_indices_ranked_by="self_confidence", n_jobs=1
        )
        quality = importlib.import_module("cleanlab.rank").get_label_quality_scores(y, P)
        others = np.setdiff1d(np.argsort(quality, kind="stable"), issues, assume_unique=True)
        return np.concatenate([issues, others]).astype(np.intp)

    def probabilities(self, X: NDArray[Any], y: NDArray[Any], jobs: int) -> NDArray[Any]:
        """Return probabilities (n, n_classes) from ten folds; ours tunes itself in every fold."""
        return out_of_sample(scaled(self.estimator), X, y, jobs)


@dataclass(frozen=True)
class CleanlabSVC(Cleanlab):
    """The same around an SVC: tuned once, on all rows, by 5 x 5 points and five folds; calibrated in every fold."""

    def probabilities(self, X: NDArray[Any], y: NDArray[Any], jobs: int) -> NDArray[Any]:
        """Return the probabilities of an SVC whose parameters have seen all labels."""
        return out_of_sample(searched_svc(X, y, jobs), X, y, jobs)


@dataclass(frozen=True)
class CleanlabSearchedSVC(Cleanlab):
    """The same, tuned in every fold, as ours is: no row has a say in its own probability."""

    def probabilities(self, X: NDArray[Any], y: NDArray[Any], jobs: int) -> NDArray[Any]:
        """Return probabilities of an SVC that was searched, calibrated and fitted without the fold."""
        P = np.empty((len(y), len(np.unique(y))))
        for rest, fold in StratifiedKFold(FOLDS).split(X, y):
            P[fold] = searched_svc(X[rest], y[rest], jobs).fit(X[rest], y[rest]).predict_proba(X[fold])
        return P


def out_of_sample(model: BaseEstimator, X: NDArray[Any], y: NDArray[Any], jobs: int) -> NDArray[Any]:
    """Return the probabilities of rows by the fits to the other nine folds."""
    return np.asarray(cross_val_predict(model, X, y, cv=FOLDS, method="predict_proba", n_jobs=jobs))


def searched_svc(X: NDArray[Any], y: NDArray[Any], jobs: int) -> CalibratedClassifierCV:
    """Return an SVC with the parameters that a grid of 5 x 5 points and five folds finds, to be calibrated by five folds."""
    search = GridSearchCV(*pipeline_and_grid("classes", points=5), cv=5, n_jobs=jobs).fit(X, y)
    return CalibratedClassifierCV(clone(search.best_estimator_), cv=5, ensemble=False)


class Suspicious(Table):
    """The table of docs/guide/uncertainty.md on wrong labels."""

    name = "suspicious"
    title = "finding 5 % of flipped labels: left-out rows of one fit, and cleanlab with ten folds"
    cases = (
        ("raetsch_ringnorm", 400),
        ("raetsch_twonorm", 400),
        ("raetsch_image", 400),
        ("breast_w", 400),
        ("ionosphere", 300),
    )
    splits = range(100, 110)
    block_names = ("suspicious",)

    @property
    def contenders(self) -> Sequence[Contender]:
        """Ours, the same machines with folds, and an SVC with folds."""
        machines = KernelLSSVC(), KernelLogisticRegression()
        ours = [LeftOutRows(name, machine) for name, machine in zip(OURS, machines, strict=True)]
        theirs = [Cleanlab(name, machine) for name, machine in zip(CLEANLAB, machines, strict=False)]
        return (
            *ours,
            *theirs,
            CleanlabSVC(CLEANLAB[2], machines[0]),
            CleanlabSearchedSVC(CLEANLAB[3], machines[0]),
        )

    def blocks(self, results: Results) -> dict[str, str]:
        """Return precision and seconds, and how many times fewer seconds the first one takes."""
        names, peers = results.contenders, (CLEANLAB[0], *CLEANLAB[2:])
        rows = [
            [problem.title, str(problem.rows), *(self._cell(results, problem, name) for name in names)]
            + [times(results.ratio(problem, name, OURS[0], "cpu_seconds")) for name in peers]
            for problem in results.problems
        ]
        faster = [f"{OURS[0]} is faster than {name}" for name in peers]
        return {"suspicious": self.text(results, CAPTION, grid(["set", "rows", *names, *faster], rows))}

    def _cell(self, results: Results, problem: SizedSet, name: str) -> str:
        """Return precision, by how much it differs from that of our first one, and seconds."""
        shown = number(results.mean(problem, name, "precision"), ".1f")
        taken = seconds(results.mean(problem, name, "cpu_seconds"))
        if name in OURS:
            return f"{shown} ({taken})"
        difference = results.difference(problem, OURS[0], name, "precision")
        return f"{shown} ({taken}); ours {difference.mean:+.1f} ± {difference.standard_error:.1f}"


CAPTION = (
    "5 % of the labels are flipped; average precision of the order in which rows are suspected, in % (processor seconds, tuning included). "
    "Ours are one fit and `suspicious_`. Cleanlab's `find_label_issues` gets the probabilities of ten folds: of the same machine, which "
    "tunes itself in every fold; of an SVC that was tuned once on all rows (5 x 5 points, five folds) and is calibrated in every fold, "
    "so that every row had a say in the parameters of its own model; and of an SVC that is tuned and calibrated in every fold. After the "
    f"semicolon: average precision of {OURS[0]} less this one's, with its standard error over splits."
)
