"""Tables and messages for a terminal, and exit codes. Text from a file is printed letter by letter: rich does not read its markup."""

import sys
from collections.abc import Iterable, Sequence
from typing import Any

from foldless.core.optional_imports import import_extra

EXIT_MISTAKE, EXIT_INTERRUPTED, EXIT_BROKEN_PIPE = 2, 130, 141


def console(stderr: bool = False) -> Any:
    """Return a console of rich on stdout or stderr."""
    return import_extra("rich.console", "cli").Console(stderr=stderr, highlight=False, soft_wrap=False)


def table(title: str, rows: Iterable[Sequence[str]], columns: Sequence[str] = ("", "")) -> Any:
    """Return a table of texts for :func:`console`.

    Parameters
    ----------
    title : str
    rows : iterable of sequences of str
    columns : sequence of str
        Headings, shown if there are any; the first column is aligned left and never broken, the others are aligned right.
    """
    rich, text = import_extra("rich.table", "cli"), import_extra("rich.text", "cli").Text
    box = import_extra("rich.box", "cli").SIMPLE_HEAD
    grid = rich.Table(title=text(title), title_justify="left", box=box, show_header=any(columns))
    for i, heading in enumerate(columns):
        grid.add_column(text(heading), justify="right" if i else "left", overflow="fold", no_wrap=i == 0)
    for row in rows:
        grid.add_row(*(text(printable(cell)) for cell in row))
    return grid


def printable(value: object) -> str:
    """Return a text without control characters, which could move the cursor or change the colours."""
    return "".join(c if c.isprintable() else "�" for c in str(value))


def print_message(message: object) -> None:
    """Print one line on stderr."""
    print("foldless:", printable(" ".join(str(message).split())), file=sys.stderr)


def say_interrupted() -> int:
    """Print that Ctrl-C came too early to show anything, and return the exit code."""
    print_message("interrupted before anything was found.")
    return EXIT_INTERRUPTED
