"""ARFF: numeric, nominal and string attributes, dense rows.

The patterns use possessive quantifiers (``*+``), which never backtrack: the time is linear in the length of a line.
"""

import re
from collections.abc import Callable, Collection

from foldless.cli.files.sheet import MISSING, Column, PathLike, Sheet, check_size, is_number, show
from foldless.core.errors import DataError

_QUOTED = r"""'((?:[^'\\]|\\.)*+)'|"((?:[^"\\]|\\.)*+)\""""
_CELL = re.compile(rf"""\s*+(?:{_QUOTED}|([^,'"]*+))\s*+(?:,|$)""")
_ATTRIBUTE = re.compile(rf"@attribute\s++(?:{_QUOTED}|(\S++))\s++(.++)", re.IGNORECASE)
NUMBER_TYPES = {"numeric", "real", "integer"}


def read_arff(path: PathLike, text: str) -> Sheet:
    """Read the attributes, then the rows; a bare ``?`` is missing."""
    attributes: list[tuple[str, str]] = []
    lines: list[int] = []
    rows: list[list[str | None]] = []
    in_data = False
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
    check_size(path, len(rows), len(attributes))
    columns = zip(*rows) if rows else [()] * len(attributes)
    cells = zip(attributes, columns)
    return Sheet(str(path), tuple(_column(path, lines, *pair) for pair in cells), lines)


def _attribute(path: PathLike, number: int, line: str) -> tuple[str, str]:
    match = _ATTRIBUTE.fullmatch(line)
    if match is None:
        raise DataError(f"{path}: line {number} should read '@attribute name type', got {show(line)}.")
    return _unquoted(match), match[4].strip()


def _unquoted(match: re.Match[str]) -> str:
    quoted = match[1] if match[1] is not None else match[2]
    return match[3].strip() if quoted is None else re.sub(r"\\(.)", r"\1", quoted)


def _cells(text: str) -> list[str | None] | None:
    """Cut a line at its commas; None if quotes do not match. A bare ``?`` is missing, a quoted one is not."""
    cells: list[str | None] = []
    at, comma = 0, True
    while comma:
        match = _CELL.match(text, at)
        if match is None:
            return None
        cell, bare = _unquoted(match), match[3] is not None
        cells.append(None if bare and cell.lower() in MISSING else cell)
        at, comma = match.end(), match.end() > match.start() and text[match.end() - 1] == ","
    return cells


def _row(path: PathLike, number: int, line: str, width: int) -> list[str | None]:
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


def _column(
    path: PathLike, lines: list[int], attribute: tuple[str, str], cells: Collection[str | None]
) -> Column:
    name, kind = attribute
    what = f"column {show(name)}"
    if kind.startswith("{"):
        declared = _cells(kind.strip("{} \t")) or []
        levels = dict.fromkeys(level for level in declared if level is not None)
        _check_cells(path, lines, cells, levels.__contains__, f"{what}: expected a declared level")
        return Column(name, list(cells), tuple(levels))
    word = kind.split()[0].lower()
    if word not in {*NUMBER_TYPES, "string"}:
        raise DataError(f"{path}: {what} is of type {show(kind)}; read are numeric, nominal and string.")
    if word in NUMBER_TYPES:
        _check_cells(path, lines, cells, is_number, f"{what}: expected a number")
    return Column(name, list(cells))


def _check_cells(
    path: PathLike,
    lines: list[int],
    cells: Collection[str | None],
    is_allowed: Callable[[str], bool],
    expected: str,
) -> None:
    for line, cell in zip(lines, cells):
        if cell is not None and not is_allowed(cell):
            raise DataError(f"{path}: line {line}, {expected}, got {show(cell)}.")
