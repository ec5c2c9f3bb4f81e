"""How a search is run: budgets, threads, checkpoints, and what Ctrl-C does."""

import time
from dataclasses import dataclass
from pathlib import Path

from foldless.core.contracts import Watch


@dataclass(frozen=True, eq=False)
class RunOptions:
    """How a search is run; except by ending it early, these options do not change what is chosen.

    Attributes
    ----------
    max_evaluations : int or None
    time_budget : float or None
        Seconds.
    n_jobs : int or None
    watch : callable or None
        Called with every :class:`Step`.
    checkpoint : path or None
    on_interrupt : str
        ``"keep"`` the best so far after Ctrl-C, or ``"raise"`` KeyboardInterrupt.
    """

    max_evaluations: int | None = None
    time_budget: float | None = None
    n_jobs: int | None = None
    watch: Watch | None = None
    checkpoint: str | Path | None = None
    on_interrupt: str = "keep"

    @property
    def raises_interrupt(self) -> bool:
        """Whether Ctrl-C ends everything."""
        return self.on_interrupt == "raise"

    def seconds_left(self, begun: float) -> float | None:
        """Return what is left of the time budget of a search that began at ``begun``, by ``time.perf_counter``; None is no limit."""
        return None if self.time_budget is None else begun + self.time_budget - time.perf_counter()
