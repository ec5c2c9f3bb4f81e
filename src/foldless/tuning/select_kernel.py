"""Choose among kernels, without a machine or with one."""

import time
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.gaussian_process.kernels import RBF, Kernel
from sklearn.utils import check_array, check_consistent_length

from foldless.core.contracts import Box
from foldless.core.errors import NotPositiveDefinite, Undefined, UnknownName
from foldless.core.linalg import check_symmetric
from foldless.core.optional_imports import import_extra
from foldless.core.targets import as_columns
from foldless.grams import DenseGram
from foldless.grams.builders import ChunkedBuilder, DenseBuilder, NystromBuilder
from foldless.grams.landmarks import spread_landmarks
from foldless.kernels.precomputed import is_precomputed
from foldless.machines import NoMachine
from foldless.searches import LBFGS
from foldless.tuning.lookup import as_criterion, as_kernel
from foldless.tuning.objective import Objective
from foldless.tuning.regularisation import tune_regularisation
from foldless.tuning.select import advise

STORED = 8000  # rows up to which gram="auto" stores the matrix
GRAMS = ("auto", "dense", "chunked", "lowrank")
LANDMARKS = 500
SQRT2 = np.sqrt(2.0)
MAX_SQUARINGS = 4  # products in a row before the next exponential


@dataclass(frozen=True)
class Candidate:
    """One row of the table: a kernel, its cost, the seconds it took, its rank (1 is best) and what was remarkable."""

    kernel: Kernel
    value: float
    seconds: float
    rank: int
    note: str = ""


@dataclass(frozen=True)
class KernelTable:
    """The candidates in the order they were given; it prints itself."""

    rows: tuple[Candidate, ...]

    def __len__(self):
        return len(self.rows)

    def __iter__(self):
        return iter(self.rows)

    def __getitem__(self, i):
        return self.rows[i]

    def __str__(self):
        width = max([6, *(len(str(row.kernel)) for row in self.rows)])
        lines = [f"{'kernel':<{width}}  {'value':>12}  {'seconds':>8}  rank"]
        for r in self.rows:
            lines.append(
                f"{r.kernel!s:<{width}}  {r.value:>12.6g}  {r.seconds:>8.3f}  {r.rank:>4}  {r.note}".rstrip()
            )
        return "\n".join(lines)

    def to_frame(self):
        """Return a pandas data frame."""
        return import_extra("pandas").DataFrame([vars(row) for row in self.rows])


@dataclass(frozen=True)
class KernelChoice:
    """What :func:`select_kernel` found.

    Attributes
    ----------
    kernel : Kernel
        The winner, refined.
    value : float
        Its criterion, a cost.
    table : KernelTable
        Every candidate, and the refined winner last.
    machine : Machine or None
        With its regularisation tuned for the winner, if a machine was given.
    """

    kernel: Kernel
    value: float
    table: KernelTable
    machine: Any = None

    def __str__(self):
        return f"{self.table}\n\nchosen: {self.kernel}"


