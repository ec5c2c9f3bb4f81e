"""The records of one table, asked for by problem and contender."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from bench.storage import Record
from foldless.core.memo import cached_property

LEVEL = 0.05


class SizedSet(NamedTuple):
    """A set with a number of training rows."""

    set: str
    rows: int

    @property
    def title(self) -> str:
        """The set's name without that of its archive."""
        return self.set.removeprefix("raetsch_")


@dataclass(frozen=True)
class Difference:
    """Values of one contender minus those of another on the splits that both have."""

    values: NDArray[Any]

    @property
    def mean(self) -> float:
        """Mean difference."""
        return float(np.mean(self.values)) if len(self.values) else np.nan

    @property
    def standard_error(self) -> float:
        """Standard error of the mean."""
        n = len(self.values)
        return float(np.std(self.values, ddof=1) / np.sqrt(n)) if n > 1 else np.nan

    @property
    def p(self) -> float:
        """Return the p value of the paired t test; one if there are fewer than two splits."""
        if len(self.values) < 2:
            return 1.0
        if self.standard_error == 0:
            return float(self.mean == 0)
        t = self.mean / self.standard_error
        return float(2 * stats.t.sf(abs(t), len(self.values) - 1))

    @property
    def is_significant(self) -> bool:
        """Whether p is below 0.05."""
        return self.p < LEVEL


@dataclass(frozen=True)
class Results:
    """Records in the order of a table's sets and contenders."""

    records: Sequence[Record]
    set_order: Sequence[str] = ()
    contender_order: Sequence[str] = ()

    @cached_property
    def _found(self) -> dict[tuple[SizedSet, str], dict[int, Record]]:
        found: dict[tuple[SizedSet, str], dict[int, Record]] = {}
        for record in sorted(self.records, key=lambda record: record.split):
            key = (SizedSet(record.set, record.rows), record.contender)
            found.setdefault(key, {})[record.split] = record
        return found

    @cached_property
    def problems(self) -> list[SizedSet]:
        """Sets and sizes that were run."""
        found = {problem for problem, _ in self._found}
        return sorted(found, key=lambda problem: (_place(problem.set, self.set_order), problem.rows))

    @cached_property
    def contenders(self) -> list[str]:
        """Contenders that were run."""
        return sorted({name for _, name in self._found}, key=lambda name: _place(name, self.contender_order))

    @cached_property
    def splits(self) -> list[int]:
        """Splits that were run."""
        return sorted({record.split for record in self.records})

    def of(self, problem: SizedSet, contender: str) -> dict[int, Record]:
        """Return the records of a contender by split."""
        return self._found.get((problem, contender), {})

    def values(self, problem: SizedSet, contender: str, name: str) -> NDArray[Any]:
        """Return one number per split, without the splits that lack it."""
        found = (record.value(name) for record in self.of(problem, contender).values())
        return np.array([value for value in found if value is not None])

    def mean(self, problem: SizedSet, contender: str, name: str) -> float:
        """Return the mean over the splits; not a number if there is none."""
        values = self.values(problem, contender, name)
        return float(np.mean(values)) if len(values) else np.nan

    def difference(self, problem: SizedSet, one: str, other: str, name: str = "error") -> Difference:
        """Return ``one`` minus ``other`` on the splits that both have."""
        first, second = self.of(problem, one), self.of(problem, other)
        pairs = [(first[split].value(name), second[split].value(name)) for split in first if split in second]
        return Difference(np.array([a - b for a, b in pairs if a is not None and b is not None]))

    def ratio(self, problem: SizedSet, one: str, other: str, name: str = "seconds") -> float:
        """Return ``one`` over ``other``, the geometric mean over the splits that both have."""
        first, second = self.of(problem, one), self.of(problem, other)
        pairs = [(first[split].value(name), second[split].value(name)) for split in first if split in second]
        return geometric_mean([a / b for a, b in pairs if a is not None and b])

    def task(self, problem: SizedSet) -> str:
        """Return whether classes or numbers were predicted."""
        return next(record.task for record in self.records if (record.set, record.rows) == problem)

    def origin(self, command: str) -> str:
        """Return the sentence that says how the numbers were made."""
        first, last = self.splits[0], self.splits[-1]
        splits = f"split {first}" if first == last else f"{len(self.splits)} splits ({first} to {last})"
        jobs = " or ".join(map(str, sorted({record.jobs for record in self.records})))
        commits = ", ".join(f"`{commit}`" for commit in dict.fromkeys(r.commit for r in self.records))
        packages = {f"{k} {v}" for r in self.records for k, v in r.versions.items() if k != "python"}
        made_with = ", ".join(sorted(packages, key=str.lower))
        return f"`{command}`: {splits}, {jobs} {'worker' if jobs == '1' else 'workers'}; commit {commits}; {made_with}."


def geometric_mean(values: Iterable[float]) -> float:
    """Return the geometric mean of positive numbers; not a number if there are none."""
    found = np.array([value for value in values if np.isfinite(value)])
    return float(np.exp(np.mean(np.log(found)))) if len(found) else np.nan


def mean_ranks(table: NDArray[Any]) -> NDArray[Any]:
    """Return the mean rank of every row over the columns, the smallest value first; columns with gaps are left out."""
    whole = table[:, np.all(np.isfinite(table), axis=0)]
    if not whole.size:
        return np.full(len(table), np.nan)
    return np.asarray(np.mean(stats.rankdata(whole, axis=0), axis=1))


def _place(name: str, order: Sequence[str]) -> tuple[int, str]:
    return (order.index(name) if name in order else len(order), name)
