"""Choose among kernels, without a machine or with one."""

import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone
from sklearn.gaussian_process.kernels import Kernel
from sklearn.utils import check_array, check_consistent_length

from foldless.core.contracts import Box, Machine
from foldless.core.errors import CriterionWarning, Undefined, UnknownName
from foldless.core.linalg import check_symmetric
from foldless.core.magnitude import check_magnitude
from foldless.core.optional_imports import import_extra
from foldless.core.targets import as_columns
from foldless.core.text_columns import naming_text_columns
from foldless.criteria import LOO, Spectral
from foldless.criteria.base import Criterion
from foldless.grams.builders import Builder, ChunkedBuilder, DenseBuilder, NystromBuilder
from foldless.grams.landmarks import spread_landmarks
from foldless.kernels.precomputed import is_precomputed
from foldless.machines import LSSVM, NoMachine
from foldless.searches import LBFGS
from foldless.tuning.lookup import as_criterion, as_kernel
from foldless.tuning.objective import Objective
from foldless.tuning.regularisation import tune_regularisation
from foldless.tuning.select import advise
from foldless.tuning.squaring_builder import SquaringDenseBuilder, gaussian_width

GRAMS = ("auto", "dense", "chunked", "lowrank")
# Rows up to which gram="auto" stores the matrix.
STORED_MAX_ROWS = 8000
DEFAULT_LANDMARKS = 500
# The machine by which kernels of several families are compared. Named kernels have a mean diagonal near 1.
COMPARED_BY = LSSVM(100.0)

KernelLike: TypeAlias = str | Kernel
Candidates: TypeAlias = KernelLike | Sequence[KernelLike] | tuple[KernelLike, Mapping[str, Sequence[Any]]]


@dataclass(frozen=True)
class Candidate:
    """One row of the table.

    Attributes
    ----------
    kernel : Kernel
    value : float
        The criterion, a cost; ``inf`` where it is undefined.
    seconds : float
        Time of the evaluation.
    rank : int
        1 is best.
    note : str
        Why the criterion is undefined, or how the kernel was refined.
    """

    kernel: Kernel
    value: float
    seconds: float
    rank: int
    note: str = ""


@dataclass(frozen=True)
class KernelTable:
    """The candidates in the order they were given; it prints itself."""

    rows: tuple[Candidate, ...]

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[Candidate]:
        return iter(self.rows)

    def __getitem__(self, i: int) -> Candidate:
        return self.rows[i]

    def __repr__(self) -> str:
        width = max([6, *(len(str(row.kernel)) for row in self.rows)])
        lines = [f"{'kernel':<{width}}  {'value':>12}  {'seconds':>8}  rank"]
        for row in self.rows:
            numbers = f"{row.value:>12.6g}  {row.seconds:>8.3f}  {row.rank:>4}"
            lines.append(f"{row.kernel!s:<{width}}  {numbers}  {row.note}".rstrip())
        return "\n".join(lines)

    def to_frame(self) -> Any:
        """Return a pandas data frame."""
        return import_extra("pandas").DataFrame([vars(row) for row in self.rows])


@dataclass(frozen=True)
class KernelChoice:
    """The result of :func:`select_kernel`.

    Attributes
    ----------
    kernel : Kernel
        The best candidate, refined.
    value : float
        Its criterion, a cost.
    table : KernelTable
        Every candidate, and the refined one last.
    machine : Machine or None
        With its regularisation tuned for the chosen kernel, if a machine was given.
    """

    kernel: Kernel
    value: float
    table: KernelTable
    machine: Machine | None = None

    def __repr__(self) -> str:
        return f"{self.table}\n\nchosen: {self.kernel}"


