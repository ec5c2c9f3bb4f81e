"""What the commands share: the table they read, the files they write, and what they print."""

import json
import os
import shlex
import sys
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import Any, TextIO

from foldless.cli.console import console, print_message
from foldless.cli.experiment import Experiment
from foldless.cli.files.columns import UnusableColumns
from foldless.cli.files.read_table import Table, read_table
from foldless.cli.files.sheet import show
from foldless.cli.options import (
    CRITERION_NAMES,
    GRAM_NAMES,
    KERNEL_NAMES,
    MACHINE_NAMES,
    SEARCH_NAMES,
    SEARCHES_OF_PAPERS,
    split_names,
)
from foldless.cli.report import Findings, find_out, write_page
from foldless.core.errors import DataError, UnknownName
from foldless.estimators.registry import MACHINES


def training_table(path: Path, target: str | None, task: str, machine: str | None, **options: Any) -> Table:
    """Read a table with a target, and print a verdict on every column if several cannot be used.

    Parameters
    ----------
    path, target
    task : str
        If it is ``"auto"``, a machine that does only one task decides.
    machine : str, optional
    **options
        Of :func:`foldless.cli.read_table`.
    """
    if task == "auto" and machine in MACHINES:
        task = MACHINES[machine].task
    try:
        options = {**options, "drop": options.get("drop") or ()}
        table = read_table(path, target, task=task, needs_target=True, **options)
    except UnusableColumns as error:
        print_notes(f"{show(name)}: {verdict}" for name, verdict in error.verdicts.items())
        raise DataError(error.summary) from None
    return table


def check_names(**given: str | None) -> None:
    """Raise for a machine, kernel, criterion, search or form that does not exist, before any file is read."""
    known = {
        "machine": (*MACHINE_NAMES, "auto"),
        "kernel": (*KERNEL_NAMES, "auto"),
        "criterion": CRITERION_NAMES,
        "search": (*SEARCH_NAMES, *SEARCHES_OF_PAPERS),
        "gram": GRAM_NAMES,
    }
    for option, names in given.items():
        for name in split_names(names or ""):
            if name not in known[option]:
                raise UnknownName(f"--{option}", name, known[option])


def source_name(path: Path) -> str:
    """Return what to call the data in a heading."""
    return "standard input" if str(path) == "-" else path.name


def check_writable(*paths: Path | None) -> None:
    """Raise if a file cannot be written, before the work is done and not after; None is no file."""
    for path in paths:
        if path is None:
            continue
        if path.is_dir():
            raise DataError(f"{path}: expected a file to write, this is a directory. Name a file in it.")
        if not path.parent.is_dir():
            raise DataError(f"{path}: the directory {path.parent} does not exist. Create it first.")
        if not all(os.access(place, os.W_OK) for place in _written_places(path)):
            raise DataError(f"{path}: cannot be written there. Choose another place.")


def _written_places(path: Path) -> list[Path]:
    """Return what must be writable: the folder and an old file in it; of a pipe or a device only itself."""
    if not path.exists():
        return [path.parent]
    return [path.parent, path] if path.is_file() else [path]


def judged(experiment: Experiment, baselines: bool = True, quick: bool = False) -> Findings:
    """Return an experiment with what simple models reach on the same rows, if they are asked for; see :func:`find_out`."""
    with waiting("fitting simple models to compare with"):
        return find_out(experiment, baselines, quick)


def save_report(findings: Findings, path: Path) -> None:
    """Write the report and print where it is."""
    with waiting(f"writing {path}"):
        write_page(findings, path)
    print_message(f"wrote {path}")


def print_json(data: Any, file: TextIO | None = None) -> None:
    """Print one line of JSON, by default on stdout."""
    print(json.dumps(data, allow_nan=False), file=file)


def print_notes(notes: Iterable[str]) -> None:
    """Print notes on stderr, one line each."""
    for note in notes:
        print_message(f"note: {note}")


def command_line() -> str:
    """Return what the user typed, quoted so that a shell reads it back."""
    return shlex.join(["foldless", *sys.argv[1:]])


def progress_verbosity() -> int:
    """Return the ``verbose`` of estimators: 1 shows progress, where stderr is a terminal and somebody can see it."""
    return int(sys.stderr.isatty())


def waiting(what: str) -> AbstractContextManager[Any]:
    """Return a context that shows a spinner and a text, where stderr is a terminal."""
    return console(stderr=True).status(what) if sys.stderr.isatty() else nullcontext()


class Counter:
    """How many of some tasks are done, shown on stderr if it is a terminal."""

    def __init__(self, status: Any = None) -> None:
        self.done, self.total, self._status = 0, 0, status

    def __call__(self, done: int, total: int) -> None:
        """Take note that so many are done."""
        self.done, self.total = done, total
        if self._status is not None:
            self._status.update(str(self))

    def __str__(self) -> str:
        return f"{self.done} of {self.total} fits"

    @property
    def is_complete(self) -> bool:
        """Whether all tasks were done."""
        return self.done == self.total


@contextmanager
def counting() -> Iterator[Counter]:
    """Give a :class:`Counter`, which is shown for the time of the context."""
    with waiting("preparing") as status:
        yield Counter(status)
