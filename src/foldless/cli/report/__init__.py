"""A finished experiment -> text, table, JSON, figures, page."""

from foldless.cli.report.cautions import cautions
from foldless.cli.report.numbers import number, percent
from foldless.cli.report.text import cross_entropy, facts, to_plain_data
from foldless.cli.report.verdict import Findings, headline
from foldless.cli.report.write import write_report
from foldless.inspection.criterion_surface import PARAMETER_TITLES

__all__ = [
    "Findings",
    "PARAMETER_TITLES",
    "cautions",
    "cross_entropy",
    "facts",
    "headline",
    "number",
    "percent",
    "to_plain_data",
    "write_report",
]
