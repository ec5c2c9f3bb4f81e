"""Numbers and tables as Markdown."""

from collections.abc import Iterable, Sequence

import numpy as np

from bench.results import Difference, Results, SizedSet

SHORTEST_SECONDS = 0.01
STARS = "A star marks p < 0.05 in the paired t test against {base}."


def grid(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table."""
    lines = [_line(header), "|" + "---|" * len(header), *map(_line, rows)]
    return "\n".join(lines)


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def number(value: float, form: str = ".2f") -> str:
    """Return a number, nothing if there is none."""
    return "" if np.isnan(value) else f"{value:{form}}"


def times(ratio: float) -> str:
    """Return how many times: ``0.87x``, ``3.4x``, ``78x``."""
    return "" if np.isnan(ratio) else f"{ratio:.{0 if ratio >= 10 else 1 if ratio >= 1 else 2}f}x"


def seconds(value: float) -> str:
    """Return seconds with two or three digits; what would be written as zero is called less than a hundredth."""
    if value < SHORTEST_SECONDS / 2:
        return f"< {SHORTEST_SECONDS} s"
    return "" if np.isnan(value) else f"{value:.{0 if value >= 100 else 1 if value >= 10 else 2}f} s"


def error(value: float, task: str) -> str:
    """Return an error: percent with two digits, a root mean squared error with three."""
    return number(value, ".2f" if task == "classes" else ".3f")


def difference(found: Difference, form: str = "+.2f") -> str:
    """Return a mean difference with its standard error, and a star if it is significant."""
    if not len(found.values):
        return ""
    doubt = "" if np.isnan(found.standard_error) else f" ± {found.standard_error:{form.lstrip('+')}}"
    return f"{found.mean:{form}}{doubt}{'*' * found.is_significant}"


def error_and_seconds(
    results: Results, problem: SizedSet, contender: str, base: str | None, clock: str = "seconds"
) -> str:
    """Return ``error* (seconds)``, with a star if the error differs from that of the base."""
    if not results.of(problem, contender):
        return ""
    shown = error(results.mean(problem, contender, "error"), results.task(problem))
    star = base is not None and results.difference(problem, contender, base).is_significant
    return f"{shown}{'*' * star} ({seconds(results.mean(problem, contender, clock))})"


def sets_table(results: Results, base: str | None, clock: str = "seconds") -> str:
    """Return a row for every set and size, with errors and seconds (or ``cpu_seconds``) of all contenders."""
    rows = [
        [problem.title, str(problem.rows)]
        + [error_and_seconds(results, problem, name, base, clock) for name in results.contenders]
        for problem in results.problems
    ]
    return grid(["set", "rows", *results.contenders], rows)
