"""The regularisation alone, chosen on one Gram: for criteria that do not depend on it."""

import warnings
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from foldless.core.contracts import Box, Evaluation, Gram, HasScale, Machine, Matrix, Outcome, Vector
from foldless.core.errors import CriterionWarning, SearchWarning, Undefined, UnreadableSolution
from foldless.criteria.base import Criterion
from foldless.searches import LBFGS
from foldless.tuning.lookup import as_criterion
from foldless.tuning.objective import UNDEFINED_ERRORS
from foldless.tuning.result import Selection
from foldless.tuning.run_options import RunOptions
from foldless.tuning.search_space import regularisation_bounds, theta_of_log_C

# Values of C that are evaluated before the descent, because there may be several minima.
PATH_POINTS = 15
# Evaluations on one Gram are cheap, so that the descent can be accurate.
PATH_TOLERANCE = 1e-8


@dataclass(frozen=True, eq=False)
class RegularisationObjective(HasScale):
    """A criterion as a function of the machine's regularisation on one Gram."""

    machine: Machine
    criterion: Criterion
    gram: Gram
    Y: Matrix

    @property
    def value_scale(self) -> float | None:
        """Size of a large change of the criterion; ``None`` if that is the size of the value itself."""
        return self.criterion.value_scale

    def __call__(self, theta: Vector, warm_start: Any = None, /) -> Evaluation:
        """Evaluate; where the fit or the criterion does not exist the value is ``inf`` and the note is the reason."""
        try:
            solution = self.machine.with_theta(theta).solve(self.gram, self.Y, warm_start)
            reading = self.criterion(solution)
        except UNDEFINED_ERRORS as error:
            return Evaluation(np.inf, note=str(error))
        return Evaluation(reading.value, lambda: reading.slope, warm_start=solution.start)


def tune_regularisation(
    machine: Machine,
    gram: Gram,
    Y: Matrix,
    regularisation: tuple[float, float] | None = None,
    options: RunOptions | None = None,
) -> tuple[Machine, Outcome]:
    """Choose the machine's regularisation on one Gram by leave-one-out; return the machine and the outcome.

    Parameters
    ----------
    machine : Machine
        Its ``default_loo_criterion`` chooses.
    gram : Gram
    Y : array of shape (n, k)
    regularisation : pair of float, optional
        Lowest and highest value of C, or of alpha; by default a wide range.
    options : RunOptions, optional
    """
    options = options or RunOptions()
    criterion, scale = as_criterion(machine.default_loo_criterion), float(np.mean(gram.diag()))
    low, high = regularisation_bounds(machine, scale, regularisation)
    path = theta_of_log_C(machine, scale, np.log(np.geomspace(*machine.scaled_C_range, PATH_POINTS)))
    outcome = LBFGS(tolerance=PATH_TOLERANCE)(
        RegularisationObjective(machine.for_regularisation_path, criterion, gram, Y),
        Box(np.array([low]), np.array([high])),
        list(path.reshape(-1, 1)),
        max_evaluations=options.max_evaluations,
        time_budget=options.time_budget,
        watch=options.watch,
        on_interrupt=options.on_interrupt,
    )
    if not np.isfinite(outcome.best.value):
        raise Undefined(
            f"{criterion.name} is defined at none of the points that were tried: {outcome.best.note}"
        )
    return machine.with_theta(outcome.best.theta), outcome


def with_tuned_regularisation(
    selection: Selection, Y: Matrix, regularisation: tuple[float, float] | None, options: RunOptions
) -> Selection:
    """Return the selection with the regularisation chosen by leave-one-out, for its criterion does not depend on it."""
    gram = selection.solution.gram
    if options.max_evaluations is not None and options.max_evaluations <= 0:
        message = (
            "no evaluations are left for the regularisation; it was left as it is. Raise max_evaluations."
        )
        warnings.warn(SearchWarning(message), stacklevel=3)
        return selection
    try:
        machine, outcome = tune_regularisation(selection.machine, gram, Y, regularisation, options)
    except (UnreadableSolution, Undefined) as error:
        known = "is known for this machine" if isinstance(error, UnreadableSolution) else "could choose it"
        message = (
            f"{selection.criterion.name} does not depend on the regularisation, and no leave-one-out criterion {known}; the "
            f"regularisation was left as it is. Fix it, or raise max_evaluations. ({error})"
        )
        warnings.warn(CriterionWarning(message), stacklevel=3)
        return selection
    trace = selection.outcome.trace + outcome.trace
    refitted = selection.with_solution(machine, machine.solve(gram, Y))
    return replace(refitted, outcome=replace(selection.outcome, trace=trace))
