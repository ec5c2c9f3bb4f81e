"""Numbers as people write them: ``$1,234.50``, ``12 %``, ``1.234,50 €`` become 1234.5, 12 and 1234.5.

A column is read in one *form*: ``"point"`` has decimal points and perhaps commas between thousands, ``"comma"`` decimal commas and
perhaps points between thousands; blanks and apostrophes may separate thousands in both. A unit (a currency, a percent sign) belongs
to the form, as in ``"comma €"``, and is the same in the whole column. A percentage stays one: ``12 %`` is 12. Any other short word is a
unit if it follows the number in all cells of a column: ``89.4 kg`` is 89.4.

Where both forms fit all cells and disagree (``1,234``), commas separate thousands if the fields of the file are separated by commas
too, and decimals otherwise.
"""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from foldless.cli.files.sheet import NUMERIC_MIN_FRACTION, Column, Sheet, is_number, show
from foldless.core.contracts import Vector

DECIMALS = ("point", "comma")
# Texts that mean a missing value in a column of numbers, in lower case.
GAPS = ("-", "--", "–", "—", ".", "none", "n.a.", "#n/a", "<na>")
UNITS = (
    *"$€£¥₹%",
    *("USD", "EUR", "GBP", "CHF", "JPY", "CNY", "INR", "CAD", "AUD", "SEK", "NOK", "DKK", "PLN"),
)

# A short word, perhaps by another: kg, m², km/h, °C.
WORD = re.compile(r"°?[^\W\d_]{1,6}(?:/[^\W\d_]{1,6})?|°")

_WITH_WORD = re.compile(rf"(.*\d[.,]?)\s*+({WORD.pattern})")
_UNIT = "|".join(map(re.escape, UNITS))
_WRITTEN = re.compile(
    rf"([+-]?)\s*+({_UNIT})?\s*+([+-]?)([\d.,][\d.,'’\s]*+(?:[eE][+-]?\d++)?)\s*+({_UNIT})?"
)
_EXPONENT = r"(?:[eE][+-]?\d++)?"
_SHAPES = {
    "point": re.compile(rf"(?:\d{{1,3}}(?:([,'’\s])\d{{3}}(?:\1\d{{3}})*+)|\d*+)(?:\.\d*+)?{_EXPONENT}"),
    "comma": re.compile(rf"(?:\d{{1,3}}(?:([.'’\s])\d{{3}}(?:\1\d{{3}})*+)|\d*+)(?:,\d*+)?{_EXPONENT}"),
}


def is_plain(text: str, number: float) -> bool:
    """Return True if Python reads this number from a text too."""
    return is_number(text) and float(text) == number


def is_form(text: str) -> bool:
    """Return True for the form of a column: empty, or how decimals are written and perhaps a unit."""
    decimals, _, unit = text.partition(" ")
    return not text or (decimals in DECIMALS and (not unit or unit in UNITS or bool(WORD.fullmatch(unit))))


def parsed(sheet: Sheet, column: Column, known: str = "") -> Column:
    """Return a column of numbers as a float array; one with a few other texts keeps these; any other comes back as it is.

    Among numbers, a dash and its like (``GAPS``) are missing values; among texts they are texts.

    Parameters
    ----------
    sheet : Sheet
    column : Column
    known : str
        The form of the column in training, which is preferred if it fits.
    """
    gaps = _gaps(column)
    if gaps:
        cells = [None if cell in gaps else cell for cell in column.cells]
        read = _parsed(sheet, replace(column, cells=cells), known)
        if isinstance(read.cells, np.ndarray):
            note = f"has {' and '.join(map(show, sorted(gaps)))} where values are missing"
            return replace(read, note=f"{read.note}, and {note}" if read.note else note)
    return _parsed(sheet, column, known)


def _gaps(column: Column) -> set[str]:
    """Return the texts of a column that mean a missing value if the others are numbers."""
    if isinstance(column.cells, np.ndarray) or column.levels is not None:
        return set()
    return {cell for cell in column.cells if cell is not None and cell.lower() in GAPS}


def _parsed(sheet: Sheet, column: Column, known: str) -> Column:
    if isinstance(column.cells, np.ndarray) or column.levels is not None or column.problem:
        return column
    read = _understood(sheet, column, column.cells, known)
    return replace(read, written=column.cells) if read.form else read


