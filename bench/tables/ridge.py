"""Kernel ridge regression: a path of ridge parameters, width and ridge parameter together, a length scale per input."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel
from sklearn.kernel_ridge import KernelRidge
from sklearn.model_selection import GridSearchCV
from threadpoolctl import threadpool_limits

from bench.contenders import RIDGE, Contender, Foldless, GaussianProcess, GridSearch, Measurement
from bench.contenders.base import EstimatorContender
from bench.contenders.grids import ALPHA_BOUNDS, axis
from bench.markdown import grid, number, seconds, times
from bench.measure import timed
from bench.problems import Split, Task
from bench.results import Results, SizedSet
from bench.tables.base import Table
from foldless import KernelRidgeRegressor
from foldless.criteria import LOO
from foldless.grams import DenseGram
from foldless.kernels import gram
from foldless.machines import Ridge

ALPHAS = axis(ALPHA_BOUNDS, 50)
SMOOTH = ("smooth-1", "smooth-2", "smooth-3", "smooth-8")
PROCESS = "GaussianProcessRegressor"


def width(n_inputs: int) -> float:
    """Return the width of the kernel whose ridge parameter is chosen."""
    return 1.0 if n_inputs < 3 else 2.0


@dataclass(frozen=True)
class RidgePath(Contender):
    """One kernel matrix, one decomposition, leave-one-out for every ridge parameter, the final fit."""

    name: str = "leave-one-out path"
    tasks = ("numbers",)
    details: ClassVar[tuple[str, ...]] = ("alpha", "rank")

    def run(self, split: Split, task: Task, jobs: int) -> Measurement:
        """Measure the path, and keep the chosen parameter and the rank of the kernel matrix."""
        (best, fit), clock = timed(lambda: self._best(split))
        chosen, rank = float(ALPHAS[best]), len(fit.smoother.basis.s)
        return Measurement(*clock, evaluations=len(ALPHAS), details={"alpha": chosen, "rank": rank})

    def _best(self, split: Split) -> tuple[int, Any]:
        kernel = RBF(width(split.X.shape[1]), "fixed")
        with threadpool_limits(1):
            K = DenseGram(gram(kernel, split.X), semidefinite=True)
            fits = Ridge().path(K, split.y[:, None], list(ALPHAS))
            best = int(np.argmin([LOO()(fit).value for fit in fits]))
            # The coefficients are computed when they are asked for: here.
            _ = fits[best].alpha
        return best, fits[best]


@dataclass(frozen=True)
class RidgeGrid(Contender):
    """``GridSearchCV`` over the same ridge parameters with five folds."""

    name: str = "GridSearchCV"
    tasks = ("numbers",)
    details: ClassVar[tuple[str, ...]] = ("alpha",)

    def run(self, split: Split, task: Task, jobs: int) -> Measurement:
        """Measure the search for one width."""
        model = KernelRidge(kernel="rbf", gamma=1 / (2 * width(split.X.shape[1]) ** 2))
        search = GridSearchCV(model, {"alpha": ALPHAS}, cv=5, n_jobs=jobs, scoring="neg_mean_squared_error")
        _, clock = timed(lambda: search.fit(split.X, split.y))
        chosen = float(search.best_params_["alpha"])
        return Measurement(*clock, evaluations=5 * len(ALPHAS), details={"alpha": chosen})


class RidgePathTable(Table):
    """How many times as fast one decomposition is as folds, by the rank of the kernel matrix."""

    name = "ridge_path"
    title = "50 ridge parameters by leave-one-out against GridSearchCV"
    cases = tuple((name, rows) for name in SMOOTH for rows in (500, 1000, 2000, 4000))
    splits = range(3)
    block_names = ("ridge_path",)

    @property
    def contenders(self) -> Sequence[Contender]:
        """The path and the grid."""
        return RidgePath(), RidgeGrid()

    def blocks(self, results: Results) -> dict[str, str]:
        """Return the ratios by inputs and rows."""
        sizes = sorted({problem.rows for problem in results.problems})
        names = list(dict.fromkeys(problem.set for problem in results.problems))
        rows = [
            [self._title(results, name), *(self._cell(results, name, n) for n in sizes)] for name in names
        ]
        header = ["inputs", *(f"n = {n}" for n in sizes)]
        caption = "Times as fast as the grid, geometric mean over the splits."
        return {"ridge_path": self.text(results, caption, grid(header, rows))}

    def _cell(self, results: Results, name: str, rows: int) -> str:
        return times(results.ratio(SizedSet(name, rows), "GridSearchCV", "leave-one-out path"))

    def _title(self, results: Results, name: str) -> str:
        found = [results.mean(p, "leave-one-out path", "rank") for p in results.problems if p.set == name]
        low, high = int(min(found)), int(max(found))
        return f"{name.rpartition('-')[2]} (rank {low}{f' to {high}' if high > low else ''})"


class RidgeJoint(Table):
    """Width and ridge parameter together."""

    name = "ridge_joint"
    title = "width and ridge parameter by leave-one-out and evidence, against a grid and a Gaussian process"
    cases = tuple((name, rows) for name in ("smooth-2", "smooth-8") for rows in (500, 1000, 2000))
    splits = range(3)
    block_names = ("ridge_joint",)

    @property
    def contenders(self) -> Sequence[Contender]:
        """Two criteria of ours, a grid with ten folds, scikit-learn's evidence."""
        evidence = Foldless("evidence", KernelRidgeRegressor(criterion="evidence"))
        return Foldless("loo", RIDGE.estimator), evidence, GridSearch(), GaussianProcess(PROCESS)

    def blocks(self, results: Results) -> dict[str, str]:
        """Return seconds over those of the first, and the error against the truth."""
        rows = [
            [f"{problem.rows}, {problem.set.rpartition('-')[2]}"]
            + [self._cell(results, problem, name) for name in results.contenders]
            for problem in results.problems
        ]
        caption = "Seconds over those of `loo`; root mean squared error against the noiseless function."
        table = grid(["rows, inputs", *results.contenders], rows)
        return {"ridge_joint": self.text(results, caption, table)}

    def _cell(self, results: Results, problem: SizedSet, name: str) -> str:
        error = number(results.mean(problem, name, "error"), ".3f")
        return f"{times(results.ratio(problem, name, 'loo'))}, {error}" if error else ""


