"""A finished study -> text, table, JSON, figures, page."""

from foldless.cli.report.console import console, say, table
from foldless.cli.report.text import PARAMETER_TITLES, cross_entropy, facts, number, percent, plain
from foldless.cli.report.write import write_report

__all__ = [
    "PARAMETER_TITLES",
    "console",
    "cross_entropy",
    "facts",
    "number",
    "percent",
    "plain",
    "say",
    "table",
    "write_report",
]
