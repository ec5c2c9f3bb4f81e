"""What a selection found."""

from dataclasses import dataclass
from typing import Any

from sklearn.gaussian_process.kernels import Kernel

from foldless.core.contracts import Outcome, Step
from foldless.criteria.base import Criterion
from foldless.tuning.objective import Objective


@dataclass(frozen=True, eq=False)
class Trial:
    """One candidate kernel and what became of it.

    Attributes
    ----------
    kernel : Kernel
        With its chosen parameters.
    value : float
        The criterion there; ``inf`` where it is undefined.
    outcome : Outcome or None
        The whole search; ``None`` if it found nothing.
    note : str
        Why it found nothing.
    """

    kernel: Kernel
    value: float
    outcome: Outcome | None
    note: str = ""


@dataclass(frozen=True, eq=False)
class Selection:
    """What was chosen, and how.

    Attributes
    ----------
    kernel, machine, criterion
        The chosen hyper-parameters and what chose them.
    representation, solution, reading
        The final fit, and the criterion there.
    outcome : Outcome
        The whole search.
    approximation_gap : float
        e / n of eq. (1) of :mod:`foldless.tuning.refinement` at the final fit: 0 for a whole matrix.
    objective : Objective
        What was evaluated last: ``objective.solve(theta)`` fits at any other point, such as ``outcome.optima``.
    steps_on_last_gram : tuple of Step
        The steps that were taken on the last representation: their values can be compared.
    trials : tuple of Trial
        Every candidate kernel in the order given, the chosen one among them.
    """

    kernel: Kernel
    machine: Any
    criterion: Criterion
    builder: Any
    solution: Any
    reading: Any
    outcome: Outcome
    approximation_gap: float
    objective: Objective
    steps_on_last_gram: tuple[Step, ...] = ()
    trials: tuple[Trial, ...] = ()
