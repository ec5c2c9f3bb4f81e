"""A table of a paper with our numbers beside it; it prints itself as Markdown and draws box plots."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

import numpy as np
from numpy.typing import ArrayLike

from foldless.cli.papers.box_plots import box_plots
from foldless.core.atomic_write import written_whole
from foldless.core.contracts import Vector
from foldless.core.errors import DataError

NO_PAIR = (np.nan, np.nan)


@dataclass(frozen=True)
class Cell:
    """Our number and the paper's, each with its spread; the remarks of the table say what the spread is.

    ``count`` is the number of splits behind ours. NaN is a number that does not exist.
    """

    ours: float
    spread: float = np.nan
    count: int = 0
    paper: float = np.nan
    paper_spread: float = np.nan
    note: str = ""

    @classmethod
    def with_deviation(cls, values: ArrayLike, paper: tuple[float, float] = NO_PAIR, note: str = "") -> Self:
        """Return the mean of ``values`` with their standard deviation."""
        values = np.asarray(values, float)
        deviation = values.std(ddof=1) if len(values) > 1 else np.nan
        return cls(float(values.mean()), float(deviation), len(values), *paper, note)

    @classmethod
    def with_standard_error(cls, values: ArrayLike, paper: tuple[float, float] = NO_PAIR) -> Self:
        """Return the mean of ``values`` with its standard error."""
        cell = cls.with_deviation(values, paper)
        return cls(cell.ours, cell.spread / np.sqrt(cell.count), cell.count, *paper)

    def show(self, form: str, join: str = " ± ") -> str:
        """Return ``ours ± spread note (paper ± spread)``, without the parts that do not exist."""
        theirs = "" if np.isnan(self.paper) else f" ({_pair(self.paper, self.paper_spread, form, join)})"
        return _pair(self.ours, self.spread, form, join) + self.note + theirs


def _pair(mean: float, spread: float, form: str, join: str) -> str:
    return f"{mean:{form}}" + ("" if np.isnan(spread) else f"{join}{spread:{form}}")


@dataclass(frozen=True, eq=False)
class PaperTable:
    """Cells by case (rows) and method (columns).

    Attributes
    ----------
    name, title : str
    cells : dict
        ``(case, method) -> Cell``.
    form : str
        Format of the numbers.
    remarks : tuple of str
        Lines below the table.
    join : str
        Text between a number and its spread.
    samples : dict
        ``case -> method -> values`` for box plots, where the paper draws them.
    colours : dict
        ``method -> colour`` of its boxes.
    beside : tuple of PaperTable
        Tables printed and drawn after this one.
    """

    name: str
    title: str
    cells: Mapping[tuple[str, str], Cell]
    form: str = ".3f"
    remarks: tuple[str, ...] = ()
    join: str = " ± "
    samples: Mapping[str, Mapping[str, Vector]] = field(default_factory=dict)
    colours: Mapping[str, str] = field(default_factory=dict)
    beside: tuple[PaperTable, ...] = ()

    def __str__(self) -> str:
        cases, methods = (list(dict.fromkeys(key[i] for key in self.cells)) for i in (0, 1))
        lines = ["| set | " + " | ".join(methods) + " |", "|---" * (len(methods) + 1) + "|"]
        lines += [f"| {case} | " + " | ".join(self._show(case, m) for m in methods) + " |" for case in cases]
        own = "\n".join([f"{self.name}: {self.title}", "", *lines, "", *self.remarks])
        return "\n\n".join([own, *map(str, self.beside)])

    def _show(self, case: str, method: str) -> str:
        cell = self.cells.get((case, method))
        return "" if cell is None else cell.show(self.form, self.join)

    def with_those_beside(self) -> Iterator[PaperTable]:
        """Yield this table and all beside it, in the order they are printed."""
        yield self
        for table in self.beside:
            yield from table.with_those_beside()

    def draw(self, path: Path) -> list[Path]:
        """Save the box plots of this table, and as ``name-2`` and so on of those beside it; return the paths.

        Raises
        ------
        DataError
            If the paper draws none.
        """
        figures = [box_plots(t.title, t.samples, t.colours) for t in self.with_those_beside() if t.samples]
        if not figures:
            raise DataError(f"--figure {path}: the paper draws no figure for {self.name}.")
        paths = [path, *(path.with_stem(f"{path.stem}-{i}") for i in range(2, 1 + len(figures)))]
        for figure, each in zip(figures, paths, strict=True):
            with written_whole(each) as temporary:
                figure.savefig(temporary, dpi=80)
        return paths