def _understood(sheet: Sheet, column: Column, written: Sequence[str | None], known: str) -> Column:
    preferred, _, unit = known.partition(" ")
    cells = _without_word(written, unit)
    if all(cell is None or is_number(cell) for cell in cells) and preferred != "comma":
        return replace(column, cells=_floats(cells))
    column, counts = replace(column, cells=cells), Counter(cell for cell in cells if cell is not None)
    preferred = preferred or ("comma" if sheet.decimal_commas else "point")
    decimals = _decimals(counts, preferred)
    return _read_with_word(column, cells, preferred) if decimals is None else _read(column, counts, decimals)


def _without_word(cells: Sequence[str | None], word: str) -> Sequence[str | None]:
    """Return cells with a word taken away where it follows a number; a currency is left to the reading of the number."""
    if not word or word in UNITS:
        return cells
    return [cell if cell is None or _split(cell)[1] != word else _split(cell)[0] for cell in cells]


def _split(cell: str) -> tuple[str, str]:
    """Return a text before a word at its end, and the word; empty if there is none."""
    found = _WITH_WORD.fullmatch(cell)
    return (found[1], found[2]) if found else (cell, "")


def _read_with_word(column: Column, cells: Sequence[str | None], preferred: str) -> Column:
    """Return a column of numbers that are all followed by the same word; any other as it is."""
    words = {_split(cell)[1] for cell in cells if cell is not None}
    if len(words) != 1 or words == {""}:
        return column
    word = words.pop()
    bare = _without_word(cells, word)
    counts = Counter(cell for cell in bare if cell is not None)
    decimals = _decimals(counts, preferred)
    if decimals is None or any(value(cell, decimals) is None or _unit(cell) for cell in counts):
        return column
    read = _read(replace(column, cells=bare), counts, decimals)
    first = next(cell for cell in cells if cell is not None)
    note = f"was read as numbers: {show(first)} is {value(_split(first)[0], decimals):.10g}"
    return replace(read, form=f"{decimals} {word}", note=note)


def _decimals(counts: Counter[str], preferred: str) -> str | None:
    """Return how the decimals of a column are written; None if it does not hold numbers."""
    share = {
        decimals: sum(n for cell, n in counts.items() if value(cell, decimals) is not None)
        / max(1, counts.total())
        for decimals in sorted(DECIMALS, key=lambda decimals: decimals != preferred)
    }
    best = max(share, key=share.__getitem__)
    return best if share[best] >= NUMERIC_MIN_FRACTION else None


def _read(column: Column, counts: Counter[str], decimals: str) -> Column:
    units = sorted({unit for cell in counts if value(cell, decimals) is not None and (unit := _unit(cell))})
    if len(units) > 1:
        return replace(
            column, problem=f"mixes the units {' and '.join(map(show, units))}. Convert it to one of them."
        )
    read = {cell: value(cell, decimals) for cell in counts}
    plain = {
        cell: cell if number is None or is_plain(cell, number) else repr(number)
        for cell, number in read.items()
    }
    cells = [None if cell is None else plain[cell] for cell in column.cells]
    unusual = [cell for cell in counts if plain[cell] != cell]
    form = " ".join([decimals, *units])
    stray = any(number is None for number in read.values())
    note = f"was read as numbers: {show(unusual[0])} is {float(plain[unusual[0]]):.10g}" if unusual else ""
    return replace(column, cells=cells if stray else _floats(cells), form=form if unusual else "", note=note)


def value(text: str, decimals: str) -> float | None:
    """Return the number that a text writes; None if it is none.

    >>> (
    ...     value("$1,234.50", "point"),
    ...     value("1.234,50 €", "comma"),
    ...     value("(12)", "point"),
    ...     value("1,5", "point"),
    ... )
    (1234.5, 1234.5, -12.0, None)
    """
    if is_number(text) and (decimals == "point" or "." not in text):
        return float(text)
    if text.startswith("(") and text.endswith(")"):  # a negative amount, as accountants write it
        inside = value(text[1:-1], decimals)
        return None if inside is None else -inside
    found = _WRITTEN.fullmatch(text)
    if found is None or (found[1] and found[3]) or (found[2] and found[5]):
        return None
    digits = found[4].strip()
    if not _SHAPES[decimals].fullmatch(digits):
        return None
    separators = r"['’\s,]" if decimals == "point" else r"['’\s.]"
    plain = found[1] + found[3] + re.sub(separators, "", digits).replace(",", ".")
    return float(plain) if is_number(plain) else None


def _unit(text: str) -> str:
    found = _WRITTEN.fullmatch(text.strip("()"))
    return (found[2] or found[5] or "") if found else ""


def _floats(cells: Sequence[str | None]) -> Vector:
    return np.array([np.nan if cell is None else float(cell) for cell in cells], dtype=np.float64)
