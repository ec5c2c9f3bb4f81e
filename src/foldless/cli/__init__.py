"""The command line and what only it needs: files, the report, and the tables of the papers.

From Python: ``read_table`` reads a file and ``ColumnReader`` a data frame, ``run_experiment`` tunes a machine on a table,
``write_report`` writes the page, and ``run`` does what the command line does.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from foldless.cli.experiment import Experiment, run_experiment
    from foldless.cli.files.column_reader import ColumnReader
    from foldless.cli.files.read_table import Table, read_table
    from foldless.cli.main import run
    from foldless.cli.report import write_report

__all__ = ["ColumnReader", "Experiment", "Table", "read_table", "run", "run_experiment", "write_report"]

_MODULES = {
    "ColumnReader": "files.column_reader",
    "Experiment": "experiment",
    "Table": "files.read_table",
    "read_table": "files.read_table",
    "run": "main",
    "run_experiment": "experiment",
    "write_report": "report",
}


def __getattr__(name: str) -> Any:
    """Import what is asked for, so that ``foldless --help`` answers at once."""
    if name not in _MODULES:
        raise AttributeError(f"module 'foldless.cli' has no attribute {name!r}")
    return getattr(import_module(f"foldless.cli.{_MODULES[name]}"), name)