def select_kernel(
    X: ArrayLike,
    y: ArrayLike,
    candidates: Candidates,
    criterion: str | Criterion | None = None,
    *,
    machine: Machine | None = None,
    refine: bool = True,
    gram: str = "auto",
    chunk: int | None = None,
    n_components: int | None = None,
    max_evaluations: int = 50,
    random_state: int | None = None,
    watch: Callable[[Candidate], None] | None = None,
) -> KernelChoice:
    """Choose one of several kernels by a criterion, in O(n^2) for each where the criterion allows it.

    Parameters
    ----------
    X : array or sparse matrix of shape (n, d)
        Points, or the Gram matrix (n, n) for the candidate ``"precomputed"``.
    y : array of shape (n,)
        Class labels, or numbers for the criteria that read them.
    candidates : Kernel, str, list of them, or pair (kernel, grid)
        Objects of ``sklearn.gaussian_process.kernels``, names such as ``"rbf"``, or one kernel and a dict of parameter
        values, all combinations of which are tried: ``(RBF(), {"length_scale": [0.1, 1, 10]})``.
    criterion : str or Criterion, default=None
        ``None`` is ``"spectral"`` if all candidates are of one family, such as Gaussians. It cannot compare families: a
        linear kernel has the largest part of its trace in few directions and wins too often. Candidates of several families
        are compared by ``"loo"`` of a least-squares machine, in O(n^3), which needs a stored or low-rank matrix.
        ``"spectral"``, ``"alignment"``, ``"centered-alignment"``, ``"fsm"`` and ``"eigenvalue-ratio"`` need no machine;
        any other reads ``machine``.
    machine : Machine, optional
        Its regularisation is tuned (by leave-one-out) for the chosen kernel if the criterion does not read it.
    refine : bool, default=True
        Whether a descent improves the free parameters of the best candidate, within their bounds.
    gram : {"auto", "dense", "chunked", "lowrank"}, default="auto"
        ``"chunked"`` never stores the matrix: any n in bounded memory, for criteria made of products. ``"auto"`` does
        so for more than 8000 rows.
    chunk : int, optional
        Rows per strip of a chunked Gram.
    n_components : int, optional
        Landmarks of a low-rank Gram.
    max_evaluations : int, default=50
        Budget of the refinement.
    random_state : int, optional
        Draws the landmarks.
    watch : callable, optional
        Called with each :class:`Candidate` as it is evaluated, before ranks are known.

    Returns
    -------
    choice : KernelChoice
        With ``kernel``, ``value``, ``table`` and ``machine``.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from sklearn.gaussian_process.kernels import RBF
    >>> from foldless import select_kernel
    >>> X, y = make_moons(80, noise=0.1, random_state=0)
    >>> choice = select_kernel(X, y, (RBF(), {"length_scale": [0.01, 0.1, 1, 10]}), refine=False)
    >>> choice.kernel
    RBF(length_scale=1)
    """
    with naming_text_columns(X):
        X = check_array(X, accept_sparse="csr", dtype=float)
    check_magnitude(X, "X")
    check_consistent_length(X, y)
    kernels, Y = expand(candidates, X), as_columns(y)
    builder = _builder(X, gram, chunk, n_components, np.random.default_rng(random_state))
    by_default = criterion is None
    criterion = _default_criterion(kernels, builder) if criterion is None else as_criterion(criterion)
    read_machine = NoMachine() if criterion.ignores_machine else COMPARED_BY if by_default else machine
    if read_machine is None:
        raise ValueError(
            f"{criterion.name} reads a fitted machine: pass one, for instance machine=machines.LSSVM()."
        )
    objective = Objective(kernels[0], read_machine, criterion, builder, Y, tune_machine=False)
    rows = _evaluate_all(kernels, objective, watch)
    best = min(rows, key=lambda row: row.value)
    if not np.isfinite(best.value):
        raise Undefined(f"{criterion.name} is defined for none of the candidates: {rows[0].note}")
    if refine and len(best.kernel.theta):
        rows.append(_refined(replace(objective, kernel=best.kernel), max_evaluations))
        best = min(rows, key=lambda row: row.value)
    solution = replace(objective, kernel=best.kernel).solve(best.kernel.theta)[2]
    advise(criterion, solution)
    if (by_default or criterion.ignores_machine) and machine is not None:
        machine, _ = tune_regularisation(machine, solution.gram, Y)
    return KernelChoice(best.kernel, best.value, KernelTable(tuple(_ranked(rows))), machine)


def _default_criterion(kernels: Sequence[Kernel], builder: Builder) -> Criterion:
    """Return the spectral measure for one family, and leave-one-out for several, if the matrix can be factored."""
    if len({_family(kernel) for kernel in kernels}) == 1:
        return Spectral()
    if isinstance(builder, ChunkedBuilder):
        message = (
            "the spectral measure compares kernels of several families, of which it prefers the linear one too often: "
            "without the matrix in memory leave-one-out cannot. Give candidates of one family, or gram='lowrank'."
        )
        warnings.warn(CriterionWarning(message), stacklevel=3)
        return Spectral()
    return LOO()


