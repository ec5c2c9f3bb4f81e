"""A look at the starts, from which nothing descends."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from foldless.core.contracts import SCAN, Box, Stop, Vector
from foldless.searches.base import Search
from foldless.searches.run import SearchRun


@dataclass(frozen=True)
class Scan(Search):
    """Evaluates its starts, and no other point."""

    name: ClassVar[str] = SCAN

    def run(self, run: SearchRun, box: Box, starts: Sequence[Vector]) -> Stop:
        """Evaluate the starts, one after the other."""
        for theta in starts:
            run.evaluate(theta, SCAN, gradient=False)
        return Stop.EXHAUSTED
