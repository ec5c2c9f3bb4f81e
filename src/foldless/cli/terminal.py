"""What the commands share: the table they read, the files they write, what they print, and their exit codes."""

import json
import os
import shlex
import sys
from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any, TextIO

from foldless.cli.experiment import Experiment
from foldless.cli.files.read_table import Table, read_table
from foldless.cli.report import Findings, console, print_message, write_report
from foldless.core.errors import DataError
from foldless.estimators.registry import MACHINES

EXIT_MISTAKE, EXIT_INTERRUPTED, EXIT_BROKEN_PIPE = 2, 130, 141


def training_table(
    path: Path,
    target: str | None,
    drop: Sequence[str] | None,
    impute: bool,
    task: str,
    machine: str | None,
    max_rows: int | None = None,
) -> Table:
    """Read a table with a target; if ``task`` is ``"auto"``, a machine that does only one task decides."""
    if task == "auto" and machine in MACHINES:
        task = MACHINES[machine].task
    table = read_table(path, target, drop=drop or (), impute=impute, task=task, max_rows=max_rows)
    table.target()
    return table


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


def save_report(experiment: Experiment, path: Path, baselines: bool = True) -> Findings:
    """Write the report, print where it is, and return what it found out."""
    with waiting(f"writing {path}"):
        findings = write_report(experiment, path, baselines=baselines)
    print_message(f"wrote {path}")
    return findings


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
