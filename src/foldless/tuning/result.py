"""What a selection found."""

from dataclasses import dataclass, field, replace
from typing import Any

from sklearn.gaussian_process.kernels import Kernel

from foldless.core.contracts import Machine, Outcome, Reading, Step
from foldless.criteria.base import Criterion
from foldless.grams.builders import Builder
from foldless.grams.expansion import CellExpansion, Expansion
from foldless.machines.coefficients import expand
from foldless.tuning.last_fit import TriedForms
from foldless.tuning.objective import Objective


@dataclass(frozen=True, eq=False)
class Trial:
    """One candidate kernel and the search over its parameters.

    Attributes
    ----------
    kernel : Kernel
        With its chosen parameters.
    value : float
        The criterion there; ``inf`` where it is undefined.
    outcome : Outcome or None
        The whole search; ``None`` if it found nothing.
    note : str
        Why it found nothing, or when it was dropped; the value and the kernel are then those of that moment.
    name : str
        The family, if the kernel was given by name.
    """

    kernel: Kernel
    value: float
    outcome: Outcome | None
    note: str = ""
    name: str = ""


class Trials(tuple[Trial, ...]):
    """The candidates in the order given; it prints itself as a table."""

    def __str__(self) -> str:
        names = [trial.name or str(trial.kernel) for trial in self]
        width = max([6, *map(len, names)])
        lines = [f"{'kernel':<{width}}  {'criterion':>12}  {'evaluations':>11}"]
        for name, trial in zip(names, self, strict=True):
            count = 0 if trial.outcome is None else len(trial.outcome.trace)
            lines.append(f"{name:<{width}}  {trial.value:>12.6g}  {count:>11}  {trial.note}".rstrip())
        return "\n".join(lines)


@dataclass(frozen=True, eq=False)
class Selection:
    """What was chosen, and how.

    Attributes
    ----------
    kernel, machine, criterion
        The chosen hyper-parameters, and the criterion that chose them.
    form : str
        The form of the last fit: ``"whole"``, ``"300 landmarks"``, ``"24 cells"``, or ``"block"`` of rows.
    builder, solution, expansion, reading
        The last fit: how its Gram was built, the fit itself, the fitted function, and the criterion there.
    outcome : Outcome
        The whole search.
    approximation_gap : float
        e / n of eq. (1) of :mod:`foldless.tuning.last_fit`: 0 for a whole matrix.
    objective : Objective
        The objective of the final fit. ``objective.solve(theta)`` fits at any other point, such as ``outcome.optima``.
    forms : TriedForms
        The forms of the last fit that ``gram="auto"`` compared, with the mean loss of left-out rows of each; ``print`` shows a
        table. Empty where one form was used without a comparison.
    steps_on_last_rows : tuple of Step
        The steps of the search on its last and largest part of the rows: their values can be compared.
    explanation : str
        Why this point was chosen, where several kinds were compared, such as one width and a width per feature.
    trials : Trials
        A :class:`Trial` for every candidate kernel in the order given, the chosen one among them; ``print`` shows a table.
    """

    kernel: Kernel
    machine: Machine
    criterion: Criterion
    form: str
    builder: Builder
    solution: Any
    expansion: Expansion | CellExpansion | None
    reading: Reading
    outcome: Outcome
    approximation_gap: float
    objective: Objective
    forms: TriedForms = field(default_factory=TriedForms)
    steps_on_last_rows: tuple[Step, ...] = ()
    explanation: str = ""
    trials: Trials = field(default_factory=Trials)

    def with_solution(self, machine: Machine, solution: Any) -> "Selection":
        """Return the selection with another fit on the same Gram."""
        expansion = expand(self.builder, solution)
        reading, _ = self.objective.read(self.kernel, machine, solution)
        return replace(self, machine=machine, solution=solution, expansion=expansion, reading=reading)