def select_kernel(
    X,
    y,
    candidates,
    criterion="spectral",
    *,
    machine=None,
    refine=True,
    gram="auto",
    chunk=None,
    n_components=None,
    max_evaluations=50,
    random_state=None,
    watch=None,
):
    """Choose one of several kernels by a criterion, in O(n^2) for each where the criterion allows it.

    Parameters
    ----------
    X : array or sparse matrix of shape (n, d)
        Points, or the Gram matrix (n, n) for the candidate ``"precomputed"``.
    y : array of shape (n,)
        Class labels, or numbers for the criteria that read them.
    candidates : Kernel, str, list of them, or pair (kernel, grid)
        Objects of ``sklearn.gaussian_process.kernels``, names such as ``"rbf"``, or one kernel and a dict of parameter
        values of which all combinations are tried: ``(RBF(), {"length_scale": [0.1, 1, 10]})``.
    criterion : str or Criterion, default="spectral"
        ``"spectral"``, ``"alignment"``, ``"centered-alignment"``, ``"fsm"`` and ``"eigenvalue-ratio"`` need no machine;
        any other reads ``machine``.
    machine : Machine, optional
        Its regularisation is tuned (by leave-one-out) for the chosen kernel if the criterion is blind to it.
    refine : bool, default=True
        Whether the winner's free parameters descend from where they stand, within their bounds.
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
        Called with each :class:`Candidate` as it is measured, before ranks are known.

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
    X = check_array(X, accept_sparse="csr", dtype=float)
    check_consistent_length(X, y)
    kernels, Y, criterion = expand(candidates, X), as_columns(y), as_criterion(criterion)
    if not criterion.ignores_machine and machine is None:
        raise ValueError(
            f"{criterion.name} reads a fitted machine: pass one, for instance machine=machines.LSSVM()."
        )
    looker = NoMachine() if criterion.ignores_machine else machine
    builder = _representation(X, gram, chunk, n_components, np.random.default_rng(random_state))
    rows = _look_at_all(
        kernels,
        lambda kernel, builder: Objective(kernel, looker, criterion, builder, Y, False),
        builder,
        watch,
    )
    if not np.isfinite(min(row.value for row in rows)):
        raise Undefined(f"{criterion.name} is defined for none of the candidates: {rows[0].note}")
    best = min(rows, key=lambda row: row.value)
    if refine and len(best.kernel.theta):
        rows.append(
            _refine(Objective(best.kernel, looker, criterion, builder, Y, False), best, max_evaluations)
        )
        best = min(rows, key=lambda row: row.value)
    problem = Objective(best.kernel, looker, criterion, builder, Y, False)
    solution = problem.solve(best.kernel.theta)[2]
    advise(criterion, solution)
    if criterion.ignores_machine and machine is not None:
        machine, _ = tune_regularisation(machine, solution.gram, Y)
    return KernelChoice(best.kernel, best.value, KernelTable(tuple(_ranked(rows))), machine)


def expand(candidates, X):
    """Return the list of kernels that ``candidates`` stands for."""
    if isinstance(candidates, tuple) and len(candidates) == 2 and isinstance(candidates[1], dict):
        return kernel_grid(as_kernel(candidates[0], X), **candidates[1])
    if isinstance(candidates, (str, Kernel)):
        candidates = [candidates]
    kernels = [as_kernel(candidate, X) for candidate in candidates]
    if not kernels:
        raise ValueError("candidates must name at least one kernel, got an empty list.")
    if any(is_precomputed(kernel) for kernel in kernels):
        check_symmetric(X, "the precomputed Gram matrix")
    return kernels


def kernel_grid(kernel, **values):
    """Return copies of ``kernel`` with every combination of the given parameter values.

    Examples
    --------
    >>> from sklearn.gaussian_process.kernels import RBF
    >>> kernel_grid(RBF(), length_scale=[1, 2])
    [RBF(length_scale=1), RBF(length_scale=2)]
    """
    combinations = product(*values.values())
    return [clone(kernel).set_params(**dict(zip(values, combination))) for combination in combinations]


def _representation(X, gram, chunk, n_components, rng):
    n = X.shape[0]
    if gram not in GRAMS:
        raise UnknownName("gram", gram, GRAMS)
    if gram == "chunked" or (gram == "auto" and n > STORED):
        return ChunkedBuilder(X, chunk)
    if gram == "lowrank":
        return NystromBuilder(X, spread_landmarks(X, min(n, n_components or LANDMARKS), rng))
    return DenseBuilder(X)


def _look_at_all(kernels, problem, builder, watch):
    """Return a row per kernel in the order given; Gaussians are looked at from wide to narrow, see Ladder."""
    ladder = SquaringDenseBuilder(builder) if isinstance(builder, DenseBuilder) else builder
    rows = [None] * len(kernels)
    for i in sorted(range(len(kernels)), key=lambda i: -(_width(kernels[i]) or 0.0)):
        rows[i] = _look(problem(kernels[i], ladder), watch)
    return rows


def _width(kernel):
    """Length scale of a plain Gaussian kernel, else None."""
    plain = type(kernel) is RBF and np.ndim(kernel.length_scale) == 0
    return float(kernel.length_scale) if plain else None


class SquaringDenseBuilder:
    r"""The whole matrix, with a product for an exponential: :math:`K(\ell / \sqrt2) = K(\ell) \circ K(\ell)` for Gaussians.

    Down a grid of widths most matrices are squares of the one before. Every ``MAX_SQUARINGS`` products the exponential is
    taken again, so that rounding never adds up to more than a few units in the last place. Products overwrite each
    other: a Gram is good until the next one is asked for.
    """

    def __init__(self, builder):
        self.builder, self.width, self.K, self.chain = builder, None, None, 0

    def gram(self, kernel):
        """Return the Gram of ``kernel``."""
        width = _width(kernel)
        if (
            self.chain < MAX_SQUARINGS
            and width
            and self.width
            and np.isclose(self.width, SQRT2 * width, rtol=1e-14, atol=0)
        ):
            K, chain = np.multiply(self.K, self.K, out=self.K if self.chain else None), self.chain + 1
        else:
            K, chain = self.builder.gram(kernel).K, 0
        self.width, self.K, self.chain = width, K, chain
        return DenseGram(K)


def _look(problem, watch):
    begun = time.perf_counter()
    try:
        value, note = float(problem.criterion(problem.solve(problem.kernel.theta)[2]).value), ""
    except (Undefined, NotPositiveDefinite) as error:
        value, note = np.inf, str(error)
    row = Candidate(problem.kernel, value, time.perf_counter() - begun, 0, note)
    if watch is not None:
        watch(row)
    return row


def _refine(problem, best, max_evaluations):
    """Descend from the winner; its own row stays as it was."""
    begun = time.perf_counter()
    box = Box(*best.kernel.bounds.T)
    start = box.clip(best.kernel.theta)
    outcome = LBFGS()(problem, box, [start], max_evaluations=max_evaluations)
    kernel = best.kernel.clone_with_theta(outcome.best.theta)
    note = f"refined in {len(outcome.trace)} evaluations"
    return Candidate(kernel, outcome.best.value, time.perf_counter() - begun, 0, note)


def _ranked(rows):
    order = np.argsort(np.argsort([row.value for row in rows], kind="stable"), kind="stable")
    return [replace(row, rank=int(rank) + 1) for row, rank in zip(rows, order)]
