"""Dates -> numbers: days since 1970, year, month, day of the week (Monday is 1) and hour, without those that never change.

The dates of a column are all written in one form; ISO dates are understood beside any other. A moment with a time zone counts in UTC.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import Any

import numpy as np
from numpy.typing import NDArray

from foldless.cli.files.sheet import NUMERIC_MIN_FRACTION
from foldless.core.contracts import Matrix, Vector

ISO = "ISO"
DATE_FORMS = (
    *(ISO, "%Y/%m/%d", "%Y.%m.%d", "%Y-%m", "%d.%m.%Y", "%d.%m.%y"),
    *("%d/%m/%Y", "%m/%d/%Y", "%d-%m-%Y", "%m-%d-%Y", "%d/%m/%y", "%m/%d/%y"),
    *("%d %b %Y", "%d %B %Y", "%d-%b-%Y", "%d-%b-%y", "%b %d, %Y", "%B %d, %Y", "%b %Y", "%B %Y"),
)
TIME_FORMS = ("", " %H:%M", " %H:%M:%S", " %I:%M %p", " %I:%M:%S %p")
# Years outside are more likely codes, or stand for "never".
DATE_MIN_YEAR, DATE_MAX_YEAR = 1600, 2400
# Cells on which the forms are tried before all are read.
FORM_SAMPLE_CELLS = 50
PARTS = ("days", "year", "month", "weekday", "hour")

Moments = NDArray[np.datetime64]


def parse_date(text: str, form: str) -> datetime | None:
    """Return the moment that a text means in a form, without a time zone; None if it is no date.

    >>> parse_date("31.01.2024", "%d.%m.%Y"), parse_date("31.02.2024", "%d.%m.%Y")
    (datetime.datetime(2024, 1, 31, 0, 0), None)
    """
    found = _iso(text)
    for time in TIME_FORMS if found is None and form != ISO else ():
        try:
            found = datetime.strptime(text, form + time)
            break
        except ValueError:
            continue
    return found if found is not None and DATE_MIN_YEAR <= found.year <= DATE_MAX_YEAR else None


def _iso(text: str) -> datetime | None:
    try:
        found = datetime.fromisoformat(text)
        return found if found.tzinfo is None else found.astimezone(UTC).replace(tzinfo=None)
    except (ValueError, OverflowError):
        return None


def date_forms(cells: Iterable[str | None]) -> list[str]:
    """Return the form of a column of dates; two forms if day and month can be exchanged, none if it holds something else.

    >>> date_forms(["2024-01-31"]), date_forms(["03/04/2024", "05/06/2024"]), date_forms(["red", "blue"])
    (['ISO'], ['%d/%m/%Y', '%m/%d/%Y'], [])
    """
    counts = Counter(cell for cell in cells if cell is not None)
    sample = list(counts)[:FORM_SAMPLE_CELLS]
    likely = [form for form in DATE_FORMS if _share(Counter(sample), form) >= NUMERIC_MIN_FRACTION]
    share = {form: _share(counts, form) for form in likely}
    best = max(share.values(), default=0.0)
    if best < NUMERIC_MIN_FRACTION:
        return []
    fitting = {form: [parse_date(cell, form) for cell in counts] for form in likely if share[form] == best}
    first = next(iter(fitting.values()))
    return [form for i, (form, read) in enumerate(fitting.items()) if i == 0 or read != first]


def _share(counts: Counter[str], form: str) -> float:
    found = sum(n for cell, n in counts.items() if parse_date(cell, form) is not None)
    return found / max(1, counts.total())


def moments(cells: Sequence[str | None], form: str) -> Moments:
    """Return the dates of a column, in seconds; not a time where a cell is missing or no date."""
    read: dict[Any, Any] = {cell: parse_date(cell, form) for cell in set(cells) if cell is not None}
    return np.array([read.get(cell) for cell in cells], dtype="datetime64[s]")


def date_part(when: Moments, part: str) -> Vector:
    """Return one of the numbers that dates become.

    >>> when = moments(["2024-02-29 18:30"], ISO)
    >>> [float(date_part(when, part)[0]) for part in PARTS]
    [19782.770833333332, 2024.0, 2.0, 4.0, 18.5]
    """
    seconds = when.astype(np.float64)
    if part == "days":
        return seconds / 86_400
    if part == "year":
        return when.astype("datetime64[Y]").astype(np.float64) + 1970
    if part == "month":
        return when.astype("datetime64[M]").astype(np.float64) % 12 + 1
    # The first of January 1970 was a Thursday.
    return (seconds // 86_400 + 3) % 7 + 1 if part == "weekday" else seconds % 86_400 / 3600


def date_parts(when: Moments, parts: Sequence[str]) -> Matrix:
    """Return the numbers that dates become, a column for each part."""
    return np.column_stack([np.empty((len(when), 0)), *(date_part(when, part) for part in parts)])


def varying_parts(when: Moments) -> tuple[str, ...]:
    """Return the parts that are not the same in all dates."""
    return tuple(part for part in PARTS if np.ptp(date_part(when, part)) > 0)
