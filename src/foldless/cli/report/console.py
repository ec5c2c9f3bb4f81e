"""Tables for a terminal. Everything from a file is printed as text: rich's own markup in it stays inert."""

import sys

from foldless.core.optional_imports import import_extra


def console(stderr=False):
    """Return a console; control characters in names were refused or quoted before they come here."""
    return import_extra("rich.console", "cli").Console(stderr=stderr, highlight=False, soft_wrap=False)


def table(title, rows, columns=("", "")):
    """Return a table of texts.

    Parameters
    ----------
    title : str
    rows : iterable of sequences of str
    columns : sequence of str
        Headings, shown if there are any; the first column is to the left, the others to the right.
    """
    rich, text = import_extra("rich.table", "cli"), import_extra("rich.text", "cli").Text
    box = import_extra("rich.box", "cli").SIMPLE_HEAD
    grid = rich.Table(title=text(title), title_justify="left", box=box, show_header=any(columns))
    for i, heading in enumerate(columns):
        grid.add_column(text(heading), justify="right" if i else "left", overflow="fold")
    for row in rows:
        grid.add_row(*(text(printable(cell)) for cell in row))
    return grid


def printable(value):
    """Return a text without control characters, which could move the cursor or change the colours."""
    return "".join(c if c.isprintable() else "�" for c in str(value))


def say(message):
    """Print one line on stderr."""
    print("foldless:", printable(" ".join(str(message).split())), file=sys.stderr)
