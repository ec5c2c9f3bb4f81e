r"""The last fit: in which form all rows are fitted once the parameters are chosen.

=========  ==================================  ====================  ==========================================
form       model                               operations of a fit   right for
=========  ==================================  ====================  ==========================================
whole      exact                               :math:`n^3 / 3`       up to some thousand rows
landmarks  global, of rank m                   :math:`n m^2`         smooth functions, wide kernels
cells      local, exact within a cell of L     :math:`n L^2`         narrow kernels and many rows
=========  ==================================  ====================  ==========================================

With ``gram="auto"`` landmarks are tried first where there are more than a thousand rows. They are as good as the whole
matrix if, at the chosen parameters,

.. math:: e / n = \frac1n \sum_i w_i (K_{ii} - \tilde K_{ii})  \tag{1}

is negligible: e bounds what the approximation changes in the effective number of parameters (w are the precisions of the
solution, :math:`C p (1 - p)` for logistic regression). With the precisions of one fit (1) is known for more landmarks before
they are fitted, and no more are chosen than make it negligible. Otherwise the whole matrix is used if it fits, and beyond that the
form with the lower mean loss of left-out rows. Every form gives such a loss for every row. Landmarks that lose to exact
fits of some cells, by more than ever more landmarks are likely to gain, are not tried further if all cells are better too.
A form that clearly loses to one through fewer landmarks is left for that one.

A time budget covers this fit too: forms that would take longer than what is left of it are not tried.
"""

import warnings
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.gaussian_process.kernels import Kernel

from foldless.core.contracts import Gram, Machine, Matrix, Reading, Vector
from foldless.core.errors import (
    LandmarkWarning,
    SearchWarning,
    Undefined,
    UnknownName,
)
from foldless.core.gram import Rows
from foldless.core.memo import cached_property
from foldless.criteria.base import Criterion
from foldless.criteria.left_out import LeftOutLosses
from foldless.grams.builders import DenseBuilder, NystromBuilder
from foldless.grams.cells import CellTree, grow_cells
from foldless.grams.dask import DaskBuilder
from foldless.grams.landmarks import pivoted_landmarks, spread_landmarks, uniform_landmarks
from foldless.kernels.algebra import has_noise
from foldless.kernels.evaluate import diagonal
from foldless.kernels.pairs import Points
from foldless.kernels.precomputed import is_precomputed
from foldless.machines.coefficients import expand
from foldless.tuning.cellwise import fit_cell, fit_cells, fit_some_cells, groups_of_cells, losses_in_groups
from foldless.tuning.forms import FittedForm, ScoredForm, loses

GRAMS = ("auto", "dense", "lowrank", "nystrom", "cells", "dask")
# Rows (times functions of one linear system) up to which the whole matrix is used without asking, and at all.
SMALL_WHOLE_MAX_ROWS, WHOLE_MAX_ROWS = 1000, 5000
FIRST_LANDMARKS, LANDMARK_GROWTH = 100, 3
# Rows for each landmark, or more, where the whole matrix may be used instead.
WHOLE_ROWS_PER_LANDMARK = 6
# Entries of the array of rows times landmarks, and operations n m^2 of a pass over the rows, that a fit may take. From
# LANDMARK_STEADY_ROWS rows on the number of landmarks stays, so that more rows do not make the fit coarser.
LANDMARK_MAX_ENTRIES, LANDMARK_MAX_OPERATIONS, LANDMARK_STEADY_ROWS = 4e8, 3e10, 1e5
# Landmarks that a table which is elsewhere may have, however many rows there are.
REMOTE_LANDMARKS = 400
# Operations beyond which the next number of landmarks is not tried before cells are.
TRIAL_MAX_OPERATIONS = 5e9
CELL_ROWS = 1500
# Cells that are fitted to see whether landmarks can compete.
N_TRIAL_CELLS = 4
# Of one pass over the rows, if a fit makes about ten of them, on a slow core: time budgets are kept with a margin.
OPERATIONS_PER_SECOND = 5e8
# e / n of eq. (1) below which landmarks are as good as the whole matrix. Where it is 0.01 to 0.03, three times as many landmarks still lower the
# left-out loss by up to 1 %, on three of nine tables of 2900 to 25 000 rows.
NEGLIGIBLE_GAP = 0.01
# The same, with the precisions of a fit through fewer landmarks, beyond which more of them are not tried. A better fit has lower precisions:
# for logistic regression on the image table the gap of 300 landmarks was 1.7 times smaller than the one foretold by 100, for least squares equal.
PROMISING_GAP = 3 * NEGLIGIBLE_GAP
# The same, at which no more landmarks are chosen: the fit through them should not miss the negligible gap by a little.
SUFFICIENT_GAP = 0.8 * NEGLIGIBLE_GAP
# Beyond this gap a fit to all rows begins at the outputs of small blocks of rows rather than at those through landmarks: on ringnorm with
# 4000 rows, where it was 8.8, logistic regression then took 7 factorisations in place of 12.
COARSE_GAP = 0.5
# Classes that are fitted through landmarks to see whether it pays for all of them, where those are more than twice as many.
N_TRIAL_CLASSES = 3


