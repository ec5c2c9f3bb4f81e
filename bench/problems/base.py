"""A problem gives training and test rows, split by split."""

from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal

from numpy.typing import NDArray

Task = Literal["classes", "numbers"]


@dataclass(frozen=True, eq=False)
class Split:
    """Training and test rows; ``number`` is that of the split, and a seed for whoever needs one."""

    X: NDArray[Any]
    y: NDArray[Any]
    X_test: NDArray[Any]
    y_test: NDArray[Any]
    number: int = 0


@dataclass(frozen=True)
class Problem(ABC):
    """A source of rows with a name for the records."""

    name: str
    task: Task

    @abstractmethod
    def split(self, number: int, rows: int | None = None) -> Split | None:
        """Return one split with that many training rows (``None``: the usual number); ``None`` if there are too few."""

    def check_splits(self, numbers: Iterable[int]) -> None:
        """Raise an error if a split may not be shown as evidence; by default every one may."""
        return
