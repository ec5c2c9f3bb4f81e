"""Forms of a last fit, and what is compared of them: the losses of left-out rows."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np
from sklearn.gaussian_process.kernels import Kernel

from foldless.core.contracts import Matrix, Reading
from foldless.core.errors import MissingVerb, NotPositiveDefinite, Undefined
from foldless.core.gram import Rows
from foldless.criteria.base import Criterion
from foldless.criteria.left_out import LeftOutLosses, left_out_outputs
from foldless.grams.expansion import CellExpansion, Expansion


@dataclass(frozen=True)
class TriedForm:
    """A form that was tried, and the mean loss of left-out rows; NaN where it does not exist."""

    name: str
    loss: float


class TriedForms(tuple[TriedForm, ...]):
    """The forms in the order in which they were tried; it prints itself as a table."""

    def __repr__(self) -> str:
        width = max([4, *(len(form.name) for form in self)])
        lines = [f"{'form':<{width}}  {'left-out loss':>13}"]
        return "\n".join(lines + [f"{form.name:<{width}}  {form.loss:>13.6g}" for form in self])


@dataclass(frozen=True, eq=False)
class ScoredForm:
    """What is kept of a form once another one is tried: its name, and the losses of left-out rows where they exist."""

    name: str
    losses: LeftOutLosses | None

    def mean(self, rows: Rows | slice = slice(None)) -> float:
        """Return the mean loss of some or all rows; NaN where it does not exist."""
        return np.nan if self.losses is None else self.losses[rows].mean

    def is_clearly_better(self, other: "ScoredForm") -> bool:
        """Return whether another form loses to this one; False where one of them has no losses."""
        return self.losses is not None and other.losses is not None and loses(other.losses, self.losses)


@dataclass(frozen=True, eq=False)
class FittedForm:
    """A fit to all rows in one of the forms.

    Attributes
    ----------
    name : str
        ``"whole"``, ``"300 landmarks"``, ``"24 cells"``.
    kernel, machine, solution
        What was fitted, and the fit.
    builder : object
        Makes the Gram of all rows in this form, or for cells through landmarks: for sketches of the criterion.
    criterion : Criterion
        Corrected for the fit where it was asked to be.
    reading : Reading
        The criterion of the fit.
    expansion : Expansion or CellExpansion
        The fitted function.
    gap : float
        e / n of eq. (1) of :mod:`foldless.tuning.last_fit`; 0 for exact forms.
    tried : TriedForms
        The forms that were compared, this one among them; empty without a comparison.
    """

    name: str
    kernel: Kernel
    machine: Any
    solution: Any
    builder: Any
    criterion: Criterion
    reading: Reading
    expansion: Expansion | CellExpansion | None
    gap: float
    tried: TriedForms = field(default_factory=TriedForms)

    @property
    def left_out(self) -> Matrix:
        """The output of every row when it is left out (n, k)."""
        return left_out_outputs(self.solution)

    def losses(self, Y: Matrix) -> LeftOutLosses:
        """Return the loss of every row when it is left out."""
        return LeftOutLosses.of(self.machine, Y, self.left_out)

    def scored(self, Y: Matrix) -> ScoredForm:
        """Return name and losses, without the fit."""
        try:
            return ScoredForm(self.name, self.losses(Y))
        except (Undefined, MissingVerb, NotPositiveDefinite):
            return ScoredForm(self.name, None)

    def beside(self, tried: Sequence[ScoredForm]) -> Self:
        """Return the fit together with the mean left-out losses of all forms that were tried."""
        return replace(self, tried=TriedForms(TriedForm(form.name, form.mean()) for form in tried))


def loses(losses: LeftOutLosses, reference: LeftOutLosses) -> bool:
    """Return whether a fit's losses exceed those of another on the same rows by more than two standard errors.

    Examples
    --------
    >>> reference = LeftOutLosses(np.array([0.5, 0.6, 0.5, 0.4]))
    >>> loses(LeftOutLosses(np.array([1.0, 1.2, 0.9, 1.1])), reference)
    True
    >>> loses(LeftOutLosses(np.array([1.0, 0.2, 0.9, 0.1])), reference)
    False
    """
    mean, error = losses.excess(reference)
    return mean > 2 * error