def wide_kernel(n_inputs: int) -> RBF:
    """Return a kernel with a length scale per input."""
    return RBF(np.full(n_inputs, np.sqrt(n_inputs)), (1e-2, 1e3))


@dataclass(frozen=True)
class ProcessPerInput(EstimatorContender):
    """scikit-learn's Gaussian process with a length scale per input."""

    name: str = PROCESS
    tasks = ("numbers",)
    n_inputs: int = 20
    # The kernel wants so many inputs, which the rows of the warm-up do not have.
    warms_up: ClassVar[bool] = False

    def build(self, task: Task, jobs: int) -> GaussianProcessRegressor:
        """Return the process."""
        kernel = ConstantKernel(1.0) * wide_kernel(self.n_inputs) + WhiteKernel(0.1)
        return GaussianProcessRegressor(kernel, normalize_y=True)


@dataclass(frozen=True)
class DensePerInput(Foldless):
    """The same criterion on the same dense matrix, by our gradient."""

    warms_up: ClassVar[bool] = False


class RidgePerInput(Table):
    """A length scale for each of twenty inputs: seconds and memory, each fit in a process of its own."""

    name = "ridge_ard"
    title = "a length scale for each of twenty inputs by evidence, against GaussianProcessRegressor"
    cases = (("four-of-twenty", 2000),)
    splits = range(3)
    block_names = ("ridge_ard",)
    isolated = True

    @property
    def contenders(self) -> Sequence[Contender]:
        """Ours on the whole matrix, ours as it comes, scikit-learn's."""
        dense = KernelRidgeRegressor(wide_kernel(20), criterion="evidence", gram="dense")
        usual = KernelRidgeRegressor("rbf-ard", criterion="evidence")
        return (
            DensePerInput('KernelRidgeRegressor, gram="dense"', dense),
            Foldless('KernelRidgeRegressor("rbf-ard")', usual),
            ProcessPerInput(),
        )

    def blocks(self, results: Results) -> dict[str, str]:
        """Return seconds, memory and error."""
        rows = [
            self._row(results, problem, name) for problem in results.problems for name in results.contenders
        ]
        header = ["", "rows", "seconds", "megabytes", "error", "times as fast", "times less memory"]
        caption = "Root mean squared error against the noiseless function; memory above that of the imports."
        return {"ridge_ard": self.text(results, caption, grid(header, rows))}

    def _row(self, results: Results, problem: SizedSet, name: str) -> list[str]:
        mean = partial(results.mean, problem, name)
        ratios = [times(results.ratio(problem, PROCESS, name, what)) for what in ("seconds", "megabytes")]
        measured = [seconds(mean("seconds")), number(mean("megabytes"), ".0f"), number(mean("error"), ".3f")]
        return [f"`{name}`", str(problem.rows), *measured, *(ratios if name != PROCESS else ["", ""])]
