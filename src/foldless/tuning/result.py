"""What a selection found."""

from dataclasses import dataclass
from typing import Any

from sklearn.gaussian_process.kernels import Kernel

from foldless.core.contracts import Machine, Outcome, Reading, Step
from foldless.criteria.base import Criterion
from foldless.grams.builders import Builder
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
        The chosen hyper-parameters, and the criterion that chose them.
    builder, solution, reading
        The final fit: how its Gram was built, the fit itself, and the criterion there.
    outcome : Outcome
        The whole search.
    approximation_gap : float
        e / n of eq. (1) of :mod:`foldless.tuning.refinement` at the final fit: 0 for a whole matrix.
    objective : Objective
        The objective of the final fit. ``objective.solve(theta)`` fits at any other point, such as ``outcome.optima``.
    steps_on_last_gram : tuple of Step
        The steps of the search on its last Gram approximation, whose values can be compared.
    trials : tuple of Trial
        Every candidate kernel in the order given, the chosen one among them.
    """

    kernel: Kernel
    machine: Machine
    criterion: Criterion
    builder: Builder
    solution: Any
    reading: Reading
    outcome: Outcome
    approximation_gap: float
    objective: Objective
    steps_on_last_gram: tuple[Step, ...] = ()
    trials: tuple[Trial, ...] = ()
