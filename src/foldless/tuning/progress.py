"""Progress of searches: a bar and a last line on stderr, and the logger ``foldless``."""

import logging
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from threading import Lock

from foldless.core.contracts import Step, Watch

# It logs every evaluation at level DEBUG, and the end of every search at level INFO.
LOGGER = logging.getLogger("foldless")
LOGGER.addHandler(logging.NullHandler())


@dataclass
class Tally:
    """Number and best value of the evaluations so far."""

    begun: float = field(default_factory=time.perf_counter)
    count: int = 0
    best: float = float("inf")
    lock: Lock = field(default_factory=Lock, repr=False)

    def __call__(self, step: Step) -> None:
        """Count one evaluation."""
        with self.lock:
            self.count += 1
            self.best = self.best if step.is_scan else min(self.best, step.value)
        LOGGER.debug("evaluation %d (%s): %.6g in %.3g s", self.count, step.why, step.value, step.seconds)

    def __str__(self) -> str:
        seconds = time.perf_counter() - self.begun
        return f"tuned in {seconds:.1f} s: {self.count} evaluations, best criterion {self.best:.6g}"


@contextmanager
def progress(verbose: int, total: int | None = None) -> Iterator[Watch | None]:
    """Yield a ``watch`` for a search, or ``None`` if neither a bar nor the log is wanted.

    Parameters
    ----------
    verbose : int
        1 shows a bar, and leaves one line behind.
    total : int, optional
        Number of evaluations, if a budget fixes it.
    """
    if not verbose and not LOGGER.isEnabledFor(logging.INFO):
        yield None
        return
    tally = Tally()
    if verbose:
        with _bar(tally, total) as watch:
            yield watch
        print(tally, file=sys.stderr)
    else:
        yield tally
    LOGGER.info("%s", tally)


@contextmanager
def _bar(tally: Tally, total: int | None) -> Iterator[Watch]:
    """Show a bar if rich is installed, else a line of text that is overwritten."""
    try:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
    except ImportError:

        def write(step: Step) -> None:
            tally(step)
            print(f"\r{step.why}: {step.value:.6g}   ", end="", file=sys.stderr, flush=True)

        yield write
        print("\r", end="", file=sys.stderr)
        return
    columns = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("tuning", total=total)

        def advance(step: Step) -> None:
            tally(step)
            bar.update(task, advance=1, description=f"tuning ({step.why}): best {tally.best:.6g}")

        yield advance
