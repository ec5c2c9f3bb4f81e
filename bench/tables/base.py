"""A table: what is run, and how its records become Markdown."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, ClassVar

from bench import problems
from bench.contenders import Contender
from bench.problems import Problem
from bench.problems.evidence import EVIDENCE
from bench.results import Results
from bench.run import Case, Conditions
from bench.storage import Record


class Table(ABC):
    """One table of the documents.

    Attributes
    ----------
    name : str
        On the command line, and of the file of records.
    title : str
        What it answers, in a line.
    cases : sequence of (set, rows)
        What is run by default; rows are those that train, ``None`` for the usual number of the set.
    splits : range
        Which are run by default.
    block_names : tuple of str
        Blocks of the documents that are written from it.
    isolated, max_seconds
        See :class:`bench.run.Conditions`.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    cases: ClassVar[Sequence[tuple[str, int | None]]]
    splits: ClassVar[range] = EVIDENCE
    block_names: ClassVar[tuple[str, ...]]
    isolated: ClassVar[bool] = False
    max_seconds: ClassVar[float | None] = None

    @property
    @abstractmethod
    def contenders(self) -> Sequence[Contender]:
        """Who takes part."""

    @abstractmethod
    def blocks(self, results: Results) -> dict[str, str]:
        """Return the Markdown of every block."""

    def text(self, results: Results, *parts: str) -> str:
        """Return paragraphs with a last one that tells how the numbers were made."""
        return "\n\n".join([*parts, results.origin(self.command)])

    def figures(self, results: Results) -> dict[str, Any]:
        """Return figures by the name of their file in docs/_static."""
        return {}

    def find_problem(self, name: str, data: Path | None) -> Problem:
        """Return the problem of a name."""
        return problems.find_problem(name, data)

    def plan(
        self,
        data: Path | None,
        sets: Iterable[str] | None = None,
        sizes: Iterable[int] | None = None,
        splits: range | None = None,
    ) -> list[Case]:
        """Return what is to be run, split by split, sets in order, small sizes first."""
        names = list(dict.fromkeys(name for name, _ in self.cases) if sets is None else sets)
        numbers = self.splits if splits is None else splits
        found = {name: self.find_problem(name, data) for name in names}
        for problem in found.values():
            problem.check_splits(numbers)
        wanted = [(name, rows) for name in names for rows in self._sizes(name, sizes)]
        return [Case(found[name], rows, number) for number in numbers for name, rows in wanted]

    def _sizes(self, name: str, sizes: Iterable[int] | None) -> Sequence[int | None]:
        """Return the sizes of a set: those asked for, those of the table, or the usual one for a set of another table."""
        if sizes is not None:
            return sorted(sizes)
        return [rows for known, rows in self.cases if known == name] or [None]

    def conditions(self, jobs: int) -> Conditions:
        """Return how the fits are made."""
        return Conditions(jobs, self.isolated, self.max_seconds)

    def results(self, records: Sequence[Record]) -> Results:
        """Return records in the order of the table."""
        sets = list(dict.fromkeys(name for name, _ in self.cases))
        return Results(records, sets, [contender.name for contender in self.contenders])

    @property
    def command(self) -> str:
        """The command that measures it."""
        needs_data = any(name not in problems.GENERATED | problems.SHIPPED for name, _ in self.cases)
        return f"python -m bench {self.name}" + (" --data DIR" if needs_data else "")
