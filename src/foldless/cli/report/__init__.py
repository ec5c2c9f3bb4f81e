"""A finished experiment -> text, table, JSON, figures, page."""

from foldless.cli.report.console import console, print_message, table
from foldless.cli.report.text import cross_entropy, facts, number, percent, to_plain_data
from foldless.cli.report.write import write_report
from foldless.inspection.criterion_surface import PARAMETER_TITLES

__all__ = [
    "PARAMETER_TITLES",
    "console",
    "cross_entropy",
    "facts",
    "number",
    "percent",
    "print_message",
    "table",
    "to_plain_data",
    "write_report",
]
