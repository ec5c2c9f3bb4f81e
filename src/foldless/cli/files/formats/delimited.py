"""Delimited text: CSV, TSV and their relatives; delimiter and header are recognised.

Python's ``csv`` cuts the text. pyarrow.csv is much faster, but it must be told the delimiter, does not take a run of blanks for one, and
counts records: messages could not name the line of the file, which differs from the record after a blank line or a quoted line break.
"""

import csv
import io
from collections import Counter
from collections.abc import Iterator
from typing import Any

from foldless.cli.files.sheet import Column, PathLike, Sheet, check_size, is_number, numbered, present, show
from foldless.core.errors import DataError

DELIMITERS = (",", ";", "\t", "|", " ")
HEAD_LINES = 50


def read_delimited(
    path: PathLike, text: str, delimiter: str | None = None, header: bool | None = None
) -> Sheet:
    """Cut text into columns; a first row without any number is taken for the header."""
    delimiter = _one_character(path, delimiter) or _likely_delimiter(text)
    lines, rows = _records(path, text, delimiter)
    _check_equal_widths(path, lines, rows)
    return sheet_of_rows(path, lines, rows, header, decimal_commas=delimiter != ",")


def sheet_of_rows(
    path: PathLike, lines: list[int], rows: list[list[str]], header: bool | None = None, **facts: Any
) -> Sheet:
    """Return rows of equally many texts as columns; a first row without any number is taken for the header."""
    check_size(path, len(rows), len(rows[0]))
    header = _is_header(rows[0]) if header is None else header
    names = [cell or f"column {j}" for j, cell in enumerate(rows[0], 1)] if header else numbered(len(rows[0]))
    lines, rows = lines[header:], rows[header:]
    cells = [list(map(present, column)) for column in zip(*rows)] or [[] for _ in names]
    return Sheet(str(path), tuple(map(Column, names, cells)), lines, **facts)


def _one_character(path: PathLike, delimiter: str | None) -> str | None:
    delimiter = {"tab": "\t", "\\t": "\t", "space": " "}.get(delimiter or "", delimiter)
    if delimiter is not None and (len(delimiter) != 1 or delimiter in '\r\n"'):
        raise DataError(f"{path}: a delimiter is one character (or 'tab'), got {show(delimiter)}.")
    return delimiter


def _fields(text: str, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    # A run of blanks counts as one delimiter.
    if delimiter == " ":
        text = "\n".join(" ".join(line.split()) for line in text.splitlines())
    reader = csv.reader(
        io.StringIO(text, newline=""), delimiter=delimiter, skipinitialspace=True, strict=True
    )
    for row in reader:
        cells = [cell.strip() for cell in row]
        if len(cells) > 1 or any(cells):
            yield reader.line_num, cells


def _records(path: PathLike, text: str, delimiter: str) -> tuple[list[int], list[list[str]]]:
    line = 0
    lines: list[int] = []
    rows: list[list[str]] = []
    try:
        for line, row in _fields(text, delimiter):
            lines.append(line)
            rows.append(row)
    except csv.Error as error:
        raise DataError(f"{path}: {error}, in the record after line {line}. Is a quote left open?") from None
    # Spreadsheets write lines of nothing but delimiters around a table; inside it such a line is a row without values.
    held = [i for i, row in enumerate(rows) if any(row)]
    if not held:
        raise DataError(f"{path}: only delimiters, no values. Expected a table with at least four rows.")
    inside = slice(held[0], held[-1] + 1)
    return lines[inside], rows[inside]


def _likely_delimiter(text: str) -> str:
    """Return the delimiter that cuts the first records into equally many fields, at least two."""
    head = "".join(text.splitlines(keepends=True)[:HEAD_LINES])
    agreement = {delimiter: _agreement(head, delimiter) for delimiter in DELIMITERS}
    # max takes the first of equals, so a comma before a blank.
    best = max(DELIMITERS, key=agreement.__getitem__)
    return best if agreement[best] > 0 else ","


def _agreement(head: str, delimiter: str) -> float:
    counts: Counter[int] = Counter()
    try:
        for _, row in _fields(head, delimiter):
            counts[len(row)] += 1
    except csv.Error:
        pass  # the head may end inside a quoted field
    width, votes = counts.most_common(1)[0] if counts else (1, 0)
    return votes / counts.total() if width > 1 else 0.0


def _is_header(row: list[str]) -> bool:
    """Return True for a row of names: texts only, no number and no missing value."""
    return any(row) and not any(map(is_number, row)) and row.count("?") == 0


def _check_equal_widths(path: PathLike, lines: list[int], rows: list[list[str]]) -> None:
    width = len(rows[0])
    for line, row in zip(lines, rows):
        if len(row) != width:
            raise DataError(
                f"{path}: line {line} has {len(row)} fields, expected {width} as on line {lines[0]}. "
                "Check its quotes and delimiters."
            )
