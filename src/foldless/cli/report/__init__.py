"""A finished experiment -> text, table, JSON, figures, page."""

from foldless.cli.numbers import number, percent
from foldless.cli.report.cautions import cautions
from foldless.cli.report.text import cross_entropy, facts, to_plain_data
from foldless.cli.report.verdict import Findings, find_out, headline, plain_verdict, score_rows, score_text
from foldless.cli.report.write import write_page, write_report
from foldless.inspection.criterion_surface import PARAMETER_TITLES

__all__ = [
    "Findings",
    "PARAMETER_TITLES",
    "cautions",
    "cross_entropy",
    "facts",
    "find_out",
    "headline",
    "number",
    "percent",
    "plain_verdict",
    "score_rows",
    "score_text",
    "to_plain_data",
    "write_page",
    "write_report",
]
