"""A finished study -> text, table, JSON, figures, page."""

from foldless.report.combine import write_report
from foldless.report.console import console, say, table
from foldless.report.text import WORDS, cross_entropy, facts, number, percent, plain

__all__ = [
    "WORDS",
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
