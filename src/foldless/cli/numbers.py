"""Numbers written for people."""

import math
import re
from collections.abc import Sequence

# Numbers from this one on have commas between thousands; years, and other numbers of four digits, have none.
GROUPED_MIN_NUMBER = 1e4
# Numbers from this one on are written with a power of ten.
PLAIN_MAX_NUMBER = 1e9


def number(value: float | None) -> str:
    """Return three digits of a number: 143,000, not 1.43e+05, and 1.4e9, not 1.4e+09; a dash for None.

    Examples
    --------
    >>> number(1423.4), number(142857), number(0.00123456), number(1.4e9)
    ('1420', '143,000', '0.00123', '1.4e9')
    """
    if value is None:
        return "-"
    short = f"{value:.3g}"
    if 1e3 <= abs(float(short)) < PLAIN_MAX_NUMBER:
        return grouped(float(short))
    return re.sub(r"e([+-])0*", lambda sign: "e-" if sign[1] == "-" else "e", short)


def grouped(value: float) -> str:
    """Return a whole number, with commas between its thousands if it is long."""
    return f"{value:,.0f}" if abs(value) >= GROUPED_MIN_NUMBER else f"{value:.0f}"


def from_table(value: float) -> str:
    """Return a value of a column: a whole number with all its digits, another one with three.

    Examples
    --------
    >>> from_table(2021.0), from_table(12345.0), from_table(98.765)
    ('2021', '12,345', '98.8')
    """
    is_whole = value == round(value) and abs(value) < PLAIN_MAX_NUMBER
    return grouped(value) if is_whole else number(value)


def as_precise(value: float, other: float) -> str:
    """Return a number with as many decimals as three digits of another one have.

    Examples
    --------
    >>> as_precise(1.1, 0.95), as_precise(4.5678, 12.3), as_precise(5362.0, 41300.0)
    ('1.100', '4.6', '5360')
    """
    if not 1e-3 <= abs(other) < 1e3:
        return number(value)
    return f"{value:.{2 - math.floor(math.log10(abs(other)))}f}"


def with_spread(value: float, spread: float) -> str:
    """Return a number and its uncertainty, which end at the same digit.

    Examples
    --------
    >>> with_spread(54.3, 1.694), with_spread(0.5, 0.0824)
    ('54.3 ± 1.7', '0.500 ± 0.082')
    """
    return f"{as_precise(value, value)} ± {as_precise(spread, value)}"


def percent(fraction: float | None) -> str:
    """Return a fraction as a percentage; a dash for None."""
    return "-" if fraction is None else f"{100 * fraction:.1f} %"


def listing(words: Sequence[str]) -> str:
    """Return words with commas, and an "and" before the last.

    Examples
    --------
    >>> listing(["a", "b", "c"])
    'a, b and c'
    """
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)
