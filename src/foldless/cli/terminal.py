"""What the commands share: the table they read, the files they write, and what they say while they work."""

import json
import os
import shlex
import sys
from contextlib import nullcontext

from foldless.cli.files.read_table import DataError, read_table
from foldless.cli.report import console, say, write_report
from foldless.estimators.registry import MACHINES


def training_table(path, target, drop, impute, task, machine=None):
    """Read a table with its target; a machine that does one task only decides where ``task`` is ``"auto"``."""
    if task == "auto" and machine in MACHINES:
        task = MACHINES[machine].task
    rows = read_table(path, target, drop=drop or (), impute=impute, task=task)
    if rows.y is None:
        raise DataError(f"{path}: which column is to be predicted? Name it: --target COLUMN.")
    return rows


def check_writable(*paths):
    """Complain about a file that cannot be written, before the work and not after; None is nothing to write."""
    for path in paths:
        if path is None:
            continue
        if path.is_dir():
            raise DataError(f"{path}: expected a file to write, this is a directory. Name a file in it.")
        if not path.parent.is_dir():
            raise DataError(f"{path}: the directory {path.parent} does not exist. Create it first.")
        if not os.access(path if path.exists() else path.parent, os.W_OK):
            raise DataError(f"{path}: cannot be written there. Choose another place.")


def keep_report(study, path):
    """Write the report and say so."""
    with waiting(f"writing {path}"):
        write_report(study, path)
    say(f"wrote {path}")


def print_json(data, file=None):
    """Print one line of JSON, by default on stdout."""
    print(json.dumps(data, allow_nan=False), file=file)


def tell(notes):
    """Say notes on stderr."""
    for note in notes:
        say(f"note: {note}")


def command_line():
    """What the user typed, so that a shell reads it back the same."""
    return shlex.join(["foldless", *sys.argv[1:]])


def bar():
    """Progress is for people who look: only where stderr is a terminal."""
    return int(sys.stderr.isatty())


def waiting(what):
    """Show that something is being done."""
    return console(stderr=True).status(what) if sys.stderr.isatty() else nullcontext()