def _family(kernel: Kernel) -> frozenset[tuple[str, type]]:
    """Return the types of a kernel and of its parts; kernels that differ in numbers alone are of one family."""
    parts = {name: type(value) for name, value in kernel.get_params().items() if isinstance(value, Kernel)}
    return frozenset({"": type(kernel), **parts}.items())


def expand(candidates: Candidates, X: Any) -> list[Kernel]:
    """Return the list of kernels that ``candidates`` stands for."""
    if isinstance(candidates, tuple) and len(candidates) == 2 and isinstance(candidates[1], dict):
        return kernel_grid(as_kernel(candidates[0], X), **candidates[1])
    listed = [candidates] if isinstance(candidates, (str, Kernel)) else candidates
    kernels = [as_kernel(candidate, X) for candidate in listed]
    if not kernels:
        raise ValueError("candidates must name at least one kernel, got an empty list.")
    if any(is_precomputed(kernel) for kernel in kernels):
        check_symmetric(X, "the precomputed Gram matrix")
    return kernels


def kernel_grid(kernel: Kernel, **values: Sequence[Any]) -> list[Kernel]:
    """Return copies of ``kernel`` with every combination of the given parameter values.

    Examples
    --------
    >>> from sklearn.gaussian_process.kernels import RBF
    >>> kernel_grid(RBF(), length_scale=[1, 2])
    [RBF(length_scale=1), RBF(length_scale=2)]
    """
    combinations = product(*values.values())
    return [clone(kernel).set_params(**dict(zip(values, combination))) for combination in combinations]


def _builder(
    X: Any, gram: str, chunk: int | None, n_components: int | None, rng: np.random.Generator
) -> Builder:
    n = X.shape[0]
    if gram not in GRAMS:
        raise UnknownName("gram", gram, GRAMS)
    if gram == "chunked" or (gram == "auto" and n > STORED_MAX_ROWS):
        return ChunkedBuilder(X, chunk)
    if gram == "lowrank":
        return NystromBuilder(X, spread_landmarks(X, min(n, n_components or DEFAULT_LANDMARKS), rng))
    return DenseBuilder(X)


def _evaluate_all(
    kernels: Sequence[Kernel], objective: Objective, watch: Callable[[Candidate], None] | None
) -> list[Candidate]:
    """Return a row per kernel in the order given; Gaussians are evaluated from wide to narrow, to be squared."""
    if isinstance(objective.builder, DenseBuilder):
        objective = replace(objective, builder=SquaringDenseBuilder(objective.builder))
    rows: dict[int, Candidate] = {}
    for i in sorted(range(len(kernels)), key=lambda i: -(gaussian_width(kernels[i]) or 0.0)):
        rows[i] = _evaluated(replace(objective, kernel=kernels[i]))
        if watch is not None:
            watch(rows[i])
    return [rows[i] for i in range(len(kernels))]


def _evaluated(objective: Objective) -> Candidate:
    """Return the row of the objective's kernel as it is."""
    begun = time.perf_counter()
    evaluation = objective(objective.kernel.theta)
    return Candidate(
        objective.kernel, float(evaluation.value), time.perf_counter() - begun, 0, evaluation.note
    )


def _refined(objective: Objective, max_evaluations: int) -> Candidate:
    """Return the row of the objective's kernel after a descent."""
    begun = time.perf_counter()
    box = Box(*objective.kernel.bounds.T)
    outcome = LBFGS()(objective, box, [box.clip(objective.kernel.theta)], max_evaluations=max_evaluations)
    kernel = objective.kernel.clone_with_theta(outcome.best.theta)
    note = f"refined in {len(outcome.trace)} evaluations"
    return Candidate(kernel, outcome.best.value, time.perf_counter() - begun, 0, note)


def _ranked(rows: Sequence[Candidate]) -> list[Candidate]:
    order = np.argsort(np.argsort([row.value for row in rows], kind="stable"), kind="stable")
    return [replace(row, rank=int(rank) + 1) for row, rank in zip(rows, order)]