@dataclass(frozen=True, eq=False)
class LastFit:
    """Fits all rows in the form that suits them.

    Parameters
    ----------
    X : array or sparse matrix of shape (n, d)
    Y : array of shape (n, k)
    criterion : Criterion
    gram : {"auto", "dense", "lowrank", "nystrom", "cells", "dask"}
    n_components : int, optional
        Number of landmarks, if the user gave it.
    given_landmarks : array or sparse matrix of shape (m, d), optional
        The landmarks, if the user gave them.
    cell_size : int, optional
        Largest number of rows of a cell, if the user gave it.
    seed : int, default=0
        Draws the landmarks.
    n_jobs : int, optional
        Cells fitted side by side.
    seconds : float, optional
        What is left of a time budget.
    total_rows : int, optional
        Rows of the table that ``X`` is a sample of: the form is the one that suits as many, as far as these rows can tell.
    correction : Criterion, optional
        The criterion as it was corrected while searching. A fit of all rows together goes on from it where it misleads there.
    """

    X: Any
    Y: Matrix
    criterion: Criterion
    gram: str = "auto"
    n_components: int | None = None
    given_landmarks: Any = None
    cell_size: int | None = None
    seed: int = 0
    n_jobs: int | None = None
    seconds: float | None = None
    total_rows: int | None = None
    correction: Criterion | None = None

    def __post_init__(self) -> None:
        if self.gram not in GRAMS:
            raise UnknownName("gram", self.gram, GRAMS)
        if self.given_landmarks is not None:
            self._check_landmarks()
        if self.cell_size is not None and self.gram not in ("auto", "cells"):
            raise ValueError(
                f"cell_size={self.cell_size} is for gram='cells' or 'auto'; gram={self.gram!r} has no cells."
            )
        if self.n_components is not None and self.n_components > self.n:
            message = (
                f"n_components={self.n_components} is more than the {self.n} rows; all of them are used."
            )
            warnings.warn(LandmarkWarning(message), stacklevel=3)

    def _check_landmarks(self) -> None:
        """Raise if landmarks contradict another parameter."""
        if self.gram in ("dense", "cells"):
            raise ValueError(
                f"gram={self.gram!r} has no landmarks; use gram='lowrank', or leave landmarks out."
            )
        if self.n_components is not None:
            raise ValueError(
                "landmarks and n_components are two ways to say how many there are; leave one of them out."
            )

    @property
    def n(self) -> int:
        """Number of rows."""
        return int(self.X.shape[0])

    @property
    def _total(self) -> int:
        """Number of rows of the table."""
        return self.n if self.total_rows is None else self.total_rows

    def check(self, kernel: Kernel) -> None:
        """Raise if the kernel has no such form."""
        if (self.names_landmarks or self.gram == "cells") and (has_noise(kernel) or is_precomputed(kernel)):
            what = "the WhiteKernel of " + str(kernel) if has_noise(kernel) else "a precomputed Gram matrix"
            raise ValueError(f"gram={self.gram!r} cannot hold {what}; use gram='dense'.")

    def fit(
        self,
        kernel: Kernel,
        machine: Machine,
        start: Any = None,
        polish: Callable[[CellTree], tuple[Kernel, Machine]] | None = None,
    ) -> FittedForm:
        """Fit all rows.

        Parameters
        ----------
        kernel, machine
            With the chosen parameters.
        start : object, optional
            Warm start of a fit to all rows.
        polish : callable, optional
            Given the cells, it returns kernel and machine with parameters that suit them.
        """
        if self.gram == "cells":
            return self.cells(kernel, machine, polish)
        if self.names_landmarks:
            return self.landmarks(kernel, machine, self.n_landmarks(machine), start)
        if self._whole_is_small(kernel, machine):
            return self.whole(kernel, machine, start)
        try:
            return self._best_form(kernel, machine, start, polish)
        except Undefined as failure:
            if self.seconds is None:
                raise
            # A late fit is better than none.
            message = (
                f"the form of the last fit that the time budget allows fails ({failure}); it takes longer."
            )
            warnings.warn(SearchWarning(message), stacklevel=3)
            return replace(self, seconds=None).fit(kernel, machine, None, polish)

    def _whole_is_small(self, kernel: Kernel, machine: Machine) -> bool:
        only = self.gram == "dense" or has_noise(kernel) or is_precomputed(kernel)
        # With several classes to fit as many times, whole fits of fewer rows cost as much.
        size = self._size(machine) * np.cbrt(machine.n_separate_fits(self.Y.shape[1]))
        return only or (size <= SMALL_WHOLE_MAX_ROWS and self._whole_is_affordable(machine))

    def _whole_is_affordable(self, machine: Machine) -> bool:
        return self._size(machine) ** 3 / 3 <= self._operations_left(machine)

    def _size(self, machine: Machine) -> int:
        """Rows of the linear system of a whole fit."""
        return self._total * machine.n_joint_functions(self.Y.shape[1])

    def _best_form(
        self,
        kernel: Kernel,
        machine: Machine,
        start: Any,
        polish: Callable[[CellTree], tuple[Kernel, Machine]] | None,
    ) -> FittedForm:
        fits_whole = self._size(machine) <= WHOLE_MAX_ROWS and self._whole_is_affordable(machine)
        most = self._affordable(TRIAL_MAX_OPERATIONS, machine)
        if fits_whole:
            # The choice of more landmarks, which may be in vain, takes too much of the time of the whole matrix.
            most = self.n // WHOLE_ROWS_PER_LANDMARK
        m, tried = FIRST_LANDMARKS, _Tried(self.Y)
        last: FittedForm | None = None
        precision: Vector | None = None
        while m <= most:
            # Of two fits with features of all rows only one is in memory.
            last = None
            # With few landmarks a fit or its criterion may not exist; with more of them it may.
            with suppress(Undefined):
                last = self._promising_landmarks(kernel, machine, m, start, fits_whole, precision)
            if last is not None:
                tried.add(last)
                if last.gap <= NEGLIGIBLE_GAP:
                    return self._unless_fewer_do(last, tried, kernel, machine)
                if start is None or last.gap <= COARSE_GAP:
                    start = last.solution.start
                precision = last.solution.precision
            m *= LANDMARK_GROWTH
        if fits_whole:
            whole = self.whole(kernel, machine, start)
            tried.add(whole)
            return self._unless_fewer_do(whole, tried, kernel, machine)
        affordable = self._total * self.cell_rows**2 <= self._operations_left(machine)
        trial, cells = None, None
        if affordable and self.may_use_cells(machine):
            trial = self._trial_cells(kernel, machine)
            if self._cells_are_far_ahead(kernel, machine, tried.forms, *trial):
                before, last = tried.forms[-1], None
                cells = self.cells(kernel, machine, polish)
                tried.add(cells)
                if tried[cells].is_clearly_better(before):
                    return self._unless_fewer_do(cells, tried, kernel, machine)
        m = self.most_landmarks(machine)
        if last is None or last.name != _landmark_form(m):
            last = None
            last = self.landmarks(kernel, machine, m, start, precision)
            tried.add(last)
        # All cells are fitted unless some of them are worse: neighbours share the rows at their borders, which makes the whole better
        # than its parts, and so do parameters that suit cells.
        if cells is None and not (
            trial is None or last.gap <= NEGLIGIBLE_GAP or _is_worse(*trial, tried[last].losses)
        ):
            cells = self.cells(kernel, machine, polish)
            tried.add(cells)
        if cells is not None and tried[cells].mean() < tried[last].mean():
            last = cells
        return self._unless_fewer_do(last, tried, kernel, machine)

    def _unless_fewer_do(
        self, form: FittedForm, tried: "_Tried", kernel: Kernel, machine: Machine
    ) -> FittedForm:
        """Return a form beside all that were tried or, if it clearly loses to one through landmarks, that one.

        Its kernel and machine may suit cells; landmarks have those that were given.
        """
        landmarks = [one for one in tried.forms if one.name in tried.builders and one.losses is not None]
        best = min(landmarks, key=ScoredForm.mean, default=tried[form])
        if best.is_clearly_better(tried[form]):
            builder = tried.builders[best.name]
            form = self._form(best.name, kernel, machine, builder, builder.gram(kernel), None)
        return form.beside(tried.forms)

    def most_landmarks(self, machine: Machine) -> int:
        """Return as many landmarks as are affordable."""
        return self._affordable(landmark_operations(self._total), machine)

    def _cells_are_far_ahead(
        self,
        kernel: Kernel,
        machine: Machine,
        tried: list[ScoredForm],
        rows: Rows,
        of_cells: LeftOutLosses,
    ) -> bool:
        """Return whether cells gain more over the last landmarks that were tried than those gained over fewer.

        More landmarks would hardly make up for so much.

        Parameters
        ----------
        kernel, machine
        tried : list of ScoredForm
            Through landmarks, the fewest first.
        rows : array
            Rows of some cells.
        of_cells : LeftOutLosses
            Their losses in these cells.
        """
        if not tried:
            return False
        few = FIRST_LANDMARKS // LANDMARK_GROWTH
        try:
            fewer = tried[0] if len(tried) > 1 else self.landmarks(kernel, machine, few).scored(self.Y)
        except Undefined:
            return False
        if fewer.losses is None or tried[-1].losses is None:
            return False
        before, last = fewer.losses[rows], tried[-1].losses[rows]
        return loses(last, of_cells) and last.mean - of_cells.mean > before.mean - last.mean

    def _trial_cells(self, kernel: Kernel, machine: Machine) -> tuple[Rows, LeftOutLosses]:
        """Return the rows of some cells, and their losses when they are left out of the fits to these cells."""
        routes = self._tree.route(self.X)
        chosen = np.random.default_rng(self.seed).permutation(len(routes))[:N_TRIAL_CELLS]
        parts = [routes[i][1] for i in chosen]
        fits = [fit_cell(kernel, machine, self.criterion, self.X, self.Y, rows) for rows in parts]
        rows = np.concatenate(parts)
        outputs = np.concatenate([fit.left_out for fit in fits])
        return rows, LeftOutLosses.of(machine.on_rows(rows), self.Y[rows], outputs)

    @cached_property
    def _tree(self) -> CellTree:
        return grow_cells(self.X, self.cell_rows, seed=self.seed)

    @property
    def cell_rows(self) -> int:
        """Largest number of rows of a cell."""
        return CELL_ROWS if self.cell_size is None else self.cell_size

    def _operations_left(self, machine: Machine) -> float:
        """Return the operations n m^2 of one pass over the rows for which the time budget leaves room in each fit."""
        if self.seconds is None:
            return np.inf
        return max(self.seconds, 0.0) * OPERATIONS_PER_SECOND / machine.n_separate_fits(self.Y.shape[1])

    def _affordable(self, operations: float, machine: Machine) -> int:
        """Return the largest number of landmarks within the given operations and the memory."""
        operations = min(operations, self._operations_left(machine))
        # Where the rows are elsewhere, no array of rows times landmarks is kept.
        least = 0 if self.total_rows is None else REMOTE_LANDMARKS
        m = landmark_limit(self._total, operations, least)
        return int(min(self.n, m, max(1, WHOLE_MAX_ROWS // machine.n_joint_functions(self.Y.shape[1]))))

    def may_use_cells(self, machine: Machine) -> bool:
        """Return whether machine and criterion allow a fit by cells: its criterion must depend on the fit to one cell."""
        return machine.fits_by_cells and not (
            self.criterion.ignores_machine or self.criterion.needs_proper_offset
        )

    @property
    def names_landmarks(self) -> bool:
        """Whether the user asked for landmarks."""
        asked = self.n_components is not None or self.given_landmarks is not None
        return self.gram in ("lowrank", "nystrom", "dask") or (self.gram == "auto" and asked)

    def n_landmarks(self, machine: Machine) -> int:
        """Return the number of landmarks where the user asked for them."""
        if self.given_landmarks is not None:
            return int(self.given_landmarks.shape[0])
        if self.n_components is not None:
            return min(self.n, self.n_components)
        return self._affordable(TRIAL_MAX_OPERATIONS, machine)

    def whole(self, kernel: Kernel, machine: Machine, start: Any = None) -> FittedForm:
        """Fit the whole kernel matrix."""
        builder = DenseBuilder(self.X)
        return self._form("whole", kernel, machine, builder, builder.gram(kernel), start)

    def landmarks(
        self, kernel: Kernel, machine: Machine, m: int, start: Any = None, precision: Vector | None = None
    ) -> FittedForm:
        """Fit through m landmarks, or through fewer that suffice by the precisions of another fit."""
        builder = self.landmark_builder(m, kernel, precision)
        return self._form(_landmark_form(builder.m), kernel, machine, builder, builder.gram(kernel), start)

    def _promising_landmarks(
        self,
        kernel: Kernel,
        machine: Machine,
        m: int,
        start: Any,
        must_suffice: bool,
        precision: Vector | None,
    ) -> FittedForm | None:
        """Fit through at most m landmarks, unless they must be as good as the whole matrix and are known not to be.

        That is known from the precisions of a fit through fewer landmarks, or of fits to some of many classes.
        """
        builder = self.landmark_builder(m, kernel, precision)
        gram = builder.gram(kernel)
        if must_suffice and precision is not None:
            if approximation_gap(kernel, self.X, gram, precision) > PROMISING_GAP:
                return None
        elif must_suffice and self._shares_factors(machine):
            # Other machines begin whole fits at those through landmarks, of all classes.
            some = np.linspace(0, self.Y.shape[1] - 1, N_TRIAL_CLASSES).astype(int)
            trial = machine.solve(gram, self.Y[:, some])
            if approximation_gap(kernel, self.X, gram, trial.precision) > NEGLIGIBLE_GAP:
                return None
        return self._form(_landmark_form(builder.m), kernel, machine, builder, gram, start)

    def _shares_factors(self, machine: Machine) -> bool:
        """Return whether many classes share the factorisations of a whole fit."""
        return machine.fits_columns_together and self.Y.shape[1] > 2 * N_TRIAL_CLASSES

    def landmark_builder(self, m: int, kernel: Kernel, precision: Vector | None = None) -> NystromBuilder:
        """Return the builder of Grams with m landmarks, or with fewer that suffice by the precisions of another fit."""
        kind = DaskBuilder if self.gram == "dask" else NystromBuilder
        return kind(self.X, self._landmarks(m, kernel, precision, np.random.default_rng(self.seed)))

    def _landmarks(
        self, m: int, kernel: Kernel, precision: Vector | None, rng: np.random.Generator
    ) -> Rows | Points:
        """Return the landmarks that suit the kernel; those that are searched on suit all its parameters."""
        if self.given_landmarks is not None:
            return self.given_landmarks
        if self.gram == "nystrom":
            return uniform_landmarks(self.X, m, rng)
        if self.names_landmarks and len(kernel.theta):
            return spread_landmarks(self.X, m, rng)
        return pivoted_landmarks(kernel, self.X, m, rng, precision, SUFFICIENT_GAP)

    def _form(
        self, name: str, kernel: Kernel, machine: Machine, builder: Any, gram: Gram, start: Any
    ) -> FittedForm:
        solution = machine.solve(gram, self.Y, start)
        expansion = expand(builder, solution)
        gap = 0.0 if gram.dense else approximation_gap(kernel, self.X, gram, solution.precision)
        # First the correction, then the reading: both need the factors of a fit, which those of many classes do not keep.
        criterion = self.criterion if self.correction is None else self.correction.corrected(solution)
        reading = criterion(solution)
        return FittedForm(name, kernel, machine, solution, builder, criterion, reading, expansion, gap)

    def cells(
        self,
        kernel: Kernel,
        machine: Machine,
        polish: Callable[[CellTree], tuple[Kernel, Machine]] | None = None,
    ) -> FittedForm:
        """Fit every cell of a tree of the rows.

        Parameters
        ----------
        kernel, machine
        polish : callable, optional
            Given the cells, it returns kernel and machine with parameters that suit single cells.
        """
        if polish is None:
            return self._all_cells(kernel, machine)
        suited = polish(self._tree)
        found = self._all_cells(*suited)
        groups = groups_of_cells(self._tree, self.X, self.Y, self.seed)
        routes = [route for group in groups for route in group]
        some = fit_some_cells(kernel, machine, self.criterion, self.X, self.Y, routes, self.n_jobs)
        (_, before), (_, after) = (
            losses_in_groups(groups, fits, machine, self.Y) for fits in (some, found.solution.fits)
        )
        if not loses(after, before):
            return found
        # What suits single cells need not suit the mean over several of them; whether it does, only all cells can tell.
        given = self._all_cells(kernel, machine)
        return given if given.scored(self.Y).mean() < found.scored(self.Y).mean() else found

    def _all_cells(self, kernel: Kernel, machine: Machine) -> FittedForm:
        tree = self._tree
        solution = fit_cells(kernel, machine, self.criterion, self.X, self.Y, tree, self.n_jobs)
        builder = self.landmark_builder(min(self.n, FIRST_LANDMARKS), kernel)
        reading = Reading(solution.value, divisor=solution.divisor)
        return FittedForm(
            f"{tree.n_cells} cell" + "s" * (tree.n_cells > 1),
            kernel,
            machine,
            solution,
            builder,
            self.criterion,
            reading,
            solution.expansion,
            0.0,
        )


class _Tried:
    """The forms that were tried, without their fits; those through landmarks with their builders, so that they can be fitted again."""

    def __init__(self, Y: Matrix) -> None:
        self._Y = Y
        self.forms, self.builders = list[ScoredForm](), dict[str, Any]()

    def add(self, form: FittedForm) -> None:
        """Note a form, unless it was tried before."""
        if any(one.name == form.name for one in self.forms):
            return
        self.forms.append(form.scored(self._Y))
        if form.gap > 0:
            self.builders[form.name] = form.builder

    def __getitem__(self, form: FittedForm) -> ScoredForm:
        return next(one for one in self.forms if one.name == form.name)


def landmark_operations(n_rows: int) -> float:
    """Return the operations of a pass over the rows that a fit through landmarks may take."""
    return LANDMARK_MAX_OPERATIONS * max(1.0, n_rows / LANDMARK_STEADY_ROWS)


def landmark_limit(n_rows: int, operations: float, least: int = 0) -> float:
    """Return the number of landmarks within some operations and the memory, which allows for ``least`` in any case."""
    fit_memory = max(LANDMARK_MAX_ENTRIES / n_rows, least)
    return float(max(FIRST_LANDMARKS, min(np.sqrt(operations / n_rows), fit_memory)))


def _is_worse(rows: Rows, losses: LeftOutLosses, reference: LeftOutLosses | None) -> bool:
    """Return whether the losses of some rows exceed those in another fit, if that has any."""
    return reference is not None and loses(losses, reference[rows])


def _landmark_form(m: int) -> str:
    """Return the name of a fit through m landmarks."""
    return f"{m} landmarks"


def approximation_gap(kernel: Kernel, X: Any, gram: Gram, precision: Vector) -> float:
    """Return e / n of eq. (1)."""
    lost = np.maximum(diagonal(kernel, X) - gram.diag(), 0)
    return float(np.mean(precision * lost))
