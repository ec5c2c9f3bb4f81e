"""Numbers written for people."""

import re
from collections.abc import Sequence

# Numbers from this one on are written with a power of ten.
PLAIN_MAX_NUMBER = 1e5


def number(value: float | None) -> str:
    """Return three digits of a number: 1420, not 1.42e+03, and 1e7, not 1e+07; a dash for None.

    Examples
    --------
    >>> number(1423.4), number(0.00123456), number(1e7)
    ('1420', '0.00123', '1e7')
    """
    if value is None:
        return "-"
    if 1e3 <= abs(value) < PLAIN_MAX_NUMBER:
        return f"{float(f'{value:.3g}'):.0f}"
    return re.sub(r"e([+-])0*", lambda sign: "e-" if sign[1] == "-" else "e", f"{value:.3g}")


def percent(fraction: float | None) -> str:
    """Return a fraction as a percentage; a dash for None."""
    return "-" if fraction is None else f"{100 * fraction:.1f} %"


def count(n: int, one: str, many: str = "") -> str:
    """Return a number and its noun."""
    return f"{n} {one if n == 1 else many or one + 's'}"


def listing(words: Sequence[str]) -> str:
    """Return words with commas, and an "and" before the last.

    Examples
    --------
    >>> listing(["a", "b", "c"])
    'a, b and c'
    """
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)
