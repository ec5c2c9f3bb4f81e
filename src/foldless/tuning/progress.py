"""A progress bar for searches on stderr: rich if it is installed, plain text otherwise."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from foldless.core.contracts import Step, Watch


@contextmanager
def progress(verbose: int, total: int | None = None) -> Iterator[Watch | None]:
    """Yield a ``watch`` for a search, or ``None`` if ``verbose`` is 0.

    Parameters
    ----------
    verbose : int
        1 shows a bar.
    total : int, optional
        Number of evaluations, if a budget fixes it.
    """
    if not verbose:
        yield None
        return
    try:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
    except ImportError:
        yield _print_step
        print(file=sys.stderr)
        return
    columns = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task, best = bar.add_task("tuning", total=total), [float("inf")]

        def watch(step: Step) -> None:
            best[0] = min(best[0], step.value)
            bar.update(task, advance=1, description=f"tuning ({step.why}): best {best[0]:.6g}")

        yield watch


def _print_step(step: Step) -> None:
    print(f"\r{step.why}: {step.value:.6g}   ", end="", file=sys.stderr, flush=True)
