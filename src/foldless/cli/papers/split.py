"""One split of a data set into training and test rows, and the score of a method on it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from foldless.core.contracts import Matrix, Vector

# Called as each split or trial is done, with its names and numbers.
Watch = Callable[..., Any]


@dataclass(frozen=True, eq=False)
class Split:
    """Training rows and test rows; the targets are labels -1 and 1, or numbers."""

    X: Matrix
    y: Vector
    X_test: Matrix
    y_test: Vector

    @classmethod
    def of_rows(cls, X: Matrix, y: Vector, train: NDArray[np.intp], test: NDArray[np.intp]) -> Self:
        """Return the split with these row numbers."""
        return cls(X[train], y[train], X[test], y[test])

    def error(self, outputs: Vector) -> float:
        """Return the fraction of the test rows whose sign the outputs get wrong; zero is wrong."""
        return float(np.mean(self.y_test * outputs <= 0))


@dataclass(frozen=True)
class Score:
    """One method on one split: test error in percent, processor seconds, and what else its paper measures."""

    error: float
    seconds: float
    more: Mapping[str, float] = field(default_factory=dict)


# (set, method) -> the score of each split
Scores = dict[tuple[str, str], list[Score]]


def counts_by_method(scores: Scores) -> str:
    """Return how many splits each method was run on, for the remark below a table."""
    counts: dict[str, set[int]] = {}
    for (_, method), found in scores.items():
        counts.setdefault(method, set()).add(len(found))
    return "; ".join(f"{m}: {' or '.join(map(str, sorted(c)))}" for m, c in counts.items())
