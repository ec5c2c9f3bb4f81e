"""From the unit of the library, cost per row, to the normalisation of a paper or of the specification."""

import pytest


def as_printed(reading):
    """The reading as its formula is printed: per row times the divisor, which must give the part ``total``."""
    printed = reading.scaled(reading.divisor)
    assert printed.value == pytest.approx(reading.parts["total"], rel=1e-14)
    return printed
