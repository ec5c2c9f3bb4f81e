"""The command line and what only it needs: files, the report, and the tables of the papers.

From Python: ``read_table`` reads a file, ``run_experiment`` tunes a machine on it, ``write_report`` writes the page, and
``run`` does what the command line does.
"""

from foldless.cli.experiment import Experiment, run_experiment
from foldless.cli.files.read_table import Table, read_table
from foldless.cli.main import run
from foldless.cli.report import write_report

__all__ = ["Experiment", "Table", "read_table", "run", "run_experiment", "write_report"]
