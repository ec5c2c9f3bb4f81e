"""ARFF: numeric, nominal and string attributes, dense rows."""

import re
from collections.abc import Callable

from foldless.cli.files.sheet import MISSING, Column, Sheet, is_number, show
from foldless.core.errors import DataError

_CELL = re.compile(r"""\s*(?:'((?:[^'\\]|\\.)*)'|"((?:[^"\\]|\\.)*)"|([^,'"]*?))\s*(?:,|$)""")
_ATTRIBUTE = re.compile(r"""@attribute\s+(?:'((?:[^'\\]|\\.)*)'|"([^"]*)"|(\S+))\s+(.+)""", re.IGNORECASE)


def arff(path, text: str) -> Sheet:
    """Read the attributes, then the rows; a bare ``?`` is missing."""
    attributes: list[tuple[str, str]] = []
    lines, rows, in_data = [], [], False
    for number, line in enumerate(text.splitlines(), 1):
        line = line.strip()
        if not line or line.startswith("%"):
            continue
        if in_data:
            lines.append(number)
            rows.append(_row(path, number, line, len(attributes)))
        elif line.lower().startswith("@attribute"):
            attributes.append(_attribute(path, number, line))
        in_data = in_data or line.lower().startswith("@data")
    if not attributes or not in_data:
        raise DataError(
            f"{path}: an ARFF file needs @attribute lines and then @data; one of them is missing."
        )
    columns = zip(*rows) if rows else [()] * len(attributes)
    cells = zip(attributes, columns)
    return Sheet(str(path), tuple(_column(path, lines, *pair) for pair in cells), lines)


def _attribute(path, number: int, line: str) -> tuple[str, str]:
    match = _ATTRIBUTE.fullmatch(line)
    if match is None:
        raise DataError(f"{path}: line {number} should read '@attribute name type', got {show(line)}.")
    return _unquoted(match), match[4].strip()


def _unquoted(match: re.Match) -> str:
    quoted = match[1] if match[1] is not None else match[2]
    return match[3] if quoted is None else re.sub(r"\\(.)", r"\1", quoted)


def _cells(text: str) -> list[str | None] | None:
    """Cut a line at its commas; None if quotes do not match. A bare ``?`` is missing, a quoted one is not."""
    cells, at = [], 0
    while at <= len(text):
        match = _CELL.match(text, at)
        if match is None:
            return None
        cells.append(
            None if (match[3] or "").lower() in MISSING and match[3] is not None else _unquoted(match)
        )
        at = match.end() if text[match.end() - 1 : match.end()] == "," and match.end() > at else len(text) + 1
    return cells


def _row(path, number: int, line: str, width: int) -> list[str | None]:
    if line.startswith("{"):
        raise DataError(
            f"{path}: line {number} is a sparse ARFF row, which is not read. Save it as LIBSVM or CSV."
        )
    cells = _cells(line)
    if cells is None:
        raise DataError(f"{path}: a quote is left open on line {number}.")
    if len(cells) != width:
        raise DataError(
            f"{path}: line {number} has {len(cells)} fields, expected {width}, one per @attribute."
        )
    return cells


def _column(path, lines: list[int], attribute: tuple[str, str], cells: tuple) -> Column:
    name, kind = attribute
    what = f"column {show(name)}"
    if kind.startswith("{"):
        levels = tuple(level for level in _cells(kind.strip("{} \t")) or () if level is not None)
        _refuse(path, lines, cells, lambda cell: cell in levels, f"{what}: expected a declared level")
        return Column(name, list(cells), levels)
    word = kind.split()[0].lower()
    if word not in {"numeric", "real", "integer", "string"}:
        raise DataError(f"{path}: {what} is of type {show(kind)}; read are numeric, nominal and string.")
    if word != "string":
        _refuse(path, lines, cells, is_number, f"{what}: expected a number")
    return Column(name, list(cells))


def _refuse(path, lines: list[int], cells: tuple, allowed: Callable[[str], bool], expected: str) -> None:
    for line, cell in zip(lines, cells):
        if cell is not None and not allowed(cell):
            raise DataError(f"{path}: line {line}, {expected}, got {show(cell)}.")
