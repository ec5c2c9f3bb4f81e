"""Sets of a fixed number of rows, on disk or shipped with scikit-learn.

A file ``NAME.npz`` has ``X`` and ``y``, and ``train`` and ``test`` if the set comes with splits of its own.
"""

from abc import abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_diabetes
from sklearn.model_selection import train_test_split

from bench.problems.base import Problem, Split
from bench.problems.evidence import check_evidence

NUMBERS = frozenset(
    {
        "abalone",
        "boston_housing",
        "california_housing",
        "delve_bank8fh",
        "delve_bank8fm",
        "delve_kin8fh",
        "delve_kin8fm",
        "delve_kin8nm",
        "protein_casp",
    }
)
TRAIN_SHARE = 0.7
TEST_MIN_ROWS = 50
TEST_MAX_ROWS = 5000
Arrays = Mapping[str, NDArray[Any]]


@dataclass(frozen=True)
class FiniteProblem(Problem):
    """A set whose rows are cut into training and test rows.

    The split of a number is the set's own while there are enough of them; otherwise rows are drawn, with the classes in
    equal shares and the number as seed: as many to train as asked, as in the set's own splits, or 70 of 100. Columns
    that are constant are left out. Numbers to predict are scaled by the training rows.
    """

    @abstractmethod
    def arrays(self) -> Arrays:
        """Return ``X``, ``y`` and, if the set has splits of its own, the row numbers ``train`` and ``test``."""

    def split(self, number: int, rows: int | None = None) -> Split | None:
        """Return one split; ``None`` if the set has not enough rows."""
        arrays = self.arrays()
        found = _own_rows(arrays, number) if rows is None else None
        found = found or _drawn_rows(arrays, number, rows, stratify=self.task == "classes")
        return None if found is None else self._cut(arrays["X"], arrays["y"], *found, number)

    def _cut(
        self, X: NDArray[Any], y: NDArray[Any], train: NDArray[Any], test: NDArray[Any], number: int
    ) -> Split:
        X = X[:, X.std(axis=0) > 0]
        if self.task == "numbers":
            y = (y - y[train].mean()) / y[train].std()
        return Split(X[train], y[train], X[test], y[test], number)

    def check_splits(self, numbers: Iterable[int]) -> None:
        """Raise an error if a split has served to choose a default."""
        check_evidence(self.name, numbers)


@dataclass(frozen=True)
class StoredProblem(FiniteProblem):
    """A set in a directory."""

    data: Path

    @classmethod
    def named(cls, name: str, data: Path) -> Self:
        """Return the set of a name."""
        return cls(name, "numbers" if name in NUMBERS else "classes", data)

    def arrays(self) -> Arrays:
        """Return what the file holds."""
        with np.load(self.data / f"{self.name}.npz") as file:
            return {key: file[key] for key in ("X", "y", "train", "test") if key in file}


class DiabetesProgression(FiniteProblem):
    """442 patients of Efron, Hastie, Johnstone and Tibshirani (2004), ten columns, as scikit-learn ships them."""

    def arrays(self) -> Arrays:
        """Return columns and progression a year later."""
        X, y = load_diabetes(return_X_y=True)
        return {"X": X, "y": y}


SHIPPED: dict[str, Problem] = {
    problem.name: problem for problem in (DiabetesProgression("diabetes_progression", "numbers"),)
}


def _own_rows(arrays: Arrays, number: int) -> tuple[NDArray[Any], NDArray[Any]] | None:
    """Return the rows of a split that the set came with."""
    if "train" not in arrays or number >= len(arrays["train"]):
        return None
    return arrays["train"][number], arrays["test"][number]


def _drawn_rows(
    arrays: Arrays, number: int, rows: int | None, stratify: bool
) -> tuple[NDArray[Any], NDArray[Any]] | None:
    """Return rows drawn with ``number`` as seed, from the rows of the set's own splits with their repetitions."""
    y, own = arrays["y"], "train" in arrays
    pool = np.concatenate([arrays["train"][0], arrays["test"][0]]) if own else np.arange(len(y))
    if rows is None:
        rows = arrays["train"].shape[1] if own else round(TRAIN_SHARE * len(pool))
    elif len(pool) < rows + TEST_MIN_ROWS:
        return None
    train, test = train_test_split(
        pool,
        train_size=rows,
        test_size=min(len(pool) - rows, TEST_MAX_ROWS),
        random_state=number,
        stratify=y[pool] if stratify else None,
    )
    return train, test
