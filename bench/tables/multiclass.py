"""More than two classes: one-versus-rest and multinomial kernel logistic regression beside a Gaussian process."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from bench.contenders import LOGISTIC, Contender, Foldless, GaussianProcess
from bench.contenders.base import Details, EstimatorContender
from bench.markdown import grid, number, times
from bench.problems import Split, Task
from bench.results import Results, SizedSet
from bench.tables.base import Table
from foldless import KernelLogisticRegression
from foldless.inspection.metrics import target_information

FIRST = "one-versus-rest, one kernel"


@dataclass(frozen=True)
class Informative(EstimatorContender):
    """A classifier whose probabilities are judged by the bits that they give about a label."""

    tasks = ("classes",)
    details: ClassVar[tuple[str, ...]] = ("bits", "classes")

    def measure_details(self, model: Any, split: Split) -> Details:
        """Return the bits, and the number of classes."""
        known = np.isin(split.y_test, model.classes_)
        proba = model.predict_proba(split.X_test[known])
        bits = target_information(split.y_test[known], proba, model.classes_)
        return {"bits": bits, "classes": len(model.classes_)}


@dataclass(frozen=True)
class OneKernel(Informative, Foldless):
    """Kernel logistic regression with one kernel for all classes."""


@dataclass(frozen=True)
class OwnKernels(Informative):
    """Kernel logistic regression with a kernel for every class."""

    name: str = "one-versus-rest, a kernel each"

    def build(self, task: Task, jobs: int) -> Any:
        """Return as many machines as there are classes, behind a scaler."""
        return make_pipeline(StandardScaler(), OneVsRestClassifier(KernelLogisticRegression(), n_jobs=jobs))


@dataclass(frozen=True)
class Process(Informative, GaussianProcess):
    """scikit-learn's Gaussian process."""


class Multiclass(Table):
    """The table of docs/reproduction/cawley.md."""

    name = "multiclass"
    title = "three ways to several classes, against a Gaussian process: error and bits"
    cases = (("glass", None), ("usps", 1000), ("letter", 1000))
    splits = range(80, 85)
    block_names = ("multiclass",)

    @property
    def contenders(self) -> Sequence[Contender]:
        """One kernel for all classes, one for each, one softmax machine, a Gaussian process."""
        softmax = KernelLogisticRegression(multi_class="multinomial")
        first = OneKernel(FIRST, LOGISTIC.estimator)
        return first, OwnKernels(), OneKernel("multinomial", softmax), Process("GaussianProcessClassifier")

    def blocks(self, results: Results) -> dict[str, str]:
        """Return a line for every set and contender."""
        header = ["set", "rows", "classes", "contender", "error (%)", "bits", "seconds over the first"]
        rows = [
            self._row(results, problem, name)
            for problem in results.problems
            for name in results.contenders
            if results.of(problem, name)
        ]
        caption = "Mean over the splits ± standard error."
        return {"multiclass": self.text(results, caption, grid(header, rows))}

    def _row(self, results: Results, problem: SizedSet, name: str) -> list[str]:
        return [
            problem.title,
            str(problem.rows),
            number(results.mean(problem, name, "classes"), ".0f"),
            name,
            mean_and_doubt(results.values(problem, name, "error"), ".2f"),
            mean_and_doubt(results.values(problem, name, "bits"), ".3f"),
            times(results.ratio(problem, name, FIRST)),
        ]


def mean_and_doubt(values: NDArray[Any], form: str) -> str:
    """Return a mean with its standard error; the error only if there are two values or more."""
    if len(values) < 2:
        return number(float(values[0]), form) if len(values) else ""
    return f"{np.mean(values):{form}} ± {np.std(values, ddof=1) / np.sqrt(len(values)):{form}}"
