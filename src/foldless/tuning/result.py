"""What a selection found."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, overload

import numpy as np
from sklearn.gaussian_process.kernels import Kernel

from foldless.core.contracts import Machine, Outcome, Reading, Step
from foldless.core.printed import html_table, shown, text_table
from foldless.criteria.base import Criterion
from foldless.grams.builders import Builder
from foldless.grams.expansion import CellExpansion, Expansion
from foldless.kernels.in_words import in_words
from foldless.machines.coefficients import expand
from foldless.tuning.forms import TriedForms
from foldless.tuning.objective import Objective
from foldless.tuning.trace import Trace, parameter_names, regularisation_name

TRIALS_HEADER = ("kernel", "criterion", "evaluations", "")


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
        The whole search; ``None`` if it found nothing, or if the trial was saved and loaded.
    note : str
        Why it found nothing, or when it was dropped; the value and the kernel are then those of that moment.
    name : str
        The family, if the kernel was given by name.
    n_evaluations : int
        Length of the search.
    """

    kernel: Kernel
    value: float
    outcome: Outcome | None
    note: str = ""
    name: str = ""
    n_evaluations: int = field(init=False, default=0)

    def __post_init__(self) -> None:
        if self.outcome is not None:
            object.__setattr__(self, "n_evaluations", len(self.outcome.trace))

    def __getstate__(self) -> dict[str, Any]:
        """Leave the search out: a saved model keeps the table of trials, not every step behind it."""
        return {**vars(self), "outcome": None}

    @property
    def row(self) -> list[object]:
        """Name, value, number of evaluations and note."""
        return [self.name or str(self.kernel), float(self.value), self.n_evaluations, self.note]

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(map(shown, self.row))})"


class Trials(Sequence[Trial]):
    """The candidates in the order given; it prints itself as a table."""

    def __init__(self, trials: Iterable[Trial] = ()) -> None:
        self._trials = list(trials)

    def __len__(self) -> int:
        return len(self._trials)

    @overload
    def __getitem__(self, place: int) -> Trial: ...
    @overload
    def __getitem__(self, place: slice) -> list[Trial]: ...
    def __getitem__(self, place: int | slice) -> Trial | list[Trial]:
        return self._trials[place]

    def __repr__(self) -> str:
        return text_table(TRIALS_HEADER, (trial.row for trial in self))

    def _repr_html_(self) -> str:
        return html_table("candidates", TRIALS_HEADER, (trial.row for trial in self))


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
    metric_is_learned : bool
        Whether a metric was learned from these rows: left-out outputs are then too good, and the criterion is that of halves.
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
    metric_is_learned: bool = False
    trials: Trials = field(default_factory=Trials)

    @property
    def trace(self) -> Trace:
        """Every evaluation of the search, as a table."""
        machine = self.machine if self.objective.tune_machine else None
        return Trace(self.outcome.trace, parameter_names(self.kernel, machine))

    def _summary(self) -> list[list[object]]:
        """Return names and values of what a reader wants to see first."""
        own = [[regularisation_name(self.machine), float(np.exp(t))] for t in self.machine.theta]
        value = f"{self.reading.value:.6g} {self.criterion.unit}".rstrip()
        rows: list[list[object]] = [
            ["kernel", in_words(self.kernel)],
            *own,
            ["criterion", f"{self.criterion.title or self.criterion.name}: {value}"],
            ["form of the fit", self.form],
            ["search", f"{len(self.outcome.trace)} evaluations. {self.outcome.stop.value}"],
        ]
        return rows + ([["because", self.explanation]] if self.explanation else [])

    def __repr__(self) -> str:
        return text_table(["Selection", ""], self._summary())

    def _repr_html_(self) -> str:
        return html_table("Selection", [], self._summary())

    def with_solution(self, machine: Machine, solution: Any) -> "Selection":
        """Return the selection with another fit on the same Gram."""
        expansion = expand(self.builder, solution)
        reading, _ = self.objective.read(self.kernel, machine, solution)
        return replace(self, machine=machine, solution=solution, expansion=expansion, reading=reading)
